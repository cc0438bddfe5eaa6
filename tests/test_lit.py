# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every FileCheck test as a pytest test.

One pytest test per file below tests/lit. lit runs once over all of them
and its JSON report answers for each.
"""

import functools
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from harness.native import ROOT, program

FOLDER = ROOT / "tests" / "lit"
# IR, and in folders below Python files whose kernels the front end prints.
FILES = sorted(str(path.relative_to(FOLDER)) for path in [*FOLDER.rglob("*.mlir"), *FOLDER.glob("*/*.py")])


@functools.cache
def run_all() -> dict[str, dict]:
    pytest.importorskip("lit", reason="lit is not installed")
    program("tools/tilewright-opt")
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        done = subprocess.run(
            # Files of its own: another process of these tests may run them at the same time.
            [sys.executable, "-c", "from lit.main import main; main()", "-q", "-v", f"-Dexec_root={folder}"]
            + ["--output", report, FOLDER],
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert report.exists(), done.stdout[-4000:] + done.stderr[-4000:]
        tests = json.loads(report.read_text())["tests"]
    return {test["name"].split(" :: ", 1)[1]: test for test in tests}


@pytest.mark.parametrize("file", FILES)
def test_file(file):
    result = run_all().get(file)
    assert result is not None, f"lit did not run {file}"
    if result["code"] == "UNSUPPORTED":
        pytest.skip("unsupported here (REQUIRES in the file)")
    assert result["code"] in ("PASS", "XFAIL"), result["output"]
