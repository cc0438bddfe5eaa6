# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums and extrema that a loop gathers: threads combine theirs after the loop."""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.compare import assert_same
from harness.element_types import NUMPY_TYPES, exact_values

EMULATED = True

TRIPS = [0, 1, 3]
NUMPY_OPS = {"sum": np.add, "max": np.maximum, "min": np.minimum, "xor": np.bitwise_xor}


@tilewright.jit
def reduced(tile, OP: tl.constexpr, AXIS: tl.constexpr):
    if OP == "sum":
        result = tl.sum(tile, AXIS)
    elif OP == "max":
        result = tl.max(tile, AXIS)
    elif OP == "min":
        result = tl.min(tile, AXIS)
    else:
        result = tl.xor_sum(tile, AXIS)
    return result


@tilewright.jit
def combined(a, b, OP: tl.constexpr):
    if OP == "sum":
        result = a + b
    elif OP == "max":
        result = tl.maximum(a, b)
    elif OP == "min":
        result = tl.minimum(a, b)
    else:
        result = a ^ b
    return result


@tilewright.jit
def gather_kernel(x_ptr, init_ptr, out_ptr, trips, OP: tl.constexpr, AXIS: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    kept = rows if AXIS == 1 else columns
    total = tl.load(init_ptr + kept)
    for trip in range(0, trips):
        tile = tl.load(x_ptr + trip * M * N + rows[:, None] * N + columns[None, :])
        total = combined(total, reduced(tile, OP, AXIS), OP)
    tl.store(out_ptr + kept, total)


@pytest.mark.parametrize("trips", TRIPS)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(
    "name, op", [("int32", "sum"), ("float32", "sum"), ("float32", "max"), ("int32", "min"), ("uint32", "xor")]
)
def test_tiles(device, name, op, axis, trips):
    m, n = 32, 64
    x = exact_values(name, (max(trips, 1), m, n))
    init = exact_values(name, m if axis == 1 else n, seed=1)
    out = device.empty(init.shape, NUMPY_TYPES[name])
    device.run(gather_kernel, (1,), device.array(x), device.array(init), out, trips, OP=op, AXIS=axis, M=m, N=n, num_warps=4)
    expected = init
    for tile in x[:trips]:
        expected = NUMPY_OPS[op](expected, NUMPY_OPS[op].reduce(tile, axis=axis))
    assert_same(device.numpy(out), expected.astype(init.dtype), signed_zeros=False)


@tilewright.jit
def total_kernel(x_ptr, out_ptr, trips, init, OP: tl.constexpr, N: tl.constexpr):
    columns = tl.arange(0, N)
    total = init
    for trip in range(0, trips):
        total = combined(total, reduced(tl.load(x_ptr + trip * N + columns), OP, 0), OP)
    tl.store(out_ptr, total)


@pytest.mark.parametrize("trips", TRIPS)
@pytest.mark.parametrize("op", ["sum", "max"])
@pytest.mark.parametrize("n, warps", [(16, 1), (256, 4)])
def test_scalars(device, n, warps, op, trips):
    x = exact_values("int32", (max(trips, 1), n))
    out = device.empty(1, np.int32)
    device.run(total_kernel, (1,), device.array(x), out, trips, 5, OP=op, N=n, num_warps=warps)
    expected = 5
    for row in x[:trips]:
        expected = NUMPY_OPS[op](expected, NUMPY_OPS[op].reduce(row))
    assert device.numpy(out)[0] == expected


@tilewright.jit
def decayed_kernel(x_ptr, factor_ptr, out_ptr, last_ptr, trips, START: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    """A sum that each iteration scales, and one that the loop itself reads: that must stay whole."""
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    total = tl.full((M,), START, tl.float32)
    last = tl.zeros((M,), tl.float32)
    for trip in range(0, trips):
        tile = tl.load(x_ptr + trip * M * N + rows[:, None] * N + columns[None, :])
        total = total * tl.load(factor_ptr + trip * M + rows) + tl.sum(tile, 1)
        last = tl.maximum(last * 0.5, tl.abs(last)) + tl.sum(tile, 1)
    tl.store(out_ptr + rows, total)
    tl.store(last_ptr + rows, last)


@pytest.mark.parametrize("trips", TRIPS)
@pytest.mark.parametrize("start", [0.0, 4.0])
def test_scaled_sums(device, start, trips):
    m, n = 64, 32
    x = exact_values("float32", (max(trips, 1), m, n))
    factors = np.exp2(exact_values("float32", (max(trips, 1), m), 1, -2, 2)).astype(np.float32)
    out, last = device.empty(m, np.float32), device.empty(m, np.float32)
    device.run(
        decayed_kernel, (1,), device.array(x), device.array(factors), out, last, trips, START=start, M=m, N=n, num_warps=4
    )
    total, whole = np.full(m, start, np.float32), np.zeros(m, np.float32)
    for tile, factor in zip(x[:trips], factors):
        total = total * factor + tile.sum(axis=1)
        whole = np.maximum(whole * np.float32(0.5), np.abs(whole)) + tile.sum(axis=1)
    assert_same(device.numpy(out), total, signed_zeros=False)
    assert_same(device.numpy(last), whole, signed_zeros=False)
