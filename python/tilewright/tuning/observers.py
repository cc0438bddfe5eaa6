# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Who hears of tunings: the profiler, and the log of recompilations.

Programs have `knobs.autotuning.listener`; these are the package's own, so that neither
takes the place of the other.
"""

from __future__ import annotations

import contextlib
import threading

_thread = threading.local()

#: Called with (tuner, arguments by name, keywords, key, configuration) after each choice that a launch had to make.
choice_observers: list = []


@contextlib.contextmanager
def tuning():
    """Inside, what this thread compiles and launches belongs to a tuning."""
    before = is_tuning()
    _thread.is_tuning = True
    try:
        yield
    finally:
        _thread.is_tuning = before


def is_tuning() -> bool:
    return getattr(_thread, "is_tuning", False)


def tell_of_choice(tuner, nargs, kwargs, key, config):
    from .. import knobs  # which imports the launcher's side, and that the tuner

    for observer in choice_observers:
        observer(tuner, nargs, kwargs, key, config)
    if knobs.runtime.log:
        from ..compiler import recompiles  # few programs ask

        if recompiles.is_on():
            recompiles.note_tuning(tuner, nargs, kwargs, key, config)
