# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tiles that take most of a thread's registers, used for stores and reductions along both axes."""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.compare import assert_same
from harness.element_types import NUMPY_TYPES

EMULATED = True


@tilewright.jit
def both_axes_kernel(
    x_ptr, rows_ptr, row_max_ptr, columns_ptr, column_max_ptr, n, stride, M: tl.constexpr, N: tl.constexpr
):  # fmt: skip
    row, column = tl.arange(0, M), tl.arange(0, N)
    mask = row[:, None] < n
    x = tl.load(x_ptr + row[:, None] * stride + column[None, :], mask=mask, other=0).to(tl.float32)
    row_max = tl.max(tl.abs(x), 1)
    tl.store(row_max_ptr + row, row_max)
    by_row = (x + row_max[:, None]).to(rows_ptr.dtype.element_ty)
    tl.store(rows_ptr + row[:, None] * stride + column[None, :], by_row, mask=mask)
    column_max = tl.max(tl.abs(x), 0)
    tl.store(column_max_ptr + column, column_max)
    by_column = (x - column_max).to(columns_ptr.dtype.element_ty)
    tl.store(columns_ptr + column[:, None] * M + row[None, :], tl.trans(by_column), mask=row[None, :] < n)


TILES = [(1, 64, 128, 64), (2, 128, 128, 100), (2, 64, 256, 64), (4, 128, 128, 127)]
TYPES = [("bfloat16", "float8e4nv"), ("float16", "int8"), ("float32", "float16"), ("int8", "int8")]


@pytest.mark.parametrize("warps, rows, columns, n", TILES)
@pytest.mark.parametrize("name, out", TYPES)
def test_both_axes(device, name, out, warps, rows, columns, n):
    """Small integers, which every type holds: rows are shifted by their maximum, columns the other way, transposed."""
    stride = columns + 16
    source, target = NUMPY_TYPES[name], NUMPY_TYPES[out]
    x = np.random.default_rng(rows + columns).integers(-6, 7, (rows, stride)).astype(source)
    by_row, by_column = device.array(np.zeros((rows, stride), target)), device.array(np.zeros((columns, rows), target))
    row_max, column_max = device.empty((rows,), np.float32), device.empty((columns,), np.float32)
    arguments = (device.array(x), by_row, row_max, by_column, column_max, n, stride)
    device.run(both_axes_kernel, (1,), *arguments, M=rows, N=columns, num_warps=warps)
    read = np.where(np.arange(rows)[:, None] < n, x[:, :columns].astype(np.float32), 0)
    most = np.abs(read).max(1), np.abs(read).max(0)
    assert_same(device.numpy(row_max), most[0])
    assert_same(device.numpy(column_max), most[1])
    expected = np.zeros((rows, stride), target)
    expected[:n, :columns] = (read + most[0][:, None])[:n].astype(target)
    assert_same(device.numpy(by_row), expected)
    expected = np.zeros((columns, rows), target)
    expected[:, :n] = (read - most[1]).T[:, :n].astype(target)
    assert_same(device.numpy(by_column), expected)
