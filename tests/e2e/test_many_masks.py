# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loads with more masks than the assembler issues in a row: one branch chooses between loads with and without masks.

Lanes of one warp need different masks, and what follows takes the warp together: sums, exchanges, products.
"""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
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
