# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops over tiles that `tl.range(flatten=True)` makes one with the loop inside them, on the emulator."""

import re

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.compare import assert_same
from harness.devices import Emulator
from harness.element_types import exact_values
from harness.tensor_core_runs import multiply


# Two programs for five tiles: the last iterations of one program are fewer.
@pytest.mark.parametrize("trips", [0, 1, 2, 4])
@pytest.mark.parametrize("flatten", [False, True], ids=["nested", "flat"])
@pytest.mark.parametrize("split", [False, True], ids=["whole", "halves"])
def test_persistent_product(flatten, split, trips):
    actual, expected = multiply(
        Emulator("sm_90a"), "persistent", 5 * 64, 32, trips, (64, 32, 32, 4, 3), programs=2, FLATTEN=flatten, SPLIT_C=split
    )
    assert_same(actual, expected, signed_zeros=False)


@tilewright.jit
def scaled_tiles_kernel(x_ptr, out_ptr, tiles, steps, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    for tile in tl.range(0, tiles, flatten=True):
        # A number that comes from a tile, before the inner loop.
        factor = tl.sum(columns + tile, 0)
        acc = tl.zeros((BLOCK,), tl.int32)
        for step in range(0, steps):
            acc += tl.load(x_ptr + step * BLOCK + columns) * factor
        tl.store(out_ptr + tile * BLOCK + columns, acc)


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_flattened_loop_with_a_sum_in_front(steps):
    x, out = exact_values("int32", (4, 32)), np.full((3, 32), 77, np.int32)
    Emulator("sm_90a").run(scaled_tiles_kernel, (1,), x, out, 3, steps, BLOCK=32, num_warps=1)
    factors = np.arange(32).sum() + 32 * np.arange(3)
    assert_same(out, (x[:steps].sum(axis=0)[None, :] * factors[:, None]).astype(np.int32))


@tilewright.jit
def clamped_rows_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """Rows and columns of a tile are found before its inner loop; those beyond the end read the first one instead."""
    across, within = tl.cdiv(N, BLOCK_N), tl.arange(0, BLOCK_K)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BLOCK_M) * across, tl.num_programs(0), flatten=True):
        rows = tile // across * BLOCK_M + tl.arange(0, BLOCK_M)
        columns = tile % across * BLOCK_N + tl.arange(0, BLOCK_N)
        a_rows, b_rows = tl.where(rows < M, rows, 0), tl.where(columns < N, columns, 0)
        total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
        for step in range(tl.cdiv(K, BLOCK_K)):
            k = step * BLOCK_K + within
            a = tl.load(a_ptr + a_rows[:, None] * K + k[None, :], mask=k[None, :] < K, other=0.0)
            b = tl.load(b_ptr + b_rows[None, :] * K + k[:, None], mask=k[:, None] < K, other=0.0)
            total = tl.dot(a, b, total)
        mask = (rows[:, None] < M) & (columns[None, :] < N)
        tl.store(c_ptr + rows[:, None] * N + columns[None, :], total.to(tl.float16), mask=mask)


# The smaller tile has a slot to spare; with the larger one copies wait for the product before.
@pytest.mark.parametrize("k", [0, 40, 64, 200])
@pytest.mark.parametrize("stages", [2, 3])
@pytest.mark.parametrize("side, target", [(32, "sm_80"), (32, "sm_90a"), (64, "sm_90a")])
def test_persistent_product_through_pointers(side, target, stages, k):
    m, n = 200, 72
    a, b, c = exact_values("float16", (m, k)), exact_values("float16", (n, k), seed=1), np.full((m, n), 7, np.float16)
    texts = []
    device = Emulator(target, edit=lambda text: texts.append(text) or text)
    device.run(clamped_rows_kernel, (3,), a, b, c, m, n, k, 64, side, side, num_warps=4, num_stages=stages)
    assert_same(c, (a.astype(np.float64) @ b.T).astype(np.float16), signed_zeros=False)
    # No branch round the copies of the last iterations parts their addresses from the products.
    assert re.search(r"@%p\d+ cp\.async", texts[0])


@tilewright.jit
def advanced_product_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, stride, BLOCK: tl.constexpr, BLOCK_K: tl.constexpr, LOWER: tl.constexpr
):
    """The inner loop advances two addresses, a tile of offsets and a number; two of them are read after it."""
    across, within = tl.cdiv(N, BLOCK), tl.arange(0, BLOCK_K)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BLOCK) * across, tl.num_programs(0), flatten=True):
        rows = tile // across * BLOCK + tl.arange(0, BLOCK)
        columns = tile % across * BLOCK + tl.arange(0, BLOCK)
        a_ptrs = a_ptr + tl.where(rows < M, rows, 0)[:, None] * K + within[None, :]
        b_ptrs = b_ptr + within[:, None] * stride + tl.where(columns < N, columns, 0)[None, :]
        k, left = within, K
        total = tl.zeros((BLOCK, BLOCK), tl.float32)
        for _ in range(LOWER, 3 * tl.cdiv(K, BLOCK_K) + LOWER, 3):
            a = tl.load(a_ptrs, mask=k[None, :] < K, other=0.0)
            b = tl.load(b_ptrs, mask=within[:, None] < left, other=0.0)
            total = tl.dot(a, b, total)
            a_ptrs += BLOCK_K
            b_ptrs += BLOCK_K * stride
            k += BLOCK_K
            left -= BLOCK_K
        mask = (rows[:, None] < M) & (columns[None, :] < N)
        tl.store(c_ptr + rows[:, None] * N + columns[None, :], total + left + tl.max(k, 0), mask=mask)


@pytest.mark.parametrize("k", [0, 40, 64, 200])
@pytest.mark.parametrize("target, lower", [("sm_80", 0), ("sm_90a", 0), ("sm_90a", 5)])
def test_flattened_loop_of_advancing_addresses(target, lower, k):
    m, n, block, deep = 72, 72, 32, 32
    a, b, c = exact_values("float16", (m, k)), exact_values("float16", (k, n), seed=1), np.full((m, n), 7, np.float32)
    texts = []
    device = Emulator(target, edit=lambda text: texts.append(text) or text)
    options = {"num_warps": 4, "num_stages": 2, "arguments_may_overlap": False}
    device.run(advanced_product_kernel, (3,), a, b, c, m, n, k, n, block, deep, lower, **options)
    trips = -(-k // deep)
    expected = a.astype(np.float64) @ b + (k - trips * deep) + (deep - 1 + trips * deep)
    assert_same(c, expected.astype(np.float32), signed_zeros=False)
    # Rows are known to be in a row from the first iteration on: eight halfs are copied at a time.
    assert re.search(r"cp\.async\.c[ag]\.shared\.global \[[^;]*, 16", texts[0])
