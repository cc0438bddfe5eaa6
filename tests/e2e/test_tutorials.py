# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every lesson runs as a script, as a reader would run it.

Each checks itself against NumPy; without a GPU it runs in the interpreter. On a
GPU the whole sweep runs too, so that the timing and the plot cannot rot.
"""

import os
import subprocess
import sys

import pytest

from harness.devices import gpu_problem
from harness.native import ROOT

LESSONS = sorted(path.name for path in (ROOT / "tutorials").glob("[0-9]*.py"))


def run_lesson(name, *arguments):
    done = subprocess.run([sys.executable, str(ROOT / "tutorials" / name), *arguments],
                          capture_output=True, text=True, timeout=600, env=dict(os.environ))
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


def test_lessons_are_found():
    assert {"01", "02", "03", "05", "06", "08", "09", "10", "11", "12"} == {name.partition("_")[0] for name in LESSONS}


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
