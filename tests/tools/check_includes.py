# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Who may include whom: one table, and no other include passes.

    python tests/tools/check_includes.py

A folder may include itself and what its row names. External headers that a
folder must not see are in a table of their own: no LLVM in the runtime, nothing of
MLIR or Python in the meaning of the language. Whatever the table allows, no two folders
include each other, at any depth. A header whose name ends in
Internal.h never leaves its folder. Own headers are named by their path from the root.
"""

import re
import sys
from pathlib import Path

from tools.sources import files, read

IR = ["ir/support", "ir/layout", "ir/dialect"]
# The front end without MLIR.
FACE = ["ir/support", "frontend/semantic", "frontend/python"]

# Folder -> folders it may include beside itself. The longest matching folder
# decides, for the including and for the included file.
ALLOWED = {
    "ir/support": [],
    "ir/layout": ["ir/support"],
    "ir/dialect": ["ir/support", "ir/layout"],
    "frontend/semantic": ["ir/support"],
    "frontend/emit": [*IR, "frontend/semantic"],
    "frontend/python": ["ir/support", "frontend/semantic"],
    "frontend/ast": [*IR, "frontend/semantic", "frontend/emit", "frontend/python"],
    # A phase sees the analyses and no other phase. The plan of a loop is data, and names no pass.
    "passes": IR,
    "passes/analysis": IR,
    "passes/schedule": [*IR, "passes/analysis"],
    "passes/tile": [*IR, "passes/", "passes/analysis"],
    "passes/layout": [*IR, "passes/", "passes/analysis"],
    "passes/async": [*IR, "passes/", "passes/analysis", "passes/schedule"],
    "passes/resources": [*IR, "passes/", "passes/analysis"],
    "passes/testing": [*IR, "passes/", "passes/analysis", "passes/schedule"],
    "passes/pipeline": [*IR, "passes/", "passes/analysis"],
    # codegen sees the headers of the pipeline and no other pass.
    "codegen": IR,
    "codegen/lower": IR,
    "codegen/emit": [*IR, "codegen/target", "codegen/lower", "passes/pipeline"],
    "runtime": ["ir/support"],
    "runtime/launch": ["ir/support", "runtime/driver"],
    "runtime/profile": ["ir/support", "runtime/driver"],
    "runtime/interpreter": ["ir/support", "frontend/semantic"],
    "autotune": ["ir/support", "runtime"],
    # The module's root knows none of its topics: each registers what it has (Bindings.h). A "/" at the end of
    # a name means that folder alone.
    "python/bindings": ["ir/support"],
    "python/portability": [],
    "python/bindings/launch": ["ir/support", "frontend/python", "codegen/emit", "runtime", "python/bindings/"],
    "python/bindings/tuning": ["ir/support", "frontend/python", "autotune", "python/bindings/", "python/bindings/launch"],
    "python/bindings/interpreter": [*FACE, "runtime/interpreter", "python/bindings/"],
    "python/bindings/language": [*FACE, "python/bindings/"],
    "python/bindings/compile": ["ir", "frontend", "passes", "codegen", "runtime", "python/bindings/"],
    "tools": ["ir", "frontend", "passes", "codegen"],
    "tests": ["ir", "frontend", "passes", "codegen", "runtime", "autotune", "tests"],
}

# Folder -> external headers that must not appear in it, by prefix.
FORBIDDEN = {
    "ir/support": ["mlir/", "llvm/", "pybind11/", "Python.h"],
    "ir/layout": ["mlir/", "llvm/", "pybind11/", "Python.h"],
    "ir/dialect": ["pybind11/", "Python.h"],
    "frontend/semantic": ["mlir/", "llvm/", "pybind11/", "Python.h", "numpy/"],
    "frontend/emit": ["pybind11/", "Python.h"],
    "frontend/python": ["mlir/", "llvm/"],
    "passes": ["pybind11/", "Python.h", "cuda.h"],
    "codegen": ["pybind11/", "Python.h", "cuda.h"],
    "runtime": ["mlir/", "llvm/"],
    "autotune": ["mlir/", "llvm/"],
}

INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.MULTILINE)


def longest(table, path: str) -> str | None:
    """The most specific row of a table that a path lies in."""
    rows = [row for row in table if path == row or path.startswith(row + "/")]
    return max(rows, key=len, default=None)


def problems_in(path: Path, text: str) -> list[str]:
    own = path.parent.as_posix()
    row = longest(ALLOWED, own)
    if row is None:
        return [f"{path}: its folder is not in the table"]
    problems = []
    for quote, name in INCLUDE.findall(text):
        # What a test's program includes is made by the test.
        if quote == '"' and "/" not in name and not own.startswith("tests/e2e/data"):
            problems.append(f"{path}: name {name} by its path from the root")
        forbidden = [prefix for prefix in FORBIDDEN.get(longest(FORBIDDEN, own), []) if name.startswith(prefix)]
        if forbidden:
            problems.append(f"{path}: must not see {forbidden[0]}, but includes {name}")
        target = longest(ALLOWED, Path(name).parent.as_posix())
        if target is None or Path(name).parts[0] not in {r.split("/")[0] for r in ALLOWED}:
            continue
        folder = Path(name).parent.as_posix()
        same = target == row
        allowed = any(folder == a.rstrip("/") or (not a.endswith("/") and folder.startswith(a + "/")) for a in ALLOWED[row])
        # The interpreter's row is narrower than the runtime's, not part of it.
        if not same and not allowed:
            problems.append(f"{path}: {row} must not include {name}")
        if name.endswith("Internal.h") and folder != own:
            problems.append(f"{path}: {name} is for inside {folder} only")
    return problems


def cycles(texts: dict[Path, str]) -> list[list[str]]:
    """Groups of folders that include each other, directly or by way of others, whatever the tables allow."""
    needs: dict[str, set[str]] = {path.parent.as_posix(): set() for path in texts}
    for path, text in texts.items():
        own = path.parent.as_posix()
        needs[own] |= {folder for _, name in INCLUDE.findall(text) if (folder := Path(name).parent.as_posix()) in needs} - {own}
    reach = {folder: reachable(needs, folder) for folder in needs}
    groups = {frozenset(other for other in reach[folder] if folder in reach[other]) for folder in needs}
    return sorted(sorted(group) for group in groups if len(group) > 1)


def reachable(needs: dict[str, set[str]], start: str) -> set[str]:
    seen, todo = set(), [start]
    while todo:
        for other in needs[todo.pop()] - seen:
            seen.add(other)
            todo.append(other)
    return seen


def problems() -> list[str]:
    texts = {path: read(path) for path in files(".h", ".cpp", ".def", ".inc")}
    found = [p for path, text in texts.items() for p in problems_in(path, text)]
    return found + [f"folders include each other: {', '.join(group)}" for group in cycles(texts)]


if __name__ == "__main__":
    found = problems()
    print("\n".join(found) or "includes: ok")
    sys.exit(bool(found))
