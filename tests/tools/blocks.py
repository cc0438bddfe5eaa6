# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Blocks of code on the pages: which there are, and how they are run.

A block of ```python or ```console is run as it stands. One that cannot run here says
so to its reader by a comment, `# needs a GPU`; it is compiled, or its commands are
parsed. The Python blocks of a page are one script, in their order.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from tools.sources import ROOT

NEEDS = re.compile(r"^\s*# needs ", re.MULTILINE)
FENCED = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LANGUAGES = {"python", "console", "text", "c", "cpp", "cmake", "json", "toml", "yaml"}


def blocks_of(page: str) -> list[tuple[str, str]]:
    """(language, text) of the fenced blocks of a page."""
    return FENCED.findall(page)


def script_of(page: str) -> str:
    """The Python blocks of a page that can run, as one script."""
    return "\n\n".join(text for language, text in blocks_of(page) if language == "python" and not NEEDS.search(text))


def commands_of(block: str) -> list[str]:
    """The command lines of a console block, continued ones joined."""
    lines = block.replace("\\\n", " ").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.strip().startswith("#")]


def words_of(command: str) -> tuple[dict[str, str], list[str]]:
    """The variables that a command sets, and its words."""
    words = shlex.split(command, comments=True)
    count = next((i for i, word in enumerate(words) if not re.match(r"[A-Z_]+=", word)), len(words))
    return dict(word.split("=", 1) for word in words[:count]), words[count:]


def environment(folder: Path, **more: str) -> dict[str, str]:
    """A user's, with a cache of its own."""
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT / "python"),
        "TILEWRIGHT_CACHE": "1",
        "TILEWRIGHT_CACHE_DIR": str(folder / "cache"),
        **more,
    }


def run(command: str, folder: Path) -> subprocess.CompletedProcess:
    """Runs one command of a page in `folder`, with this Python and this tree."""
    variables, words = words_of(command)
    own = {"python": [sys.executable], "tilewright": [sys.executable, "-m", "tilewright"]}
    return subprocess.run(
        [*own.get(words[0], [words[0]]), *words[1:]],
        cwd=folder,
        env=environment(folder, **variables),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def command_problems(command: str, parser, targets: set[str]) -> list[str]:
    """What is wrong with a command that is not run: its arguments, the file or the target that it names."""
    _, words = words_of(command)
    if words[0] == "tilewright":
        # What follows a script is the script's.
        parse = parser.parse_known_args if words[1] in ("run", "check", "profile", "prove") else parser.parse_args
        try:
            parse(words[1:])
        except SystemExit:
            return [f"'{command}' is not understood"]
    if words[0] == "make" and words[1] not in targets:
        return [f"make knows no '{words[1]}'"]
    if (
        words[0] == "python"
        and words[1].startswith(("tutorials/", "tests/", "benchmarks/", "scripts/"))
        and not (ROOT / words[1]).exists()
    ):
        return [f"{words[1]} does not exist"]
    return []
