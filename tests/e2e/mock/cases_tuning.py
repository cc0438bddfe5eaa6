# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tuner on simulated kernels and the recording driver; run by test_tuning.py."""

import os
import random
import threading
import time
import warnings

import pytest

import tilewright
from harness import simulated
from harness.mock_driver import FakeTensor
from harness.simulated import Array, Simulated
from harness.tuner_cases import TRIALS, identity, launch, nothing, outputs_only, records, tuned
from tilewright import errors, tuning
from tilewright.runtime.autotuner import Autotuner
from tilewright.tuning import table

if "MOCK_CASES" not in os.environ:
    pytest.skip("needs the mock driver; see test_tuning.py", allow_module_level=True)

pytest_plugins = ["harness.tuner_cases"]


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


@pytest.mark.parametrize("late, runs", [(100.0, 2), (98.0, 2), (94.0, 1), (0.5, 1)])
def test_slow_candidates_are_measured_twice_where_a_late_launch_may_be_the_reason(late, runs, monkeypatch):
    monkeypatch.setattr(simulated.Bench, "late", late)
    tuner = tuned(nothing, {64: 100.0, 128: 1.0, 256: 1.1})
    launch(tuner, Array([1.0]), 5)
    slow = [c for c in tuner.fn.launched if c["BLOCK"] == 64]
    assert len(slow) == runs and records()["64"]["status"] == "slow" and "the best 1" in records()["64"]["reason"]


def test_none_waits_for_the_slowest_to_compile():
    def resources(config):
        time.sleep(0.5 if config["BLOCK"] == 64 else 0.0)
        return outputs_only(config)

    tuner = tuned(nothing, {64: 1.0, 128: 2.0, 256: 3.0}, resources=resources)
    launch(tuner, Array([1.0]), 5)
    first = list(dict.fromkeys(c["BLOCK"] for c in tuner.fn.launched))
    assert first == [128, 256, 64] and tuner.best_config.kwargs == {"BLOCK": 64}


def test_late_first_run_is_no_slow_kernel():
    """The compiler's threads may keep the first launch waiting after its event."""
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
    configs = [
        tilewright.Config({"BLOCK": b}, pre_hook=lambda named, b=b: named["x"].values.__setitem__(1, b)) for b in (64, 128)
    ]
    kernel = tuned(
        lambda a: seen.append((a["BLOCK"], int(a["x"].values[1]))), {64: 2.0, 128: 1.0}, configs=configs, check=False
    )
    launch(kernel, Array([0.0, 0.0]), 5)
    assert all(block == value for block, value in seen) and kernel.best_config.kwargs == {"BLOCK": 128}


class Waiting(Simulated):
    """A kernel whose compilations end when all of them have begun."""

    def __init__(self, count):
        super().__init__(nothing, ["x", "n"], lambda arguments: 1.0)
        self.all_begun, self.blocks = threading.Barrier(count), []

    def run(self, *args, warmup, **kwargs):
        if warmup:
            self.all_begun.wait(20)  # raises where they come one by one
            self.blocks.append((kwargs["BLOCK"], args[0].block_shape[0]))
        else:
            assert args[0].block_shape == [kwargs["BLOCK"], 16]
        return super().run(*args, warmup=warmup, **kwargs)


def test_configurations_that_complete_descriptors_are_compiled_side_by_side(monkeypatch):
    """Each is compiled for a descriptor of its own, and runs with the caller's."""
    from tilewright.tools.tensor_descriptor import TensorDescriptor

    monkeypatch.setenv("TILEWRIGHT_TUNE_THREADS", "3")
    descriptor = TensorDescriptor(FakeTensor(), [512, 64], [64, 1], [16, 16])
    configs = [
        tilewright.Config({"BLOCK": b}, pre_hook=lambda named: named["x"].block_shape.__setitem__(0, named["BLOCK"]))
        for b in (64, 128, 256)
    ]
    kernel = Waiting(3)
    tuner = Autotuner(kernel, kernel.arg_names, configs, ["n"], None, None)
    tuner.check = False
    launch(tuner, descriptor, 5)
    assert sorted(kernel.blocks) == [(64, 64), (128, 128), (256, 256)]


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
        kept_in_noise = equal.configs_timings[equal.configs[0]][0] > equal.configs_timings[equal.configs[2]][
            0
        ] and equal.best_config.kwargs == {"BLOCK": 64}
        assert kept_in_noise == any(
            "[W0606] best and second differ by" in t and "%; kept the previous choice" in t for t in texts
        )
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
    done = {
        tuple(int(r["kwargs"][n]) for n in choices)
        for _, h in table.all_tables()
        for r in h["records"].values()
        if r["status"] in ("ok", "slow")
    }
    runs.clear()
    again = make()
    launch(again, Array([1.0]), 5)
    tuned_runs = runs[:-1]  # the last is the launch that counts
    assert not done & set(tuned_runs), "measured again"
    assert sum(again.best_config.kwargs[n] != v for n, v in {"A": 5, "B": 2, "C": 7}.items()) <= 1
