# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tuner on a GPU: data that stays whole, candidates that are wrong, fault or hang."""

import os
import subprocess
import sys
import warnings

import pytest

import tilewright
import tilewright.language as tl
from harness import devices
from tilewright import errors, tuning
from tilewright.compiler import disk_cache
from tilewright.tuning import executors, table

pytestmark = [pytest.mark.gpu, pytest.mark.e2e]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    if problem := devices.gpu_problem():
        if devices_required():
            pytest.fail(f"a GPU is required: {problem}")
        pytest.skip(problem)
    monkeypatch.setenv("TILEWRIGHT_CACHE", "1")
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    disk_cache._stores.clear()
    errors._warned.clear()


def devices_required():
    return os.environ.get("TILEWRIGHT_REQUIRE_GPU") == "1"


def configs(*blocks):
    return [tilewright.Config({"BLOCK": b}, num_warps=4) for b in blocks]


def statuses():
    return {r["kwargs"]["BLOCK"]: r["status"] for _, header in table.all_tables() for r in header["records"].values()}


def grid(n):
    return lambda meta: (tilewright.cdiv(n, meta["BLOCK"]),)


@tilewright.jit
def increment(x_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + i, tl.load(x_ptr + i, i < n) + 1, i < n)


@pytest.mark.parametrize("view", ["whole", "slice", "strided", "front"])
def test_in_place_kernel_runs_once(view):
    import torch

    base = torch.arange(40000, device="cuda", dtype=torch.float32)
    before = base.clone()
    x = {"whole": base, "slice": base[1000:31000], "strided": base[::2][:1], "front": base[:20000]}[view]
    n = 1 if view == "strided" else x.numel()
    tuned = tilewright.autotune(configs(256, 512, 1024, 2048), key=["n"])(increment)
    tuned[grid(n)](x, n)
    expected = before.clone()
    expected[x.storage_offset() : x.storage_offset() + n] += 1
    assert torch.equal(base, expected)
    again = tilewright.autotune(configs(256, 512, 1024, 2048), key=["n"])(increment)
    again[grid(n)](x, n)
    assert again.best_config == tuned.best_config and set(statuses().values()) <= {"ok", "slow"}


@tilewright.jit
def half_written(x_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + i, i.to(tl.float32), (i < n) & ((BLOCK != 512) | (i % 2 == 0)))


def test_wrong_candidate_is_found():
    import torch

    x = torch.zeros(100000, device="cuda")
    tuned = tilewright.autotune(configs(256, 512, 1024), key=["n"])(half_written)
    with pytest.warns(errors.TuneWarning, match="E0604"):
        tuned[grid(x.numel())](x, x.numel())
    assert statuses()["512"] == "wrong" and torch.equal(x, torch.arange(100000, device="cuda").float())


@tilewright.jit
def faulty(x_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if BLOCK == 512:
        tl.store(x_ptr + i.to(tl.int64) * 100000007 + (1 << 44), 1.0)
    tl.store(x_ptr + i, 2.0, i < n)


@tilewright.jit
def hanging(x_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if BLOCK == 512:
        while tl.load(x_ptr + n - 1, volatile=True) < 1e30:
            tl.store(x_ptr, 1.0)
    tl.store(x_ptr + i, 2.0, i < n)


def tune_in_this_process(name):
    """What the processes of the next test run; prints what was chosen."""
    import torch

    kernel = {"faulty": faulty, "hanging": hanging}[name]
    x = torch.zeros(4096, device="cuda")
    tuned = tilewright.autotune(configs(256, 512, 1024, 2048), key=["n"])(kernel)
    try:
        tuned[grid(4096)](x, 4096)
    except (errors.DeviceFault, errors.KernelHang, errors.ContextLost) as error:
        print(error, flush=True)
        return
    print(f"chosen: {tuned.best_config.kwargs['BLOCK']}", flush=True)


@pytest.mark.parametrize("name, code, status", [("faulty", "E0401", "failed"), ("hanging", "E0406", "hung")])
def test_candidate_that_costs_its_process(name, code, status, tmp_path):
    """Without a child: the error names the configuration, the process ends, the second start works."""
    script = f"import test_tuning_gpu; test_tuning_gpu.tune_in_this_process({name!r})"
    here = os.path.dirname(os.path.abspath(__file__))
    environment = {
        **os.environ,
        "TILEWRIGHT_TUNE_TIMEOUT": "1",
        "PYTHONPATH": os.pathsep.join([here, os.path.dirname(here), *filter(None, sys.path)]),
    }
    said = [
        subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=60)
        for _ in range(2)
    ]
    # Where the framework saw the fault first, the driver only says that the context is lost.
    codes = (code, "E0402") if code == "E0401" else (code,)
    assert any(f"[{one}]" in said[0].stdout for one in codes), (said[0].stdout, said[0].stderr)
    assert "BLOCK: 512" in said[0].stdout, (said[0].stdout, said[0].stderr)
    assert "leaves this configuration out" in said[0].stdout
    assert said[1].stdout.startswith("chosen: ") and "512" not in said[1].stdout, (said[1].stdout, said[1].stderr)
    disk_cache._stores.clear()
    kept = statuses()
    assert kept["512"] == status and set(kept.values()) <= {status, "ok", "slow"} and len(kept) == 4


@pytest.mark.parametrize("kernel, status", [(faulty, "failed"), (hanging, "hung")], ids=["fault", "hang"])
def test_isolated_candidate_may_fault_or_hang(kernel, status, monkeypatch):
    """T2 on a GPU: the candidate is recorded, this process's context stays well."""
    import torch

    monkeypatch.setenv("TILEWRIGHT_TUNE_TIMEOUT", "3")
    x = torch.zeros(10000, device="cuda")
    tuned = tilewright.autotune(configs(256, 512, 1024), key=["n"], isolate=True)(kernel)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tuned[grid(x.numel())](x, x.numel())
    torch.cuda.synchronize()
    assert statuses()["512"] == status and tuned.best_config.kwargs["BLOCK"] != 512
    assert (x == 2).all()


def test_noise_of_equal_configurations():
    """T3 on a GPU: of equal configurations the earlier choice stays."""
    import torch

    x = torch.zeros(1 << 22, device="cuda")
    flips = 0
    for number in range(10):
        n = x.numel() - number
        tilewright.autotune(configs(1024, 128), key=["n"])(increment)[grid(n)](x, n)
        first = tilewright.autotune(configs(1024, 128), key=["n"])(increment)
        first[grid(n)](x, n)
        twin = tilewright.Config({"BLOCK": 1024}, num_warps=4, num_stages=2)  # the same machine code
        second = tilewright.autotune([*configs(1024, 128), twin], key=["n"])(increment)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.TuneWarning)
            second[grid(n)](x, n)
        flips += second.best_config != first.best_config
    assert flips <= 1, flips


SWEPT = """
import os
import numpy as np
import tilewright as tw
import tilewright.language as tl
from tilewright import _core

@tw.autotune([tw.Config({"BLOCK": b}, num_warps=4) for b in (256, 512, 1024)], key=["n"])
@tw.jit
def fill(x_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + i, 2.0, i < n)

def launch(n):
    x = _core.DeviceBuffer(4 * n)
    fill[lambda meta: (tw.cdiv(n, meta["BLOCK"]), )](x, n)
    values = np.zeros(n, np.float32)
    _core.synchronize(0)
    x.copy_to(values)
    assert (values == 2).all()
    with open(os.environ["SWEPT_LOG"], "a") as log:
        log.write(os.environ["CUDA_VISIBLE_DEVICES"] + "\\n")
"""


def test_sweep_over_every_gpu(tmp_path, monkeypatch):
    """One process per GPU; their tables end in this process's cache."""
    path = tmp_path / "swept.py"
    path.write_text(SWEPT)
    monkeypatch.setenv("SWEPT_LOG", str(tmp_path / "log"))
    problems = [{"n": 1 << k} for k in range(12, 20)]
    with tuning.GpuPool() as pool:
        assert tuning.sweep(f"{path}:launch", problems, pool) == [""] * len(problems)
    assert len(table.all_tables()) == len(problems) and set(statuses().values()) <= {"ok", "slow"}
    used = (tmp_path / "log").read_text().split()
    assert len(used) >= len(problems) and set(used) <= set(executors.visible_devices())


def test_configurations_are_divided_and_outlive_a_worker(tmp_path, monkeypatch):
    """One problem over two processes, on two GPUs where there are two; the first that launches is killed once."""
    path = tmp_path / "swept.py"
    path.write_text(
        SWEPT.replace(
            "    x = _core.DeviceBuffer",
            """    if not os.path.exists(os.environ["SWEPT_LOG"] + ".killed"):
        fill.fn[(1,)](_core.DeviceBuffer(4096), 1024, BLOCK=1024)
        _core.synchronize(0)
        open(os.environ["SWEPT_LOG"] + ".killed", "w").close()
        os.kill(os.getpid(), 9)
    x = _core.DeviceBuffer""",
        )
    )
    monkeypatch.setenv("SWEPT_LOG", str(tmp_path / "log"))
    devices = executors.visible_devices()
    with tuning.GpuPool((devices * 2)[:2]) as pool:
        assert tuning.sweep(f"{path}:launch", [{"n": 1 << 20}], pool) == [""]
    ((_, header),) = table.all_tables()
    assert len(header["records"]) == 3 and header["best"] and set(statuses().values()) <= {"ok", "slow"}
