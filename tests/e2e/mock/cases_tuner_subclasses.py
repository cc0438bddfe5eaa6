# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tuners as libraries change them: own caches, own measuring, own pruning; failed tunings; arguments that raise.

Run by test_tuning.py.
"""

import os

import pytest

from harness.simulated import Array
from harness.tuner_cases import Planted, launch, nothing, records, simulated_device, tuned  # noqa: F401
from tilewright import errors, testing
from tilewright.runtime.autotuner import Autotuner
from tilewright.tuning.memory import Protection, region_of

if "MOCK_CASES" not in os.environ:
    pytest.skip("needs the mock driver; see test_tuning.py", allow_module_level=True)


class Mapping:
    """What a library may put in the place of the cache: no iteration, no update, no length."""

    def __init__(self):
        self.kept, self.asked = {}, 0

    def __contains__(self, key):
        self.asked += 1
        return key in self.kept

    def __getitem__(self, key):
        return self.kept[key]

    def __setitem__(self, key, config):
        self.kept[key] = config

    def get(self, key, default=None):
        return self.kept.get(key, default)


# -- caches -------------------------------------------------------------------------


def test_a_foreign_mapping_is_asked_and_told():
    tuner = tuned(nothing, {64: 3.0, 128: 1.0})
    tuner.cache = mapping = Mapping()
    assert tuner.cache is mapping
    launch(tuner, Array([1.0]), 5)
    ((key, config),) = mapping.kept.items()
    assert key == (5, "float64") and config.kwargs == {"BLOCK": 128}
    asked = mapping.asked
    mapping.kept[key] = tuner.configs[0]
    tuner[(1,)](Array([1.0]), 5)
    assert tuner.best_config is tuner.configs[0] and mapping.asked > asked, "each launch asks"


def test_a_dict_in_place_of_the_cache_is_taken_over():
    tuner = tuned(nothing, {64: 3.0, 128: 1.0})
    tuner.cache = {(5, "float64"): tuner.configs[0]}
    launch(tuner, Array([1.0]), 5)
    assert tuner.best_config is tuner.configs[0] and not tuner.fn.compiled


def test_two_tuners_share_a_cache():
    first, second = tuned(nothing, {64: 3.0, 128: 1.0}), tuned(nothing, {64: 3.0, 128: 1.0})
    second.cache = first.cache
    launch(first, Array([1.0]), 5)
    launch(second, Array([1.0]), 5)
    assert second.best_config is first.best_config and not second.fn.compiled


# -- subclasses ---------------------------------------------------------------------


def subclass_of(kind, times, **options):
    """A tuner of class `kind`, made as libraries make it: by position."""
    plain = tuned(nothing, times)
    return kind(plain.fn, plain.arg_names, plain.configs, ["n"], None, None, **options)


class OwnRun(Autotuner):
    """Looks for a choice of its own first, then leaves it to Triton's way."""

    def __init__(self, fn, arg_names, configs, key, reset_to_zero, restore_value, pre_hook=None, post_hook=None):
        super().__init__(fn, arg_names, configs, key, reset_to_zero, restore_value, pre_hook, post_hook)
        self.keys = key
        self.cache = Mapping()
        self.runs = 0

    def run(self, *args, **kwargs):
        self.runs += 1
        named = {**dict(zip(self.arg_names, args)), **{k: v for k, v in kwargs.items() if k in self.arg_names}}
        key = (*(named[k] for k in self.keys), *(str(v.dtype) for v in named.values() if hasattr(v, "dtype")))
        if key not in self.cache and named["n"] == 7:
            self.cache[key] = self.configs[0]
        return super().run(*args, **kwargs)


def test_a_subclass_that_overrides_run():
    tuner = subclass_of(OwnRun, {64: 3.0, 128: 1.0})
    launch(tuner, Array([1.0]), 7)
    assert tuner.best_config.kwargs == {"BLOCK": 64} and not tuner.fn.compiled
    tuner[(1,)](Array([1.0]), 5)
    assert tuner.best_config.kwargs == {"BLOCK": 128} and tuner.runs == 2


class OwnLoop(Autotuner):
    """Measures in a loop of its own, by `_bench`, as tuners with other searches do."""

    def run(self, *args, **kwargs):
        self.nargs = dict(zip(self.arg_names, args))
        key = (self.nargs["n"],)
        if key not in self.cache:
            timings = {c: self._bench(*args, config=c, **kwargs) for c in self.prune_configs(kwargs)}
            self.cache[key] = min(timings, key=timings.get)
            self.pre_hook({**self.nargs, **kwargs, **self.cache[key].all_kwargs()}, reset_only=True)
            self.configs_timings = timings
        self.best_config = config = self.cache[key]
        result = self.fn.run(*args, **kwargs, **config.all_kwargs())
        self.nargs = None
        return result


def by_block(times):
    """A benchmark that knows what it measures from what the kernel was launched with."""

    def bench(call, quantiles):
        call()
        return [times[bench.tuner.fn.launched[-1]["BLOCK"]]] * len(quantiles)

    return bench


def test_a_subclass_with_a_loop_of_its_own():
    bench = by_block({64: 3.0, 128: 1.0})
    tuner = subclass_of(OwnLoop, {64: 3.0, 128: 1.0}, do_bench=bench)
    bench.tuner = tuner
    launch(tuner, Array([1.0]), 5)
    assert tuner.best_config.kwargs == {"BLOCK": 128}
    assert sorted(t[0] for t in tuner.configs_timings.values()) == [1.0, 3.0]


def test_bench_gives_infinity_for_what_does_not_fit():
    def bench(call, quantiles):
        raise errors.OutOfResources(9, 1, "shared memory")

    tuner = subclass_of(OwnLoop, {64: 3.0, 128: 1.0}, do_bench=bench)
    tuner.nargs = {"x": Array([1.0]), "n": 5}
    assert tuner._bench(Array([1.0]), 5, config=tuner.configs[0], grid=(1,), warmup=False) == [float("inf")] * 3

    def wrong(call, quantiles):
        raise Planted("not the configuration's fault")

    tuner.do_bench = wrong
    with pytest.raises(Planted):
        tuner._bench(Array([1.0]), 5, config=tuner.configs[0], grid=(1,), warmup=False)


class OwnBench(Autotuner):
    def _bench(self, *args, config, **meta):
        assert self.nargs["n"] == 5
        return [{64: 3.0, 128: 1.0, 256: float("inf")}[config.kwargs["BLOCK"]]] * 3

    def prune_configs(self, kwargs):
        return [c for c in super().prune_configs(kwargs) if c.kwargs["BLOCK"] != 64]


def test_a_subclass_that_measures_and_prunes_in_its_own_way():
    tuner = subclass_of(OwnBench, {64: 3.0, 128: 1.0, 256: 0.5})
    launch(tuner, Array([1.0]), 5)
    assert tuner.best_config.kwargs == {"BLOCK": 128} and len(tuner.configs_timings) == 2


def test_configs_of_any_sequence():
    tuner = tuned(nothing, {64: 3.0, 128: 1.0})
    tuner.configs = tuple(tuner.configs)
    tuner[(1,)](Array([1.0]), 5)
    assert tuner.best_config.kwargs == {"BLOCK": 128}


# -- failed tunings -------------------------------------------------------------------


def fail(arguments):
    raise Planted(f"block {arguments['BLOCK']} is no good")


def test_a_failed_tuning_tells_of_each_configuration_each_time():
    def prune(configs, named, **kwargs):
        return configs[:2]

    tuner = tuned(fail, {64: 3.0, 128: 1.0, 256: 2.0}, prune_configs_by={"early_config_prune": prune})
    for _ in range(2):
        with pytest.raises(errors.NoValidConfig, match="none of 2 configurations ran") as info:
            launch(tuner, Array([1.0]), 5)
        text = str(info.value)
        assert "BLOCK: 64" in text and "block 64 is no good" in text and "block 128 is no good" in text
        assert "BLOCK: 256" in text and "not tried: early_config_prune left it out" in text


def test_another_process_tells_of_the_same_failure():
    for _ in range(2):
        with pytest.raises(errors.NoValidConfig, match="none of 2 configurations ran") as info:
            launch(tuned(fail, {64: 3.0, 128: 1.0}), Array([1.0]), 5)
        assert "block 64 is no good" in str(info.value)


def test_what_failed_is_tried_again_where_nothing_works():
    with pytest.raises(errors.NoValidConfig):
        launch(tuned(fail, {64: 3.0, 128: 1.0}), Array([1.0]), 5)
    again = tuned(nothing, {64: 3.0, 128: 1.0})
    launch(again, Array([1.0]), 5)
    assert again.best_config.kwargs == {"BLOCK": 128}


def test_a_perf_model_that_leaves_configurations_out_is_named():
    tuner = tuned(fail, {64: 3.0, 128: 1.0, 256: 2.0}, prune_configs_by={"perf_model": lambda BLOCK, **_: BLOCK, "top_k": 2})
    with pytest.raises(errors.NoValidConfig, match="not tried: perf_model puts 2 before it"):
        launch(tuner, Array([1.0]), 5)


# -- arguments whose attributes raise ---------------------------------------------------


class Touchy:
    """Raises whatever it is asked: torch's CUDA tensors that require gradients do so for one attribute."""

    def __getattribute__(self, name):
        if name in ("__class__", "__dict__"):
            return object.__getattribute__(self, name)
        raise RuntimeError(f"do not ask for {name}")


class TouchyArray(Array):
    @property
    def __cuda_array_interface__(self):
        raise RuntimeError("call detach() first")

    @property
    def device(self):
        raise RuntimeError("no device")


def test_arguments_whose_attributes_raise():
    tuner = tuned(nothing, {64: 3.0, 128: 1.0})
    launch(tuner, TouchyArray([1.0]), 5)
    assert tuner.best_config.kwargs == {"BLOCK": 128}
    launch(tuned(nothing, {64: 3.0, 128: 1.0}), Touchy(), 5)


def test_memory_of_what_cannot_be_asked():
    assert region_of(Touchy()) is None and region_of(TouchyArray([1.0])) is None
    protection = Protection({"x": Touchy(), "y": Endless()})
    protection.add(None, None)
    assert not protection.regions and protection.unprotected == ["y"]


class Endless:
    """Answers to every name, as mocks do."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Endless()


def test_memory_of_what_answers_to_every_name():
    assert region_of(Endless()) is None


@pytest.mark.parametrize("options, name", [({"rep": 1}, "do_bench"), ({"use_cuda_graph": True}, "do_bench_cudagraph")])
def test_a_benchmark_that_a_program_has_put_in_the_place_of_ours(monkeypatch, options, name):
    monkeypatch.setattr(testing, name, lambda call, quantiles, **more: [len(quantiles)])
    with pytest.warns(DeprecationWarning):
        tuner = tuned(nothing, {64: 3.0, 128: 1.0}, **options)
    assert tuner.do_bench(None, quantiles=(0.5, 0.2)) == [2]
