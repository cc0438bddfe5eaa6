# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A configuration on its way through a tuning."""

from __future__ import annotations

import math
from concurrent.futures import FIRST_COMPLETED, wait

from .. import _core


class Candidate:
    """One configuration on its way through a session."""

    def __init__(self, config, identity):
        self.config, self.identity = config, identity
        self.status, self.reason = "new", ""
        self.lost = False  # whether it took the process's GPU with it
        self.crashed = False  # whether it took the compiler's process with it
        self.interrupted = False  # whether its process has ended while it ran, once
        self.kernel = None
        self.future = None
        self.estimate = math.inf
        self.late = 0.0  # milliseconds of the estimate that may be none of the kernel's
        self.samples: list = []
        self.resources: dict = {}
        self.error = None

    def end(self, status, reason="", error=None):
        self.status, self.reason, self.error = status, reason, error

    @property
    def runs(self):
        return self.status in ("new", "compiling", "ready", "running", "ok")

    def record(self) -> dict:
        summary = _core.summarize(self.samples) if self.samples else None
        return {
            "config": str(self.config),
            "kwargs": {k: repr(v) for k, v in self.config.all_kwargs().items()},
            "status": self.status,
            "reason": self.reason,
            "median": summary["median"] if summary else None,
            "low": summary["low"] if summary else None,
            "high": summary["high"] if summary else None,
            "q20": summary["q20"] if summary else None,
            "q80": summary["q80"] if summary else None,
            "samples": [round(s, 6) for s in self.samples[-64:]],
            **({"lost": True} if self.lost else {}),
            **({"crashed": True} if self.crashed else {}),
            **({"interrupted": True} if self.interrupted else {}),
            **self.resources,
        }


def as_compiled(candidates, seconds_left):
    """The candidates, each when it is compiled or the time is over; in their order where several wait."""
    left = {candidate.future: candidate for candidate in candidates}
    while left:
        ready, _ = wait(left, seconds_left(), FIRST_COMPLETED)
        yield left.pop(next(future for future in left if future in ready or not ready))


def first_line(error) -> str:
    """The first line of an error's text, or its class; empty where there is none."""
    return (str(error).splitlines() or [type(error).__name__])[0] if error else ""
