# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tuned kernels whose choice, text, globals or hooks change after launches, on the recording driver;
run by test_launch_mock.py."""

import os
import sys

import pytest

import tilewright
from harness.launch_cases import constexpr
from harness.mock_driver import FakeTensor
from harness.tuned_launches import configs, make_kernel, make_tuned, python_calls, slow_launches
from tilewright import knobs

if "MOCK_CASES" not in os.environ:
    pytest.skip("needs the mock driver; see test_launch_mock.py", allow_module_level=True)

pytest_plugins = ["harness.launch_cases"]


def test_a_changed_choice_counts(mock, compiler):
    tuned = make_tuned()
    x = FakeTensor()

    def launch():
        return tuned[(1,)](x, 5, 2.0)

    assert launch() is launch() and launch().constants["BLOCK"] == 128
    (key,), (small, _, large) = tuned.cache, tuned.configs
    for change in (
        lambda: tuned.cache.update({key: small}),
        lambda: tuned.cache.__setitem__(key, small),
        lambda: setattr(tuned, "cache", {key: small}),
    ):
        tuned.cache[key] = large
        assert launch().constants["BLOCK"] == 256
        change()
        assert launch().constants["BLOCK"] == launch().constants["BLOCK"] == 64
        assert tuned.best_config is small
    del tuned.configs[1:]  # one configuration is taken without asking
    tuned.cache[key] = large
    assert launch().constants["BLOCK"] == 64
    tuned.configs = [large]
    assert launch().constants["BLOCK"] == launch().constants["BLOCK"] == 256
    assert slow_launches(tuned, launch) == 0
    for change in (lambda: tuned.cache.clear(), lambda: tuned.cache.pop(key, None), lambda: tuned.configs.append(small)):
        change()
        assert slow_launches(tuned, launch) == 1


def test_a_changed_kernel_is_compiled_anew(mock, compiler):
    tuned = make_tuned()
    x = FakeTensor()
    first = tuned[(1,)](x, 5, 2.0)
    tuned.fn._unsafe_update_src("def kernel(x, n, scale, BLOCK, MODE=0):\n    return\n")
    second = tuned[(1,)](x, 5, 2.0)
    assert second is not first and second.asm["source"] != first.asm["source"]
    assert slow_launches(tuned, lambda: tuned[(1,)](x, 5, 2.0)) == 0
    other = make_kernel()
    tuned.fn = other
    assert tuned[(1,)](x, 5, 2.0).src.fn is other and tuned[(1,)](x, 5, 2.0).src.fn is other


WIDTH = 4


def test_globals_are_watched(mock, monkeypatch):

    @tilewright.jit
    def kernel(x, n, scale, BLOCK: constexpr):
        pass

    kernel.fn.__tilewright_reads__ = ("WIDTH",)
    tuned = tilewright.autotune(configs(128), key=[])(kernel)
    for _ in range(2):
        tuned[(1,)](FakeTensor(), 5, 2.0)
    monkeypatch.setattr(sys.modules[__name__], "WIDTH", 5)
    with pytest.raises(
        RuntimeError, match="Global variable WIDTH has changed since we compiled this kernel, from 4 to 5; .* 'kernel'"
    ):
        tuned[(1,)](FakeTensor(), 5, 2.0)
    # Equal values in new objects are watched in the old one's place, so often.
    for i in range(600):
        monkeypatch.setattr(sys.modules[__name__], "WIDTH", int("4"))
        tuned[(1,)](FakeTensor(), 5, 2.0)


def test_a_hook_of_the_configuration_takes_part(mock):
    tuned = make_tuned()
    x, heard = FakeTensor(), []
    for _ in range(2):
        tuned[(1,)](x, 5, 2.0)
    tuned.best_config.pre_hook = lambda named: heard.append((named["BLOCK"], named["n"], named["x"] is x))
    for _ in range(2):
        tuned[(1,)](x, 5, 2.0)
    assert heard == [(128, 5, True)] * 2
    tuned.best_config.pre_hook = None
    tuned[(1,)](x, 5, 2.0)
    assert len(heard) == 2 and slow_launches(tuned, lambda: tuned[(1,)](x, 5, 2.0)) == 0


def test_hooks_hear_of_warm_launches_and_listeners_of_choices(mock):
    tuned = make_tuned()
    x, heard = FakeTensor(), []
    for _ in range(2):
        tuned[(1,)](x, 5, 2.0)
    with knobs.autotuning.scope():
        knobs.autotuning.listener = lambda **event: heard.append((event["fn"], event["best_config"].kwargs["BLOCK"]))
        tuned[(1,)](x, 5, 2.0)
        assert not heard, "nothing was chosen"
        tuned.cache.clear()
        tuned[(1,)](x, 5, 2.0)
    assert heard == [(tuned.fn, 128)]
    with knobs.runtime.scope():
        knobs.runtime.launch_enter_hook.add(lambda metadata: heard.append(metadata.get()["name"]))
        assert python_calls(lambda: tuned[(2,)](x, 5, 2.0))  # the hook's own way
    assert heard[1:] == ["kernel"]
    tuned.fn.add_pre_run_hook(lambda *args, **kwargs: heard.append((args, kwargs["BLOCK"])))
    tuned[(1,)](x, 5, 2.0)
    assert heard[2:] == [((x, 5, 2.0), 128)]


def test_best_config_is_that_of_the_latest_launch(mock):
    tuned = make_tuned(key=("n",))
    x = FakeTensor()
    for n in (5, 6):
        tuned[(1,)](x, n, 2.0)
    small = tuned.configs[0]
    tuned.cache[next(iter(tuned.cache))] = small
    for _ in range(2):
        tuned[(1,)](x, 5, 2.0)
        assert tuned.best_config is small
        tuned[(1,)](x, 6, 2.0)
        assert tuned.best_config.kwargs == {"BLOCK": 128}
    tuned.best_config = None
    assert tuned.best_config is None
    tuned[(1,)](x, 6, 2.0)
    assert tuned.best_config.kwargs == {"BLOCK": 128}


def test_other_objects_in_the_stack(mock):
    """What has `run` alone, and subclasses that launch in a way of their own."""
    kernel = make_kernel()

    class Other:
        fn, arg_names = staticmethod(kernel.fn), kernel.arg_names

        def run(self, *args, grid, warmup, **kwargs):
            assert not warmup
            return kernel.run(*args, grid=grid, warmup=warmup, **kwargs)

    class Own(type(make_tuned())):
        runs = 0

        def run(self, *args, **kwargs):
            Own.runs += 1
            return super().run(*args, **kwargs)

    x = FakeTensor()
    tuned = tilewright.autotune(configs(128), key=[])(Other())
    heuristic = tilewright.heuristics({"BLOCK": lambda args: 128})(Other())
    own = Own(kernel, kernel.arg_names, configs(128), [])
    for launched in (tuned, heuristic, own):
        for _ in range(2):
            assert launched[(1,)](x, 5, 2.0).constants["BLOCK"] == 128
    assert Own.runs == 2 and mock.count == 6
