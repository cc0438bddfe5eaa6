# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scopes: names for what runs inside, with metrics that the program knows."""

from __future__ import annotations

import contextvars
import functools
import time

from .. import _core, errors
from ..user_objects import attribute
from .session import Timer, active, path

_entered = contextvars.ContextVar("tilewright_profiler_entered", default=())  # by enter_scope


def as_number(value):
    """A metric as a number: tensors of one element are read."""
    item = attribute(value, "item")
    return item() if item is not None and not isinstance(value, (int, float)) else value


def _current_stream():
    """(stream, device), or None without a GPU."""
    try:
        device = _core.current_device()
        return _core.current_stream(device), device
    except (RuntimeError, errors.TilewrightError):
        return None


class scope:
    """Context manager and decorator: launches inside belong to `name`.

    `metrics` (such as flops16 or bytes) are added to the scope each time.
    """

    def __init__(self, name, metrics=None):
        self.name, self.metrics = name, metrics
        self._open: list = []

    def _enter_scope(self):
        running = active()
        if not running:
            self._open.append(None)
            return
        token = path.set((*path.get(), self.name))
        place = _current_stream()
        timer = Timer(place[0]) if place is not None else None
        nodes = [(session, session.place(), session.timed) for session in running]
        for _, node, _ in nodes:
            for name, value in (self.metrics or {}).items():
                node.add(name, as_number(value))
        self._open.append((token, place, timer, nodes))

    def _exit_scope(self):
        opened = self._open.pop()
        if opened is None:
            return
        token, place, timer, nodes = opened
        for session, node, timed in nodes:
            node.add("count", 1)
            # Nothing of ours ran inside: what did is someone else's, and the scope has its time.
            if timer is not None and session.timed == timed and session.is_active:
                if timer.end is None:
                    timer.stop()
                session.take(node, timer, place[1])
        path.reset(token)

    def __enter__(self):
        self._enter_scope()
        return self

    def __exit__(self, exception_type, exception, traceback):
        self._exit_scope()

    def __call__(self, function):

        @functools.wraps(function)
        def inside(*args, **kwargs):
            with type(self)(self.name, self.metrics):
                return function(*args, **kwargs)

        return inside


class cpu_timed_scope(scope):
    """A scope that also has the host's time, `cpu_time`."""

    def __init__(self, name, metrics=None):
        super().__init__(name, metrics)
        if metrics and "cpu_time" in metrics:
            raise ValueError("the metric 'cpu_time' is the scope's own")
        self._starts: list = []

    def _enter_scope(self):
        super()._enter_scope()
        self._starts.append(time.perf_counter_ns())

    def _exit_scope(self):
        passed = time.perf_counter_ns() - self._starts.pop()
        opened = self._open[-1]
        for _, node, _ in opened[3] if opened else ():
            node.add("cpu_time (ns)", passed)
        super()._exit_scope()


def enter_scope(name, *, metrics=None):
    """As `with scope(name)`, up to exit_scope."""
    opened = scope(name, metrics)
    opened._enter_scope()
    _entered.set((*_entered.get(), opened))
    return len(_entered.get())


def exit_scope(name=None, *, metrics=None):
    """Ends the scope that was entered last, which `name` must be where given."""
    *outer, opened = _entered.get() or (None,)
    if opened is None or (name is not None and opened.name != name):
        raise ValueError(f"scope '{name}' is not the one that was entered last")
    for _, node, _ in opened._open[-1][3] if opened._open[-1] else ():
        for metric, value in (metrics or {}).items():
            node.add(metric, as_number(value))
    opened._exit_scope()
    _entered.set(tuple(outer))
    return len(outer) + 1
