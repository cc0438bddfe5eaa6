# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches by many threads on the recording driver; run by test_launch_mock.py.

Under a Python without a GIL the threads really meet; elsewhere they take turns at the
places where Python lets them. A deadlock is a failure: each case has a minute.
"""

import gc
import os
import sys
import sysconfig
import threading
import time

import pytest

import tilewright
import tilewright.language as tl
from harness.launch_cases import constexpr
from harness.mock_driver import FakeTensor
from tilewright import knobs
from tilewright.tools.tensor_descriptor import TensorDescriptor

if "MOCK_CASES" not in os.environ:
    pytest.skip("needs the mock driver; see test_launch_mock.py", allow_module_level=True)

pytest_plugins = ["harness.launch_cases"]

THREADS = 8
ROUNDS = int(os.environ.get("CAMPAIGN_ROUNDS", 150))  # see CONTRIBUTING.md


@pytest.fixture(autouse=True)
def often():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def together(*bodies):
    """Runs each in a thread; the first failure of any is raised here."""
    failures, barrier = [], threading.Barrier(len(bodies))

    def work(body):
        try:
            barrier.wait(60)
            body()
        except BaseException as error:  # noqa: BLE001 - reported below
            failures.append(error)

    threads = [threading.Thread(target=work, args=(body,), daemon=True) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    if failures:
        raise failures[0]
    assert not any(thread.is_alive() for thread in threads), "threads wait for each other"


def until_done(workers, *others):
    """`workers` do their rounds; `others` are repeated until these have ended."""
    left = [len(workers)]
    lock = threading.Lock()

    def counted(body):

        def run():
            try:
                for i in range(ROUNDS):
                    body(i)
            finally:
                with lock:
                    left[0] -= 1

        return run

    def repeated(body):

        def run():
            while left[0]:
                body()

        return run

    together(*map(counted, workers), *map(repeated, others))


def collect():
    gc.collect()
    time.sleep(0.005)


def make_kernel():

    @tilewright.jit
    def kernel(x, n, BLOCK: constexpr, WHAT: constexpr = None):
        pass

    kernel.fn.__tilewright_reads__ = ("WIDTH",)
    return kernel


WIDTH = (4, 4)


# -- first launches ----------------------------------------------------------------------


def test_a_first_launch_of_many_threads_compiles_once(mock, compiler):
    for _ in range(ROUNDS // 5):
        kernel, found = make_kernel(), []
        compiler.calls.clear()
        together(*[lambda: found.append(kernel[(1,)](FakeTensor(), 5, 64))] * THREADS)
        assert len(compiler.calls) == 1 == kernel._table_size() and len(set(map(id, found))) == 1


def test_first_launches_with_different_constants(mock, compiler):
    values = [None, True, 3, 3.0, "text", (1, 2.0), tl.float16, tl.float32]
    for _ in range(ROUNDS // 10):
        kernel, found = make_kernel(), {}
        compiler.calls.clear()

        def body(k):
            for i in range(len(values)):
                value = values[(i + k) % len(values)]
                compiled = kernel[(1,)](FakeTensor(), 5, 64, WHAT=value)
                assert found.setdefault((type(value), value), compiled) is compiled
                assert compiled.constants["WHAT"] == value and type(compiled.constants["WHAT"]) is type(value)

        together(*[lambda k=k: body(k) for k in range(THREADS)])
        assert len(compiler.calls) == len(values) == kernel._table_size()


@tilewright.jit
def doubled(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + i, 2 * tl.load(x_ptr + i))


@tilewright.jit
def summed(x_ptr, out_ptr, BLOCK: tl.constexpr):
    tl.store(out_ptr, tl.sum(tl.load(x_ptr + tl.arange(0, BLOCK)), axis=0))


def test_the_compiler_runs_in_many_threads(mock):
    """The real one: every thread compiles other kernels, and all the same one."""
    texts = {}

    def body(k):
        for kernel in (doubled, summed):
            for block in (64, 128 << k % 4, 64 << k % 4):
                source = tilewright.compiler.ASTSource(kernel, {"x_ptr": "*fp32", "out_ptr": "*fp32"}, {"BLOCK": block})
                ptx = tilewright.compile(source, "sm_90a").asm["ptx"]
                assert texts.setdefault((kernel.__name__, block), ptx) == ptx

    together(*[lambda k=k: body(k) for k in range(THREADS)])
    assert len(texts) == 10


# -- warm launches -----------------------------------------------------------------------


def test_launches_of_same_and_different_kernels(mock, compiler):
    shared = make_kernel()

    def body(k):
        own, x = make_kernel(), FakeTensor(address=0x10000000000 + 16 * k)

        def launches(i):
            for kernel in (shared, own):
                compiled = kernel[(1 + i % 3,)](x, 5 + 2 * k, BLOCK=64 << i % 3, WHAT="abcdef"[i % 6])
                assert compiled.constants == {"BLOCK": 64 << i % 3, "WHAT": "abcdef"[i % 6]}

        return launches

    until_done([body(k) for k in range(THREADS)])
    assert mock.count == 2 * THREADS * ROUNDS and shared._table_size() == 6
    parameters = {mock.launch(i).unpack("Qi") for i in range(mock.count)}
    assert parameters == {(0x10000000000 + 16 * k, 5 + 2 * k) for k in range(THREADS)}


def test_launches_while_tables_are_cleared_and_garbage_is_collected(mock, compiler):
    kernel = make_kernel()
    bound = kernel[(1,)].bind(FakeTensor(), 5, 64)

    def launches(i):
        assert kernel[(1,)](FakeTensor(), 5 + i, BLOCK=64, WHAT=f"text {i % 20}").constants["BLOCK"] == 64
        bound()

    def clear():
        kernel._clear_table()
        time.sleep(0.001)

    until_done([launches] * THREADS, clear, collect)


def test_launches_while_globals_are_replaced_by_equal_ones(mock, compiler):
    kernel = make_kernel()

    def replace():
        globals()["WIDTH"] = tuple([4, 4])  # another object each time

    until_done([lambda i: kernel[(1,)](FakeTensor(), 5, 64)] * THREADS, replace)
    assert len(compiler.calls) == 1
    globals()["WIDTH"] = (4, 5)
    with pytest.raises(RuntimeError, match="Global variable WIDTH has changed"):
        kernel[(1,)](FakeTensor(), 5, 64)
    globals()["WIDTH"] = (4, 4)


def test_kernels_come_and_go(mock, compiler):

    def body(i):
        kernel = make_kernel()
        step = kernel[(1,)].bind(FakeTensor(), 5, 64)
        assert step() is kernel[(1,)](FakeTensor(), 5, 64) is step.kernel
        del step, kernel
        if i % 20 == 0:
            compiler.calls.clear()
            gc.collect()

    until_done([body] * THREADS)


def test_one_bound_launch_of_many_threads(mock, compiler):
    step = make_kernel()[(2,)].bind(FakeTensor(), 5, 64)
    until_done([lambda i: step()] * THREADS, lambda: (step.grid, step.kernel))
    assert mock.count == THREADS * ROUNDS


def test_descriptors_and_tuples(mock, compiler):

    @tilewright.jit
    def kernel(a, pair, BLOCK: constexpr):
        pass

    def body(k):
        base = FakeTensor(address=0x10000000000 + 256 * k, dtype="float16")

        def launches(i):
            descriptor = TensorDescriptor(base, [64 + i % 4, 64], [64, 1], [16, 32])
            assert descriptor.shape[0] == 64 + i % 4
            kernel[(1,)](descriptor, (base, (5, 2.0)), BLOCK=64)

        return launches

    until_done([body(k) for k in range(THREADS)])
    assert mock.count == THREADS * ROUNDS and len(compiler.calls) <= 2


def test_hooks_and_switches_change_during_launches(mock, compiler):
    kernel, heard = make_kernel(), []
    hook = heard.append

    def toggle():
        kernel.pre_run_hooks.append(lambda *args, **kwargs: None)
        knobs.runtime.launch_enter_hook.add(hook)
        knobs.runtime.launch_enter_hook.remove(hook)
        kernel.pre_run_hooks.clear()

    until_done([lambda i: kernel[(1,)](FakeTensor(), 5, 64)] * THREADS, toggle)
    assert mock.count == THREADS * ROUNDS


def test_tuned_kernels_with_heuristics(mock, compiler):

    def bench(call, quantiles):
        call()
        return [1.0] * len(quantiles)

    configs = [tilewright.Config({"BLOCK": block}) for block in (64, 128)]
    tuned = tilewright.autotune(configs, key=["n"], do_bench=bench)(make_kernel())
    kernel = tilewright.heuristics({"WHAT": lambda args: args["n"] % 2})(tuned)

    def launches(i):
        compiled = kernel[(1,)](FakeTensor(), 5 + i % 4)
        assert compiled.constants["WHAT"] == (5 + i % 4) % 2
        assert tuned.best_config in configs

    until_done([launches] * THREADS, tuned._forget, collect)
    assert len(tuned.cache) == 4


# -- the interpreter -----------------------------------------------------------------------


def test_the_interpreter_in_many_threads():
    numpy = pytest.importorskip("numpy")

    def launches(i):
        x, out = numpy.arange(64, dtype=numpy.float32) + i, numpy.zeros(64, numpy.float32)
        if i < 20:
            doubled[(1,)](x, out, 64)
            assert (out == 2 * x).all()

    until_done([launches] * 4)


def test_importing_leaves_the_lock_off():
    if not sysconfig.get_config_var("Py_GIL_DISABLED") or os.environ.get("PYTHON_GIL") == "1":
        pytest.skip("this Python has a GIL")
    assert not sys._is_gil_enabled()
