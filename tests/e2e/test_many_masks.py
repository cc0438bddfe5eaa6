# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loads with more masks than the assembler issues in a row: one branch chooses between loads with and without masks.

Lanes of one warp need different masks, and what follows takes the warp together: sums, exchanges, products.
"""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.assemble import assemble_for
from harness.compare import assert_same
from harness.devices import Emulator
from harness.element_types import exact_values

EMULATED = True

SIZE = 64
COUNTS = [0, 1, 30, 37, 63, 64, 100]


@tilewright.jit
def rows_kernel(a_ptr, b_ptr, copy_ptr, sums_ptr, out_ptr, count, N: tl.constexpr, OTHER: tl.constexpr):
    index = tl.arange(0, N)
    tile = index[:, None] * N + index[None, :]
    is_there = index[:, None] < count
    if OTHER is None:
        a = tl.load(a_ptr + tile, mask=is_there)
        a = tl.where(is_there, a, 0.0)
    else:
        a = tl.load(a_ptr + tile, mask=is_there, other=OTHER)
    tl.store(copy_ptr + tile, a + 1.0)
    tl.store(sums_ptr + index, tl.sum(a.to(tl.float32), 1))
    b = tl.load(b_ptr + tile)
    tl.store(out_ptr + tile, tl.dot(b, tl.trans(b)))


def run(device, warps, count, other):
    a, b = (exact_values("float16", (SIZE, SIZE), seed=seed) for seed in range(2))
    copy, sums = device.empty((SIZE, SIZE), np.float16), device.empty((SIZE,), np.float32)
    out = device.empty((SIZE, SIZE), np.float32)
    arrays = (device.array(a), device.array(b), copy, sums, out)
    device.run(rows_kernel, (1,), *arrays, count, N=SIZE, OTHER=other, num_warps=warps)
    return a, b, copy, sums, out


@pytest.mark.parametrize("other", [None, 0.0, 2.0])
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("warps", [1, 2])
def test_rows_beside_a_product(device, warps, count, other):
    a, b, copy, sums, out = run(device, warps, count, other)
    read = a.astype(np.float32)
    read[count:] = other or 0.0
    assert_same(device.numpy(copy), (read + 1).astype(np.float16), signed_zeros=False)
    assert_same(device.numpy(sums), read.sum(1), signed_zeros=False)
    assert_same(device.numpy(out), b.astype(np.float32) @ b.astype(np.float32).T, signed_zeros=False)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_the_branch_is_taken_by_whole_warps(target):
    """As many loads without a mask as with one, behind a vote: each lane for itself, the warp might come apart."""
    texts = []
    run(Emulator(target, inspect=lambda compiled: texts.append(compiled.asm["ptx"])), 1, 37, 0.0)
    lines = [line.strip() for line in texts[0].splitlines()]
    assert sum(line.startswith("vote.sync.all") for line in lines) == 1
    assert sum(line.startswith("@%p") and "ld.global.v4" in line for line in lines) == 16
    assert sum(line.startswith("ld.global.v4") for line in lines) >= 16


@tilewright.jit
def uneven_columns_kernel(
    a_ptr, b_ptr, out_ptr, K, N, stride, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr
):
    """Rows of b have any number of bytes, so each byte is loaded by itself."""
    m, n, k = tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_N), tl.arange(0, BLOCK_K)
    a_at, b_at = a_ptr + m[:, None] * K + k[None, :], b_ptr + k[:, None] * stride.to(tl.int64) + n[None, :]
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.int32)
    for start in range(0, K, BLOCK_K):
        is_there = start + k < K
        a = tl.load(a_at, mask=is_there[None, :], other=0)
        b = tl.load(b_at, mask=is_there[:, None] & (n < N)[None, :], other=0)
        acc = tl.dot(a, b, acc)
        a_at += BLOCK_K
        b_at += BLOCK_K * stride
    tl.store(out_ptr + m[:, None] * N + n[None, :], acc, mask=(n < N)[None, :])


@pytest.mark.parametrize("K", [64, 256, 592])
@pytest.mark.parametrize("warps", [2, 4])
def test_uneven_columns_beside_a_product(device, warps, K):
    a, b = exact_values("int8", (64, K)), exact_values("int8", (K, 61), seed=1)
    out = device.empty((64, 61), np.int32)
    blocks = {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 256, "num_warps": warps}
    device.run(uneven_columns_kernel, (1,), device.array(a), device.array(b), out, K, 61, 61, **blocks)
    assert_same(device.numpy(out), a.astype(np.int32) @ b.astype(np.int32))


@pytest.mark.parametrize("stages", [1, 3])
def test_addresses_of_uneven_columns_fit_the_registers(stages):
    """Behind a branch a loop would keep 128 addresses of two registers."""
    a, b, out = np.zeros((64, 1024), np.int8), np.zeros((1024, 971), np.int8), np.zeros((64, 971), np.int32)
    options = {"num_warps": 4, "num_stages": stages}
    compiled = assemble_for(uneven_columns_kernel, "sm_90a", [a, b, out, 1024, 971, 971, 64, 64, 256], options)
    assert compiled.metadata.n_spills == 0


@tilewright.jit
def strided_sums_kernel(x_ptr, out_ptr, rows, columns, row_stride, column_stride, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Sums of a matrix of any strides and of its squares, as normalisations over channels take them."""
    row, total, squares = tl.arange(0, ROWS)[:, None], 0.0, 0.0
    for start in range(0, columns, COLUMNS):
        column = start + tl.arange(0, COLUMNS)[None, :]
        is_there = (row < rows) & (column < columns)
        x = tl.load(x_ptr + row * row_stride + column * column_stride, mask=is_there, other=0.0).to(tl.float32)
        mean = tl.sum(x) / COLUMNS
        total += mean * COLUMNS
        squares += tl.sum(tl.where(is_there, (x - mean) * (x - mean), 0.0)) + (tl.sum(x) * 2 - rows * COLUMNS * mean) * mean
    tl.store(out_ptr, total)
    tl.store(out_ptr + 1, squares)


@pytest.mark.parametrize("rows", [64, 37])
@pytest.mark.parametrize("strides", [(512, 1), (1, 64), (1026, 2)])
def test_strided_loads(device, strides, rows):
    x = np.random.default_rng(5).integers(-2, 3, (64, 512)).astype(np.float16)
    memory = np.zeros(64 * 1026, np.float16)
    view = np.lib.stride_tricks.as_strided(memory, (64, 512), [2 * s for s in strides])
    view[:] = x
    out = device.empty((2,), np.float32)
    blocks = {"ROWS": 64, "COLUMNS": 256, "num_warps": 4}
    device.run(strided_sums_kernel, (1,), device.array(memory), out, rows, 512, *strides, **blocks)
    used = x[:rows].astype(np.float64)
    np.testing.assert_allclose(device.numpy(out), [used.sum(), (used**2).sum()], rtol=1e-5, atol=0.05)


@pytest.mark.parametrize("warps", [4, 16])
@pytest.mark.parametrize("column_stride", [1, 3])
def test_a_branch_is_for_addresses_that_registers_hold(column_stride, warps):
    """Two forms of a load keep the address of each element before the branch: 128 strided ones spilled."""
    x, out = np.zeros(1 << 20, np.float16), np.zeros(2, np.float32)
    arguments = [x, out, 60, 1003, 3077, column_stride, 64, 256 if warps == 4 else 512]
    compiled = assemble_for(strided_sums_kernel, "sm_90a", arguments, {"num_warps": warps})
    # A few bytes are accepted where more blocks of the kernel fit a multiprocessor for them.
    assert compiled.metadata.n_spills <= 16
    assert ("vote.sync.all" in compiled.asm["ptx"]) == (column_stride == 1)


@tilewright.jit
def gather_kernel(x_ptr, ids_ptr, out_ptr, n, limit, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    ids = tl.load(ids_ptr + i, mask=i < n, other=limit)
    x = tl.load(x_ptr + ids, mask=ids < limit, other=-1.0)
    tl.store(out_ptr + i, x)


def test_masks_that_are_loaded(device):
    """Threads that voted on them would wait for all indices before the first gather."""
    rng = np.random.default_rng(6)
    x, ids = rng.standard_normal(500).astype(np.float32), rng.integers(0, 600, 4096).astype(np.int32)
    out = device.empty((4096,), np.float32)
    device.run(gather_kernel, (1,), device.array(x), device.array(ids), out, 4000, 500, BLOCK=4096, num_warps=4)
    known = (np.arange(4096) < 4000) & (ids < 500)
    np.testing.assert_array_equal(device.numpy(out), np.where(known, x[np.minimum(ids, 499)], np.float32(-1)))
    compiled = assemble_for(gather_kernel, "sm_90a", [x, ids, x, 4000, 500, 4096], {"num_warps": 4})
    assert compiled.asm["ptx"].count("vote.sync.all") == 1
