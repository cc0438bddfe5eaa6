# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The stubs are those that the package gives, they agree with it, and checkers read kernels by them."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.sources import ROOT, load_script

generate_stubs = load_script(ROOT / "scripts/generate_stubs.py")
PACKAGE = ROOT / "python" / "tilewright"
RIGHT, WRONG = (ROOT / "tests" / "tools" / "typing" / f"{name}.py" for name in ("right", "wrong"))

# Names of stubtest's complaints that are meant to be.
ALLOWED = r"""
# A checker that calls itself so takes the first branch.
tilewright\.language\._values\.MYPY
# Metaclasses are how the package sees what programs put in their classes.
tilewright\.language\.core\.(block_type|dtype|pointer_type)
tilewright\.runtime\..*\.(JITFunction|Autotuner|Heuristics)
# Facts of the implementation.
tilewright\.language\._values\.tuple
tilewright\.language\.semantic\.(BUILDER|SEMANTIC|TritonSemantic\.(lang|tensor))
.*\.__(copy|deepcopy|array_ufunc|tilewright_kernel)__
"""

needs_mypy = pytest.mark.skipif(not shutil.which("mypy", path=str(Path(sys.executable).parent)), reason="mypy is not installed")
_PYRIGHT = shutil.which("pyright") or shutil.which("pyright", path=str(Path(sys.executable).parent))
needs_pyright = pytest.mark.skipif(not _PYRIGHT, reason="pyright is not installed")


def test_stubs_are_up_to_date():
    # A name that is found when it is asked for changes nothing.
    language = generate_stubs.tilewright.language
    assert language.standard.jit is generate_stubs.tilewright.jit
    assert language.extra.hip.libdevice.abs is language.extra.hip.libdevice.abs
    texts = generate_stubs.stubs()
    assert {str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.pyi")} == set(texts)
    for path, text in texts.items():
        assert (PACKAGE / path).read_text() == text, f"python/tilewright/{path} is stale: run make stubs"


def test_every_function_has_a_docstring():
    """What an editor shows where the mouse rests: at least a sentence for each function of the language."""
    text = (PACKAGE / "language" / "__init__.pyi").read_text()
    namespace = generate_stubs.tilewright.language
    functions = [name for name in re.findall(r" as (\w+)$", text, re.M) if callable(getattr(namespace, name, None))]
    silent = [name for name in functions if not (getattr(namespace, name).__doc__ or "").strip()]
    assert len(functions) > 120
    assert silent == []


@needs_mypy
def test_stubs_agree_with_the_package(tmp_path):
    """mypy's stubtest: names, parameters, their kinds and defaults.

    The stubs alone, as the modules beside them have no types.
    """
    for path in PACKAGE.rglob("*.pyi"):
        target = tmp_path / "tilewright" / path.relative_to(PACKAGE)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    for folder in ("runtime", "tuning"):
        (tmp_path / "tilewright" / folder / "__init__.pyi").touch()
    (tmp_path / "mypy.ini").write_text(
        f"[mypy]\nmypy_path = {tmp_path}\nignore_missing_imports = True\ncache_dir = {tmp_path}/cache\n"
    )
    (tmp_path / "allowed").write_text(ALLOWED)
    modules = ["tilewright.language", *(f"tilewright.{name}" for name in generate_stubs.stub_types.RUNTIME)]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy.stubtest",
            "--concise",
            "--ignore-unused-allowlist",
            "--mypy-config-file",
            tmp_path / "mypy.ini",
            "--allowlist",
            tmp_path / "allowed",
            *modules,
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def run_mypy(tmp_path, *files) -> str:
    """mypy as it is without settings, but that its search ends at this package."""
    config = tmp_path / "mypy.ini"
    config.write_text(
        f"[mypy]\nmypy_path = {ROOT / 'python'}:{ROOT / 'tutorials'}\nfollow_imports = silent\n"
        f"ignore_missing_imports = True\ncache_dir = {tmp_path}/cache\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", config, "--no-error-summary", *files], capture_output=True, text=True
    )
    return done.stdout + done.stderr


@needs_mypy
def test_mypy(tmp_path):
    """Nothing about the lessons and `right.py`, and each planted mistake at its line."""
    lessons = sorted((ROOT / "tutorials").glob("*.py"))
    text = run_mypy(tmp_path, *lessons, RIGHT, WRONG)
    reported = {int(line) for line in re.findall(r"wrong\.py:(\d+): error", text)}
    assert len(lessons) > 9
    assert reported == marked("wrong"), text
    assert [line for line in text.splitlines() if "wrong.py" not in line] == []


@needs_pyright
def test_pyright(tmp_path):
    for path in [*(ROOT / "tutorials").glob("*.py"), RIGHT, WRONG]:
        shutil.copy(path, tmp_path)
    (tmp_path / "pyrightconfig.json").write_text(
        json.dumps({"extraPaths": [str(ROOT / "python")], "reportMissingImports": "none"})
    )
    text = subprocess.run([_PYRIGHT, "-p", tmp_path], capture_output=True, text=True).stdout
    errors = re.findall(r"/(\w+)\.py:(\d+):\d+ - error: (.*)", text)
    reported = {int(line) for name, line, _ in errors if name == "wrong"}
    assert reported == marked("wrong", "wrong pyright"), text
    # A docstring may be None for a checker, which says nothing of kernels.
    assert [e for e in errors if e[0] != "wrong" and "splitlines" not in e[2]] == [], text


def marked(*comments) -> set:
    return {
        number
        for number, line in enumerate(WRONG.read_text().splitlines(), 1)
        if line.rpartition("  # ")[2] in comments and "  # " in line
    }


def test_wheels_hold_the_stubs():
    """Everything in the package's folder is in a wheel, and the mark that says that the package has types."""
    assert (PACKAGE / "py.typed").is_file()
    text = (ROOT / "pyproject.toml").read_text()
    assert 'wheel.packages = ["python/tilewright"]' in text
    ignored = subprocess.run(
        ["git", "check-ignore", *map(str, PACKAGE.rglob("*.pyi"))], cwd=ROOT, capture_output=True, text=True
    )
    assert ignored.stdout == "" and "wheel.exclude" not in text
