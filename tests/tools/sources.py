# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The repository's files, for the checks."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Folders with sources; build folders and virtual environments lie outside of them.
FOLDERS = ["frontend", "ir", "passes", "codegen", "runtime", "autotune", "python", "tools", "tests", "tutorials",
           "benchmarks", "scripts"]  # fmt: skip


def files(*suffixes: str, folders=FOLDERS) -> list[Path]:
    """Paths relative to the root, sorted."""
    found = []
    for folder in folders:
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in suffixes and path.is_file() and "__pycache__" not in path.parts:
                found.append(path.relative_to(ROOT))
    return sorted(found)


def read(path: Path) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def load_script(path: Path):
    """A script of scripts/ as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
