# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tuner on simulated kernels, in a process with the recording driver."""

import pathlib

import pytest
from harness.mock_driver import run_in_mock_process


@pytest.mark.parametrize(
    "cases",
    [
        "cases_tuning.py",
        "cases_tuning_safety.py",
        "cases_tuning_failures.py",
        "cases_tuning_tables.py",
        "cases_tuner_subclasses.py",
        "cases_sweeps.py",
        "cases_engines.py",
    ],
)
def test_tuner(cases, tmp_path):
    code, output = run_in_mock_process(pathlib.Path(__file__).parent / "mock" / cases, tmp_path)
    assert code == 0, output
    assert " passed" in output, output
