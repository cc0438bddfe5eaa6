# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The whole launch path against a driver that records (tests/mock)."""

import pathlib

import pytest
from harness.mock_driver import run_in_mock_process

HERE = pathlib.Path(__file__).parent


@pytest.mark.parametrize("cases", ["cases_launch.py", "cases_launch_forms.py", "cases_descriptors.py",
                                   "cases_autotuner.py", "cases_tuned_launch.py", "cases_threads.py"])
def test_launches_reach_the_driver(tmp_path, cases):
    code, output = run_in_mock_process(HERE / cases, tmp_path)
    assert code == 0, output
    assert " passed" in output, output


@pytest.mark.parametrize("version", ["1", "2"])
def test_tensors_through_the_exchange_table(tmp_path, monkeypatch, version):
    """A process of its own for each version: the table is looked for once."""
    monkeypatch.setenv("TABLE_VERSION", version)
    code, output = run_in_mock_process(HERE / "cases_exchange_table.py", tmp_path)
    assert code == 0, output
    assert " passed" in output, output
