# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""debug=True: integer sums, differences and products that do not fit stop the kernel."""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.assemble import assemble_for
from harness.compare import assert_same
from tilewright import errors


@tilewright.jit
def sum_kernel(out_ptr, x_ptr, y_ptr):
    tl.store(out_ptr, tl.load(x_ptr) + tl.load(y_ptr))


@tilewright.jit
def difference_kernel(out_ptr, x_ptr, y_ptr):
    tl.store(out_ptr, tl.load(x_ptr) - tl.load(y_ptr))


@tilewright.jit
def product_kernel(out_ptr, x_ptr, y_ptr):
    tl.store(out_ptr, tl.load(x_ptr) * tl.load(y_ptr))


@tilewright.jit
def unchecked_kernel(out_ptr, x_ptr, y_ptr):
    x, y = tl.load(x_ptr), tl.load(y_ptr)
    tl.store(out_ptr, tl.add(x, y, sanitize_overflow=False) + tl.mul(0, tl.sub(x, y, sanitize_overflow=False)))


CASES = [
    (sum_kernel, -(2**31), -1, "int32", True),
    (sum_kernel, 2**31 - 1, 1, "int32", True),
    (sum_kernel, 2**31 - 1, 0, "int32", False),
    (sum_kernel, -128, -1, "int8", True),
    (sum_kernel, 2**32 - 1, 1, "uint32", True),
    (sum_kernel, 2**63 - 1, 1, "int64", False),
    (difference_kernel, 0, 1, "uint16", True),
    (difference_kernel, -(2**31), 1, "int32", True),
    (difference_kernel, 1, 1, "uint32", False),
    (product_kernel, 2**16, 2**15, "int32", True),
    (product_kernel, 2**32 - 1, 2**32 - 1, "uint32", True),
    (product_kernel, 2**16, 2**16 - 1, "uint32", False),
    (unchecked_kernel, 2**31 - 1, 1, "int32", False),
]


@pytest.mark.parametrize("kernel, x, y, dtype, overflows", CASES)
def test_interpreter_stops_at_an_overflow(kernel, x, y, dtype, overflows):
    x, y, out = np.array([x], dtype), np.array([y], dtype), np.zeros(1, dtype)
    kernel[(1,)](out, x, y)  # wraps without debug
    kernel[(1,)](out, x, y, debug=True, sanitize_overflow=False)
    if not overflows:
        kernel[(1,)](out, x, y, debug=True)
        return
    word = {sum_kernel: "add", difference_kernel: "sub", product_kernel: "mul"}[kernel]
    message = f"int{x.dtype.itemsize * 8} overflow detected for operation {word}"
    with pytest.raises(errors.TilewrightError, match=message) as info:
        kernel[(1,)](out, x, y, debug=True)
    assert info.value.code == "E0403"


def test_debug_of_the_decorator_checks_too():
    kernel = tilewright.jit(sum_kernel.fn, debug=True)
    with pytest.raises(errors.TilewrightError, match="overflow detected"):
        kernel[(1,)](np.zeros(1, np.int32), np.array([2**31 - 1], np.int32), np.ones(1, np.int32))


@pytest.mark.parametrize(
    "options, has_check", [({}, False), ({"debug": True}, True), ({"debug": True, "sanitize_overflow": False}, False)]
)
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_compiled_kernels_check_in_debug_mode_only(target, options, has_check):
    ones = np.ones(1, np.int32)
    compiled = assemble_for(product_kernel, target, (ones, ones, ones), options)
    assert ("int32 overflow detected for operation mul" in compiled.asm["ttir"]) == has_check
    assert ("trap" in compiled.asm["ptx"] or "__assertfail" in compiled.asm["ptx"]) == has_check


@tilewright.jit
def combine(a, b):
    return a + b


@tilewright.jit
def library_kernel(out_ptr, x_ptr, seed, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    total = tl.reduce(x, 0, combine) + tl.sum(x) + tl.sum(tl.associative_scan(x, 0, combine))
    tl.store(out_ptr + offsets, tl.randint(seed, offsets).to(tl.int32, bitcast=True))
    tl.store(out_ptr, total)


def test_debug_of_functions_that_wrap_on_purpose(device):
    x = np.arange(16, dtype=np.int32)
    out = device.empty(16, np.int32)
    device.run(library_kernel, (1,), out, device.array(x), 12345, N=16, debug=True)
    assert device.numpy(out)[0] == 2 * x.sum() + np.cumsum(x).sum()
    plain = device.empty(16, np.int32)
    device.run(library_kernel, (1,), plain, device.array(x), 12345, N=16)
    assert_same(device.numpy(out), device.numpy(plain))


@tilewright.jit
def zero_kernel(out_ptr, x_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    tl.store(out_ptr + offsets, tl.expect_zero(tl.load(x_ptr + offsets), offsets >= 2))


def test_promise_of_zeros_is_checked():
    x, out = np.array([5, 6, 0, 0], np.float32), np.zeros(4, np.float32)
    zero_kernel[(1,)](out, x, N=4)
    assert_same(out, x)
    with pytest.raises(errors.TilewrightError, match="expect_zero") as info:
        zero_kernel[(1,)](out, x[::-1].copy(), N=4)
    assert info.value.code == "E0403"
