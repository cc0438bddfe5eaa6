# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Candidates that fail, fault, hang or do not fit, in this process and in a child; run by test_tuning.py."""

import gc
import os
import warnings

import numpy as np
import pytest

import tilewright
from harness import simulated
from harness.mock_driver import FakeCompiler, Mock
from harness.simulated import Array
from harness.tuner_cases import TRIALS, Planted, launch, nothing, outputs_only, records, tuned
from tilewright import _core, errors
from tilewright.tuning import bench, isolation, session
from tilewright.tuning.bench import DeviceBench

if "MOCK_CASES" not in os.environ:
    pytest.skip("needs the mock driver; see test_tuning.py", allow_module_level=True)

pytest_plugins = ["harness.tuner_cases"]


class constexpr:
    """The annotation alone."""


# -- candidates that fail ------------------------------------------------------------


@pytest.mark.parametrize("kind", ["run", "compile", "resources", "threads", "memory", "slow compile", "wrong"])
@pytest.mark.parametrize("place", [n % 3 for n in range(TRIALS or 3)])
def test_bad_candidates_are_recorded_and_the_rest_goes_on(kind, place):
    """T2, in process: what ends is the candidate, not the tuning."""
    blocks = [64, 128, 256]
    bad = blocks[place]

    def body(arguments):
        if kind == "run" and arguments["BLOCK"] == bad:
            raise Planted("illegal something")
        if kind == "memory" and arguments["BLOCK"] == bad:
            raise MemoryError("out of memory")
        arguments["x"].values[:] = 3.0 if kind == "wrong" and arguments["BLOCK"] == bad else 4.0

    def resources(config):
        if config["BLOCK"] == bad:
            if kind == "compile":
                raise errors.make("E0900", pass_="p", **{"pass": "p"}, message="m", path="f")
            if kind == "slow compile":
                import time

                time.sleep(0.3)
            if kind == "resources":
                return {"shared": 10**6, **outputs_only(config)}
            if kind == "threads":
                return {"n_regs": 255, "num_warps": 32, **outputs_only(config)}
        return outputs_only(config)

    times = {b: 1.0 + i for i, b in enumerate(blocks)}
    x = Array(np.zeros(8))
    tuner = tuned(body, times, resources=resources)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.TuneWarning)
        launch(tuner, x, 5)
    status = {
        "run": "failed",
        "compile": "failed",
        "resources": "pruned",
        "threads": "pruned",
        "memory": "failed",
        "slow compile": "ok",
        "wrong": "wrong",
    }[kind]
    assert records()[str(bad)]["status"] == status, records()[str(bad)]
    if status != "ok":
        assert tuner.best_config.kwargs["BLOCK"] != bad and records()[str(bad)]["reason"]
    assert (x.values == 4.0).all()


def test_hung_candidate_is_named_and_skipped_the_next_time(monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_TUNE_TIMEOUT", "5")
    times = {64: 1.0, 128: 10_000.0, 256: 2.0}
    with pytest.raises(errors.KernelHang, match=r"\[E0406\] 'nothing' ran longer than 5 s with BLOCK: 128"):
        launch(tuned(nothing, times, jit=None), Array([1.0]), 5)
    with pytest.raises(errors.KernelHang):
        launch(tuned(nothing, times), Array([1.0]), 5)
    assert records()["128"]["status"] == "hung" and records()["128"]["lost"]
    again = tuned(nothing, times)
    launch(again, Array([1.0]), 5)
    assert again.best_config.kwargs == {"BLOCK": 64} and 128 not in {c["BLOCK"] for c in again.fn.launched}


def test_device_fault_is_raised_and_remembered():
    def body(arguments):
        if arguments["BLOCK"] == 128:
            raise errors.make("E0401", name="k", file="f", line=1, config="c", error="CUDA_ERROR_ILLEGAL_ADDRESS")

    said = (
        r"\[E0401\][\s\S]*while 'identity' was tuned, by its configuration BLOCK: 128,[\s\S]*run again in a new one: it leaves "
        r"this configuration out"
    )
    x = Array([1.0])
    with pytest.raises(errors.DeviceFault, match=said) as info:
        launch(tuned(body, {64: 1.0, 128: 0.5}), x, 5)
    assert info.value.code == "E0401" and records()["128"]["status"] == "failed" and records()["128"]["lost"]
    launch(tuned(body, {64: 1.0, 128: 0.5}), x, 5)
    with pytest.raises(errors.DeviceFault, match="a new process will meet it again; with isolate=True"):
        launch(tuned(body, {64: 1.0, 128: 0.5}, jit=None), x, 5)  # whose content is not known


@pytest.mark.parametrize("at", [2, 3, 4])
def test_fault_in_a_later_run_is_remembered(at):
    """In the rounds, not only in the first run."""
    runs = []

    def body(arguments):
        if arguments["BLOCK"] == 128:
            runs.append(1)
            if len(runs) == at:
                raise errors.make("E0401", name="k", file="f", line=1, config="c", error="CUDA_ERROR_ILLEGAL_ADDRESS")

    times = {64: 1.0, 128: 1.01, 256: 1.02}
    with pytest.raises(errors.DeviceFault, match="by its configuration BLOCK: 128"):
        launch(tuned(body, times), Array([1.0]), 5)
    again = tuned(body, times)
    launch(again, Array([1.0]), 5)
    assert records()["128"]["status"] == "failed" and 128 not in {c["BLOCK"] for c in again.fn.launched}


@pytest.mark.parametrize("at", [2, 3, 4])
def test_failure_in_a_later_run_ends_the_candidate_alone(at):
    runs = []

    def body(arguments):
        if arguments["BLOCK"] == 128:
            runs.append(1)
            if len(runs) >= at:
                raise Planted("later")

    tuner = tuned(body, {64: 1.0, 128: 0.9, 256: 1.02})
    launch(tuner, Array([1.0]), 5)
    assert tuner.best_config.kwargs == {"BLOCK": 64} and len(runs) == at
    assert (records()["128"]["status"], records()["128"]["reason"]) == ("failed", "Planted later")
    assert {records()[b]["status"] for b in ("64", "256")} == {"ok"}


def test_where_a_candidate_has_cost_a_process_the_others_are_tried_in_a_child(monkeypatch):
    started = []

    class Watched(isolation.Trials):
        def __init__(self, timeout):
            started.append(timeout)
            super().__init__(timeout)

    monkeypatch.setattr(session, "Trials", Watched)

    def body(arguments):
        if arguments["BLOCK"] == 128:
            raise errors.make("E0401", name="k", file="f", line=1, config="c", error="CUDA_ERROR_ILLEGAL_ADDRESS")

    with pytest.raises(errors.DeviceFault):
        launch(tuned(body, {64: 1.0, 128: 0.5, 256: 2.0}), Array([1.0]), 5)
    assert not started
    launch(tuned(body, {64: 1.0, 128: 0.5, 256: 2.0, 512: 3.0}, isolate=False), Array([1.0]), 5)
    assert not started
    launch(tuned(body, {64: 1.0, 128: 0.5, 256: 2.0, 512: 3.0, 1024: 4.0}), Array([1.0]), 5)
    assert started
    launch(tuned(nothing, {64: 1.0, 256: 2.0}), Array([1.0]), 6)  # another key
    assert len(started) == 1


def test_nothing_waits_for_a_hung_gpu(monkeypatch):
    """Else the error would never be seen, and the process would not end."""
    monkeypatch.setenv("TILEWRIGHT_TUNE_TIMEOUT", "0.2")
    monkeypatch.setattr(_core, "compile_kernel", FakeCompiler())
    monkeypatch.setattr(bench, "DeviceBench", DeviceBench)
    mock, x = Mock(), _core.DeviceBuffer(1024)
    hang = tilewright.Config({"BLOCK": 128}, pre_hook=lambda named: mock.library.mockHang(1))

    @tilewright.autotune(configs=[*simulated.configs(64), hang], key=[], isolate=False)
    @tilewright.jit
    def kernel(x, n, BLOCK: constexpr):
        pass

    try:
        with pytest.raises(errors.KernelHang, match=r"\[E0406\] 'kernel' ran longer than 0.2 s with BLOCK: 128"):
            kernel[(1,)](x, 5)
        del kernel, x, hang
        gc.collect()
        assert mock.library.mockBlocked() == 0
    finally:
        mock.library.mockHang(0)
        _core.set_abandoned(False)


def test_none_works():
    def body(arguments):
        raise Planted(f"no {arguments['BLOCK']}")

    with pytest.raises(errors.NoValidConfig, match=r"none of 2 configurations ran") as info:
        launch(tuned(body, {64: 1.0, 128: 1.0}), Array([1.0]), 5)
    assert "no 64" in str(info.value) and "no 128" in str(info.value)


def test_tuning_copies_may_not_fit(monkeypatch):
    def full(self, on_host):
        raise RuntimeError("CUDA out of memory")

    monkeypatch.setattr(simulated.HostRegion, "copy", full)
    with pytest.raises(errors.OutOfMemory, match=r"\[E0303\] tuning needs 8 bytes for copies of x"):
        launch(
            tuned(nothing, {64: 1.0, 128: 1.0}, resources=lambda c: {"written_args": ["x"], "read_args": ["x"]}),
            Array([1.0]),
            5,
        )


def test_budget_ends_the_measuring(monkeypatch):
    clock = iter(range(10**6))
    monkeypatch.setattr("tilewright.tuning.session.time.monotonic", lambda: next(clock) * 0.01)
    tuner = tuned(nothing, {b: 1.0 for b in range(1, 200)}, budget=1.0)
    launch(tuner, Array([1.0]), 5)
    assert len({c["BLOCK"] for c in tuner.fn.launched}) < 150
    assert any(r["status"] == "skipped" or r["status"] == "ok" for r in records().values())


# -- candidates in a child process ---------------------------------------------------


@pytest.mark.parametrize("trial", range(TRIALS // 10 or 1))  # each starts processes
@pytest.mark.parametrize(
    "fault, status, reason",
    [(700, "failed", "CUDA_ERROR_ILLEGAL_ADDRESS"), (-1, "hung", "longer than 1 s"), (701, "failed", "E0")],
)
def test_isolated_candidates_may_fault_and_hang(monkeypatch, fault, status, reason, trial):
    """T2: the real launcher and a driver that faults or never answers; this process stays well."""
    monkeypatch.setenv("TILEWRIGHT_TUNE_TIMEOUT", "1")
    fake = FakeCompiler()

    def compile_kernel(fn, signature, constexprs, *rest):
        result = fake(fn, signature, constexprs, *rest)
        if constexprs["BLOCK"] in (64, 256):
            result["cubin"] = result["cubin"].rstrip(b"\0") + f"|{fault}\0".encode()
        return result

    monkeypatch.setattr(_core, "compile_kernel", compile_kernel)

    @tilewright.autotune(configs=simulated.configs(64, 128, 256, 512), key=[], isolate=True)
    @tilewright.jit
    def kernel(x, n, BLOCK: constexpr):
        pass

    x = _core.DeviceBuffer(1024)
    kernel[lambda meta: (meta["BLOCK"],)](x, 5)
    kept = records()
    assert {b: r["status"] for b, r in kept.items() if b in ("64", "256")} == {"64": status, "256": status}
    assert all(reason in kept[b]["reason"] for b in ("64", "256")), kept["64"]["reason"]
    assert kept["128"]["status"] in ("ok", "slow") and kept["512"]["status"] in ("ok", "slow")
    kernel[(1,)](x, 5)


def test_isolation_leaves_out_what_it_cannot_send():
    trials = isolation.Trials(1.0)
    with pytest.raises(isolation.Unsupported, match="more than its arguments"):
        trials.trial(simulated.Compiled(simulated.Metadata()), {}, (1,))
    tuner = tuned(nothing, {64: 2.0, 128: 1.0}, isolate=True)
    launch(tuner, Array([1.0]), 5)
    assert tuner.best_config.kwargs == {"BLOCK": 128}
