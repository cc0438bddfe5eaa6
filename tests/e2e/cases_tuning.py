# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tuner on simulated kernels and the recording driver; run by test_tuning.py."""

import concurrent.futures
import gc
import json
import math
import os
import random
import subprocess
import sys
import textwrap
import threading
import warnings

import numpy as np
import pytest

import tilewright
from harness import simulated
from harness.mock_driver import FakeCompiler, Mock
from harness.simulated import Array, Simulated
from tilewright import _core, cli, errors, knobs, tuning
from tilewright.compiler import disk_cache
from tilewright.runtime.autotuner import Autotuner
from tilewright.tuning import bench, commands, executors, isolation, report, session, table
from tilewright.tuning.bench import DeviceBench

if "MOCK_CASES" not in os.environ:
    pytest.skip("needs the mock driver; see test_tuning.py", allow_module_level=True)


class constexpr:
    """The annotation alone."""


# More than the ordinary counts, for tests/campaigns/run.py.
TRIALS = int(os.environ.get("CAMPAIGN_TRIALS", "0"))


@tilewright.jit
def identity(x, n, BLOCK):
    """What the simulated kernels are tables for: a content that has a digest."""


@pytest.fixture(autouse=True)
def simulated_device(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE", "1")
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    disk_cache._stores.clear()
    table._files.clear()
    errors._warned.clear()
    Mock().reset()
    simulated.install(monkeypatch)


def tuned(body, times, names=("x", "n"), key=("n", ), configs=None, resources=lambda c: {}, jit=identity, **options):
    """A tuner over a simulated kernel; `times` maps BLOCK to milliseconds."""
    kernel = Simulated(body, names, lambda a: times[a["BLOCK"]] * (1 + random.random() * 0.01), resources, jit)
    configs = simulated.configs(*times) if configs is None else configs
    return Autotuner(kernel, list(names), configs, list(key), **options)


def nothing(arguments):
    pass


def launch(tuner, *args, **kwargs):
    return tuner.run(*args, grid=(1, ), warmup=False, **kwargs)


def records():
    """Every record on disk by BLOCK."""
    return {r["kwargs"]["BLOCK"]: r for _, header in table.all_tables() for r in header["records"].values()}


# -- choosing ------------------------------------------------------------------------


def test_fastest_is_chosen_and_every_figure_kept():
    tuner = tuned(nothing, {64: 3.0, 128: 1.0, 256: 2.0})
    launch(tuner, Array([1.0]), 5)
    assert tuner.best_config.kwargs == {"BLOCK": 128}
    assert all(len(t) == 3 and t[1] <= t[0] <= t[2] for t in tuner.configs_timings.values())
    kept = records()
    assert {k: r["status"] for k, r in kept.items()} == {"64": "ok", "128": "ok", "256": "ok"}
    assert kept["128"]["low"] <= kept["128"]["median"] <= kept["128"]["high"] and kept["128"]["registers"] == 32


def test_second_process_measures_nothing():
    first = tuned(nothing, {64: 3.0, 128: 1.0})
    launch(first, Array([1.0]), 5)
    second = tuned(nothing, {64: 3.0, 128: 1.0})
    launch(second, Array([1.0]), 5)
    assert second.best_config.kwargs == {"BLOCK": 128} and len(second.fn.launched) == 1 and not second.fn.compiled
    assert second.configs_timings.keys() == first.configs_timings.keys()
    launch(second, Array([1.0]), 6)  # another key
    assert len(second.fn.compiled) == 2


def test_new_configuration_measures_only_itself():
    launch(tuned(nothing, {64: 3.0, 128: 1.0}), Array([1.0]), 5)
    more = tuned(nothing, {64: 3.0, 128: 1.0, 256: 0.5})
    launch(more, Array([1.0]), 5)
    assert {c["BLOCK"] for c in more.fn.compiled} == {256} and more.best_config.kwargs == {"BLOCK": 256}
    fewer = tuned(nothing, {64: 3.0})
    fewer.configs = simulated.configs(64, 128)
    launch(fewer := tuned(nothing, {64: 3.0, 128: 1.0}), Array([1.0]), 5)
    assert fewer.best_config.kwargs == {"BLOCK": 128} and not fewer.fn.compiled


def test_tables_can_be_off(monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_TUNE_TABLES", "0")
    for _ in range(2):
        tuner = tuned(nothing, {64: 3.0, 128: 1.0})
        launch(tuner, Array([1.0]), 5)
        assert len(tuner.fn.compiled) == 2
    monkeypatch.delenv("TILEWRIGHT_TUNE_TABLES")
    assert not table.all_tables()


def test_another_kernel_or_device_has_its_own_table(monkeypatch):
    launch(tuned(nothing, {64: 3.0, 128: 1.0}), Array([1.0]), 5)

    @tilewright.jit
    def identity(x, n, BLOCK):
        n + 1  # noqa: B018

    other = tuned(nothing, {64: 1.0, 128: 3.0}, jit=identity)
    launch(other, Array([1.0]), 5)
    assert other.best_config.kwargs == {"BLOCK": 64}
    monkeypatch.setattr(table, "device_fields", lambda device: {"device": "Another GPU", "driver": "CUDA 13"})
    again = tuned(nothing, {64: 1.0, 128: 3.0})
    launch(again, Array([1.0]), 5)
    assert again.best_config.kwargs == {"BLOCK": 64} and len(table.all_tables()) == 3


def test_slow_candidates_are_measured_twice():
    tuner = tuned(nothing, {64: 100.0, 128: 1.0, 256: 1.1})
    launch(tuner, Array([1.0]), 5)
    slow = [c for c in tuner.fn.launched if c["BLOCK"] == 64]
    assert len(slow) == 2 and records()["64"]["status"] == "slow" and "the best 1" in records()["64"]["reason"]


def test_late_first_run_is_no_slow_kernel():
    """The compiler's threads may keep the first launch waiting behind its event."""
    late = [64]

    def milliseconds(arguments):
        delay = 50.0 if arguments["BLOCK"] in late else 0.0
        late.clear()
        return {64: 1.0, 128: 2.0, 256: 3.0}[arguments["BLOCK"]] + delay

    kernel = Simulated(nothing, ["x", "n"], milliseconds, jit=identity)
    tuner = Autotuner(kernel, ["x", "n"], simulated.configs(64, 128, 256), ["n"])
    launch(tuner, Array([1.0]), 5)
    assert tuner.best_config.kwargs == {"BLOCK": 64}


def test_host_comparison_looks_everywhere():
    from tilewright.tuning import memory

    assert memory.sampled_pieces(1000) == [(0, 1000)]
    for size in ((16 << 20) + 4, 1 << 30, (3 << 30) + 12):
        pieces = memory.sampled_pieces(size)
        assert pieces[0][0] == 0 and sum(pieces[-1]) == size and sum(n for _, n in pieces) == 16 << 20
        assert all(a[0] + a[1] <= b[0] or size < 17 << 20 for a, b in zip(pieces, pieces[1:]))
        assert all(offset % 4 == 0 for offset, _ in pieces)


def test_hooks_and_hidden_state_of_configurations():
    """A configuration's hook runs before its compilation, which may depend on it."""
    seen = []
    configs = [tilewright.Config({"BLOCK": b}, pre_hook=lambda named, b=b: named["x"].values.__setitem__(1, b)) for b in (64, 128)]
    kernel = tuned(lambda a: seen.append((a["BLOCK"], int(a["x"].values[1]))), {64: 2.0, 128: 1.0}, configs=configs,
                   check=False)
    launch(kernel, Array([0.0, 0.0]), 5)
    assert all(block == value for block, value in seen) and kernel.best_config.kwargs == {"BLOCK": 128}


# -- safety --------------------------------------------------------------------------


def aliases(rng, size=64):
    """Two arrays over one memory: the same, apart, or overlapping in every way."""
    base = Array(rng.random(size).astype(np.float32))
    kind = rng.integers(5)
    half = size // 2
    a, b = [(base, base), (base.view(0, half), base.view(half, size)), (base.view(0, half + 8), base.view(half - 8, size)),
            (base, base.view(4, 20)), (base.view(8, 24), base)][kind]
    return base, a, b


@pytest.mark.parametrize("seed", range(TRIALS or 40))
def test_in_place_kernels_see_their_input_once(seed):
    """T1: the result is that of one run on the original input."""
    rng = np.random.default_rng(seed)
    base, a, b = aliases(rng)
    other = Array(rng.random(16).astype(np.float32))
    untouched = other.values.copy()
    n = min(a.values.size, b.values.size)

    def body(arguments):
        x, y = arguments["x"].values, arguments["y"].values
        if seed % 3 == 0:
            x[:n] += y[:n]
        elif seed % 3 == 1:
            y[:] = y * 2 + 1
        else:
            x[:n], y[:n] = y[:n].copy() + arguments["z"].values[0], x[:n].copy()

    expected = base.values.copy()
    copy = Array(expected)
    offset = (a.data_ptr() - base.data_ptr()) // 4, (b.data_ptr() - base.data_ptr()) // 4
    body({"x": copy.view(offset[0], offset[0] + a.values.size), "y": copy.view(offset[1], offset[1] + b.values.size), "z": other})
    written = {0: ["x"], 1: ["y"], 2: ["x", "y"]}[seed % 3]
    known = {"written_args": written, "read_args": ["x", "y", "z"]} if seed % 2 else {}
    tuner = tuned(body, {64: 2.0, 128: 1.0, 256: 1.5}, names=("x", "y", "z"), key=(), resources=lambda c: known)
    launch(tuner, a, b, other)
    assert np.array_equal(base.values, expected) and np.array_equal(other.values, untouched)
    assert len(tuner.fn.launched) > 10


def test_reset_to_zero_and_restore_value_still_mean_what_they_did():
    x = Array(np.array([5.0, 5.0]))

    def accumulate(arguments):
        arguments["x"].values += 1

    tuner = tuned(accumulate, {64: 1.0, 128: 2.0}, reset_to_zero=["x"])
    launch(tuner, x, 5)
    assert list(x.values) == [1.0, 1.0]  # zeroed before the run that counts, too
    launch(tuner, x, 5)
    assert list(x.values) == [2.0, 2.0]  # known now: nothing is tuned, nothing reset
    y = Array(np.array([5.0]))
    launch(tuned(accumulate, {64: 1.0, 128: 2.0}, restore_value=["x"]), y, 6)
    assert list(y.values) == [6.0]


def write_block(wrong=()):
    """Writes its output whole, or leaves a part out."""

    def body(arguments):
        out = arguments["x"].values
        end = len(out) // 2 if arguments["BLOCK"] in wrong else len(out)
        out[:end] = 7.0

    return body


def outputs_only(config):
    return {"written_args": ["x"], "read_args": []}


def test_candidate_that_leaves_elements_out_is_found():
    """Its output would look right over that of the candidate before it."""
    x = Array(np.zeros(32))
    tuner = tuned(write_block(wrong=[256]), {64: 3.0, 128: 2.0, 256: 1.0}, resources=outputs_only)
    with pytest.warns(errors.TuneWarning, match=r"\[E0604\] 1 of 3 configurations disagree with the reference"):
        launch(tuner, x, 5)
    assert tuner.best_config.kwargs == {"BLOCK": 128} and (x.values == 7).all()
    assert records()["256"]["status"] == "wrong" and "16 of 32 elements differ" in records()["256"]["reason"]


def test_first_candidate_may_be_the_wrong_one():
    x = Array(np.zeros(32))
    tuner = tuned(write_block(wrong=[64]), {64: 1.0, 128: 2.0, 256: 3.0}, resources=outputs_only)
    with pytest.warns(errors.TuneWarning, match="E0604"):
        launch(tuner, x, 5)
    assert tuner.best_config.kwargs == {"BLOCK": 128} and records()["64"]["reason"] == "most configurations disagree with it"


def test_reference_and_strict():
    def right(arguments):
        arguments["x"].values[:] = 7.0

    x = Array(np.zeros(32))
    tuner = tuned(write_block(wrong=[64, 256]), {64: 1.0, 128: 5.0, 256: 2.0}, resources=outputs_only, reference=right)
    with pytest.warns(errors.TuneWarning, match="2 of 3"):
        launch(tuner, x, 5)
    assert tuner.best_config.kwargs == {"BLOCK": 128}
    strict = tuned(write_block(wrong=[64]), {64: 1.0, 128: 5.0, 256: 2.0}, resources=outputs_only, check="strict")
    with pytest.raises(errors.TuneMismatch, match="E0604"):
        launch(strict, x, 6)


def test_rounding_is_no_mismatch():
    def body(arguments):
        arguments["x"].values[:] = np.float32(1.0) + np.float32(arguments["BLOCK"]) * np.float32(1e-6)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        launch(tuned(body, {64: 1.0, 128: 2.0}, resources=outputs_only), Array(np.zeros(8, np.float32)), 5)


def test_integers_must_agree_exactly():
    def body(arguments):
        arguments["x"].values[:] = 1000 + (arguments["BLOCK"] == 128)

    with pytest.warns(errors.TuneWarning, match="E0604"):
        launch(tuned(body, {64: 1.0, 128: 0.5, 256: 2.0}, resources=outputs_only), Array(np.zeros(8, np.int32)), 5)


# -- candidates that fail ------------------------------------------------------------


class Planted(RuntimeError):
    pass


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
    status = {"run": "failed", "compile": "failed", "resources": "pruned", "threads": "pruned", "memory": "failed",
              "slow compile": "ok", "wrong": "wrong"}[kind]
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

    said = r"\[E0401\][\s\S]*while 'identity' was tuned, by its configuration BLOCK: 128,[\s\S]*run again in a new one: it leaves " \
           r"this configuration out"
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
            kernel[(1, )](x, 5)
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
        launch(tuned(nothing, {64: 1.0, 128: 1.0}, resources=lambda c: {"written_args": ["x"], "read_args": ["x"]}), Array([1.0]), 5)


def test_budget_ends_the_measuring(monkeypatch):
    clock = iter(range(10**6))
    monkeypatch.setattr("tilewright.tuning.session.time.monotonic", lambda: next(clock) * 0.01)
    tuner = tuned(nothing, {b: 1.0 for b in range(1, 200)}, budget=1.0)
    launch(tuner, Array([1.0]), 5)
    assert len({c["BLOCK"] for c in tuner.fn.launched}) < 150
    assert any(r["status"] == "skipped" or r["status"] == "ok" for r in records().values())


# -- noise ---------------------------------------------------------------------------


def test_noise_decides_nothing():
    """T3: of two equal configurations the earlier stays; one that is 5 % faster wins."""
    trials = TRIALS or 40
    flips = wins = warned = 0
    for number in range(trials):
        random.seed(number)  # about one in eighty flips: forty trials must not be a lottery
        x = Array([1.0])
        launch(tuned(nothing, {64: 1.0, 32: 2.0}), x, number)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            errors._warned.clear()
            equal = tuned(nothing, {64: 1.0, 32: 2.0, 128: 1.0})
            launch(equal, x, number)
        texts = [str(w.message) for w in caught]
        kept_in_noise = equal.configs_timings[equal.configs[0]][0] > equal.configs_timings[equal.configs[2]][0] \
            and equal.best_config.kwargs == {"BLOCK": 64}
        assert kept_in_noise == any("[W0606] best and second differ by" in t and "%; kept the previous choice" in t for t in texts)
        warned += kept_in_noise
        flips += equal.best_config.kwargs != {"BLOCK": 64}
        faster = tuned(nothing, {64: 1.0, 32: 2.0, 128: 1.0, 256: 0.95})
        launch(faster, x, number)
        wins += faster.best_config.kwargs == {"BLOCK": 256}
    print(f"T3 figures: {flips} flips, {wins} wins of the faster, {warned} kept in the noise, of {trials}")
    assert flips <= trials * 0.05 and wins >= trials * 0.99, (flips, wins, trials)
    assert warned > 0


# -- resume, processes, threads ------------------------------------------------------


class Killed(BaseException):
    pass


@pytest.mark.parametrize("seed", range(TRIALS or 10))
def test_killed_tuning_resumes(seed):
    """T4: killed at any run, a tuning goes on; at most what was running is lost."""
    rng = random.Random(seed)
    blocks = {b: 1.0 + b / 10 for b in range(1, 11)}
    left = [rng.randrange(40)]

    def body(arguments):
        left[0] -= 1
        if left[0] < 0:
            raise Killed

    first = tuned(body, blocks)
    try:
        launch(first, Array([1.0]), 5)
    except Killed:
        pass
    after = records()
    dying = [b for b, r in after.items() if r["status"] == "running"]
    done = sum(len(r["samples"]) for r in after.values())
    again = tuned(nothing, blocks)
    launch(again, Array([1.0]), 5)
    assert len(dying) <= 1 and not {int(b) for b in dying} & {c["BLOCK"] for c in again.fn.launched}
    assert all(r["status"] in ("ok", "slow") or b in dying for b, r in records().items())
    assert again.best_config.kwargs["BLOCK"] in (1, 2)
    # The figures of before are in the figures now.
    assert sum(len(r["samples"]) for r in records().values()) >= done


def test_threads_tune_a_key_once_and_keys_apart():
    tuner = tuned(nothing, {64: 1.0, 128: 2.0})
    threads = [threading.Thread(target=lambda n=n: launch(tuner, Array([1.0]), n % 3)) for n in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(tuner.fn.compiled) == 6 and len(tuner.cache) == 3


def test_processes_lose_nothing(tmp_path, monkeypatch):
    """Many processes add configurations to one table at once."""
    target = sweep_module(tmp_path).replace(":problem", ":add_configurations")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    with tuning.GpuPool(devices=range(4)) as executor:
        outcome = tuning.sweep(target, [{"number": n} for n in range(8)], executor)
    assert outcome == [""] * 8
    wanted = {str(n * 10 + i) for n in range(8) for i in range(1, 6)} | {"1000"}
    assert set(records()) == wanted and all(r["status"] in ("ok", "slow") for r in records().values())


# -- spaces --------------------------------------------------------------------------


def test_small_space_is_listed():
    space = tuning.Space({"BLOCK": [16, 32, 64]}, num_warps=[2, 4], where=lambda c: c["BLOCK"] > 16 or c["num_warps"] == 2)
    assert len(space) == 6 and len(space.configs()) == 5
    tuner = tuned(nothing, {16: 3.0, 32: 1.0, 64: 2.0}, configs=space)
    assert tuner.space is None and len(tuner.configs) == 5
    launch(tuner, Array([1.0]), 5)
    assert tuner.best_config.kwargs == {"BLOCK": 32}


def test_large_space_is_searched_and_resumes():
    choices = {name: list(range(10)) for name in ("A", "B", "C", "D")}
    bottom = {"A": 7, "B": 2, "C": 5, "D": 0}

    def milliseconds(arguments):
        return 1.0 + sum((arguments[n] - bottom[n]) ** 2 for n in bottom) * 0.1

    def make():
        kernel = Simulated(nothing, ["x", "n"], milliseconds, jit=identity)
        return Autotuner(kernel, ["x", "n"], tuning.Space(choices, max_points=250, seed=3), ["n"], budget=600)

    tuner = make()
    launch(tuner, Array([1.0]), 5)
    assert tuner.best_config.kwargs == bottom and len(tuner.fn.compiled) <= 250
    again = make()
    launch(again, Array([1.0]), 5)
    assert again.best_config.kwargs == bottom and not again.fn.compiled


@pytest.mark.parametrize("seed", range(5))
def test_killed_search_goes_on(seed):
    """The points on disk are reported to the search again; what was running is skipped."""
    choices = {name: list(range(8)) for name in ("A", "B", "C")}
    rng = random.Random(seed)
    left = [rng.randrange(20, 400)]
    runs = []

    def body(arguments):
        runs.append(tuple(arguments[n] for n in choices))
        left[0] -= 1
        if left[0] == 0:
            raise Killed

    def make():
        kernel = Simulated(body, ["x", "n"], lambda a: 1.0 + abs(a["A"] - 5) + abs(a["B"] - 2) + abs(a["C"] - 7), jit=identity)
        return Autotuner(kernel, ["x", "n"], tuning.Space(choices, max_points=100, exhaustive=1, seed=seed), ["n"], budget=600)

    with pytest.raises(Killed):
        launch(make(), Array([1.0]), 5)
    done = {tuple(int(r["kwargs"][n]) for n in choices) for _, h in table.all_tables() for r in h["records"].values()
            if r["status"] in ("ok", "slow")}
    runs.clear()
    again = make()
    launch(again, Array([1.0]), 5)
    tuned_runs = runs[:-1]  # the last is the launch that counts
    assert not done & set(tuned_runs), "measured again"
    assert sum(again.best_config.kwargs[n] != v for n, v in {"A": 5, "B": 2, "C": 7}.items()) <= 1


# -- tables as files, the command ----------------------------------------------------


def run_command(*words):
    return cli.main(["tune", *map(str, words)])


def test_show_export_import_pin(tmp_path, capsys, monkeypatch):
    launch(tuned(nothing, {64: 3.0, 128: 1.0}), Array([1.0]), 5)
    assert run_command("show", "--all") == 0
    out = capsys.readouterr().out
    assert "best: BLOCK: 128" in out and "BLOCK: 64" in out and "Mock GPU" in out
    exported = tmp_path / "tables.json"
    assert run_command("export", exported) == 0
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "other"))
    assert run_command("import", exported) == 0 and "1 tables taken" in capsys.readouterr().out
    tuner = tuned(nothing, {64: 3.0, 128: 1.0})
    launch(tuner, Array([1.0]), 5)
    assert not tuner.fn.compiled and tuner.best_config.kwargs == {"BLOCK": 128}
    assert run_command("pin", "BLOCK: 64") == 0
    pinned = tuned(nothing, {64: 3.0, 128: 1.0, 256: 0.1})
    launch(pinned, Array([1.0]), 5)
    assert pinned.best_config.kwargs == {"BLOCK": 64} and not pinned.fn.compiled
    assert run_command("pin", "none") == 0
    free = tuned(nothing, {64: 3.0, 128: 1.0, 256: 0.1})
    launch(free, Array([1.0]), 5)
    assert free.best_config.kwargs == {"BLOCK": 256}
    with pytest.raises(SystemExit, match=r"3 configurations match 'BLOCK'; there are[\s\S]*BLOCK: 128"):
        run_command("pin", "BLOCK")
    with pytest.raises(SystemExit, match=r"0 configurations match 'BLOCK: 65'; there are[\s\S]*BLOCK: 256"):
        run_command("pin", "BLOCK: 65")
    assert run_command("export", tmp_path / "nowhere" / "tables.json") == 1
    assert "nowhere" in capsys.readouterr().err
    assert run_command("clear") == 0 and not table.all_tables()
    assert run_command("show") == 0 and "no tables" in capsys.readouterr().out


def test_pinning_one_of_several(capsys):
    """The beginning of another number is not meant; several tables are listed."""
    launch(tuned(nothing, {64: 3.0, 640: 1.0}), Array([1.0]), 5)
    assert run_command("pin", "BLOCK: 64") == 0 and "pinned: BLOCK: 64," in capsys.readouterr().out
    launch(tuned(nothing, {64: 3.0, 640: 1.0}), Array([1.0]), 6)
    with pytest.raises(SystemExit, match=r"2 tables match[\s\S]*--key [0-9a-f]{12}  identity for \(6,"):
        run_command("pin", "BLOCK: 640")


def test_table_beside_a_package_is_only_read(tmp_path, monkeypatch):
    launch(tuned(nothing, {64: 3.0, 128: 1.0}), Array([1.0]), 5)
    folder = tmp_path / "package"
    folder.mkdir()
    shipped = folder / table.FILE_NAME
    assert run_command("export", shipped) == 0
    shipped.chmod(0o444)
    before = shipped.read_bytes()
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "empty"))
    monkeypatch.setenv("TILEWRIGHT_TUNE_PATH", str(folder))
    # Of another compiler and driver: shipped tables hold all the same.
    monkeypatch.setattr(disk_cache, "package_digest", lambda: "another")
    tuner = tuned(nothing, {64: 3.0, 128: 1.0})
    launch(tuner, Array([1.0]), 5)
    assert tuner.best_config.kwargs == {"BLOCK": 128} and not tuner.fn.compiled
    assert shipped.read_bytes() == before and not table.all_tables()


def test_damaged_tables_are_left_out(tmp_path, monkeypatch):
    for number, text in enumerate(["", "{", "[]", '{"format": "x"}', '{"format": "%s", "tables": [1]}' % table.FORMAT,
                                   '{"format": "%s", "tables": [{"fields": {}, "records": {"a": 1}}]}' % table.FORMAT]):
        path = tmp_path / f"{number}.json"
        path.write_text(text)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert table.read_file(str(path)) == []
    launch(tuned(nothing, {64: 3.0, 128: 1.0}), Array([1.0]), 5)
    (key, header), = table.all_tables()
    table.store().save(key, {**header, "records": {"x": {"config": 3}}}, {})
    with pytest.warns(errors.CacheWarning, match="W0501"):
        launch(tuned(nothing, {64: 3.0, 128: 1.0}), Array([1.0]), 5)
    assert len(records()) == 2


def test_report_is_one_page_and_escapes(tmp_path, capsys):
    def evil(arguments):
        raise Planted("<script>alert(1)</script>\x1b[31m")

    evil.__name__ = "<img src=x onerror=alert(1)>"
    with pytest.raises(Planted):
        launch(tuned(evil, {64: 1.0, 128: 2.0}, configs=simulated.configs(64, 128)), Array([1.0]), "<b>&")
    launch(tuned(nothing, {64: 3.0, 128: 1.0}), Array([1.0]), 5)
    page = tmp_path / "report.html"
    assert run_command("report", page) == 0
    text = page.read_text()
    assert "<script>" not in text and "<img" not in text and "\x1b" not in text and "&lt;script&gt;" in text
    assert "http" not in text.replace("http-equiv", "") and text.count("<h2>") == 2 and "<svg" in text
    assert "1980 MHz" in text


def test_printing(capsys, monkeypatch):
    monkeypatch.setenv("TRITON_PRINT_AUTOTUNING", "1")
    launch(tuned(nothing, {64: 3.0, 128: 1.0}, resources=lambda c: {"shared": 10**6} if c["BLOCK"] == 64 else {}), Array([1.0]), 5)
    out = capsys.readouterr().out
    assert "autotuning for function" in out and "best config selected: BLOCK: 128" in out
    assert "does not fit: 1000000 bytes of shared memory, 232448 allowed" in out


def test_progress_is_for_terminals(monkeypatch):
    import io

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    progress = report.Progress.if_wanted("kernel")
    progress.last = -1.0
    launch(tuned(nothing, {64: 3.0, 128: 1.0}), Array([1.0]), 5)
    assert "tuning identity" in terminal.getvalue() and terminal.getvalue().endswith("\r\x1b[2K")
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert report.Progress.if_wanted("kernel") is None


def test_text_table():
    text = report.text_table([{"config": "B", "status": "failed", "reason": "why\x07", "median": None},
                              {"config": "A", "status": "ok", "reason": "", "median": 1.0, "low": 0.9, "high": 1.1}])
    assert text.splitlines()[1].endswith("A") and text.splitlines()[2].endswith("B: why?")


# -- many processes ------------------------------------------------------------------

def sweep_module(tmp_path):
    path = tmp_path / "sweep_problems.py"
    path.write_text(textwrap.dedent("""
        import tilewright
        from harness import simulated
        from harness.simulated import Array, Simulated
        from tilewright.runtime.autotuner import Autotuner
        from tilewright.tuning import bench
        bench.DeviceBench = simulated.Bench

        @tilewright.jit
        def identity(x, n, BLOCK):
            pass

        def add_configurations(number):
            for block in range(number * 10 + 1, number * 10 + 6):
                kernel = Simulated(lambda a: None, ["x", "n"], lambda a: float(a["BLOCK"]), jit=identity)
                tuner = Autotuner(kernel, ["x", "n"], simulated.configs(block, 1000), ["n"])
                tuner.run(Array([1.0]), 5, grid=(1, ), warmup=False)

        def problem(n, best):
            if n < 0:
                raise ValueError("negative")
            kernel = Simulated(lambda a: None, ["x", "n"], lambda a: 1.0 + (a["BLOCK"] != best), jit=identity)
            tuner = Autotuner(kernel, ["x", "n"], simulated.configs(16, 32, 64), ["n"])
            tuner.run(Array([1.0]), n, grid=(1, ), warmup=False)
    """))
    return f"{path}:problem"


@pytest.mark.parametrize("kind", ["here", "threads", "processes"])
def test_sweep(tmp_path, kind, monkeypatch):
    target = sweep_module(tmp_path)
    problems = [{"n": 1, "best": 16}, {"n": 2, "best": 32}, {"n": -1, "best": 0}, {"n": 3, "best": 64}]
    if kind == "here":
        outcome = tuning.sweep(target, problems)
    elif kind == "threads":
        with concurrent.futures.ThreadPoolExecutor(2) as executor:
            outcome = tuning.sweep(target, problems, executor)
    else:
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
        with tuning.GpuPool(devices=[0, 1]) as executor:
            outcome = tuning.sweep(target, problems, executor)
    assert outcome[:2] == ["", ""] and outcome[2].startswith("ValueError: negative") and outcome[3] == ""
    best = {header["key"]: header["records"][header["best"]]["kwargs"]["BLOCK"] for _, header in table.all_tables()}
    assert best == {"(1, 'float64')": "16", "(2, 'float64')": "32", "(3, 'float64')": "64"}


def test_sweep_takes_only_tables_from_workers(tmp_path):
    class Hostile(concurrent.futures.Executor):
        def submit(self, function, *args):
            future = concurrent.futures.Future()
            future.set_result(json.dumps({"error": "", "tables": [{"fields": [], "records": {}}, {"fields": {}, "records": {"a": 1}}]}))
            return future

    assert tuning.sweep("nothing:at_all", [{}], Hostile()) == [""]
    assert not table.all_tables()


def test_worker_that_dies_is_a_line(tmp_path):
    class Broken(concurrent.futures.Executor):
        def submit(self, function, *args):
            future = concurrent.futures.Future()
            future.set_exception(BrokenPipeError("gone"))
            return future

    assert tuning.sweep("nothing:at_all", [{}], Broken()) == ["the worker failed: BrokenPipeError: gone"]


def test_dask_adapter(tmp_path, monkeypatch):
    """The recipe of docs/autotuner.md, with a worker in a process of its own."""
    distributed = pytest.importorskip("distributed")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    target = sweep_module(tmp_path)
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster, \
            distributed.Client(cluster) as client:
        assert tuning.sweep(target, [{"n": 1, "best": 16}, {"n": -1, "best": 0}], client.get_executor()) == [
            "", "ValueError: negative"]
    assert len(table.all_tables()) == 1


def test_ray_recipe(tmp_path, monkeypatch):
    """The recipe of docs/autotuner.md."""
    ray = pytest.importorskip("ray")

    class RayExecutor(concurrent.futures.Executor):
        def submit(self, function, *arguments):
            return ray.remote(function).remote(*arguments).future()

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    target = sweep_module(tmp_path)
    ray.init(num_cpus=1, include_dashboard=False)
    try:
        assert tuning.sweep(target, [{"n": 1, "best": 16}, {"n": -1, "best": 0}], RayExecutor()) == [
            "", "ValueError: negative"]
    finally:
        ray.shutdown()
    assert len(table.all_tables()) == 1


def test_visible_devices(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3, GPU-abc")
    assert executors.visible_devices() == ["3", "GPU-abc"]
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    assert executors.visible_devices() == ["0", "1"]


def test_math_of_infinite_times():
    tuner = tuned(nothing, {64: 1.0, 128: 2.0}, resources=lambda c: {"shared": 10**6} if c["BLOCK"] == 128 else {})
    launch(tuner, Array([1.0]), 5)
    assert sorted(map(lambda t: math.isinf(t[0]), tuner.configs_timings.values())) == [False, True]
    assert commands is not None and subprocess is not None and knobs.autotuning.tables


# -- candidates in a child process ---------------------------------------------------


@pytest.mark.parametrize("trial", range(TRIALS // 10 or 1))  # each starts processes
@pytest.mark.parametrize("fault, status, reason", [(700, "failed", "CUDA_ERROR_ILLEGAL_ADDRESS"), (-1, "hung", "longer than 1 s"),
                                                   (701, "failed", "E0")])
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
    kernel[lambda meta: (meta["BLOCK"], )](x, 5)
    kept = records()
    assert {b: r["status"] for b, r in kept.items() if b in ("64", "256")} == {"64": status, "256": status}
    assert all(reason in kept[b]["reason"] for b in ("64", "256")), kept["64"]["reason"]
    assert kept["128"]["status"] in ("ok", "slow") and kept["512"]["status"] in ("ok", "slow")
    kernel[(1, )](x, 5)


def test_isolation_leaves_out_what_it_cannot_send():
    trials = isolation.Trials(1.0)
    with pytest.raises(isolation.Unsupported, match="more than its arguments"):
        trials.trial(simulated.Compiled(simulated.Metadata()), {}, (1, ))
    tuner = tuned(nothing, {64: 2.0, 128: 1.0}, isolate=True)
    launch(tuner, Array([1.0]), 5)
    assert tuner.best_config.kwargs == {"BLOCK": 128}
