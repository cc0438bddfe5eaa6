# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers of a GPU stand in one place, and no estimate makes its own.

    python tests/tools/check_numbers.py

Sizes that differ from one GPU to another are in codegen/target/Targets.cpp, which fills in
TargetInfo; sizes that PTX fixes for all of them are in ir/support/Hardware.h; how many
blocks a multiprocessor holds is ir/support/Occupancy.h. Anywhere else such a number, a
comparison of capabilities or a constant of the same name is an error.
"""

import re
import sys
from pathlib import Path

from tools.sources import files, read

HOMES = ("codegen/target/", "ir/support/Hardware.h", "ir/support/Occupancy.h")
FOLDERS = ["frontend", "ir", "passes", "codegen", "runtime", "autotune", "python/bindings", "tests/harness"]

# Shared memory of a multiprocessor, and of one block.
SHARED = r"(?:99|100|163|164|227|228) \* 1024|101376|102400|166912|167936|232448|233472"
# Registers of a thread and of a multiprocessor, and its threads: common numbers in Python.
NUMBERS = {".py": re.compile(rf"\b(?:{SHARED})\b"), "": re.compile(rf"\b(?:255|65536|2048|1536|{SHARED})\b")}
COMPARISON = re.compile(r"\bcapability\s*(?:[<>]=?|[!=]=)\s*\d")
NAMES = re.compile(
    r"\bconstexpr\b[^;]*\b(tensorMapBytes|tensorMapAlignment|mbarrierBytes|barrierBytes|warpgroupWarps|minCopyBytes"
    r"|maxCopyBytes|swizzlePatternBytes|registersPerThread)\s*=\s*\d"
)


def without_comments(text: str) -> str:
    return re.sub(r"//[^\n]*|\"(?:[^\"\\\n]|\\.)*\"", "", text)


def problems_in(path: Path, text: str) -> list[str]:
    if path.as_posix().startswith(HOMES):
        return []
    code = without_comments(text) if path.suffix != ".py" else re.sub(r"#[^\n]*", "", text)
    numbers = NUMBERS.get(path.suffix, NUMBERS[""])
    return [
        f"{path}: '{found[0]}' {what}"
        for pattern, what in (
            (numbers, "is a number of some GPU; ask TargetInfo"),
            (COMPARISON, "compares capabilities; ask TargetInfo"),
            (NAMES, "is a size of the instruction set; use ir/support/Hardware.h"),
        )
        for found in pattern.finditer(code)
    ]


def problems() -> list[str]:
    return [problem for path in files(".cpp", ".h", ".py", folders=FOLDERS) for problem in problems_in(path, read(path))]


if __name__ == "__main__":
    found = problems()
    print("\n".join(found))
    sys.exit(bool(found))
