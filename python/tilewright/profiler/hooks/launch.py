# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The hook that records launches, and the one that wants their metadata."""

from __future__ import annotations

import numbers
import re
import threading

from ... import _core
from ...user_objects import has_attribute
from ..scope import as_number
from ..session import Timer, active, state_name
from .hook import Hook

_RESERVED = ("name", "function", "stream")


class LaunchHook(Hook):
    """Adds the numbers that a kernel's `launch_metadata` returns; `configure` picks kernels by name."""

    priority = 100
    _instance = None

    def __new__(cls):
        if cls._instance is None:
            cls._instance = super().__new__(cls)
            cls._instance.configure()
        return cls._instance

    def configure(self, *, include=None, exclude=None):
        """Regular expressions that names of kernels must and must not begin with."""
        self._include = re.compile(include) if include else None
        self._exclude = re.compile(exclude) if exclude else None

    def wants(self, name):
        return not (
            (self._include is not None and self._include.match(name) is None)
            or (self._exclude is not None and self._exclude.match(name) is not None)
        )

    @staticmethod
    def metrics(metadata):
        return {
            name: as_number(value)
            for name, value in metadata.items()
            if name not in _RESERVED and (isinstance(value, numbers.Number) or has_attribute(value, "data_ptr"))
        }


class _Recorder(Hook):
    """Books each launch in every session that records. Its events stand closest to the kernel."""

    priority = -1

    def __init__(self):
        self._thread = threading.local()

    def _open(self):
        if not hasattr(self._thread, "open"):
            self._thread.open = []
        return self._thread.open

    def enter(self, metadata):
        running = active()
        data, hook = dict(metadata), LaunchHook()
        added: dict = {}
        if any(session.with_metadata for session in running) and hook.wants(data.get("name", "")):
            data = metadata.get()  # evaluates what the kernel says of this launch
            added = hook.metrics(data)
        name = state_name.get() or data.get("name", "kernel")
        nodes = []
        for session in running:
            node = session.place().child(name)
            node.add("count", 1)
            for metric, value in (added if session.with_metadata else {}).items():
                node.add(metric, value)
            nodes.append((session, node))
        self._open().append((nodes, Timer(data.get("stream", 0))))

    def exit(self, metadata):
        if not self._open():
            return  # activated between the two
        nodes, timer = self._open().pop()
        timer.stop()
        device = _core.current_device()
        for session, node in nodes:
            session.take(node, timer, device)


recorder = _Recorder()
