# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions of which a thread has many results, and butterflies whose halves lie in other lanes or warps."""

import re

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.assemble import assemble_for
from harness.compare import assert_same
from harness.element_types import exact_values

EMULATED = True
ROWS, COLUMNS = 64, 32
ORDERS = [(0, 1, 2, 3), (1, 0, 3, 2), (2, 3, 0, 1)]


def turned(x, order):
    """What `order` makes of the tile: bits of its indices change places, and so lanes and registers."""
    return x.reshape(ROWS // 4, 4, 4, COLUMNS // 4).transpose(order).reshape(ROWS, COLUMNS)


@tilewright.jit
def load_turned(x_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, ORDER: tl.constexpr):
    at = tl.reshape(tl.arange(0, ROWS * COLUMNS), (ROWS // 4, 4, 4, COLUMNS // 4))
    return tl.reshape(tl.permute(tl.load(x_ptr + at), ORDER), (ROWS, COLUMNS))


@tilewright.jit
def sum_kernel(x_ptr, out_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, ORDER: tl.constexpr, AXIS: tl.constexpr):
    x = load_turned(x_ptr, ROWS, COLUMNS, ORDER)
    results: tl.constexpr = ROWS if AXIS == 1 else COLUMNS
    tl.store(out_ptr + tl.arange(0, results), tl.sum(x, AXIS))


@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", ["float32", "float16", "int32", "int64", "int8"])
def test_sums(device, name, order, axis, warps):
    x = exact_values(name, ROWS * COLUMNS) % 2
    expected = turned(x, order).sum(axis, dtype=x.dtype if x.dtype.itemsize > 1 else np.int32)
    out = device.empty(len(expected), expected.dtype)
    device.run(sum_kernel, (1,), device.array(x), out, ROWS, COLUMNS, order, axis, num_warps=warps)
    assert_same(device.numpy(out), expected)


@tilewright.jit
def spread_kernel(x_ptr, out_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, ORDER: tl.constexpr, AXIS: tl.constexpr):
    x = load_turned(x_ptr, ROWS, COLUMNS, ORDER)
    at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    tl.store(out_ptr + at, x - tl.max(x, AXIS, keep_dims=True))


@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("order", ORDERS)
def test_results_that_all_lanes_want(device, order, axis, warps):
    x = exact_values("float32", ROWS * COLUMNS)
    expected = turned(x, order)
    expected = expected - expected.max(axis, keepdims=True)
    out = device.empty((ROWS, COLUMNS), np.float32)
    device.run(spread_kernel, (1,), device.array(x), out, ROWS, COLUMNS, order, axis, num_warps=warps)
    assert_same(device.numpy(out), expected)


@tilewright.jit
def places_kernel(
    x_ptr, value_ptr, place_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, ORDER: tl.constexpr, AXIS: tl.constexpr
):
    x = load_turned(x_ptr, ROWS, COLUMNS, ORDER)
    value, place = tl.max(x, AXIS, return_indices=True)
    results: tl.constexpr = ROWS if AXIS == 1 else COLUMNS
    tl.store(value_ptr + tl.arange(0, results), value)
    tl.store(place_ptr + tl.arange(0, results), place)


@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("order", ORDERS)
def test_values_with_their_places(device, order, axis, warps):
    """Two operands, and of equal values the first place, whichever lane has it."""
    x = exact_values("float32", ROWS * COLUMNS) % 4
    tile = turned(x, order)
    value, place = device.empty(tile.shape[1 - axis], np.float32), device.empty(tile.shape[1 - axis], np.int32)
    device.run(places_kernel, (1,), device.array(x), value, place, ROWS, COLUMNS, order, axis, num_warps=warps)
    assert_same(device.numpy(value), tile.max(axis))
    assert_same(device.numpy(place), tile.argmax(axis).astype(np.int32))


@tilewright.jit
def hadamard_kernel(x_ptr, out_ptr, N: tl.constexpr, STEPS: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    for step in tl.static_range(STEPS):
        x = tl.permute(tl.reshape(x, (N >> (step + 1), 2, 1 << step)), (0, 2, 1))
        low, high = tl.split(x)
        x = tl.reshape(tl.permute(tl.join(low + high, low - high), (0, 2, 1)), (N,))
    tl.store(out_ptr + i, x)


@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("name", ["float32", "float16", "int8", "int64"])
@pytest.mark.parametrize("n", [16, 64, 1024])
def test_butterflies(device, n, name, warps):
    x = exact_values(name, n) % 2
    expected = x.copy()
    for step in range(n.bit_length() - 1):
        low, high = np.moveaxis(expected.reshape(-1, 2, 1 << step), 1, 0)
        expected = np.stack([low + high, low - high], 1).reshape(-1)
    out = device.empty(n, x.dtype)
    device.run(hadamard_kernel, (1,), device.array(x), out, n, n.bit_length() - 1, num_warps=warps)
    assert_same(device.numpy(out), expected)


@tilewright.jit
def count_kernel(x_ptr, out_ptr, value, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    tl.store(out_ptr, tl.sum((x == value).to(tl.int32)))


@pytest.mark.parametrize("n", [32, 128, 1024])
def test_counts(device, n):
    x = (np.arange(n) % 5).astype(np.int32)
    out = device.empty(1, np.int32)
    device.run(count_kernel, (1,), device.array(x), out, 3, n, num_warps=1)
    assert int(device.numpy(out)[0]) == int((x == 3).sum())


def test_a_count_is_a_tree():
    """Of 32 conditions in a thread no sum waits for more than five others."""
    x = np.zeros(1024, np.int32)
    ptx = assemble_for(count_kernel, "sm_90a", [x, x, 3, 1024], {"num_warps": 1}).asm["ptx"]
    depth = {}
    for result, first, second in re.findall(r"add\.s32\s+(%r\d+), (%r\d+), (%r\d+);", ptx):
        depth[result] = 1 + max(depth.get(first, 0), depth.get(second, 0))
    assert len(depth) >= 31 and max(depth.values()) == 5
