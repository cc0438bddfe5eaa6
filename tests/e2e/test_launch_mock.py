# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The whole launch path against a driver that records (tests/mock)."""

import os
import pathlib
import subprocess
import sys
import textwrap

import pytest
from harness.mock_driver import build, run_in_mock_process

HERE = pathlib.Path(__file__).parent


@pytest.mark.parametrize(
    "cases",
    [
        "cases_launch.py",
        "cases_launch_arguments.py",
        "cases_launch_forms.py",
        "cases_bound_launch.py",
        "cases_descriptors.py",
        "cases_autotuner.py",
        "cases_tuned_launch.py",
        "cases_tuned_changes.py",
        "cases_threads.py",
        "cases_overlap.py",
        "cases_profiler.py",
        "cases_specializations.py",
        "cases_check.py",
        "cases_jax.py",
        "cases_cupy.py",
    ],
)
def test_launches_reach_the_driver(tmp_path, cases):
    code, output = run_in_mock_process(HERE / "mock" / cases, tmp_path)
    assert code == 0, output
    assert " passed" in output, output


@pytest.mark.parametrize("version", ["1", "2"])
def test_tensors_through_the_exchange_table(tmp_path, monkeypatch, version):
    """A process of its own for each version: the table is looked for once."""
    monkeypatch.setenv("TABLE_VERSION", version)
    code, output = run_in_mock_process(HERE / "mock" / "cases_exchange_table.py", tmp_path)
    assert code == 0, output
    assert " passed" in output, output


def test_a_launch_asks_for_no_clocks(tmp_path):
    """The driver reads them from the board; a process of its own, as they are asked for once."""
    script = textwrap.dedent("""
        import tilewright
        from harness.mock_driver import FakeCompiler, FakeTensor, Mock
        from tilewright import _core
        class constexpr: pass
        def kernel(x, n, BLOCK: constexpr): pass
        _core.compile_kernel = FakeCompiler()
        tilewright.jit(kernel, source="def kernel(x, n, BLOCK): pass")[(1,)](FakeTensor(), 1000, BLOCK=64)
        mock = Mock()
        before = mock.library.mockClockQueries()
        _core.device_properties(0)
        print(mock.count, before, mock.library.mockClockQueries())
    """)
    environment = {**os.environ, "TILEWRIGHT_LIBCUDA_PATH": build(tmp_path), "TILEWRIGHT_CACHE": "0",
                   "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}  # fmt: skip
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    assert done.stdout.split() == ["1", "0", "2"], done.stderr
