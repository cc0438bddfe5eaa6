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
