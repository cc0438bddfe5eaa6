# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs programs as tests: each file of SUITE_SCRIPTS as a script.

With SUITE_SCRIPT_PLACE "process" a program is started the way its user would start it, with
`tilewright run` where Tilewright is what is tried and by Python alone otherwise, and passes when it
ends with code 0. With "inside" it runs in this process, which saves hundreds of small programs the
seconds that importing their framework takes, and passes when nothing is raised.
"""

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = [Path(name) for name in json.loads(os.environ.get("SUITE_SCRIPTS", "[]"))]
AS_TRITON = os.environ.get("TILEWRIGHT_AS_TRITON") == "1"
SECONDS = float(os.environ.get("SUITE_SCRIPT_SECONDS", "60"))
INSIDE = os.environ.get("SUITE_SCRIPT_PLACE") == "inside"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_script(script, tmp_path, monkeypatch):
    if INSIDE:
        monkeypatch.setattr(sys, "argv", [str(script)])
        monkeypatch.syspath_prepend(str(script.parent))
        monkeypatch.chdir(tmp_path)
        runpy.run_path(str(script), run_name="__main__")
    else:
        run_in_process(script, tmp_path)


def run_in_process(script, folder):
    command = [sys.executable, *(["-m", "tilewright", "run"] if AS_TRITON else []), str(script)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(script.parent), os.environ["PYTHONPATH"]])}
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS)
    if ran.returncode:
        pytest.fail(f"exit code {ran.returncode}\n{ran.stderr[-3000:]}", pytrace=False)
