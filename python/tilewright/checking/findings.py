# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The findings of the interpreter in one launch, one entry per mistake and line."""

from __future__ import annotations

from dataclasses import dataclass, field

from .. import errors
from ..runtime import checks
from ..runtime.interpreter import running_place, with_frames, with_running_frames
from .finding import Finding


def frame_record(frame) -> dict:
    return {
        "file": frame.file,
        "function": frame.function,
        "line": frame.line,
        "column": frame.column,
        "source_line": frame.source_line.strip(),
    }


@dataclass
class Collector:
    """Takes what the checks of one launch report, so that the kernel goes on."""

    jit_function: object
    launch: int
    found: dict = field(default_factory=dict)  # by code and places

    def listen_to(self, context):
        self.context = context
        context.collect(self._reported, self._ended)

    @property
    def findings(self):
        return list(self.found.values())

    def drop(self, is_none) -> bool:
        """Forgets the findings that are none; whether there were any."""
        kept = {key: finding for key, finding in self.found.items() if not is_none(finding)}
        dropped = len(kept) < len(self.found)
        self.found = kept
        return dropped

    def _reported(self, error):
        """A check has found something, and the program goes on."""
        key = (error.code, running_place(), _place(error))
        if (known := self.found.get(key)) is not None:
            known.count += 1
        else:
            self._add(key, with_running_frames(error))

    def run(self, launch):
        """Runs the launch; a finding that ends all of it is one more."""
        try:
            launch.run()
        except errors.TilewrightError as error:
            if not is_finding(error):
                raise
            self._note(error)  # with its places and scalars, which the launch has added

    def _ended(self, error) -> bool:
        """A program has ended with `error`; whether the next program runs."""
        if not is_finding(error) or error.code == checks.DEADLOCK:
            return False  # of programs that wait for each other none can go on
        self._note(with_frames(error, self.jit_function))
        return True

    def _note(self, error):
        key = (error.code, None, _place(error))
        if (known := self.found.get(key)) is not None:
            known.count += 1
        else:
            self._add(key, error)

    def _add(self, key, error):
        self.found[key] = Finding(
            error.code,
            error.message,
            error.help,
            list(error.notes),
            [frame_record(f) for f in error.frames],
            self.jit_function.__name__,
            self.launch,
            list(self.context.program),
        )


def _place(error):
    """What the error itself says of where the mistake is, which may not be where it came to light."""
    return (error.frames[0].file, error.frames[0].line, error.frames[0].column) if error.frames else None


def is_finding(error) -> bool:
    """Whether an error tells of a mistake that shows when a kernel runs; others are those of compiled kernels too."""
    return isinstance(error, errors.TilewrightError) and error.code.startswith("E04")
