# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops of products over blocks and rows that a table names: the table is read before the copies, and no further."""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.compare import assert_same
from harness.element_types import exact_values

EMULATED = True

BLOCK = 32
BLOCKS = 6
STAGES = [1, 2, 3, 4]
TRIPS = [0, 1, 2, 3, 7]


def table_of(trips, seed=0):
    """Blocks in no order, with repeats; none beyond `trips` is one that there is."""
    places = np.full(trips + 1, 1 << 20, np.int32)
    places[:trips] = np.random.default_rng(seed).integers(0, BLOCKS, trips)
    return places


def blocks_of(seed):
    return exact_values("float16", (BLOCKS * BLOCK, BLOCK), seed=seed) % 3


def expected_of(a, b, places, extents):
    total = np.zeros((BLOCK, BLOCK), np.float32)
    for place in places:
        rows = slice(place * BLOCK, (place + 1) * BLOCK)
        kept = np.arange(BLOCK) < extents[place]
        total += a[rows].astype(np.float32) @ np.where(kept[:, None], b[rows].astype(np.float32), 0)
    return total


@tilewright.jit
def blocks_kernel(a_ptr, b_ptr, table_ptr, extent_ptr, out_ptr, trips, N: tl.constexpr, ADVANCES: tl.constexpr):
    """The table by the trip, or by a pointer that the loop advances; a mask by what the block's number leads to."""
    index = tl.arange(0, N)
    tile = index[:, None] * N + index[None, :]
    total = tl.zeros((N, N), tl.float32)
    table_at = table_ptr
    for trip in range(trips):
        place = tl.load(table_at) if ADVANCES else tl.load(table_ptr + trip)
        extent = tl.load(extent_ptr + place)
        a = tl.load(a_ptr + place * N * N + tile)
        b = tl.load(b_ptr + place * N * N + tile)
        b = tl.where(index[:, None] < extent, b, 0.0)
        total += tl.dot(a, b)
        table_at += 1
    tl.store(out_ptr + tile, total)


@pytest.mark.parametrize("advances", [False, True])
@pytest.mark.parametrize("trips", TRIPS)
@pytest.mark.parametrize("stages", STAGES)
@pytest.mark.parametrize("warps", [1, 4])
def test_blocks_of_a_table(device, warps, stages, trips, advances):
    a, b, places = blocks_of(0), blocks_of(1), table_of(trips)
    extents = np.arange(BLOCKS, dtype=np.int32) * 7 % (BLOCK + 1)
    out = device.empty((BLOCK, BLOCK), np.float32)
    arrays = [device.array(x) for x in (a, b, places, extents)]
    device.run(blocks_kernel, (1,), *arrays, out, trips, N=BLOCK, ADVANCES=advances, num_warps=warps, num_stages=stages)
    assert_same(device.numpy(out), expected_of(a, b, places[:trips], extents), signed_zeros=False)


@tilewright.jit
def rows_kernel(a_ptr, b_ptr, rows_ptr, order_ptr, out_ptr, trips, N: tl.constexpr):
    """Rows of one operand by a tile of numbers, which a number leads to."""
    index = tl.arange(0, N)
    tile = index[:, None] * N + index[None, :]
    total = tl.zeros((N, N), tl.float32)
    for trip in range(trips):
        group = tl.load(order_ptr + trip)
        rows = tl.load(rows_ptr + group * N + index)
        a = tl.load(a_ptr + trip % 2 * N * N + tile)
        b = tl.load(b_ptr + rows[:, None] * N + index[None, :], mask=(rows >= 0)[:, None], other=0.0)
        total += tl.dot(a, b)
    tl.store(out_ptr + tile, total)


@pytest.mark.parametrize("trips", TRIPS)
@pytest.mark.parametrize("stages", STAGES)
def test_rows_of_a_table(device, stages, trips):
    a, b = blocks_of(0), blocks_of(1)
    order = table_of(trips, seed=1)
    rows = np.random.default_rng(2).integers(-1, BLOCKS * BLOCK, (BLOCKS, BLOCK)).astype(np.int32)
    out = device.empty((BLOCK, BLOCK), np.float32)
    device.run(rows_kernel, (1,), *(device.array(x) for x in (a, b, rows, order)), out, trips, N=BLOCK, num_stages=stages)
    expected = np.zeros((BLOCK, BLOCK), np.float32)
    for trip in range(trips):
        taken = np.where((rows[order[trip]] >= 0)[:, None], b[rows[order[trip]]], 0)
        expected += a[trip % 2 * BLOCK : trip % 2 * BLOCK + BLOCK].astype(np.float32) @ taken.astype(np.float32)
    assert_same(device.numpy(out), expected, signed_zeros=False)


@tilewright.jit
def attention_kernel(q_ptr, k_ptr, v_ptr, table_ptr, out_ptr, trips, N: tl.constexpr, D: tl.constexpr):
    """Two products in a chain, of pages that a table names."""
    index, width = tl.arange(0, N), tl.arange(0, D)
    page = index[:, None] * D + width[None, :]
    q = tl.load(q_ptr + tl.arange(0, 64)[:, None] * D + width[None, :])
    total = tl.zeros((64, D), tl.float32)
    for trip in range(trips):
        place = tl.load(table_ptr + trip)
        k = tl.load(k_ptr + place * N * D + page)
        scores = tl.dot(q, tl.trans(k))
        scores = tl.where(scores > 4.0, scores - 4.0, 0.0)
        v = tl.load(v_ptr + place * N * D + page)
        total = tl.dot(scores.to(tl.float16), v, total)
    tl.store(out_ptr + tl.arange(0, 64)[:, None] * D + width[None, :], total)


@pytest.mark.parametrize("trips", TRIPS)
@pytest.mark.parametrize("stages", STAGES)
@pytest.mark.parametrize("warps", [4, 8])
def test_pages_of_a_table(device, warps, stages, trips):
    size = (BLOCKS * 64, 64)
    k, v, q = (exact_values("float16", size, seed=seed) % 2 for seed in range(3))
    places = table_of(trips, seed=3)
    out = device.empty((64, 64), np.float32)
    arrays = [device.array(x) for x in (q[:64].copy(), k, v, places)]
    device.run(attention_kernel, (1,), *arrays, out, trips, N=64, D=64, num_warps=warps, num_stages=stages)
    expected = np.zeros((64, 64), np.float32)
    for place in places[:trips]:
        rows = slice(place * 64, (place + 1) * 64)
        scores = q[:64].astype(np.float32) @ k[rows].astype(np.float32).T
        expected += np.maximum(scores - 4, 0) @ v[rows].astype(np.float32)
    assert_same(device.numpy(out), expected, signed_zeros=False)


@tilewright.jit
def paged_kernel(
    q_ptr, k_ptr, v_ptr, table_ptr, out_ptr, length, row_stride, N: tl.constexpr, D: tl.constexpr, WHOLE: tl.constexpr
):
    """Pages of keys in pieces of 8 columns, of values by columns; the last page may not be full."""
    index, width, rows = tl.arange(0, N), tl.arange(0, D), tl.arange(0, 64)
    q = tl.load(q_ptr + rows[:, None] * D + width[None, :])
    total = tl.zeros((64, D), tl.float32)
    for start in range(0, length, N):
        tokens = start + index
        page = tl.load(table_ptr + tokens // N).to(tl.int64)
        piece = (width[:, None] // 8) * N * 8 + width[:, None] % 8
        keys = k_ptr + page[None, :] * N * D + (tokens % N)[None, :] * row_stride + piece
        values = v_ptr + page[:, None] * N * D + width[None, :] * N + (tokens % N)[:, None]
        if not WHOLE and start + N > length:
            k = tl.load(keys, mask=(tokens < length)[None, :], other=0.0)
            v = tl.load(values, mask=(tokens < length)[:, None], other=0.0)
        else:
            k = tl.load(keys)
            v = tl.load(values)
        scores = tl.dot(q, k)
        total = tl.dot(tl.where(scores > 4.0, scores - 4.0, 0.0).to(tl.float16), v, total)
    tl.store(out_ptr + rows[:, None] * D + width[None, :], total)


@pytest.mark.parametrize("length,whole", [(0, True), (32, True), (160, True), (1, False), (32, False), (100, False)])
@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("warps", [1, 4])
def test_pages_in_pieces(device, warps, stages, length, whole):
    keys, values, q = (exact_values("float16", (BLOCKS * BLOCK, 64), seed=seed) % 2 for seed in range(3))
    k = keys.reshape(BLOCKS, BLOCK, 8, 8).transpose(0, 2, 1, 3).copy()
    v = values.reshape(BLOCKS, BLOCK, 64).transpose(0, 2, 1).copy()
    places = table_of(-(-length // BLOCK), seed=4)
    out = device.empty((64, 64), np.float32)
    arrays = [device.array(x) for x in (q[:64].copy(), k, v, places)]
    device.run(paged_kernel, (1,), *arrays, out, length, 8, N=BLOCK, D=64, WHOLE=whole, num_warps=warps, num_stages=stages)
    tokens = np.arange(length)
    taken = places[tokens // BLOCK] * BLOCK + tokens % BLOCK
    scores = q[:64].astype(np.float32) @ keys[taken].astype(np.float32).T
    expected = np.maximum(scores - 4, 0) @ values[taken].astype(np.float32)
    assert_same(device.numpy(out), expected, signed_zeros=False)


def test_a_page_is_known_before_keys_that_no_copy_brings():
    # Nothing says how addresses of keys are aligned: they come in elements of two bytes.
    pointers = {f"{name}_ptr": "*fp16" for name in "qkv"} | {"table_ptr": "*i32", "out_ptr": "*fp32"}
    source = tilewright.ASTSource(
        paged_kernel,
        pointers | {"length": "i32", "row_stride": "i32"},
        {"N": BLOCK, "D": 64, "WHOLE": True},
        dict.fromkeys(pointers, 16),
    )
    kernel = tilewright.compile(source, "sm_90a", {"num_warps": 4, "num_stages": 3})
    early = [str(remark) for remark in kernel.remarks if "early-load" in str(remark)]
    assert len(early) == 1 and "words=1" in early[0], early


@tilewright.jit
def shift_kernel(a_ptr, table_ptr, out_ptr, trips, N: tl.constexpr):
    """What the table says may change while the loop runs: `out_ptr` may be the table."""
    index = tl.arange(0, N)
    tile = index[:, None] * N + index[None, :]
    total = tl.zeros((N, N), tl.float32)
    for trip in range(trips):
        place = tl.load(table_ptr + trip)
        a = tl.load(a_ptr + place * N * N + tile)
        total += tl.dot(a, a)
        tl.store(out_ptr + trip + 1, (place + 1) % 6)
    tl.store(out_ptr + trips + 1 + tile, total.to(tl.int32))


@pytest.mark.parametrize("is_same", [False, True])
@pytest.mark.parametrize("stages", STAGES)
def test_a_table_that_the_loop_writes(device, stages, is_same):
    trips = 4
    a = blocks_of(0)
    first = np.zeros(trips + 1 + BLOCK * BLOCK, np.int32)
    first[:trips] = [2, 5, 1, 0]
    table = device.array(first)
    out = table if is_same else device.array(np.zeros_like(first))
    device.run(shift_kernel, (1,), device.array(a), table, out, trips, N=BLOCK, num_stages=stages)
    places = [2, 3, 4, 5] if is_same else [2, 5, 1, 0]
    expected = expected_of(a, a, places, np.full(BLOCKS, BLOCK))
    found = device.numpy(out)
    assert found[1 : trips + 1].tolist() == [(place + 1) % 6 for place in places]
    assert_same(found[trips + 1 :].reshape(BLOCK, BLOCK), expected.astype(np.int32))
