# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tl.gather: elements that an index names, read from shared memory."""

import re

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.assemble import assemble_for
from harness.compare import assert_same
from harness.element_types import exact_values, random_values

EMULATED = True


@tilewright.jit
def gather_kernel(
    x_ptr, i_ptr, out_ptr, AXIS: tl.constexpr, M: tl.constexpr, N: tl.constexpr, P: tl.constexpr, Q: tl.constexpr
):
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    offsets = tl.arange(0, P)[:, None] * Q + tl.arange(0, Q)[None, :]
    tl.store(out_ptr + offsets, tl.gather(x, tl.load(i_ptr + offsets), AXIS))


@pytest.mark.parametrize("name", ["int8", "float16", "float32", "int64"])
@pytest.mark.parametrize("axis, shape", [(0, (4, 16)), (1, (8, 8)), (1, (8, 32))])
def test_gather(device, name, axis, shape):
    x = random_values(name, 128).reshape(8, 16)
    index_shape = (shape[0], 16) if axis == 0 else (8, shape[1])
    index = np.random.default_rng(3).integers(0, x.shape[axis], index_shape).astype(np.int32)
    out = device.empty(index_shape, x.dtype)
    device.run(
        gather_kernel, (1,), device.array(x), device.array(index), out, AXIS=axis, M=8, N=16, P=index_shape[0], Q=index_shape[1]
    )
    assert_same(device.numpy(out), np.take_along_axis(x, index, axis))


@pytest.mark.parametrize("index_type", ["int16", "int32", "int64"])
@pytest.mark.parametrize("axis", [0, 1])
def test_gather_outside_of_the_tile(device, axis, index_type):
    """An index that is no element's gives zero, the negative ones too."""
    x = random_values("float32", 128).reshape(8, 16)
    index = np.random.default_rng(3).integers(-3, x.shape[axis] + 3, x.shape).astype(index_type)
    index[0, 0], index[1, 1] = np.iinfo(index_type).min, np.iinfo(index_type).max
    out = device.empty(x.shape, x.dtype)
    device.run(gather_kernel, (1,), device.array(x), device.array(index), out, AXIS=axis, M=8, N=16, P=8, Q=16)
    inside = (index >= 0) & (index < x.shape[axis])
    assert_same(
        device.numpy(out),
        np.where(inside, np.take_along_axis(x, np.where(inside, index, 0).astype(np.int64), axis), np.float32(0)),
    )


@pytest.mark.parametrize("rows, columns", [(128, 64), (512, 64), (8, 4096)])
def test_gather_from_many(device, rows, columns):
    """128 KB are taken in parts of 32."""
    x = random_values("float32", rows * columns).reshape(rows, columns)
    index = np.random.default_rng(3).integers(0, rows, x.shape).astype(np.int32)
    out = device.empty(index.shape, x.dtype)
    device.run(gather_kernel, (1,), device.array(x), device.array(index), out, AXIS=0, M=rows, N=columns, P=rows, Q=columns)
    assert_same(device.numpy(out), np.take_along_axis(x, index, 0))


@tilewright.jit
def row_after_row_kernel(x_ptr, out_ptr, trips, M: tl.constexpr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    total = tl.zeros((M, N), tl.float32)
    for i in range(trips):
        row = tl.gather(x, tl.full((1, N), i, tl.int32), 0)
        column = tl.gather(x, tl.full((M, 1), i, tl.int16), 1)
        total += tl.where(tl.arange(0, M)[:, None] >= i, row * column, 0.0)
    tl.store(out_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], total)


def test_rows_and_columns_of_an_invariant_tile(device):
    x = exact_values("float32", 16 * 64).reshape(16, 64)
    out = device.empty(x.shape, x.dtype)
    device.run(row_after_row_kernel, (1,), device.array(x), out, 16, M=16, N=64)
    expected = sum(np.where(np.arange(16)[:, None] >= i, np.outer(x[:, i], x[i]), 0) for i in range(16))
    assert_same(device.numpy(out), expected, signed_zeros=False)


def test_rows_of_an_invariant_tile_need_no_barrier_in_the_loop():
    x = np.zeros((16, 64), np.float32)
    ptx = assemble_for(row_after_row_kernel, "sm_90a", [x, x.copy(), 16, 16, 64], {}).asm["ptx"]
    assert ptx.count("bar.sync") == 1, "between the store and the loop"
    assert re.search(r"ld\.shared\.v[24]", ptx), "neighbours of one row are read together"


@tilewright.jit
def gather_in_loop_kernel(x_ptr, i_ptr, out_ptr, trips, ROWS: tl.constexpr, COLUMNS: tl.constexpr, STAGES: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for trip in tl.range(trips, num_stages=STAGES):
        x = tl.load(x_ptr + trip * ROWS * COLUMNS + at)
        total += tl.gather(x, tl.load(i_ptr + trip * ROWS * COLUMNS + at), 0)
    tl.store(out_ptr + at, total)


@pytest.mark.parametrize("trips", [0, 1, 5])
@pytest.mark.parametrize("stages", [1, 3])
def test_tiles_that_a_loop_loads(device, stages, trips):
    x = exact_values("float32", (max(trips, 1), 16, 64))
    index = np.random.default_rng(3).integers(0, 16, x.shape).astype(np.int32)
    out = device.empty(x.shape[1:], np.float32)
    device.run(
        gather_in_loop_kernel, (1,), device.array(x), device.array(index), out, trips, ROWS=16, COLUMNS=64, STAGES=stages
    )
    assert_same(device.numpy(out), np.take_along_axis(x, index, 1)[:trips].sum(axis=0), signed_zeros=False)
