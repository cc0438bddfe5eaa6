# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of bytes in loops whose operands have another dimension contiguous in memory than tensor cores take."""

import re

import ml_dtypes
import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.assemble import assemble_for
from harness.compare import assert_same
from harness.devices import Emulator


@tilewright.jit
def product(
    a, b, out, sums, M, N, K, along_m, along_k, k_of_b, n_of_b, ACC: tl.constexpr, SUMS: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """With SUMS registers want the right side, too."""
    i = (tl.program_id(0) * BM + tl.arange(0, BM)) % M
    j = (tl.program_id(1) * BN + tl.arange(0, BN)) % N
    k = tl.arange(0, BK)
    left, right = a + i[:, None] * along_m + k[None, :] * along_k, b + k[:, None] * k_of_b + j[None, :] * n_of_b
    total = tl.zeros((BM, BN), ACC)
    columns = tl.zeros((BN,), tl.float32)
    for step in range(0, tl.cdiv(K, BK)):
        x = tl.load(left, mask=k[None, :] < K - step * BK, other=0.0)
        y = tl.load(right, mask=k[:, None] < K - step * BK, other=0.0)
        total = tl.dot(x, y, total, out_dtype=ACC)
        if SUMS:
            columns += tl.sum(y.to(tl.float32), axis=0)
        left += BK * along_k
        right += BK * k_of_b
    rows, columns_of_out = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    inside = (rows[:, None] < M) & (columns_of_out[None, :] < N)
    tl.store(out + rows[:, None] * N + columns_of_out[None, :], total, mask=inside)
    if SUMS:
        tl.store(sums + columns_of_out, columns, mask=columns_of_out < N)


@tilewright.jit
def biased(a, b, out, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """What is beyond K is one and not zero, which cp.async cannot do."""
    i, j = tl.arange(0, BM), tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.int32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        x = tl.load(a + i[:, None] * K + k[None, :], mask=k[None, :] < K, other=1)
        y = tl.load(b + k[:, None] * BN + j[None, :], mask=k[:, None] < K, other=1)
        total = tl.dot(x, y, total, out_dtype=tl.int32)
    tl.store(out + i[:, None] * BN + j[None, :], total)


def numbers(rng, shape, dtype):
    if dtype is np.int8:
        return rng.integers(-128, 128, shape).astype(np.int8)
    return rng.integers(-4, 5, shape).astype(np.float32).astype(dtype)


def strides_of(array, is_transposed):
    rows, columns = array.shape
    return (1, rows) if is_transposed else (columns, 1)


def arguments_for(array, dtype, shape, transposed, with_sums=False):
    m, n, k = shape
    rng = np.random.default_rng(m + n + k)
    a, b = numbers(rng, (m, k), dtype), numbers(rng, (k, n), dtype)
    stored = [np.ascontiguousarray(each.T if turned else each) for each, turned in zip((a, b), transposed)]
    result = np.int32 if dtype is np.int8 else np.float32
    out, sums = array(np.zeros((m, n), result)), array(np.zeros(n, np.float32))
    strides = [stride for each, turned in zip((a, b), transposed) for stride in strides_of(each, turned)]
    constants = {"ACC": tl.int32 if dtype is np.int8 else tl.float32, "SUMS": with_sums}
    return (a, b), [*map(array, stored), out, sums, m, n, k, *strides], constants


def check(device, dtype, shape, blocks, transposed, with_sums=False, **options):
    (a, b), arguments, constants = arguments_for(device.array, dtype, shape, transposed, with_sums)
    grid = (-(-shape[0] // blocks[0]), -(-shape[1] // blocks[1]))
    constants.update(zip(("BM", "BN", "BK"), blocks))
    device.run(product, grid, *arguments, **constants, **options)
    wide = np.int32 if dtype is np.int8 else np.float32
    assert_same(device.numpy(arguments[2]), a.astype(wide) @ b.astype(wide))  # all are exact
    if with_sums:
        assert_same(device.numpy(arguments[3]), b.astype(np.float32).sum(axis=0))


ORDERS = [(False, False), (True, False), (True, True)]
# The last of the former has odd rows: bytes are loaded one by one. The latter are for mma.
OF_WARPGROUPS = [((64, 128, 192), (64, 128, 64)), ((80, 48, 80), (64, 32, 32)), ((65, 67, 70), (64, 64, 64))]
OF_WARPS = [((32, 128, 256), (16, 64, 128)), ((32, 80, 160), (32, 64, 32))]
TYPES = [np.int8, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2]


@pytest.mark.parametrize("transposed", ORDERS)
@pytest.mark.parametrize("shape, blocks", [*OF_WARPGROUPS, *OF_WARPS, ((256, 384, 400), (128, 128, 128))])
@pytest.mark.parametrize("num_warps, num_stages", [(4, 3), (8, 2), (8, 4)])
@pytest.mark.parametrize("dtype", TYPES)
def test_products(device, dtype, shape, blocks, transposed, num_warps, num_stages):
    if dtype is not np.int8 and device.name == "assemble":
        pytest.skip("targets without fp8 are among those of this device")
    check(device, dtype, shape, blocks, transposed, num_warps=num_warps, num_stages=num_stages)


@pytest.mark.parametrize("transposed", ORDERS)
@pytest.mark.parametrize("shape, blocks", [*OF_WARPGROUPS, *OF_WARPS])
@pytest.mark.parametrize(
    "dtype, target", [(TYPES[0], "sm_80"), (TYPES[0], "sm_90a"), (TYPES[1], "sm_89"), (TYPES[1], "sm_90a")]
)
def test_products_in_the_emulator(dtype, target, shape, blocks, transposed):
    check(Emulator(target), dtype, shape, blocks, transposed, num_warps=4, num_stages=3)


@pytest.mark.parametrize("transposed", ORDERS)
@pytest.mark.parametrize("dtype", TYPES[:2])
def test_products_of_few_warps_in_the_emulator(dtype, transposed):
    for warps in (1, 2):
        check(Emulator("sm_90a"), dtype, (32, 48, 96), (32, 32, 32), transposed, num_warps=warps, num_stages=4)


@pytest.mark.parametrize("transposed", ORDERS)
def test_registers_want_them_too(device, transposed):
    check(device, np.int8, (64, 128, 192), (64, 128, 64), transposed, with_sums=True, num_warps=4, num_stages=3)


def test_registers_want_them_too_in_the_emulator():
    for transposed in ORDERS:
        check(Emulator("sm_90a"), np.int8, (64, 64, 160), (64, 64, 32), transposed, True, num_warps=4, num_stages=3)


def check_biased(device):
    rng = np.random.default_rng(1)
    a, b = numbers(rng, (64, 80), np.int8), numbers(rng, (80, 64), np.int8)
    out = device.array(np.zeros((64, 64), np.int32))
    device.run(biased, (1,), device.array(a), device.array(b), out, 80, BM=64, BN=64, BK=64, num_warps=4, num_stages=3)
    assert_same(device.numpy(out), a.astype(np.int32) @ b.astype(np.int32) + 48)


def test_other_values(device):
    check_biased(device)


def test_other_values_in_the_emulator():
    check_biased(Emulator("sm_90a"))


def compiled_for(transposed, blocks, **options):
    _, arguments, constants = arguments_for(lambda each: each, np.int8, (1024, 1024, 1024), transposed)
    constants.update(zip(("BM", "BN", "BK"), blocks))
    return assemble_for(product, "sm_90a", arguments, {**constants, **options})


@pytest.mark.parametrize("transposed", ORDERS)
@pytest.mark.parametrize("blocks, unit", [((128, 128, 64), "wgmma"), ((32, 128, 128), "mma.sync")])
def test_both_are_copied_ahead(transposed, blocks, unit):
    """No byte is stored or read alone, and the loop loads nothing that it waits for."""
    ptx = compiled_for(transposed, blocks, num_warps=4, num_stages=3).asm["ptx"]
    assert unit in ptx and "cp.async.cg.shared.global" in ptx
    assert not re.search(r"(ld|st)\.shared\.[bus]8|ld\.global\.v", ptx)


@tilewright.jit
def from_descriptors(a, b, out, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    total = tl.zeros((BM, BN), tl.int32)
    for start in range(0, K, BK):
        total = tl.dot(a.load([0, start]), b.load([start, 0]), total, out_dtype=tl.int32)
    tl.store(out + tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :], total)


def test_descriptors_bring_tiles_as_they_are():
    """mma reads both from where TMA puts them, iterations ahead, and no byte is stored again."""
    seen, rng = [], np.random.default_rng(3)
    device = Emulator("sm_90a", inspect=lambda compiled: seen.append(compiled.asm["ptx"]))
    a, b = numbers(rng, (32, 256), np.int8), numbers(rng, (256, 64), np.int8)
    out = device.array(np.zeros((32, 64), np.int32))
    sources = device.descriptor(device.array(a), (32, 64)), device.descriptor(device.array(b), (64, 64))
    device.run(from_descriptors, (1,), *sources, out, 256, BM=32, BN=64, BK=64, num_warps=4, num_stages=3)
    assert_same(device.numpy(out), a.astype(np.int32) @ b.astype(np.int32))
    # Of each tile two before the loop and one in it.
    assert "mma.sync" in seen[0] and seen[0].count("cp.async.bulk.tensor") == 6 and "st.shared.u8" not in seen[0]


def test_one_buffer_where_there_is_no_room_for_rings():
    """Two slots of 64 KiB do not fit beside one such tile and two of the left side, which has a ring then."""
    compiled = compiled_for((False, False), (128, 256, 256), num_warps=8, num_stages=4)
    assert compiled.metadata.shared == 4 * 32768 + 65536
    assert "ld.global.v4.b32" in compiled.asm["ptx"] and "cp.async" in compiled.asm["ptx"]
