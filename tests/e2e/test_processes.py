# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fork, spawn and forkserver, before and after CUDA was used: what a child can do, in all 24 cases."""

import os
import subprocess
import sys

import pytest
from harness.mock_driver import ROOT, build


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    return build(tmp_path_factory.mktemp("mock"))


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_tasks_of_a_child(driver, when, method):
    paths = [str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")]
    environment = {
        **os.environ,
        "TILEWRIGHT_LIBCUDA_PATH": driver,
        "TILEWRIGHT_CACHE": "0",
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
    }
    environment.pop("TILEWRIGHT_INTERPRET", None)
    done = subprocess.run(
        [sys.executable, "-m", "harness.process_tasks", when, method], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    # CUDA cannot be used after a fork; all else can.
    launched = "E0213" if (when, method) == ("after", "fork") else "ok"
    assert done.stdout.splitlines() == ["compile ok", f"launch {launched}", "interpret ok", "ask ok"], done.stderr
