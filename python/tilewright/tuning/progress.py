# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shows the progress of a sweep: how far it is, the best so far, and the time left.

It is a bar if `rich` is installed, else a line now and then. Without a terminal nothing is shown.
"""

from __future__ import annotations

import sys
import time

from ..user_objects import printable

_SECONDS_BETWEEN_LINES = 2.0


def display_of(wanted):
    """The display for `progress=`: None is for terminals alone, True for all, False for none."""
    stream = sys.stderr
    is_terminal = stream is not None and stream.isatty()
    if stream is None or wanted is False or (wanted is None and not is_terminal):
        return Silent()
    return (_bar() if is_terminal else None) or Lines(stream)


def _bar():
    try:
        import rich.progress  # noqa: F401
    except ImportError:
        return None
    return Bar()


class Silent:
    """Shows nothing; the other classes derive from it."""

    def __init__(self):
        self.count, self.done, self.measured, self.best = 0, 0.0, 0, ""

    def begin(self, count):
        """Before the first task of a sweep over so many problems."""
        self.count, self.started = count, time.monotonic()

    def tell_best(self, problem, tables):
        """An answer has come: the best that is known of its problem."""
        records = [r for t in tables for r in t["records"].values() if r["status"] == "ok" and r["median"] is not None]
        if records:
            best = min(records, key=lambda r: r["median"])
            self.best = f"{printable(problem)}: {best['median']:.4g} ms with {printable(best['config'])}"

    def show(self, done, measured):
        """So many problems are done, in part, and so many configurations measured."""
        if (done, measured) != (self.done, self.measured):
            self.done, self.measured = done, measured
            self.update()

    def left(self) -> str:
        """The time that is left, if all goes on as it did; nothing where nothing is done yet."""
        if not self.done:
            return ""
        seconds = (time.monotonic() - self.started) * (self.count - self.done) / self.done
        return f"{int(seconds) // 60}:{int(seconds) % 60:02} left"

    def state(self) -> str:
        parts = [
            f"{self.done:.2g} of {self.count} problems",
            f"{self.measured} configurations measured",
            self.left(),
            f"best of {self.best}" if self.best else "",
        ]
        return ", ".join(filter(None, parts))

    def update(self):
        """Something has changed."""

    def say(self, text):
        """Something that is not to be written over."""

    def end(self):
        """The sweep is over, or was interrupted."""


class Lines(Silent):
    """Lines that stay."""

    def __init__(self, stream):
        super().__init__()
        self.stream, self.last = stream, 0.0

    def update(self):
        if self.done < self.count and time.monotonic() - self.last < _SECONDS_BETWEEN_LINES:
            return
        self.last = time.monotonic()
        self.say(self.state())

    def say(self, text):
        print(f"sweep: {text}", file=self.stream, flush=True)


class Bar(Silent):
    """A bar of rich, with the state after it."""

    def __init__(self):
        super().__init__()
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        self.progress = Progress(
            TextColumn("sweep"),
            BarColumn(bar_width=24),
            TextColumn("{task.description}", markup=False),
            console=Console(stderr=True),
        )

    def begin(self, count):
        super().begin(count)
        self.progress.start()
        self.task = self.progress.add_task("waiting for the first worker", total=count)

    def update(self):
        self.progress.update(self.task, completed=self.done, description=self.state())

    def say(self, text):
        self.progress.console.print(f"sweep: {text}", markup=False, highlight=False)

    def end(self):
        self.progress.stop()
