# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sessions: trees of scopes and kernels with their counts, times and metrics.

A launch leaves two events on its stream, which are read when many have gathered or when
the session is asked: profiling never waits for the GPU in between.
"""

from __future__ import annotations

import contextvars
import json
import os
import sys

from .. import _core, errors
from .flags import flags

_MOST_PENDING = 4096
_PATIENCE = 600.0  # seconds for a kernel whose time is read

_suffixes = {"tree": "hatchet", "trace": "chrome_trace"}

sessions: dict = {}  # by number, those that are not finalized
_numbers = iter(range(1 << 62))

# Names of the scopes around the running code, outermost first; the state that names its kernels.
path = contextvars.ContextVar("tilewright_profiler_path", default=())
state_name = contextvars.ContextVar("tilewright_profiler_state", default=None)


class Node:
    """A scope or a kernel below its parent."""

    def __init__(self, name):
        self.name = name
        self.children: dict = {}
        self.metrics: dict = {}
        self.device = None

    def child(self, name):
        found = self.children.get(name)
        if found is None:
            found = self.children[name] = Node(name)
        return found

    def at(self, names):
        node = self
        for name in names:
            node = node.child(name)
        return node

    def add(self, name, value):
        self.metrics[name] = self.metrics.get(name, 0) + value

    def as_json(self):
        metrics = dict(self.metrics)
        if self.device is not None:
            metrics.update(device_id=str(self.device), device_type="CUDA")
        return {
            "frame": {"name": self.name, "type": "function"},
            "metrics": metrics,
            "children": [child.as_json() for child in self.children.values()],
        }


class Timer:
    """The time between two events on a stream; None of them where there is no GPU to record."""

    def __init__(self, stream):
        self.stream = stream
        self.start = self._now()
        self.end = None

    def _now(self):
        try:
            event = _core.Event()
            event.record(self.stream)
            return event
        except (RuntimeError, errors.TilewrightError):
            return None  # no GPU, or a stream that is being captured

    def stop(self):
        self.end = self._now() if self.start is not None else None

    def milliseconds(self):
        """The time, or None where it was not taken."""
        if self.end is None:
            return None
        try:
            return self.end.elapsed_since(self.start) if self.end.wait_for(_PATIENCE) else None
        except (RuntimeError, errors.TilewrightError):
            return None


class Session:
    """One profile from start to finalize."""

    def __init__(self, name, context, data, with_metadata):
        self.number = next(_numbers)
        self.name, self.context, self.data, self.with_metadata = name, context, data, with_metadata
        self.root = Node("ROOT")
        self.is_active = True
        self.pending: list = []  # (node, timer)
        self.timed = 0  # how many times were taken
        self.devices: set = set()
        self.trace: list = []
        self.origin = Timer(0) if data == "trace" else None

    def place(self):
        """Where what runs now belongs."""
        return self.root.at(_call_path() if self.context == "python" else path.get())

    def take(self, node, timer, device):
        node.device = device
        self.devices.add(device)
        self.pending.append((node, timer))
        self.timed += 1
        if len(self.pending) >= _MOST_PENDING:
            self.settle()

    def settle(self):
        """Reads the events that have gathered."""
        pending, self.pending = self.pending, []
        for node, timer in pending:
            time = timer.milliseconds()
            if time is None:
                continue
            node.add("time (ns)", round(time * 1e6))
            if self.origin is not None and self.origin.start is not None:
                begin = timer.start.elapsed_since(self.origin.start)
                self.trace.append(
                    {
                        "name": node.name,
                        "cat": "kernel",
                        "ph": "X",
                        "ts": begin * 1e3,
                        "dur": time * 1e3,
                        "pid": node.device,
                        "tid": timer.stream,
                    }
                )

    def tree(self):
        """The profile as the parts of a .hatchet file."""
        self.settle()
        return [self.root.as_json(), {"CUDA": {str(d): _device_facts(d) for d in sorted(self.devices)}}]

    def write(self, output_format):
        wanted = output_format or _suffixes[self.data]
        if wanted not in _suffixes.values():
            raise ValueError(f"output_format={output_format!r}: expected 'hatchet' or 'chrome_trace'")
        tree = self.tree()
        content = tree if wanted == "hatchet" else {"traceEvents": self.trace}
        file_name = f"{self.name}.{wanted}"
        folder = os.path.dirname(file_name)
        if folder:
            os.makedirs(folder, exist_ok=True)
        with open(file_name, "w", encoding="utf-8") as file:
            json.dump(content, file)


def _device_facts(device):
    facts = _core.device_properties(device)
    return {
        "arch": str(facts["capability"]),
        "num_sms": facts["multiprocessor_count"],
        "clock_rate": facts["sm_clock_rate"],
        "memory_clock_rate": facts["mem_clock_rate"],
        "bus_width": facts["mem_bus_width"],
    }


def _call_path():
    """The functions of Python that are running, outermost first, without our own."""
    names, frame = [], sys._getframe(1)
    while frame is not None:
        if not frame.f_globals.get("__name__", "").startswith("tilewright."):
            code = frame.f_code
            names.append(f"{code.co_filename}:{frame.f_lineno}@{code.co_name}")
        frame = frame.f_back
    return reversed(names)


def active():
    """The sessions that record now."""
    return [session for session in sessions.values() if session.is_active] if flags.profiling_on else []


def chosen(number):
    """The session of a number, or all for None."""
    if number is None:
        return list(sessions.values())
    if number not in sessions:
        raise ValueError(f"there is no profiling session {number}")
    return [sessions[number]]
