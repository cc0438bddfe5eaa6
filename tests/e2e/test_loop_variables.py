# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Variables of pipelined loops that become values which the body of the loop does not compute."""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.compare import assert_same
from harness.element_types import exact_values

EMULATED = True


@tilewright.jit
def outer_rows_kernel(a_ptr, first_ptr, out_ptr, trips, B: tl.constexpr):
    # `rows` is a variable of the loop until its first iteration is over, and then a constant.
    index = tl.arange(0, B)
    rows = tl.load(first_ptr + index)
    acc = tl.zeros((B, B), tl.float32)
    for trip in range(trips):
        a = tl.load(a_ptr + trip * B * B + rows[:, None] * B + index[None, :])
        acc = tl.dot(a, a, acc)
        rows = tl.arange(0, B)
    tl.store(out_ptr + index[:, None] * B + index[None, :], acc)


@pytest.mark.parametrize("trips", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("stages", [1, 2, 3, 4])
def test_a_variable_that_becomes_a_value_from_outside(device, stages, trips):
    size = 32
    a = exact_values("float16", (max(trips, 1), size, size)) % 2
    first = np.arange(size, dtype=np.int32)[::-1].copy()
    out = device.empty((size, size), np.float32)
    device.run(outer_rows_kernel, (1,), device.array(a), device.array(first), out, trips, B=size, num_stages=stages)
    tiles = [a[trip][first] if trip == 0 else a[trip] for trip in range(trips)]
    expected = sum((tile.astype(np.float64) @ tile for tile in tiles), np.zeros((size, size)))
    assert_same(device.numpy(out), expected.astype(np.float32), signed_zeros=False)


@tilewright.jit
def same_rows_kernel(a_ptr, out_ptr, trips, B: tl.constexpr):
    # The hoisted tile is what `rows` was before the loop: no variable is left.
    index = tl.arange(0, B)
    rows = index
    acc = tl.zeros((B, B), tl.float32)
    for trip in range(trips):
        a = tl.load(a_ptr + trip * B * B + rows[:, None] * B + index[None, :])
        acc = tl.dot(a, a, acc)
        rows = tl.arange(0, B)
    tl.store(out_ptr + index[:, None] * B + index[None, :], acc)


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_a_variable_that_never_changes(device, stages):
    size, trips = 64, 4
    a = exact_values("float16", (trips, size, size)) % 2
    out = device.empty((size, size), np.float32)
    device.run(same_rows_kernel, (1,), device.array(a), out, trips, B=size, num_stages=stages, num_warps=4)
    expected = sum(a[trip].astype(np.float64) @ a[trip] for trip in range(trips))
    assert_same(device.numpy(out), expected.astype(np.float32), signed_zeros=False)


@tilewright.jit
def advancing_rows_kernel(
    x_ptr,
    out_ptr,
    last_ptr,
    trips,
    step,
    n,
    WIDTH: tl.constexpr,
    DTYPE: tl.constexpr,
    BLOCK: tl.constexpr,
    NESTED: tl.constexpr,
):
    """Rows that advance by one number, used along both dimensions, before and after they advance, and after the loop."""
    columns = tl.arange(0, BLOCK)
    rows = (tl.arange(0, BLOCK) * 2 + 1).to(DTYPE)
    for trip in range(trips):
        inside = (rows >= 0) & (rows < n)
        here = tl.load(x_ptr + rows[:, None] * WIDTH + columns[None, :], mask=inside[:, None], other=0)
        rows += step
        there = tl.load(x_ptr + rows[None, :] * WIDTH + columns[:, None], mask=((rows >= 0) & (rows < n))[None, :], other=0)
        tl.store(out_ptr + trip * BLOCK * BLOCK + columns[:, None] * BLOCK + columns[None, :], here + 2 * there)
        if NESTED:
            for _ in range(2):
                rows += 1
    tl.store(last_ptr + columns, rows)


@pytest.mark.parametrize("trips", [0, 1, 4])
@pytest.mark.parametrize("step", [1, 3, -5])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("nested", [False, True])
def test_rows_that_advance_as_a_whole(device, nested, dtype, step, trips):
    block, n = 16, 40
    x = exact_values("int32", (n, block), low=-100, high=100)
    out = device.empty((max(trips, 1), block, block), np.int32)
    last = device.empty((block,), np.dtype(dtype))
    arguments = [device.array(x), out, last, trips, step, n, block, getattr(tl, dtype), block, nested]
    device.run(advancing_rows_kernel, (1,), *arguments, num_warps=4)
    rows = np.arange(block) * 2 + 1
    for trip in range(trips):
        here, there = rows, rows + step
        first, second = (np.where(((at >= 0) & (at < n))[:, None], x[np.clip(at, 0, n - 1)], 0) for at in (here, there))
        assert_same(device.numpy(out)[trip], (first + 2 * second.T).astype(np.int32))
        rows = rows + step + 2 * nested
    assert_same(device.numpy(last), rows.astype(dtype))


@tilewright.jit
def wrapping_rows_kernel(out_ptr, trips, first, step, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    rows = (columns + first).to(tl.uint8)
    for trip in range(trips):
        tl.store(out_ptr + trip * BLOCK + columns, rows)
        rows += step.to(tl.uint8)
    tl.store(out_ptr + trips * BLOCK + columns, rows)


@pytest.mark.parametrize("step", [0, 100, 255])
def test_rows_that_wrap(device, step):
    block, trips, first = 64, 7, 3
    out = device.empty((trips + 1, block), np.uint8)
    device.run(wrapping_rows_kernel, (1,), out, trips, first, step, block, num_warps=1)
    expected = (first + np.arange(block)[None, :] + step * np.arange(trips + 1)[:, None]).astype(np.uint8)
    assert_same(device.numpy(out), expected)
