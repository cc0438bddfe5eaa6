# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The package's own listeners to tunings and interpreted launches: the profiler, and the log of recompilations.

Programs have `knobs.autotuning.listener`; these are the package's own, so that neither
takes the place of the other.
"""

from __future__ import annotations

import contextlib
import threading

from . import _core

_thread = threading.local()

#: Called with (tuner, arguments by name, keywords, key, configuration) after each choice that a launch had to make.
choices: list = []

#: Each makes another function of the one that runs a launch in the interpreter.
interpreted_launches: list = []


@contextlib.contextmanager
def tuning():
    """Inside, what this thread compiles and launches belongs to a tuning."""
    before = is_tuning()
    if not before:
        _thread.tuning_began = _core.profile_now()
    _thread.is_tuning = True
    try:
        yield
    finally:
        _thread.is_tuning = before


def is_tuning() -> bool:
    return getattr(_thread, "is_tuning", False)


def tuning_began() -> int:
    """When this thread's latest tuning began, by the clock of profiles."""
    return _thread.tuning_began


def tell_of_choice(tuner, nargs, kwargs, key, config):
    for observer in choices:
        observer(tuner, nargs, kwargs, key, config)


def observed(run):
    """`run`, which runs a launch in the interpreter, as the observers want it."""
    for observer in interpreted_launches:
        run = observer(run)
    return run
