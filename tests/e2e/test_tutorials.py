# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every lesson runs as a script, as a reader would run it.

Each checks itself against NumPy; without a GPU it runs in the interpreter, which has every
check of its own on and must find nothing. On a GPU the whole sweep runs too, so that the timing and the plot cannot rot.
"""

import os
import subprocess
import sys

import pytest

from harness.devices import gpu_problem
from harness.native import ROOT

LESSONS = sorted(path.name for path in (ROOT / "tutorials").glob("[0-9]*.py"))


# Lessons about a framework, which run where it is.
FRAMEWORKS = {"20_torch_custom_op.py": "torch", "21_jax.py": "jax", "22_cupy.py": "cupy"}


def run_lesson(name, *arguments):
    if (framework := FRAMEWORKS.get(name)) is not None:
        pytest.importorskip(framework, reason=f"the lesson needs {framework}")
        if framework == "cupy" and (problem := gpu_problem()):
            pytest.skip(problem)
    done = subprocess.run(
        [sys.executable, str(ROOT / "tutorials" / name), *arguments],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "TILEWRIGHT_CHECK": "all"},
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


def test_lessons_are_found():
    assert [f"{number:02}" for number in (*range(1, 18), 20, 21, 22)] == [name.partition("_")[0] for name in LESSONS]


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_lesson_without_its_framework(name, tmp_path):
    (tmp_path / f"{FRAMEWORKS[name]}.py").write_text("raise ImportError('not here')\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)])}
    done = subprocess.run([sys.executable, str(ROOT / "tutorials" / name)], capture_output=True, text=True, env=environment)
    assert done.returncode == 1 and done.stdout == ""
    assert (
        done.stderr.startswith(f"this lesson needs {FRAMEWORKS[name]}, which cannot be imported")
        and "pip install" in done.stderr
    )


@pytest.mark.parametrize("name", LESSONS)
def test_lesson(name):
    output = run_lesson(name, "--quick")
    assert "  ok" in output and "WRONG" not in output


# The lesson that finds bugs has nothing to time.
@pytest.mark.gpu
@pytest.mark.parametrize("name", [name for name in LESSONS if not name.startswith("12")])
def test_lesson_sweep(name):
    problem = gpu_problem()
    if problem:
        pytest.skip(problem)
    output = run_lesson(name)
    assert "GB/s" in output or "TFLOP/s" in output
