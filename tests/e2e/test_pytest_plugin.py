# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pytest plugin, in runs of pytest of its own."""

import os
import subprocess
import sys
import textwrap

import pytest

from harness import devices

TEST = """
import numpy as np
import tilewright
import tilewright.language as tl

@tilewright.jit
def add(x, out, n, by, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + o, tl.load(x + o, o < n) // by, o LIMIT)

def test_add(kernel_mode):
    x = kernel_mode.array(np.full(300, 6, np.int32))
    out = kernel_mode.empty(300, "int32")
    assert x.shape == (300,) and kernel_mode.is_compiled == (kernel_mode.name == "compiled")
    add[(3,)](x, out, 300, BY, BLOCK=128)
    assert BY == 0 or (kernel_mode.numpy(out) == 6 // BY).all()
    assert (kernel_mode.numpy(kernel_mode.zeros((2, 3), "float16")) == np.zeros((2, 3), np.float16)).all()
"""


@pytest.fixture
def run(tmp_path):

    def run_pytest(*arguments, limit="< n", by="2", ini="", **environment):
        (tmp_path / "test_kernel.py").write_text(TEST.replace("LIMIT", limit).replace("BY", by))
        (tmp_path / "pytest.ini").write_text("[pytest]\n" + textwrap.dedent(ini))
        kept = {k: v for k, v in os.environ.items() if k not in ("TILEWRIGHT_INTERPRET", "TILEWRIGHT_CHECK")}
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "tilewright.pytest_plugin", "-rs", "-p", "no:cacheprovider", *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            env={**kept, **environment},
        )
        return done.returncode, done.stdout + done.stderr

    return run_pytest


def test_both_modes_or_a_visible_skip(run):
    status, output = run("-v")
    assert status == 0, output
    assert "test_add[interpreted] PASSED" in output
    if devices.gpu_problem():
        assert "test_add[compiled] SKIPPED" in output and "no GPU: the compiled kernel did not run" in output
    else:
        assert "test_add[compiled] PASSED" in output


def test_the_interpreter_checks_bounds(run):
    status, output = run("-k", "interpreted", limit="<= n")
    assert status == 1 and "E0407" in output, output


def test_more_checks_are_an_option_and_a_setting(run):
    for way in ({"ini": "kernel_checks = division"}, {"TILEWRIGHT_CHECK": "division"}):
        status, output = run("-k", "interpreted", by="0", **way)
        assert status == 1 and "zero" in output, output
    assert run("-k", "interpreted", "--kernel-checks", "division", by="0")[0] == 1
    assert run("-k", "interpreted", "--kernel-checks=-division", by="0", ini="kernel_checks = division")[0] == 0


def test_an_interpreted_run_says_why_nothing_is_compiled(run):
    _, output = run(TILEWRIGHT_INTERPRET="1")
    assert "TILEWRIGHT_INTERPRET" in output and "1 passed, 1 skipped" in output


def test_the_plugin_is_declared():
    from pathlib import Path

    tomllib = pytest.importorskip("tomllib")  # since Python 3.11
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"tilewright": "tilewright.pytest_plugin"}
