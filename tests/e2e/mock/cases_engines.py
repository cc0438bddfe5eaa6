# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sweeps through Dask and Ray, as docs/autotuner.md sets them up, on worker processes of this machine.

Run by test_tuning.py.
"""

import contextlib
import os
import sys

import pytest

from harness.swept_kernels import TARGET, processes_by_block, seconds_of_one_and_two
from harness.tuner_cases import records, simulated_device  # noqa: F401
from tilewright import tuning
from tilewright.tuning import table

if "MOCK_CASES" not in os.environ:
    pytest.skip("needs the mock driver; see test_tuning.py", allow_module_level=True)


@contextlib.contextmanager
def dask_executor():
    distributed = pytest.importorskip("distributed", reason="distributed is not installed: pip install distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client.get_executor()


@contextlib.contextmanager
def ray_executor():
    ray = pytest.importorskip("ray", reason="ray is not installed: pip install ray")
    os.environ["RAY_worker_niceness"] = "0"  # 15 otherwise: beside other tests they would hardly run
    ray.init(num_cpus=2, num_gpus=0, include_dashboard=False, log_to_driver=False)
    try:
        with pytest.raises(ValueError, match="^Ray knows of no GPU; give the number of workers$"):
            tuning.RayExecutor()
        with tuning.RayExecutor(workers=2, num_gpus=0, num_cpus=1) as executor:
            yield executor
    finally:
        ray.shutdown()


@pytest.mark.parametrize("engine", [dask_executor, ray_executor])
def test_engine(engine, tmp_path, monkeypatch):
    """Whole problems, then parts of one in less time than one worker's, then with a worker that is killed."""
    log = tmp_path / "log"
    log.touch()
    monkeypatch.setenv("SWEPT_LOG", str(log))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    with engine() as executor:
        whole = [{"n": n, "configurations": 3, "best": 2, "seconds": 0.02} for n in range(1, 5)]
        assert tuning.sweep(TARGET, [*whole, {"fails": "negative"}], executor, workers=2) == [""] * 4 + ["ValueError: negative"]
        assert {header["records"][header["best"]]["kwargs"]["BLOCK"] for _, header in table.all_tables()} == {"2"}
        seconds = seconds_of_one_and_two((executor, executor), 10)
        assert len(records()) == 24 and seconds[1] <= 0.65 * seconds[0], seconds
        log.write_text("")
        assert tuning.sweep(TARGET, [{"n": 20, "best": 8, "deadly": 15, "seconds": 0.01}], executor, workers=2) == [""]
    (header,) = (h for _, h in table.all_tables() if h["key"] == "(20, 'float64')")
    assert len(header["records"]) == 24 and {r["status"] for r in header["records"].values()} <= {"ok", "slow"}
    assert header["records"][header["best"]]["kwargs"]["BLOCK"] == "8"
    # The one that died has run it once, and another one after that: the other worker, or the one in the dead one's place.
    assert len(processes_by_block(log)[15]) == 2
