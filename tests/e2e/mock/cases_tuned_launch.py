# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Warm launches of tuned kernels and of kernels with heuristics on the recording driver;
run by test_launch_mock.py."""

import gc
import os
import threading
import weakref

import pytest

import tilewright
import tilewright.language as tl
from harness.mock_driver import FakeTensor
from harness.launch_cases import constexpr
from harness.tuned_launches import configs, make_kernel, make_tuned, python_calls, stacks
from tilewright import errors

if "MOCK_CASES" not in os.environ:
    pytest.skip("needs the mock driver; see test_launch_mock.py", allow_module_level=True)

pytest_plugins = ["harness.launch_cases"]


# -- no Python ---------------------------------------------------------------------------


@pytest.mark.parametrize("which", list(stacks()))
def test_a_warm_launch_runs_no_python_of_ours(mock, compiler, which):
    kernel = stacks()[which]
    x = FakeTensor()
    kernel[(3,)](x, 5, 2.0)
    mock.reset()
    compiler.calls.clear()

    def launches():
        kernel[(3,)](x, 5, 2.0)
        kernel[lambda meta: (meta["BLOCK"],)](x, 5, scale=2.0)
        kernel[(2, 2)](scale=0.5, n=5, x=x)

    assert python_calls(launches) == [] and not compiler.calls
    assert [mock.launch(i).grid for i in range(mock.count)] == [(3, 1, 1), (128, 1, 1), (2, 2, 1)]
    assert mock.launch(-1).unpack("Qif") == (0x10000000000, 5, 0.5)
    # New values are not known, and then are.
    kernel[(1,)](x, 7, 2.0)
    assert python_calls(lambda: kernel[(1,)](x, 7, 2.0)) == []


def test_the_kernel_is_the_one_of_a_plain_launch(mock, compiler):
    tuned = make_tuned()
    x = FakeTensor()
    first = tuned[(1,)](x, 5, 2.0)
    compiled = len(compiler.calls)
    assert tuned[(1,)](x, 5, 2.0) is first
    config = tuned.best_config
    assert tuned.fn[(1,)](x, 5, 2.0, **config.all_kwargs()) is first and len(compiler.calls) == compiled


def test_constants_of_call_and_configuration_keep_their_places(compiler):
    """Words of constants in the key stand in the order of parameters, whoever gives them."""

    @tilewright.jit
    def kernel(x, BLOCK: constexpr, MODE: constexpr):
        pass

    x, found = FakeTensor(), {}
    for block, mode in ((3, 5), (5, 3)):
        tuned = tilewright.autotune(configs(block), key=[])(kernel)
        for _ in range(2):
            tuned[(1,)](x, MODE=mode)
        found[block, mode] = tuned[(1,)](x, MODE=mode).constants
    assert found[3, 5] == {"BLOCK": 3, "MODE": 5} and found[5, 3] == {"BLOCK": 5, "MODE": 3}


@pytest.mark.parametrize("first, second", [(5, 6), (1, 5), (0.5, 0.25), (True, False), (None, 5), (5, 5.5), (2**40, 2**41)])
def test_each_value_of_the_key_has_its_choice(mock, first, second):
    tuned = make_tuned()
    x, asked = FakeTensor(), []
    slow = tuned._launch
    tuned._launch = lambda grid, args, kwargs: asked.append(args[1]) or slow(grid, args, kwargs)
    for value in (first, second, first, second):
        tuned[(1,)](x, value, 2.0)
    assert len(asked) == 2 and len(tuned.cache) == 2


def test_what_is_not_in_the_key_has_the_same_choice(mock, compiler):
    """Divisibility and other numbers make other machine code, and no other choice."""
    tuned = make_tuned()
    measured = []
    tune = tuned._tune
    tuned._tune = lambda *args: measured.append(args) or tune(*args)
    for _ in range(2):
        for address in (0x10000000000, 0x10000000004):
            for scale in (2.0, 3.0):
                found = tuned[(1,)](FakeTensor(address=address), 5, scale)
                assert found.src.divisibility.get("x", 1) == (16 if address % 16 == 0 else 1)
        tuned[(1,)](FakeTensor(), 5, 7)
    assert len(measured) == 1 and len(tuned.cache) == 1
    tuned[(1,)](FakeTensor(dtype="float16"), 5, 2.0)
    assert len(measured) == 2


def test_keys_that_are_no_numbers_go_through_python(mock):
    tuned = make_tuned(key=("x",))
    x = FakeTensor()
    for _ in range(3):
        tuned[(1,)](x, 5, 2.0)
    assert mock.count >= 3 and tuned._table_size() == 0 and tuned.best_config.kwargs == {"BLOCK": 128}


# -- mistakes and options -----------------------------------------------------------------


@pytest.mark.parametrize("which", ["tuned", "one configuration"])
def test_mistakes_in_a_warm_call(mock, which):
    tuned = stacks()[which]
    x = FakeTensor()
    for _ in range(2):
        tuned[(1,)](x, 5, 2.0)
    for options, name in (({"BLOCK": 64}, "BLOCK"), ({"num_warps": 8}, "num_warps")):
        with pytest.raises(errors.InvalidOption, match=rf"\[E0603\] '{name}' is set by the configuration and by the call"):
            tuned[(1,)](x, 5, 2.0, **options)
    with pytest.raises(errors.InvalidArgument, match=r"\[E0205\] missing argument 'scale'"):
        tuned[(1,)](x, 5)
    with pytest.raises(RuntimeError, match="cannot be called directly from the host; give it a grid: kernel"):
        tuned(x, 5, 2.0)
    with pytest.raises(errors.InvalidArgument, match=r"\[E0205\] duplicate argument 'n'"):
        tuned[(1,)](x, 5, 2.0, n=5)
    with pytest.raises(errors.InvalidOption, match=r"\[E0210\] unknown option 'num_wraps'[\s\S]*did you mean"):
        tuned[(1,)](x, 5, 2.0, num_wraps=8)
    with pytest.raises(errors.InvalidArgument, match="E0204"):
        tuned[(1,)](object(), 5, 2.0)
    with pytest.raises(errors.InvalidGrid, match=r"\[E0207\][\s\S]*cases_tuned_launch.py"):
        tuned[(1, -1)](x, 5, 2.0)
    with pytest.raises(errors.InvalidGrid, match="E0208"):
        tuned[lambda meta: 5](x, 5, 2.0)
    tuned[(0,)](x, 5, 2.0)
    count = mock.count
    tuned[(1,)](x, 5, 2.0)
    assert mock.count == count + 1


def test_mistakes_in_the_first_call_are_the_calls(mock, compiler, tmp_path, monkeypatch):
    """Nothing is compiled or noted; the place is the user's line."""
    tuned = tilewright.autotune(configs(64, 128), key=["n"])(make_kernel())
    for call, code in (
        (lambda: tuned[(1,)](FakeTensor(), 5), "E0205"),
        (lambda: tuned[(1,)](FakeTensor(), 5, 2.0, n=5), "E0205"),
        (lambda: tuned[(1,)](FakeTensor(), 5, 2.0, num_wraps=8), "E0210"),
    ):
        with pytest.raises(errors.TilewrightError) as info:
            call()
        assert info.value.code == code
        assert code == "E0210" or info.value.frames[0].file == __file__
    assert not compiler.calls and not tuned.cache


def test_declarations_that_are_wrong():
    with pytest.raises(TypeError, match="configs of autotune are Config objects, not dict"):
        tilewright.autotune(configs=[{"BLOCK": 64}], key=[])(make_kernel())
    with pytest.raises(TypeError, match="heuristics takes a dict of functions by parameter, not function"):
        tilewright.heuristics(lambda args: 64)(make_kernel())
    assert tilewright.autotune(configs(64), key="n")(make_kernel()).keys == ["n"]
    with pytest.raises(RuntimeError, match="cannot be called directly"):
        tilewright.heuristics({"BLOCK": lambda args: 64})(make_kernel())(5)


def test_options_of_the_call(mock):
    tuned = tilewright.autotune([tilewright.Config({"BLOCK": 128}, num_warps=8)], key=[])(make_kernel())
    for _ in range(2):
        assert not tuned[(1,)](FakeTensor(), 5, 2.0).metadata.launch_cooperative_grid
        assert tuned[(1,)](FakeTensor(), 5, 2.0, launch_cooperative_grid=True).metadata.launch_cooperative_grid
        assert mock.launch().cooperative and mock.launch().threads == 256


def test_a_configuration_gives_its_options_to_parameters_too(mock):
    @tilewright.autotune([tilewright.Config({"BLOCK": 128}, num_warps=8)], key=[])
    @tilewright.jit
    def kernel(x, BLOCK: tl.constexpr, num_warps: tl.constexpr):
        pass

    for _ in range(2):
        assert kernel[(1,)](FakeTensor()).constants == {"BLOCK": 128, "num_warps": 8}
        assert mock.launch().threads == 256


def test_heuristics_replace_a_keyword_and_see_earlier_results(mock):
    kernel = tilewright.heuristics({"BLOCK": lambda args: 2 * args["n"], "MODE": lambda args: args["BLOCK"] + 1})(make_kernel())
    x = FakeTensor()
    for _ in range(2):
        assert kernel[(1,)](x, 8, scale=2.0, MODE=9).constants == {"BLOCK": 16, "MODE": 17}
    with pytest.raises(errors.InvalidArgument, match=r"\[E0205\] duplicate argument 'BLOCK'"):
        kernel[(1,)](x, 8, 2.0, 32)
    with pytest.raises(ZeroDivisionError):
        tilewright.heuristics({"BLOCK": lambda args: 1 // 0})(make_kernel())[(1,)](x, 8, 2.0)


def test_tuned_kernels_are_collected(mock, compiler):
    tuned = make_tuned()
    for _ in range(2):
        tuned[(1,)](FakeTensor(), 5, 2.0)
    gone = weakref.ref(tuned)
    compiler.calls.clear()
    tuned.myself = tuned
    del tuned
    gc.collect()
    assert gone() is None


# -- bound --------------------------------------------------------------------------------


@pytest.mark.parametrize("which", list(stacks()))
def test_bound_launches(mock, compiler, which):
    kernel = stacks()[which]
    x = FakeTensor()
    for step in (kernel[(3,)].bind(x, 5, scale=2.0), kernel.bind(x, 5, scale=2.0, grid=(3,))):
        mock.reset()
        compiler.calls.clear()
        assert python_calls(lambda: [step() for _ in range(3)]) == [] and not compiler.calls
        assert mock.count == 3 and mock.launch().grid == (3, 1, 1)
        assert step.grid == (3, 1, 1) and step.kernel.constants["BLOCK"] == 128
        with pytest.raises(errors.InvalidArgument, match="E0205"):
            step(x)
    assert kernel[(3,)](x, 5, 2.0) is step.kernel


def test_binding_a_tuned_kernel_chooses(mock):
    tuned = make_tuned()
    step = tuned[lambda meta: (meta["BLOCK"],)].bind(FakeTensor(), 5, 2.0)
    assert step.grid == (128, 1, 1) and tuned.best_config.kwargs == {"BLOCK": 128} and len(tuned.cache) == 1
    tuned.cache[next(iter(tuned.cache))] = tuned.configs[0]
    assert step().constants["BLOCK"] == 128  # that of the time of bind
    with pytest.raises(errors.InvalidOption, match="E0603"):
        tuned[(1,)].bind(FakeTensor(), 5, 2.0, BLOCK=64)


def test_bound_launch_of_a_configuration_with_a_hook(mock):
    heard = []
    config = tilewright.Config({"BLOCK": 128}, pre_hook=lambda named: heard.append((named["BLOCK"], named["n"])))
    tuned = tilewright.autotune([config], key=[])(make_kernel())
    step = tuned[(2,)].bind(FakeTensor(), 5, 2.0)
    assert not heard
    step()
    step()
    assert heard == [(128, 5)] * 2 and step.grid == (2, 1, 1) and step.kernel.constants["BLOCK"] == 128
    assert mock.count == 2


# -- threads --------------------------------------------------------------------------------


def run_in_threads(count, body):
    failures, barrier = [], threading.Barrier(count)

    def work(k):
        try:
            barrier.wait()
            body(k)
        except BaseException as error:  # noqa: BLE001 - reported below
            failures.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failures, failures[0]


def test_threads_tune_once_and_launch(mock, compiler):
    kernel, measured = make_kernel(), []
    tuned = make_tuned(kernel)
    tune = tuned._tune
    tuned._tune = lambda *args: measured.append(args[-1]) or tune(*args)

    def body(k):
        x = FakeTensor()
        for i in range(300):
            assert tuned[(1,)](x, 5 + i % 3, 2.0).constants["BLOCK"] == 128
            if i % 100 == 50:
                tuned._forget()
            if i % 50 == 0:
                assert tuned.bind(x, 5, 2.0, grid=(1,))().constants["BLOCK"] == 128

    run_in_threads(8, body)
    assert sorted(key[0] for key in measured) == [5, 6, 7] and len(tuned.cache) == 3


def test_threads_change_what_others_launch(mock):
    tuned = make_tuned(blocks=(64, 128))
    x, stop = FakeTensor(), threading.Event()
    tuned[(1,)](x, 5, 2.0)
    (key,), (small, large) = tuned.cache, tuned.configs

    def body(k):
        if k == 0:
            for i in range(200):
                tuned.cache[key] = (small, large)[i % 2]
                if i % 20 == 0:
                    tuned.configs = [small, large]
                    tuned.fn._clear_table()
            stop.set()
        while not stop.is_set():
            assert tuned[(1,)](x, 5, 2.0).constants["BLOCK"] in (64, 128)
            assert tuned.best_config in (small, large)

    run_in_threads(4, body)
    tuned.cache[key] = small
    assert tuned[(1,)](x, 5, 2.0).constants["BLOCK"] == tuned[(1,)](x, 5, 2.0).constants["BLOCK"] == 64
