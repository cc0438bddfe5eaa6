# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The choice of a tuner for launches in the interpreter.

Times mean nothing on the CPU, so nothing is measured: the first configuration that pruning leaves is taken. One whose
static assertions fail is passed over, because a tuner on a GPU leaves it out as well: it does not compile.
"""

from __future__ import annotations

from .. import errors
from ..tuning.choices import enter_choice, known_choice
from ..tuning.config import check_conflicts
from .interface import kernel_inside


def is_interpreted(fn) -> bool:
    return getattr(kernel_inside(fn), "interpreted", False)


def runs(fn, named) -> bool:
    """Whether a launch with these arguments is the interpreter's."""
    if is_interpreted(fn):
        return True
    for value in named.values():
        if type(value).__name__ == "ndarray" and type(value).__module__ == "numpy":
            return True
    return False


def choose(tuned, nargs, kwargs, key):
    """The configuration that is known, or the first that pruning leaves."""
    only_here = is_interpreted(tuned.fn)
    config = known_choice(tuned._choices, key) if only_here else None
    if config is None:
        config = _candidates(tuned, nargs, kwargs)[0]
        check_conflicts(config, kwargs)
        if only_here:  # else the GPU may be asked for the same key later
            _enter(tuned, key, config)
    return config


def others(tuned, nargs, kwargs, refused) -> list:
    """The configurations to try after `refused`; none where the launch is a GPU's."""
    if len(tuned.configs) == 1 or not runs(tuned.fn, {**nargs, **kwargs}):
        return []
    candidates = _candidates(tuned, nargs, kwargs)
    return candidates[candidates.index(refused) + 1 :] if refused in candidates else []


def run_another(tuned, configs, refusal, nargs, args, kwargs):
    """(what the launch returns, the first of `configs` whose static assertions hold); raises `refusal` where none do."""
    for config in configs:
        try:
            result = tuned._run_with(config, nargs, args, kwargs)
        except errors.StaticAssertFailed:
            continue
        if is_interpreted(tuned.fn):
            _enter(tuned, tuned._key(args, kwargs), config)
        return result, config
    raise refusal


def _candidates(tuned, nargs, kwargs):
    try:
        return tuned._pruned(nargs, kwargs)
    except errors.TilewrightError as error:
        if error.code != "E0404":
            raise
        return tuned.configs  # pruning asked a GPU that is not there, and any will do


def _enter(tuned, key, config):
    tuned.configs_timings, tuned.bench_time = {}, 0.0
    enter_choice(tuned._choices, key, config)
    tuned._tell_of_choice(key, config)
