# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constants that are unpacked into names annotated before, recursion over shapes, and the types of tuples."""

import numpy as np

import tilewright
import tilewright.language as tl
from harness.compare import assert_same

EMULATED = True


@tilewright.jit
def unpacked_kernel(out_ptr, SHAPE: tl.constexpr):
    rows: tl.constexpr
    columns: tl.constexpr
    (rows, columns), factor = SHAPE
    tile = tl.full((rows, columns), 1, tl.int32) * factor
    tl.static_assert(factor.dtype == tl.int32)
    both: tl.constexpr
    if (both := rows * columns) > 4:
        tl.store(out_ptr + tl.arange(0, both), tl.reshape(tile, (both,)))


def test_constants_of_a_tuple_that_is_unpacked(device):
    out = device.empty(32, np.int32)
    device.run(unpacked_kernel, (1,), out, SHAPE=((8, 4), 3))
    assert_same(device.numpy(out), np.full(32, 3, np.int32))


@tilewright.jit
def halves_sum(x):
    if x.shape[0] == 1:
        return tl.sum(x)
    else:
        first, second = tl.split(tl.reshape(x, (x.shape[0] // 2, 2)))
        return halves_sum(first) * 2 + halves_sum(second)


@tilewright.jit
def recursive_kernel(out_ptr, N: tl.constexpr):
    tl.store(out_ptr, halves_sum(tl.arange(0, N)))


def test_recursion_over_shapes(device):
    def expected(values):
        return values[0] if len(values) == 1 else expected(values[::2]) * 2 + expected(values[1::2])

    out = device.empty(1, np.int32)
    device.run(recursive_kernel, (1,), out, N=16)
    assert device.numpy(out)[0] == expected(list(range(16)))


@tilewright.jit
def types_of_tuples_kernel(out_ptr, N: tl.constexpr):
    tile = tl.arange(0, N)
    mixed = (tile, (tl.program_id(0), tile))
    tl.static_assert(mixed.type == tl.core.tuple_type([tile.type, tl.core.tuple_type([tl.int32, tile.type])]))
    known: tl.constexpr = (1, (N, None))
    tl.static_assert(known.type == tl.core.constexpr_type((1, (N, None))))
    tl.store(out_ptr + tile, mixed[1][1])


def test_types_of_tuples(device):
    out = device.empty(16, np.int32)
    device.run(types_of_tuples_kernel, (1,), out, N=16)
    assert_same(device.numpy(out), np.arange(16, dtype=np.int32))
