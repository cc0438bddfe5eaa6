# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each block of code on the pages runs, or says what it needs and is compiled."""

import re
import subprocess
import sys

import pytest

from tilewright import cli
from tools import blocks
from tools.sources import ROOT

PAGES = sorted(path.relative_to(ROOT) for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")])
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
CONSOLE = [
    (page, text) for page in PAGES for language, text in blocks.blocks_of((ROOT / page).read_text()) if language == "console"
]

# Pages whose Python blocks are no programs -> why.
FRAGMENTS = {"docs/autotuner.md": "a sweep needs several GPUs or machines, and the kernels are only hinted at"}


def text_of(page):
    return (ROOT / page).read_text()


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_languages_are_named(page):
    assert {language for language, _ in blocks.blocks_of(text_of(page))} <= blocks.LANGUAGES
    # A fence without a language would be neither run nor seen.
    assert not re.findall(r"^```\n(?=(?:from|import|tilewright|python|make) )", text_of(page), re.MULTILINE)


@pytest.mark.parametrize("page", [page for page in PAGES if "```python" in text_of(page)], ids=str)
def test_python(page, tmp_path):
    if str(page) in FRAGMENTS:
        pytest.skip(FRAGMENTS[str(page)])
    for language, text in blocks.blocks_of(text_of(page)):
        if language == "python":
            compile(text, str(page), "exec")
    script = tmp_path / f"{page.stem}.py"
    script.write_text(blocks.script_of(text_of(page)))
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        env=blocks.environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page, text", CONSOLE, ids=[f"{page}-{i}" for i, (page, _) in enumerate(CONSOLE)])
def test_console(page, text, tmp_path):
    if "tilewright prove" in text:
        pytest.importorskip("z3", reason="proofs need z3-solver")
    for folder in ("tutorials", "tests", "docs", "benchmarks"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    for command in blocks.commands_of(text):
        if blocks.NEEDS.search(text):
            assert not blocks.command_problems(command, cli._parser(), TARGETS)
        else:
            done = blocks.run(command, tmp_path)
            assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"


def test_blocks_can_fail(tmp_path):
    page = (
        "```python\nx = 1\n```\n\n"
        "```python\n# needs a GPU\nimport nothing\n```\n\n"
        "```console\n# a comment\nA=1 python \\\n  x.py # more\n```\n"
    )
    assert [language for language, _ in blocks.blocks_of(page)] == ["python", "python", "console"]
    assert blocks.script_of(page) == "x = 1\n"
    (command,) = blocks.commands_of(blocks.blocks_of(page)[2][1])
    assert blocks.words_of(command) == ({"A": "1"}, ["python", "x.py"])
    assert blocks.run("python -c 'raise SystemExit(3)'", tmp_path).returncode == 3
    for wrong in ("tilewright compile", "tilewright bake x", "make cake", "python tests/gone.py"):
        assert blocks.command_problems(wrong, cli._parser(), TARGETS), wrong
    assert not blocks.command_problems("make test", cli._parser(), TARGETS)
