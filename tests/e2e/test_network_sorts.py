# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sorting networks written in the language, as programs had them before tl.sort: keys with indices beside them."""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.compare import assert_same

EMULATED = True


@tilewright.jit
def partners(tile, SHAPE: tl.constexpr):
    """The first and the second of each pair, for both of them."""
    pairs = tl.reshape(tile, SHAPE)
    which = tl.arange(0, 2)[None, :, None]
    first = tl.sum(tl.where(which == 0, pairs, tl.zeros_like(pairs)), 1)
    second = tl.sum(tl.where(which == 1, pairs, tl.zeros_like(pairs)), 1)
    first = tl.broadcast_to(first[:, None, :], SHAPE)
    second = tl.broadcast_to(second[:, None, :], SHAPE)
    return tl.reshape(first, tile.shape), tl.reshape(second, tile.shape)


@tilewright.jit
def argsort_kernel(x_ptr, keys_ptr, order_ptr, stride, N: tl.constexpr, STAGES: tl.constexpr):
    place = tl.arange(0, N)
    row = tl.program_id(0) * stride
    keys = tl.load(x_ptr + row + place)
    order = place
    for stage in tl.static_range(1, STAGES + 1):
        falls = ((place >> stage) & 1) == 1
        for step in tl.static_range(stage):
            distance: tl.constexpr = 2 ** (stage - 1 - step)
            shape: tl.constexpr = [N // (2 * distance), 2, distance]
            first, second = partners(keys, shape)
            first_place, second_place = partners(order, shape)
            is_second = (place // distance) % 2 == 1
            swaps = (first > second) != falls
            keys = tl.where(swaps, tl.where(is_second, first, second), keys)
            order = tl.where(swaps, tl.where(is_second, first_place, second_place), order)
    tl.store(keys_ptr + row + place, keys)
    tl.store(order_ptr + row + place, order.to(tl.int64))


@pytest.mark.parametrize("warps, stages", [(1, 6), (1, 8), (4, 7), (4, 9), (8, 8)])
@pytest.mark.parametrize("name", ["float32", "float16", "int32"])
def test_argsort(device, name, warps, stages):
    """Rows of 2^stages different keys; odd strides, so that the stores of keys and indices prefer other layouts."""
    n, rows, stride = 2**stages, 2, 2**stages + 1
    generator = np.random.default_rng(stages)
    x = np.stack([generator.permutation(stride) for _ in range(rows)]).astype(name)
    keys, order = device.empty((rows, stride), x.dtype), device.empty((rows, stride), np.int64)
    device.run(argsort_kernel, (rows,), device.array(x), keys, order, stride, N=n, STAGES=stages, num_warps=warps)
    expected = np.argsort(x[:, :n], axis=1)
    assert_same(device.numpy(order)[:, :n], expected)
    assert_same(device.numpy(keys)[:, :n], np.sort(x[:, :n], axis=1))
