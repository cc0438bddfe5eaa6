# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hints, options and debugging aids: they change the code, never the result."""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.compare import assert_same
from harness.element_types import exact_values, random_values


@tilewright.jit
def hinted_kernel(x_ptr, out_ptr, stride, n, BLOCK: tl.constexpr):
    tl.assume(stride > 0)
    tl.assume(n % 16 == 0)
    start = tl.multiple_of(tl.program_id(0) * stride, 16)
    offsets = tl.max_contiguous(tl.multiple_of(start + tl.arange(0, BLOCK), BLOCK), BLOCK)
    row = tl.max_constancy(tl.arange(0, BLOCK) // 64, 64)
    mask = tl.arange(0, BLOCK) < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, x + row, mask=mask)


@pytest.mark.parametrize("n", [16, 128, 240])
def test_hints(device, n):
    x = random_values("float32", (4, 256))
    out = device.array(np.zeros_like(x))
    device.run(hinted_kernel, (4,), device.array(x), out, 256, n, BLOCK=256)
    expected = np.zeros_like(x)
    expected[:, :n] = (x + (np.arange(256) // 64).astype(np.float32))[:, :n]
    assert_same(device.numpy(out), expected)


@tilewright.jit
def reduce_and_transpose_kernel(x_ptr, out_ptr, sum_ptr, M: tl.constexpr, N: tl.constexpr):
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    x = tl.load(x_ptr + m[:, None] * N + n[None, :])
    tl.store(out_ptr + n[:, None] * M + m[None, :], tl.trans(x))
    tl.store(sum_ptr + m, tl.sum(x, axis=1))


@pytest.mark.parametrize("warps", [1, 2, 4, 8, 16, 32])
@pytest.mark.parametrize("shape", [(16, 16), (64, 128), (2, 256)])
def test_warps_do_not_matter(device, shape, warps):
    x = exact_values("float32", shape)
    out, sums = device.empty(shape[::-1], np.float32), device.empty(shape[0], np.float32)
    device.run(reduce_and_transpose_kernel, (1,), device.array(x), out, sums, *shape, num_warps=warps)
    assert_same(device.numpy(out), np.ascontiguousarray(x.T))
    assert_same(device.numpy(sums), x.sum(axis=1))


@tilewright.jit
def loop_hints_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in tl.range(0, n, BLOCK, num_stages=3, loop_unroll_factor=2, disable_licm=True):
        total += tl.load(x_ptr + start + offsets, mask=start + offsets < n, other=0.0)
    tl.store(out_ptr + offsets, total)


@pytest.mark.parametrize("n", [1, 64, 65, 320])
def test_loop_hints(device, n):
    x = exact_values("float32", 320)
    out = device.empty(64, np.float32)
    device.run(loop_hints_kernel, (1,), device.array(x), out, n, BLOCK=64)
    padded = np.where(np.arange(320) < n, x, np.float32(0))
    assert_same(device.numpy(out), padded.reshape(-1, 64).sum(axis=0))


@tilewright.jit
def static_checks_kernel(out_ptr, N: tl.constexpr):
    tl.static_assert(N % 2 == 0, f"N is {N}, which is odd")
    tl.static_print("N is", N)
    tl.device_assert(tl.program_id(0) >= 0, "never")
    assert tl.num_programs(0) > 0, "never either"
    tl.store(out_ptr, N)


def test_checks_that_hold(device, capfd):
    out = device.empty(1, np.int32)
    device.run(static_checks_kernel, (1,), out, N=4)
    assert device.numpy(out)[0] == 4


def test_static_assert_names_its_message(device):
    with pytest.raises(tilewright.CompilationError, match="N is 3, which is odd"):
        device.run(static_checks_kernel, (1,), device.empty(1, np.int32), N=3)


@tilewright.jit
def print_kernel(x_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    tl.device_print("value", x)
    print("sum", tl.sum(x, axis=0))


def test_device_print(device, capfd):
    x = device.array(np.array([5, 6], np.int32))
    device.run(print_kernel, (1,), x, BLOCK=2)
    if device.name == "gpu":
        import torch

        torch.cuda.synchronize()
    assert device.numpy(x).tolist() == [5, 6]
    printed = capfd.readouterr().out
    assert "value" in printed and "5" in printed and "6" in printed
    assert "sum" in printed and "11" in printed


@tilewright.jit
def not_specialised_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets) * n)


not_specialised = tilewright.jit(do_not_specialize=["n"])(not_specialised_kernel.fn)


@pytest.mark.parametrize("n", [1, 16, 7])
def test_specialisation_does_not_matter(device, n):
    x = exact_values("int32", 64)
    for kernel in (not_specialised_kernel, not_specialised):
        out = device.empty(64, np.int32)
        device.run(kernel, (1,), device.array(x), out, n, BLOCK=64)
        assert_same(device.numpy(out), x * n)
