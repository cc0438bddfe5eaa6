# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of float32 in loops, whose operands a warpgroup takes with the other dimension contiguous than memory has."""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.assemble import assemble_for
from harness.compare import assert_same
from harness.devices import Emulator


@tilewright.jit
def advanced(
    a, b, out, M, N, K, along_m, along_k, k_of_b, n_of_b, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    OTHER: tl.constexpr = 0.0,
):  # fmt: skip
    """Loops carry the pointers; rows and columns wrap round."""
    i = (tl.program_id(0) * BM + tl.arange(0, BM)) % M
    j = (tl.program_id(1) * BN + tl.arange(0, BN)) % N
    k = tl.arange(0, BK)
    left, right = a + i[:, None] * along_m + k[None, :] * along_k, b + k[:, None] * k_of_b + j[None, :] * n_of_b
    total = tl.zeros((BM, BN), tl.float32)
    for step in range(0, tl.cdiv(K, BK)):
        x = tl.load(left, mask=k[None, :] < K - step * BK, other=0.0)
        y = tl.load(right, mask=k[:, None] < K - step * BK, other=OTHER)
        total = tl.dot(x, y, total)
        left += BK * along_k
        right += BK * k_of_b
    rows, columns = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    tl.store(out + rows[:, None] * N + columns[None, :], total, mask=(rows[:, None] < M) & (columns[None, :] < N))


@tilewright.jit
def computed(a, b, out, M, N, K, along_m, along_k, k_of_b, n_of_b, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Addresses and masks of both dimensions are computed in the loop; both operands are transposed views."""
    i, j = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        x = tl.load(a + k[:, None] * along_k + i[None, :] * along_m, mask=(k[:, None] < K) & (i[None, :] < M), other=0.0)
        y = tl.load(b + j[:, None] * n_of_b + k[None, :] * k_of_b, mask=(j[:, None] < N) & (k[None, :] < K), other=0.0)
        total = tl.dot(tl.trans(x), tl.trans(y), total)
    tl.store(out + i[:, None] * N + j[None, :], total, mask=(i[:, None] < M) & (j[None, :] < N))


def strides_of(array, is_transposed):
    rows, columns = array.shape
    return (1, rows) if is_transposed else (columns, 1)


def check(device, kernel, shape, blocks, transposed, **options):
    m, n, k = shape
    rng = np.random.default_rng(m + n + k)
    a, b = rng.integers(-4, 5, (m, k)).astype(np.float32), rng.integers(-4, 5, (k, n)).astype(np.float32)
    stored = [np.ascontiguousarray(each.T if turned else each) for each, turned in zip((a, b), transposed)]
    out = device.array(np.zeros((m, n), np.float32))
    strides = [stride for each, turned in zip((a, b), transposed) for stride in strides_of(each, turned)]
    grid = (-(-m // blocks[0]), -(-n // blocks[1]))
    names = dict(zip(("BM", "BN", "BK"), blocks))
    device.run(kernel, grid, *map(device.array, stored), out, m, n, k, *strides, **names, **options)
    assert_same(device.numpy(out), a @ b)  # all are exact


ORDERS = [(False, False), (True, False), (True, True)]
# The last has odd rows: no two elements may be read at once.
SHAPES = [((64, 64, 96), (64, 64, 32)), ((80, 48, 80), (64, 32, 16)), ((65, 67, 37), (64, 64, 32))]


@pytest.mark.parametrize("transposed", ORDERS)
@pytest.mark.parametrize("shape, blocks", [*SHAPES, ((256, 384, 200), (128, 128, 32))])
@pytest.mark.parametrize("num_warps, num_stages", [(4, 3), (8, 2), (8, 4)])
@pytest.mark.parametrize("kernel", [advanced, computed])
def test_products(device, kernel, shape, blocks, transposed, num_warps, num_stages):
    check(device, kernel, shape, blocks, transposed, num_warps=num_warps, num_stages=num_stages)


@pytest.mark.parametrize("transposed", ORDERS)
@pytest.mark.parametrize("shape, blocks", SHAPES)
@pytest.mark.parametrize("kernel", [advanced, computed])
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_products_in_the_emulator(kernel, shape, blocks, transposed, target):
    check(Emulator(target), kernel, shape, blocks, transposed, num_warps=4, num_stages=3)


def compiled_for(transposed, **more):
    a, size = np.empty((256, 256), np.float32), 256
    strides = [stride for turned in transposed for stride in strides_of(a, turned)]
    options = {"BM": 128, "BN": 128, "BK": 32, "num_warps": 8, "num_stages": 3, **more}
    return assemble_for(advanced, "sm_90a", [a, a, a, size, size, size, *strides], options)


@pytest.mark.parametrize("transposed", ORDERS)
def test_copies_meet_few_banks(transposed):
    """Each copy of a warp took four wavefronts, and read a quarter of each of sixteen sectors."""
    compiled = compiled_for(transposed)
    assert "wgmma" in compiled.asm["ptx"] and "cp.async.ca.shared.global" in compiled.asm["ptx"]
    conflicts = [each for each in compiled.remarks if "copied in vectors of 1" in each]
    assert all("wavefronts=2" in each for each in conflicts) and len(conflicts) == (transposed[0] + (not transposed[1])) * 3


def test_what_is_not_copied_is_loaded_by_vectors():
    """cp.async fills with zeros alone."""
    assert "ld.global.v4" in compiled_for((False, False), OTHER=1.0).asm["ptx"]
    assert "ld.global" not in compiled_for((False, False)).asm["ptx"]
