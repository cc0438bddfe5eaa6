# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tuner's rules on the recording driver; run by test_launch_mock.py."""

import functools
import os
import sys
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

import tilewright
from harness.launch_cases import constexpr
from harness.mock_driver import Device, FakeTensor, Mock
from tilewright import _core, errors, knobs, testing

if "MOCK_CASES" not in os.environ:
    pytest.skip("needs the mock driver; see test_launch_mock.py", allow_module_level=True)

pytest_plugins = ["harness.launch_cases"]


class Tensor(FakeTensor):
    """Knows what was done to it."""

    def __init__(self, dtype="float32", log=None):
        super().__init__(dtype=dtype)
        self.log = [] if log is None else log

    def zero_(self):
        self.log.append("zero")

    def clone(self):
        self.log.append("clone")
        return self

    def copy_(self, other):
        self.log.append("copy")


def make_tuned(times, **options):
    """A tuned kernel; `times` maps BLOCK to what the benchmark reports."""

    def bench(call, quantiles):
        call()
        block = compiled_block()
        return [times[block]] * len(quantiles)

    def compiled_block():
        return bench.last

    def note(named, reset_only=False):
        bench.last = named["BLOCK"]

    options.setdefault("pre_hook", note)
    options.setdefault("key", ["n"])

    @tilewright.autotune(
        configs=[tilewright.Config({"BLOCK": b}, num_warps=w) for b, w in ((64, 2), (128, 4), (256, 8))],
        do_bench=bench,
        **options,
    )
    @tilewright.jit
    def kernel(x, n, BLOCK: constexpr):
        pass

    return kernel


def test_the_fastest_is_taken_and_kept(compiler):
    kernel = make_tuned({64: 3.0, 128: 1.0, 256: 2.0})
    x = FakeTensor()
    kernel[lambda meta: (meta["BLOCK"],)](x, 1000)
    assert kernel.best_config.kwargs == {"BLOCK": 128} and len(compiler.calls) == 3
    assert Mock().launch().grid == (128, 1, 1) and Mock().launch().threads == 128
    count = Mock().count
    kernel[(1,)](x, 1000)
    assert Mock().count == count + 1 and len(kernel.cache) == 1
    assert sorted(t[0] for t in kernel.configs_timings.values()) == [1.0, 2.0, 3.0]


def test_key_is_values_and_all_dtypes():
    kernel = make_tuned({64: 1.0, 128: 2.0, 256: 3.0})
    kernel[(1,)](FakeTensor(), 1000)
    kernel[(1,)](FakeTensor(), 1000)
    assert len(kernel.cache) == 1
    kernel[(1,)](FakeTensor(), 1001)
    kernel[(1,)](FakeTensor(dtype="float16"), 1000)
    assert set(kernel.cache) == {(1000, "float32"), (1001, "float32"), (1000, "float16")}


def test_array_in_a_key_counts_by_dtype_and_shape():

    class Unread(FakeTensor):
        def __init__(self, shape, dtype="float32"):
            super().__init__(dtype=dtype)
            self.shape = shape

        def __repr__(self):
            raise AssertionError("its elements are asked for")

        __eq__ = __hash__ = __repr__

    kernel = make_tuned({64: 1.0, 128: 2.0, 256: 3.0}, key=["x", "n"])
    for shape in ((4, 8), (4, 8), (8, 4), ()):
        kernel[(1,)](Unread(shape), 5)
    kernel[(1,)](Unread((4, 8), "float16"), 5)
    kernel[(1,)](x=Unread((4, 8), "float16"), n=5)
    assert set(kernel.cache) == {
        ("float32[4, 8]", 5, "float32"),
        ("float32[8, 4]", 5, "float32"),
        ("float32[]", 5, "float32"),
        ("float16[4, 8]", 5, "float16"),
    }
    key = kernel._key((Unread((4,)), (Unread((3,)), 2.5)), {})
    assert key == ("float32[4]", ("float32[3]", 2.5), "float32")
    numbers = np.int64(3), np.float32(2.5), ml_dtypes.bfloat16(2.5), np.dtype("int8")
    for number in numbers:
        assert kernel._key((Unread((4,)), number), {})[1] is number
    assert kernel._key((Unread((4,)), np.zeros((2, 3), np.int8)), {})[1] == "int8[2, 3]"


def test_one_configuration_is_not_measured(compiler):

    def bench(call, quantiles):
        raise AssertionError("measured")

    @tilewright.autotune(configs=[tilewright.Config({"BLOCK": 32}, num_warps=1)], key=[], do_bench=bench)
    @tilewright.jit
    def kernel(x, BLOCK: constexpr):
        pass

    kernel[(1,)](FakeTensor())
    assert compiler.last["constexprs"] == {"BLOCK": 32} and Mock().launch().threads == 32


def test_data_is_protected():
    log = []
    x = Tensor(log=log)
    kernel = make_tuned({64: 1.0, 128: 2.0, 256: 3.0}, pre_hook=None, reset_to_zero=["x"], restore_value=["x"])
    kernel._do_bench = lambda call, quantiles: (call(), [1.0, 1.0, 1.0])[1]
    kernel[(1,)](x, 5)
    assert log == ["zero", "clone", "copy"] * 3 + ["zero"]


def test_configuration_that_does_not_fit_is_skipped(compiler):
    kernel = make_tuned({64: 3.0, 128: 2.0, 256: 1.0})
    original = compiler.__call__

    def limited(fn, signature, constexprs, *rest):
        compiler.metadata = {"shared": 10**6} if constexprs["BLOCK"] == 256 else {}
        return original(fn, signature, constexprs, *rest)

    _core.compile_kernel = limited
    kernel[(1,)](FakeTensor(), 5)
    assert kernel.best_config.kwargs == {"BLOCK": 128}


def test_other_errors_propagate():
    kernel = make_tuned({})
    with pytest.raises(errors.InvalidArgument, match="E0204"):
        kernel[(1,)]("text", 5)


def test_pruning():
    seen = []

    def early(configs, named, **kwargs):
        seen.append((named["n"], sorted(kwargs)))
        return configs[1:]

    kernel = make_tuned(
        {128: 2.0, 256: 1.0}, prune_configs_by={"early_config_prune": early, "perf_model": lambda BLOCK, **_: BLOCK, "top_k": 1}
    )
    kernel[(1,)](FakeTensor(), 5)
    assert kernel.best_config.kwargs == {"BLOCK": 128}
    assert seen == [(5, ["grid", "warmup"])]


def test_heuristics_see_earlier_results(compiler):

    @tilewright.heuristics({"BLOCK": lambda args: args["n"] * 2, "EVEN": lambda args: args["BLOCK"] % 16 == 0})
    @tilewright.jit
    def kernel(x, n, BLOCK: constexpr, EVEN: constexpr):
        pass

    kernel[(1,)](FakeTensor(), 8)
    assert compiler.last["constexprs"] == {"BLOCK": 16, "EVEN": True}


@pytest.mark.parametrize("tune_first", [True, False])
def test_heuristics_and_autotune_stack(compiler, tune_first):
    tune = tilewright.autotune(configs=[tilewright.Config({"BLOCK": 32})], key=["n"])
    heuristics = tilewright.heuristics({"EVEN": lambda args: args["n"] % 2 == 0})

    @tilewright.jit
    def kernel(x, n, BLOCK: constexpr, EVEN: constexpr):
        pass

    stacked = tune(heuristics(kernel)) if tune_first else heuristics(tune(kernel))
    stacked[(1,)](FakeTensor(), 8)
    assert compiler.last["constexprs"] == {"BLOCK": 32, "EVEN": True}


def test_config_hook_and_listener():
    events = []
    configs = [tilewright.Config({"BLOCK": b}, pre_hook=lambda named: events.append(named["BLOCK"])) for b in (32, 64)]

    @tilewright.autotune(configs=configs, key=[], do_bench=lambda call, quantiles: [1.0] * 3)
    @tilewright.jit
    def kernel(x, BLOCK: constexpr):
        pass

    with knobs.autotuning.scope():
        knobs.autotuning.listener = lambda **what: events.append(what["cache_hit"])
        kernel[(1,)](FakeTensor())
        kernel[(1,)](FakeTensor())
    assert events == [False, 32, 32], "only choices are told, not launches"


def test_descriptors_of_other_elements_are_tuned_anew():
    from tilewright.tools.tensor_descriptor import TensorDescriptor

    kernel = make_tuned({64: 1.0, 128: 2.0, 256: 3.0})
    keys = [
        kernel._key((TensorDescriptor(FakeTensor(dtype=dtype), [64, 64], [64, 1], [16, 16]), 5), {})
        for dtype in ("float16", "float32", "float16")
    ]
    assert keys[0] != keys[1] and keys[0] == keys[2]


def test_torch_may_follow_a_launch_with_heuristics(monkeypatch):
    """It follows Python alone: while it does, the launcher is no native object."""
    from tilewright.runtime.autotuner import Heuristics

    seen, traces = [], [False]
    torch = SimpleNamespace(compiler=SimpleNamespace(is_compiling=lambda: traces[0]))
    monkeypatch.setitem(sys.modules, "torch", torch)

    class Kernel:
        arg_names = ["x", "n", "EVEN"]

        def run(self, *args, **kwargs):
            seen.append((args, kwargs))

    kernel = tilewright.heuristics({"EVEN": lambda named: named["n"] % 2 == 0})(Kernel())
    try:
        assert not isinstance(kernel[(3,)], functools.partial)
        traces[0] = True
        kernel[(3,)]("x", n=4)
    finally:
        del Heuristics.__getitem__
    assert seen == [(("x",), {"n": 4, "EVEN": True, "grid": (3,), "warmup": False})]


def test_warmup_compiles_all(compiler):
    kernel = make_tuned({})
    kernel.warmup(tilewright.MockTensor("float32"), 5, grid=(1,))
    assert [c["constexprs"]["BLOCK"] for c in compiler.calls] == [64, 128, 256] and Mock().count == 0


def test_default_benchmark_runs_on_driver_events():
    kernel = make_tuned({})
    kernel._do_bench = None
    kernel.pre_hook = kernel._protect
    kernel[(1,)](FakeTensor(), 5)
    # The mock reports 1 ms for any pair of events, 0.2 ms a run in the estimate.
    assert {tuple(t) for t in kernel.configs_timings.values()} == {(1.0, 1.0, 1.0)}


def test_do_bench_modes():
    calls = []
    times = testing.do_bench(lambda: calls.append(1), warmup=1, rep=2, return_mode="all")
    # One call, five of the estimate (0.2 ms each), 5 to warm up, 10 measured; the
    # float arithmetic of the estimate may lose one.
    assert len(calls) == 1 + 5 + len(times) + len(times) // 2 and set(times) == {1.0}
    assert testing.do_bench(lambda: None, rep=1, quantiles=[0.5]) == 1.0
    assert testing.do_bench(lambda: None, rep=1, return_mode="median") == 1.0
    with pytest.raises(ValueError, match="return_mode"):
        testing.do_bench(lambda: None, return_mode="average")


def test_config_identity():
    a, b = tilewright.Config({"B": 1}, num_warps=2), tilewright.Config({"B": 1}, num_warps=2)
    assert a == b and hash(a) == hash(b) and a != tilewright.Config({"B": 1})
    assert a.all_kwargs() == {"B": 1, "num_warps": 2, "num_ctas": 1, "num_stages": 3}
    assert str(a) == "B: 1, num_warps: 2, num_ctas: 1, num_stages: 3, maxnreg: None"


def test_precompile_makes_a_capture_possible(compiler):
    kernel, x = make_tuned({64: 3.0, 128: 1.0, 256: 2.0}), FakeTensor()
    Mock().library.mockSetCapturing(1)
    with pytest.raises(errors.TilewrightError, match="E0214"):
        kernel[(1,)](x, 1000)
    Mock().library.mockSetCapturing(0)
    count = Mock().count
    kernel.precompile(x, 1000)
    launched = Mock().count
    Mock().library.mockSetCapturing(1)
    kernel[(1,)](x, 1000)
    assert Mock().count == launched + 1 and launched == count + 3  # the benchmark ran each once
    assert kernel.best_config.kwargs == {"BLOCK": 128}
    Mock().library.mockSetCapturing(0)


def test_device_is_that_of_the_tensors(monkeypatch):
    """Tensors on the second device are tuned there, and the current one is put back."""
    seen = []
    kernel = make_tuned({})
    kernel._do_bench = None
    kernel.pre_hook = lambda named, reset_only=False: seen.append(_core.current_device())
    before = _core.current_device()
    kernel[(1,)](FakeTensor(address=0x20000000000, device=Device("cuda", 1)), 5)
    assert set(seen[:-1]) == {1} and _core.current_device() == before and Mock().launch().device == 1


def test_a_nearly_full_device_is_tuned_all_the_same():
    kernel = make_tuned({})
    kernel._do_bench = None
    kernel.pre_hook = kernel._protect
    Mock().library.mockFailNextAllocation()
    kernel[(1,)](FakeTensor(), 5)
    assert kernel.best_config is not None
