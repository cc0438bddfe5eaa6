# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pipelined and chained loops of the benchmarks' kernels, on the emulator.

The question is how many times a loop runs that the compiler has unrolled into
prologue, body and epilogue: not at all, less often than there are stages, as
often, more often. The emulator refuses a copy or product that nobody waits for and
shared memory that is overwritten while it is read, whatever the result.
"""

import re

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness import ptx_emulator
from harness.compare import assert_same
from harness.devices import Emulator
from harness.ptx_words import EmulationError
from harness.tensor_core_cases import kernels
from harness.tensor_core_runs import describe, multiply
from harness.element_types import exact_values

TRIPS = [0, 1, 2, 3, 5]


@pytest.mark.parametrize("trips", TRIPS)
# Slots of the last are filled in the iteration that uses them, except on sm_80.
@pytest.mark.parametrize("tile", [(64, 32, 32, 4, 3), (64, 32, 32, 4, 4), (32, 128, 128, 4, 3)], ids=str)
@pytest.mark.parametrize("target, form", [("sm_80", "pointers"), ("sm_90a", "pointers"), ("sm_90a", "descriptors")])
def test_product(target, form, tile, trips):
    actual, expected = multiply(Emulator(target), form, 64, tile[1], trips, tile)
    assert_same(actual, expected, signed_zeros=False)


@pytest.mark.parametrize("k", [88, 84])
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_rows_of_whole_vectors(target, k):
    """Sizes that are multiples of 8 and not of 16: eight halfs are a vector all the same."""
    m, n = 72, 40
    a, b, c = exact_values("float16", (m, k)), exact_values("float16", (k, n), seed=1), np.zeros((m, n), np.float16)
    kernels_seen = []
    device = Emulator(target, inspect=kernels_seen.append)
    device.run(
        kernels("matmul_kernels").pointer_kernel,
        (4,),
        a,
        b,
        c,
        m,
        n,
        k,
        k,
        1,
        n,
        1,
        n,
        1,
        BLOCK_M=64,
        BLOCK_N=32,
        BLOCK_K=32,
        GROUP_M=2,
        num_warps=4,
        num_stages=3,
    )
    assert_same(c, (a.astype(np.float64) @ b).astype(np.float16), signed_zeros=False)
    ptx = kernels_seen[0].asm["ptx"]
    # B's and C's rows are vectors anyway; A's are where K is a multiple of 8.
    assert ("ld.global.b16" not in ptx) == (k % 8 == 0) and "cp.async.cg" in ptx and "st.global.v4.b32" in ptx


@tilewright.jit
def declared_strides_kernel(x_ptr, out_ptr, row: tl.int64, column: tl.int64, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, tl.load(x_ptr + i // 8 * row + i % 8 * column))


@pytest.mark.parametrize("row, column", [(8, 1), (24, 1), (24, 2)])
def test_strides_of_a_declared_type(row, column):
    """What is known of integers whose type is declared: multiples of 8, and 1."""
    x, out = np.arange(128 * 24, dtype=np.int16), np.zeros(1024, np.int16)
    kernels_seen = []
    Emulator("sm_90a", inspect=kernels_seen.append).run(declared_strides_kernel, (1,), x, out, row, column, N=1024)
    i = np.arange(1024)
    assert_same(out, x[i // 8 * row + i % 8 * column])
    assert ("ld.global.v4." in kernels_seen[0].asm["ptx"]) == (column == 1)


@tilewright.jit
def full_precision_kernel(a_ptr, b_ptr, out_ptr, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    total = tl.zeros((M, N), tl.float32)
    for start in range(0, depth, K):
        a = tl.load(a_ptr + m[:, None] * depth + start + k)
        b = tl.load(b_ptr + (start + k)[:, None] * N + n)
        total = tl.dot(a, b, total, input_precision="ieee")
    tl.store(out_ptr + m[:, None] * N + n, total)


# No matrix instruction computes these, but their operands come through rings as well.
@pytest.mark.parametrize("trips", TRIPS[1:])
@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_product_in_full_precision(target, stages, trips):
    a, b = exact_values("float32", (64, 16 * trips)), exact_values("float32", (16 * trips, 64), seed=1)
    out = np.zeros((64, 64), np.float32)
    ptx = []
    device = Emulator(target, edit=lambda text: ptx.append(text) or text)
    device.run(full_precision_kernel, (1,), a, b, out, 16 * trips, 64, 64, 16, num_warps=4, num_stages=stages)
    assert_same(out, (a.astype(np.float64) @ b).astype(np.float32), signed_zeros=False)
    assert ("cp.async" in ptx[0]) == (stages > 1)


# Rows of 24 elements, which the compiler must take for unaligned: B is too narrow for
# cp.async and goes through registers to one buffer, while A has a ring.
@pytest.mark.parametrize("trips", [0, 1, 2, 4])
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_product_with_a_ring_for_one_operand(target, trips):
    actual, expected = multiply(Emulator(target), "pointers", 64, 24, trips, (64, 32, 32, 4, 3))
    assert_same(actual, expected, signed_zeros=False)


# What the compiler must write besides the copies: without it the emulator refuses.
OMISSIONS = [
    ("mbarrier.try_wait", "reads what a copy in flight writes|a warpgroup reaches wgmma in parts"),
    ("bar.sync", "another warp"),
    ("wgmma.wait_group.sync.aligned 1;", "a product or copy in flight reads"),
    ("cp.async.bulk.wait_group.read", "a store reads shared memory"),
    ("cp.async.bulk.commit_group", "no group contains"),
]


@pytest.mark.parametrize("line, message", OMISSIONS)
def test_omissions_are_seen(monkeypatch, line, message):
    launch = ptx_emulator.launch

    def launch_without(ptx, *rest):
        broken = re.sub(rf"\n[^\n]*{re.escape(line)}[^\n]*(\n\s*@!done bra again;)?", "", ptx)
        assert broken != ptx
        launch(broken, *rest)

    monkeypatch.setattr(ptx_emulator, "launch", launch_without)
    with pytest.raises(EmulationError, match=message):
        multiply(Emulator("sm_90a"), "descriptors", 64, 32, 5, (64, 32, 32, 4, 3))


@tilewright.jit
def late_use_kernel(first_array, x_array, out_ptr, trips, BLOCK: tl.constexpr):
    """A tile that is loaded before a loop with loads of its own, and used after it."""
    index = tl.arange(0, BLOCK)
    first = first_array.load([0, 0])
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for trip in range(0, trips):
        total += x_array.load([trip * BLOCK, 0])
    tl.store(out_ptr + index[:, None] * BLOCK + index[None, :], total + first)


@pytest.mark.parametrize("trips", [0, 1, 2, 3, 4])
def test_tile_used_after_a_loop_with_loads(trips):
    block = 32
    first, x = exact_values("float32", (block, block)), exact_values("float32", (max(trips, 1) * block, block), 1)
    out = np.zeros((block, block), np.float32)
    Emulator("sm_90a").run(
        late_use_kernel,
        (1,),
        describe(first, block, block),
        describe(x, block, block),
        out,
        trips,
        BLOCK=block,
        num_warps=4,
        num_stages=1,
    )
    assert_same(out, first + x[: trips * block].reshape(trips, block, block).sum(axis=0), signed_zeros=False)


@tilewright.jit
def exchange_kernel(a_ptr, b_ptr, out_ptr, last_ptr, trips, BLOCK: tl.constexpr):
    """Variables that become what others were: pointers and sums that change places, counters of iterations before."""
    index = tl.arange(0, BLOCK)
    a_ptrs = a_ptr + index[:, None] * BLOCK + index[None, :]
    b_ptrs = b_ptr + index[:, None] * BLOCK + index[None, :]
    one, other = tl.zeros((BLOCK, BLOCK), tl.float32), tl.zeros((BLOCK, BLOCK), tl.float32)
    last, before = -1, -1
    for trip in range(0, trips):
        one = tl.dot(tl.load(a_ptrs), tl.load(b_ptrs), one)
        one, other = other, one
        a_ptrs, b_ptrs = b_ptrs, a_ptrs + BLOCK * BLOCK
        last, before = trip, last
    tl.store(out_ptr + index[:, None] * BLOCK + index[None, :], one - 2 * other)
    tl.store(last_ptr, last)
    tl.store(last_ptr + 1, before)


@pytest.mark.parametrize("trips", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("stages", [2, 3])
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_variables_that_change_places(target, stages, trips):
    block = 64
    a, b = (exact_values("float16", (8, block, block), seed) for seed in (0, 1))
    out, last = np.zeros((block, block), np.float32), np.zeros(2, np.int32)
    Emulator(target).run(exchange_kernel, (1,), a, b, out, last, trips, BLOCK=block, num_warps=4, num_stages=stages)
    left, right, sums = list(a.astype(np.float64)), list(b.astype(np.float64)), [np.zeros((block, block))] * 2
    for _ in range(trips):
        sums = [sums[1], sums[0] + left[0] @ right[0]]
        left, right = right, left[1:]
    assert_same(out, (sums[0] - 2 * sums[1]).astype(np.float32), signed_zeros=False)
    assert list(last) == [trips - 1, max(trips - 2, -1)]


@tilewright.jit
def noting_kernel(a_ptr, out_ptr, noted_ptr, rounds, trips, number, BLOCK: tl.constexpr):
    """Variables that a loop sets to what it does not change: another loop's counter, an argument, a constant."""
    index = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    counter, argument, constant = -1, -1, -1
    for i in range(0, rounds):
        for trip in range(0, trips):
            a = tl.load(a_ptr + (trip * BLOCK + index)[:, None] * BLOCK + index[None, :])
            acc = tl.dot(a, a, acc)
            counter, argument, constant = i, number, 7
    tl.store(out_ptr + index[:, None] * BLOCK + index[None, :], acc)
    tl.store(noted_ptr, counter)
    tl.store(noted_ptr + 1, argument)
    tl.store(noted_ptr + 2, constant)


@pytest.mark.parametrize("trips", [0, 1, 2, 5])
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_variables_that_are_set_to_what_stays(target, trips):
    block, rounds, number = 64, 3, 5
    a = exact_values("float16", (max(trips, 1), block, block))
    out, noted = np.zeros((block, block), np.float32), np.zeros(3, np.int32)
    Emulator(target).run(noting_kernel, (1,), a, out, noted, rounds, trips, number, BLOCK=block, num_warps=4, num_stages=3)
    expected = rounds * sum((t @ t for t in a[:trips].astype(np.float64)), np.zeros(out.shape))
    assert_same(out, expected.astype(np.float32), signed_zeros=False)
    assert list(noted) == ([rounds - 1, number, 7] if trips else [-1, -1, -1])


@tilewright.jit
def standing_operand_kernel(q_ptr, k_ptr, out_ptr, length, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, DIM: tl.constexpr):
    """A left side that stays the same through the loop, beside sums that fill the registers."""
    rows, keys, dims = tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_N), tl.arange(0, DIM)
    q = tl.load(q_ptr + rows[:, None] * DIM + dims[None, :])
    acc, total = tl.zeros((BLOCK_M, DIM), tl.float32), tl.zeros((BLOCK_M,), tl.float32)
    for start in range(0, length, BLOCK_N):
        k = tl.load(k_ptr + (start + keys)[:, None] * DIM + dims[None, :])
        scores = tl.minimum(tl.maximum(tl.dot(q, k.T), -2), 2)
        total += tl.sum(scores, 1)
        acc = tl.dot(scores.to(q.dtype), k, acc)
    tl.store(out_ptr + rows[:, None] * DIM + dims[None, :], acc + total[:, None])


@pytest.mark.parametrize("trips", [0, 1, 3])
def test_operand_that_stays_is_read_in_the_loop(trips):
    block_m, block_n, dim = 128, 32, 128
    q = exact_values("float16", (block_m, dim), 0, -1, 1)
    k = exact_values("float16", (max(trips, 1) * block_n, dim), 1, -1, 1)
    out, seen = np.zeros((block_m, dim), np.float32), []
    Emulator("sm_80", inspect=seen.append).run(
        standing_operand_kernel,
        (1,),
        q,
        k,
        out,
        trips * block_n,
        BLOCK_M=block_m,
        BLOCK_N=block_n,
        DIM=dim,
        num_warps=4,
        num_stages=2,
    )
    keys = k[: trips * block_n].astype(np.float64)
    scores = np.clip(q.astype(np.float64) @ keys.T, -2, 2)
    assert_same(out, (scores @ keys + scores.sum(axis=1)[:, None]).astype(np.float32), signed_zeros=False)
    # 128 registers of a thread for the sums, 64 for the left side, 32 for the scores.
    assert seen[0].metadata.n_spills == 0


@tilewright.jit
def three_uses_kernel(x_ptr, out_ptr, length, BLOCK: tl.constexpr):
    """One tile as the left side and, in three forms, as the right side of products."""
    index = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in tl.range(0, length, BLOCK, loop_unroll_factor=2):
        x = tl.load(x_ptr + (start + index)[:, None] * BLOCK + index[None, :])
        acc = tl.dot(x, tl.minimum(x * x, 2), acc)
        acc = tl.dot(x, x.T, acc)
        acc += tl.dot(x, x)
    tl.store(out_ptr + index[:, None] * BLOCK + index[None, :], acc)


@pytest.mark.parametrize("trips", [0, 2, 3])
def test_conversions_stand_where_products_need_them(trips):
    block = 64
    x, out, seen = exact_values("float32", (max(trips, 1), block, block), 0, -2, 2), np.zeros((block, block), np.float32), []
    Emulator("sm_80", inspect=seen.append).run(
        three_uses_kernel, (1,), x, out, trips * block, BLOCK=block, num_warps=4, num_stages=3
    )
    expected = sum((t @ (np.minimum(t * t, 2) + t.T + t) for t in x[:trips].astype(np.float64)), np.zeros(out.shape))
    assert_same(out, expected.astype(np.float32), signed_zeros=False)
    # 64 registers of a thread for each right side.
    assert seen[0].metadata.n_spills == 0


@tilewright.jit
def two_products_kernel(x_ptr, y_ptr, z_ptr, one_ptr, two_ptr, trips, BLOCK: tl.constexpr):
    """Both products read the left side that no iteration changes; the first one's right side stays, too."""
    tile = tl.arange(0, BLOCK)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    x, y = tl.load(x_ptr + tile), tl.load(y_ptr + tile)
    one = tl.zeros((BLOCK, BLOCK), tl.float32)
    two = tl.zeros((BLOCK, BLOCK), tl.float32)
    for trip in range(trips):
        one += tl.dot(x, y)
        two += tl.dot(x, tl.load(z_ptr + trip * BLOCK * BLOCK + tile))
    tl.store(one_ptr + tile, one)
    tl.store(two_ptr + tile, two)


@pytest.mark.parametrize("trips", [0, 1, 4])
@pytest.mark.parametrize("target, warps", [("sm_80", 2), ("sm_80", 4), ("sm_90a", 2), ("sm_90a", 4)])
def test_products_that_share_an_operand(target, warps, trips):
    block = 64
    x, y = exact_values("float16", (block, block)), exact_values("float16", (block, block), seed=1)
    z = exact_values("float16", (max(trips, 1), block, block), seed=2)
    one, two = np.zeros((block, block), np.float32), np.zeros((block, block), np.float32)
    Emulator(target).run(two_products_kernel, (1,), x, y, z, one, two, trips, BLOCK=block, num_warps=warps, num_stages=4)
    assert_same(one, (x.astype(np.float64) @ y * trips).astype(np.float32), signed_zeros=False)
    sums = x.astype(np.float64) @ z[:trips].astype(np.float64).sum(axis=0)
    assert_same(two, sums.astype(np.float32), signed_zeros=False)


@tilewright.jit
def gradients_kernel(x_blocks, y_blocks, z_ptr, one_ptr, two_ptr, trips, BLOCK: tl.constexpr):
    """Two sums of one pair of tiles, one of which takes another product besides, of what becomes of a third."""
    tile = tl.arange(0, BLOCK)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    one = tl.zeros((BLOCK, BLOCK), tl.float32)
    two = tl.zeros((BLOCK, BLOCK), tl.float32)
    for trip in range(trips):
        x = x_blocks.load([trip * BLOCK, 0])
        y = y_blocks.load([trip * BLOCK, 0])
        two = tl.dot(x, y, two)
        one = tl.dot(x, y, one)
        z = tl.load(z_ptr + tile)
        small = tl.clamp(tl.dot(z, y), -1, 1).to(tl.float16)
        two = tl.dot(small, z, two)
    tl.store(one_ptr + tile, one)
    tl.store(two_ptr + tile, two)


@pytest.mark.parametrize("trips", [0, 1, 2, 5])
@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("stages", [1, 3])
def test_only_the_second_product_is_carried(trips, warps, stages):
    """The products of one iteration are waited for at different places; none may serialize the others."""
    block, device, seen = 64, Emulator("sm_90a"), []
    device.inspect = seen.append
    x, y = (exact_values("float16", (max(trips, 1) * block, block), seed, -2, 2) for seed in (1, 2))
    z = exact_values("float16", (block, block), 3, -2, 2)
    one, two = np.zeros((block, block), np.float32), np.zeros((block, block), np.float32)
    blocks = [device.descriptor(array, (block, block)) for array in (x, y)]
    device.run(gradients_kernel, (1,), *blocks, z, one, two, trips, BLOCK=block, num_warps=warps, num_stages=stages)
    expected, other = np.zeros((block, block)), np.zeros((block, block))
    for trip in range(trips):
        a, b, c = (part.astype(np.float64) for part in (x[trip * block :][:block], y[trip * block :][:block], z))
        expected += a @ b
        other += a @ b + np.clip(c @ b, -1, 1) @ c
    assert_same(one, expected.astype(np.float32), signed_zeros=False)
    assert_same(two, other.astype(np.float32), signed_zeros=False)
    # A loop that runs once is none: the launch specialises on 1.
    assert 1 in (stages, trips) or any("pipeline: applied" in remark for remark in seen[0].remarks)


@tilewright.jit
def changing_sums_kernel(x_blocks, y_blocks, one_ptr, two_ptr, kept_ptr, trips, KEEPS: tl.constexpr, BLOCK: tl.constexpr):
    """Two sums that change places after each product; perhaps one that is kept as it was before its product."""
    tile = tl.arange(0, BLOCK)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    one = tl.zeros((BLOCK, BLOCK), tl.float32)
    two = one + 1.0
    kept = one
    for trip in range(trips):
        x = x_blocks.load([trip * BLOCK, 0])
        y = y_blocks.load([trip * BLOCK, 0])
        if KEEPS:
            kept = one
        one = tl.dot(x, y, one)
        one, two = two + 1.0, one
    tl.store(one_ptr + tile, one)
    tl.store(two_ptr + tile, two)
    tl.store(kept_ptr + tile, kept)


@pytest.mark.parametrize("trips", [0, 2, 3, 5])
@pytest.mark.parametrize("warps, stages", [(4, 1), (4, 4), (8, 2)])
@pytest.mark.parametrize("keeps", [False, True])
def test_sums_that_change_places(trips, warps, stages, keeps):
    block, device = 64, Emulator("sm_90a")
    x, y = (exact_values("float16", (max(trips, 1) * block, block), seed, -2, 2) for seed in (1, 2))
    results = [np.zeros((block, block), np.float32) for _ in range(3)]
    blocks = [device.descriptor(array, (block, block)) for array in (x, y)]
    options = {"KEEPS": keeps, "BLOCK": block, "num_warps": warps, "num_stages": stages}
    device.run(changing_sums_kernel, (1,), *blocks, *results, trips, **options)
    one, two, kept = np.zeros((block, block)), np.ones((block, block)), np.zeros((block, block))
    for trip in range(trips):
        part = slice(trip * block, (trip + 1) * block)
        kept = one if keeps else kept
        one = one + x[part].astype(np.float64) @ y[part].astype(np.float64)
        one, two = two + 1.0, one
    for actual, expected in zip(results, (one, two, kept)):
        assert_same(actual, expected.astype(np.float32), signed_zeros=False)
