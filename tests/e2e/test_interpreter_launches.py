# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernel that a launch in the interpreter returns, and the configuration of a tuned kernel that it takes."""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from tilewright import errors


@tilewright.jit
def scale(x, out, n, factor: tl.constexpr, BLOCK: tl.constexpr = 16):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * factor, mask=i < n)


@pytest.mark.parametrize("constants", [(), (3, 16)], ids=["without", "with"])
def test_the_kernel_of_a_launch_launches_again(constants):
    x, first, second = np.arange(8, dtype=np.float32), np.zeros(8, np.float32), np.zeros(8, np.float32)
    kernel = scale[(1,)](x, first, 8, factor=3)
    kernel[(1,)](x + 1, second, 4, *constants)
    assert first.tolist() == (x * 3).tolist()
    assert second.tolist() == [3, 6, 9, 12, 0, 0, 0, 0]


def test_a_launch_without_programs_gives_a_kernel_too():
    x, out = np.ones(8, np.float32), np.zeros(8, np.float32)
    kernel = scale[(0,)](x, out, 8, factor=2)
    assert not out.any()
    kernel[1, 1, 1](x, out, 8)
    assert out.tolist() == [2] * 8


def test_wrong_number_of_arguments():
    kernel = scale[(1,)](np.ones(8, np.float32), np.zeros(8, np.float32), 8, factor=2)
    with pytest.raises(errors.InvalidArgument, match=r"\[E0205\] missing argument 'out'"):
        kernel[(1,)](np.ones(8, np.float32))
    with pytest.raises(errors.InvalidArgument, match=r"\[E0205\] unexpected argument '#4'"):
        kernel[(1,)](np.ones(8, np.float32), np.zeros(8, np.float32), 8, 2)


def tuned(*blocks, pre_hook=None):
    @tilewright.autotune([tilewright.Config({"BLOCK": block}, pre_hook=pre_hook) for block in blocks], key=["n"])
    @tilewright.jit
    def kernel(out, n, BLOCK: tl.constexpr):
        tl.static_assert(BLOCK <= 32)
        i = tl.arange(0, BLOCK)
        tl.store(out + i, BLOCK, mask=i < n)

    return kernel


def test_a_configuration_that_does_not_compile_is_passed_over():
    hooked = []
    kernel, out = tuned(128, 64, 32, 16, pre_hook=lambda names: hooked.append(names["BLOCK"])), np.zeros(8, np.int32)
    kernel[(1,)](out, 8)
    assert out.tolist() == [32] * 8 and kernel.best_config.kwargs == {"BLOCK": 32}
    assert hooked == [128, 64, 32]


def test_the_first_refusal_is_told_where_no_configuration_compiles():
    out = np.zeros(8, np.int32)
    with pytest.raises(errors.StaticAssertFailed, match="BLOCK = 128|E0113") as info:
        tuned(128, 64)[(1,)](out, 8)
    assert "BLOCK <= 32" in str(info.value) and not out.any()


class Address:
    """What libraries pass that have an address and an element type alone."""

    def __init__(self, array):
        self.array, self.dtype = array, "float32"

    def data_ptr(self):
        return self.array.ctypes.data


def test_an_address_without_a_shape_is_refused():
    out = np.zeros(8, np.float32)
    with pytest.raises(errors.InvalidArgument, match=r"\[E0204\] argument 'x' has type Address without a shape"):
        scale[(1,)](Address(out), out, 8, factor=2)
