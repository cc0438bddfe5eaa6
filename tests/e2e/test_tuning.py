# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tuner on simulated kernels, in a process with the recording driver."""

import pathlib

from harness.mock_driver import run_in_mock_process


def test_tuner(tmp_path):
    code, output = run_in_mock_process(pathlib.Path(__file__).parent / "cases_tuning.py", tmp_path)
    assert code == 0, output
    assert " passed" in output, output
