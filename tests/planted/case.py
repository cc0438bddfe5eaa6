# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a planted mistake is.

Files named after a class of mistakes (bounds_rows.py, wrap_strides.py ...) export CASES. In the faulty kernel
the comment `# fault` stands at the end of the line that a report has to name; the corrected kernel, which must be
silent, differs in little else.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Case", "all_cases", "find_case"]

MARK = "# fault"


@dataclass(frozen=True)
class Case:
    """A faulty kernel and its corrected form.

    name: what is wrong, in few words with dashes; unique within its class
    kind: the class of mistakes
    code: the code of the report, "E0407"
    faulty, corrected: jit functions
    launch: makes arrays and launches the function it is given, in the interpreter
    checks: those asked for beside the defaults, as TILEWRIGHT_CHECK has them
    marked: the jit function that holds the marked line, where it is not the kernel itself
    """

    name: str
    kind: str
    code: str
    faulty: object
    corrected: object
    launch: Callable[[object], None]
    checks: str = ""
    marked: object = None

    def __str__(self):
        return f"{self.kind}-{self.name}"

    @property
    def fault_line(self) -> int:
        """The line that a report has to name."""
        lines, first = inspect.getsourcelines((self.marked or self.faulty).fn)
        found = [first + i for i, line in enumerate(lines) if line.rstrip().endswith(MARK)]
        if len(found) != 1:
            raise ValueError(f"{self}: {len(found)} lines end with '{MARK}'; exactly one has to")
        return found[0]


def all_cases() -> list[Case]:
    """The cases of all files of this folder, by class and name."""
    files = sorted(Path(__file__).parent.glob("*_*.py"))
    modules = [importlib.import_module(f"planted.{file.stem}") for file in files if not file.stem.startswith("test_")]
    cases = [case for module in modules for case in getattr(module, "CASES", ())]
    return sorted(cases, key=str)


def find_case(name: str) -> Case:
    return next(case for case in all_cases() if str(case) == name)
