# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches that are bound to their arguments, against the recording driver; run by test_launch_mock.py."""

import gc
import os
import weakref

import numpy as np
import pytest

import tilewright
from harness.launch_cases import DEVICE0, make_kernel, tensors
from harness.mock_driver import FakeTensor
from tilewright import errors, knobs
from tilewright.tools.tensor_descriptor import TensorDescriptor

if "MOCK_CASES" not in os.environ:
    pytest.skip("needs the mock driver; see test_launch_mock.py", allow_module_level=True)

pytest_plugins = ["harness.launch_cases"]


# -- bound launches ---------------------------------------------------------------


def test_bound_launch_repeats_what_it_was_given(mock, compiler):
    add = make_kernel()
    bound = add[(7, 2)].bind(*tensors(), 1004, BLOCK=128)
    assert mock.count == 0 and bound.grid == (7, 2, 1)
    kernel = bound()
    assert bound() is kernel is bound.kernel
    assert add[(1,)](*tensors(), 1001, BLOCK=128) is kernel and len(compiler.calls) == 1
    for index in (0, 1):
        launch = mock.launch(index)
        assert launch.grid == (7, 2, 1) and launch.unpack("QQQi") == (DEVICE0, DEVICE0 + 4096, DEVICE0 + 8192, 1004)


def test_bind_of_the_kernel_takes_the_grid_by_name(mock):
    bound = make_kernel().bind(*tensors(), 1000, grid=lambda meta: (meta["n"] // meta["BLOCK"],), BLOCK=100)
    bound()
    assert mock.launch().grid == (10, 1, 1)


def test_bound_launch_takes_no_arguments():
    bound = make_kernel()[(1,)].bind(*tensors(), 1000, BLOCK=128)
    with pytest.raises(errors.InvalidArgument, match=r"\[E0205\] unexpected argument '#1'"):
        bound(5)
    with pytest.raises(TypeError, match="unexpected argument 'n'"):
        bound(n=5)


def test_bound_launch_keeps_its_arguments_and_lets_go():
    add = make_kernel()
    x, y, out = tensors()
    bound = add[(1,)].bind(x, y, out, 1000, BLOCK=128)
    seen = weakref.ref(x)
    del x
    gc.collect()
    assert seen() is not None
    bound()
    del bound
    gc.collect()
    assert seen() is None


def test_bound_launch_in_a_cycle_is_collected():
    add = make_kernel()
    x, y, out = tensors()
    x.launch = add[(1,)].bind(x, y, out, 1000, BLOCK=128)
    seen = weakref.ref(x)
    del x
    gc.collect()
    assert seen() is None


def test_bound_launch_outlives_the_table(mock):
    add = make_kernel()
    bound = add[(1,)].bind(*tensors(), 1000, BLOCK=128)
    add.device_caches.clear()
    del add
    gc.collect()
    assert bound().name == "add" and mock.count == 1


def test_bound_launch_of_an_empty_grid(mock):
    bound = make_kernel()[(0,)].bind(*tensors(), 1000, BLOCK=128)
    assert bound().name == "add" and mock.count == 0


def test_bound_launch_with_descriptors_and_tuples(mock):

    class Matrix(FakeTensor):
        shape = (64, 64)

    @tilewright.jit
    def f(a, pair, n):
        pass

    described = TensorDescriptor(Matrix(), [64, 64], [64, 1], [16, 16])
    bound = f[(1,)].bind(described, (FakeTensor(DEVICE0 + 64), 5), 7)
    before = mock.encodes
    f[(1,)](described, (FakeTensor(DEVICE0 + 64), 5), 7)
    bound()
    assert mock.launch(0).parameters == mock.launch(1).parameters and mock.encodes == before


def test_bound_launch_with_scratch_memory_asks_each_time(mock, compiler):
    compiler.metadata = {"global_scratch_size": 128, "global_scratch_align": 64}
    compiler.sizes = [4, 8]
    addresses = iter((0x1000, 0x2000))

    class Buffer:
        def data_ptr(self):
            return next(addresses)

    @tilewright.jit
    def f(a):
        pass

    tilewright.set_allocator(lambda size, alignment, stream: Buffer())
    try:
        bound = f[(4,)].bind(7)
        bound()
        bound()
    finally:
        tilewright.set_allocator(None)
    assert [mock.launch(i).unpack("iQ") for i in (0, 1)] == [(7, 0x1000), (7, 0x2000)]


def test_hooks_of_a_bound_launch():
    add = make_kernel()
    events = []
    bound = add[(1,)].bind(*tensors(), 5, BLOCK=64)
    add.add_pre_run_hook(lambda *args: events.append(("pre", args[3:])))
    with knobs.runtime.scope():
        knobs.runtime.launch_enter_hook.add(lambda data: events.append(data.get()["name"]))
        bound()
    bound()
    assert events == [("pre", (5, 64)), "add", ("pre", (5, 64))]


def test_bound_launch_of_numpy_arrays_is_interpreted(monkeypatch, mock):
    add = make_kernel()
    calls = []
    monkeypatch.setattr(type(add), "_run_interpreted", lambda self, grid, bound, options: calls.append((grid, bound["n"])))
    a = np.zeros(4, np.float32)
    bound = add[(2,)].bind(a, a, a, n=4, BLOCK=4)
    assert calls == []
    bound()
    assert calls == [((2,), 4)] and mock.count == 0


def test_errors_of_bind_name_the_line():
    with pytest.raises(errors.InvalidArgument, match=r"\[E0205\] missing argument 'n'") as info:
        make_kernel()[(1,)].bind(*tensors(), BLOCK=4)
    assert info.value.frames[0].file == __file__
