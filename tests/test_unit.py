# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every GoogleTest case as a pytest test.

One pytest test per GoogleTest case, so that one line counts everything.

How: the program runs once, at the first case asked for; its JSON report
answers for each case. A case that the report lacks (the program died before
it) fails with the program's last output.
"""

import functools
import json
import subprocess
import tempfile
from pathlib import Path

import pytest

from harness.native import BUILD, program

RELATIVE = "tests/tilewright-unit"


def parse_list(listing: str) -> list[str]:
    """Case names from --gtest_list_tests: suites end in a dot, cases are indented."""
    names, suite = [], ""
    for line in listing.splitlines():
        text = line.split("#")[0].rstrip()
        if text.endswith(".") and not text.startswith(" "):
            suite = text
        elif text.startswith("  "):
            names.append(suite + text.strip())
    return names


def list_cases() -> list[str]:
    path = BUILD / RELATIVE
    if not path.exists():
        return []
    listing = subprocess.run([path, "--gtest_list_tests"], capture_output=True, text=True, timeout=60)
    return parse_list(listing.stdout)


@functools.cache
def run_all() -> tuple[dict[str, dict], str]:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        done = subprocess.run([program(RELATIVE), f"--gtest_output=json:{report}"], capture_output=True, text=True, timeout=600)
        output = done.stdout[-4000:] + done.stderr[-4000:]
        # A program that died part-way writes no report: its text output still
        # says which cases passed before.
        if not report.exists():
            passed = {
                line.split("]")[1].split("(")[0].strip(): {"result": "COMPLETED"}
                for line in done.stdout.splitlines()
                if line.startswith("[       OK ]")
            }
            return passed, f"exit status {done.returncode}\n{output}"
        suites = json.loads(report.read_text())["testsuites"]
    return {f"{case['classname']}.{case['name']}": case for suite in suites for case in suite["testsuite"]}, output


CASES = list_cases()


def test_program_has_cases():
    program(RELATIVE)
    assert CASES, "tilewright-unit lists no case"


@pytest.mark.parametrize("name", CASES)
def test_case(name):
    results, output = run_all()
    assert name in results, f"{name} did not finish\n{output}"
    result = results[name]
    if result.get("result") == "SKIPPED":
        pytest.skip("skipped by the case itself")
    failures = "\n".join(failure["failure"] for failure in result.get("failures", []))
    assert not failures, failures
    assert result.get("result") == "COMPLETED"


def test_parse_list():
    listing = "Running main()\nLayout.\n  Compose\n  Invert\nFp8/Round.  # TypeParam = int\n  Ties/0  # GetParam() = 3\n"
    assert parse_list(listing) == ["Layout.Compose", "Layout.Invert", "Fp8/Round.Ties/0"]
