# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops with products of products, pipelined, on the emulator.

As in test_pipelines.py, the question is how many times such a loop runs, which the compiler has unrolled.
"""

import math

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.compare import assert_near, assert_same
from harness.devices import Emulator
from harness.tensor_core_runs import attend, describe
from harness.element_types import NUMPY_TYPES, exact_values

TRIPS = [0, 1, 2, 3, 5]


@tilewright.jit
def recording_kernel(
    q_ptr, k_ptr, v_ptr, bias_ptr, largest_ptr, out_ptr, length, BLOCK: tl.constexpr, DIM: tl.constexpr, STORES: tl.constexpr
):
    """Chained products with a load of their own between them, and perhaps a store."""
    rows, dims = tl.arange(0, BLOCK), tl.arange(0, DIM)
    tile = rows[:, None] * DIM + dims[None, :]
    q = tl.load(q_ptr + tile)
    acc = tl.zeros((BLOCK, DIM), tl.float32)
    for start in range(0, length, BLOCK):
        k = tl.load(k_ptr + start * DIM + tile)
        scores = tl.dot(q, k.T) + tl.load(bias_ptr + start + rows)[None, :]
        if STORES:
            tl.store(largest_ptr + start + rows, tl.max(scores, 1))
        v = tl.load(v_ptr + start * DIM + tile)
        acc = tl.dot(scores.to(v.dtype), v, acc)
    tl.store(out_ptr + tile, acc)


@pytest.mark.parametrize("trips", [0, 1, 2, 4])
@pytest.mark.parametrize("stores", [False, True])
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_effects_between_chained_products(target, stores, trips):
    # Nothing is read or written for an iteration that there is not.
    block, dim = 64, 32
    length = trips * block
    q = exact_values("float16", (block, dim), 0, -1, 1)
    k, v = (exact_values("float16", (max(length, block), dim), seed, -1, 1) for seed in (1, 2))
    bias, largest = exact_values("float32", length), np.full(max(length, block), 77, np.float32)
    out = np.zeros((block, dim), np.float32)
    Emulator(target).run(
        recording_kernel,
        (1,),
        q,
        k,
        v,
        bias,
        largest,
        out,
        length,
        BLOCK=block,
        DIM=dim,
        STORES=stores,
        num_warps=4,
        num_stages=3,
    )
    scores = q.astype(np.float64) @ k[:length].T + bias
    assert_same(out, (scores @ v[:length]).astype(np.float32), signed_zeros=False)
    expected = np.full(largest.shape, 77, np.float32)
    if stores:
        expected[:length] = scores.reshape(block, trips, block).max(axis=2).T.reshape(-1)
    assert_same(largest, expected, signed_zeros=False)


# Under the causal mask the first rows' loop over whole blocks does not run at all.
@pytest.mark.parametrize("length", [64, 128, 192])
@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
@pytest.mark.parametrize("target, described", [("sm_80", False), ("sm_90a", False), ("sm_90a", True)])
def test_attention(target, described, causal, length):
    check_attention(target, described, causal, length, (64, 64, 4, 3))


# Two warpgroups, which release the slots of the rings instead of meeting at a barrier.
@pytest.mark.parametrize("length", [128, 256, 384])
@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
@pytest.mark.parametrize("block_n, stages", [(64, 2), (32, 3), (128, 2)])
def test_attention_of_two_warpgroups(block_n, stages, causal, length):
    check_attention("sm_90a", True, causal, length, (128, block_n, 8, stages))


def check_attention(target, described, causal, length, tile):
    q, k, v, out, lse = attend(Emulator(target), length, 32, causal, described, tile)
    scores = q.astype(np.float64) @ k.T.astype(np.float64) / math.sqrt(32)
    if causal:
        scores = np.where(np.tril(np.ones(scores.shape, bool)), scores, -np.inf)
    weights = np.exp2((scores - scores.max(axis=1, keepdims=True)) / math.log(2))
    total = weights.sum(axis=1)
    assert_near(out, weights / total[:, None] @ v.astype(np.float64), absolute=2e-3)
    assert_near(lse, scores.max(axis=1) / math.log(2) + np.log2(total), absolute=1e-4)


@tilewright.jit
def shared_tile_kernel(q_array, k_array, out_ptr, length, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, DIM: tl.constexpr):
    """Chained products that read the same tiles, as where keys are values too."""
    rows, dims = tl.arange(0, BLOCK_M), tl.arange(0, DIM)
    q = q_array.load([0, 0])
    acc = tl.zeros((BLOCK_M, DIM), tl.float32)
    for start in range(0, length, BLOCK_N):
        k = k_array.load([start, 0])
        acc = tl.dot(tl.dot(q, k.T).to(k.dtype), k, acc)
    tl.store(out_ptr + rows[:, None] * DIM + dims[None, :], acc)


@pytest.mark.parametrize("trips", [0, 1, 2, 4])
@pytest.mark.parametrize("warps", [4, 8])
def test_chained_products_of_the_same_tile(warps, trips):
    block_m, block_n, dim = 16 * warps, 32, 32
    length = trips * block_n
    q = exact_values("float16", (block_m, dim), 0, -1, 1)
    k = exact_values("float16", (max(length, block_n), dim), 1, -1, 1)
    out = np.zeros((block_m, dim), np.float32)
    Emulator("sm_90a").run(
        shared_tile_kernel,
        (1,),
        describe(q, block_m, dim),
        describe(k, block_n, dim),
        out,
        length,
        BLOCK_M=block_m,
        BLOCK_N=block_n,
        DIM=dim,
        num_warps=warps,
        num_stages=3,
    )
    keys = k[:length].astype(np.float64)
    assert_same(out, (q.astype(np.float64) @ keys.T @ keys).astype(np.float32), signed_zeros=False)


@tilewright.jit
def constant_values_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, length, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, DIM: tl.constexpr
):
    """Chained products whose second factor stays the same, so that only the first one has a ring."""
    rows, keys, dims = tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_N), tl.arange(0, DIM)
    q = tl.load(q_ptr + rows[:, None] * DIM + dims[None, :])
    v = tl.load(v_ptr + keys[:, None] * DIM + dims[None, :])
    acc = tl.zeros((BLOCK_M, DIM), tl.float32)
    for start in range(0, length, BLOCK_N):
        k = tl.load(k_ptr + (start + keys)[:, None] * DIM + dims[None, :])
        acc = tl.dot(tl.dot(q, k.T).to(v.dtype), v, acc)
    tl.store(out_ptr + rows[:, None] * DIM + dims[None, :], acc)


def test_chained_products_with_a_ring_for_the_first_are_pipelined():
    pointers = ["q_ptr", "k_ptr", "v_ptr", "out_ptr"]
    types = dict(zip(pointers, ["*fp16", "*fp16", "*fp16", "*fp32"])) | {"length": "i32"}
    tile = {"BLOCK_M": 128, "BLOCK_N": 128, "DIM": 64}
    source = tilewright.ASTSource(constant_values_kernel, types, tile, {name: 16 for name in pointers})
    remarks = [str(remark) for remark in tilewright.compile(source, "sm_90a").remarks]
    assert any("pipeline: applied" in remark for remark in remarks), remarks
    assert not any("[internal]" in remark for remark in remarks), remarks


@pytest.mark.parametrize("trips", [0, 1, 2, 4])
def test_chained_products_with_a_ring_for_the_first(trips):
    block_m, block_n, dim = 128, 128, 64
    length = trips * block_n
    q = exact_values("float16", (block_m, dim), 0, 0, 1)
    k = exact_values("float16", (max(length, block_n), dim), 1, 0, 1)
    v = exact_values("float16", (block_n, dim), 2, 0, 1)
    out = np.zeros((block_m, dim), np.float32)
    Emulator("sm_90a").run(constant_values_kernel, (1,), q, k, v, out, length, BLOCK_M=block_m, BLOCK_N=block_n, DIM=dim)
    expected = np.zeros((block_m, dim))
    for start in range(0, length, block_n):
        scores = q.astype(np.float64) @ k[start : start + block_n].astype(np.float64).T
        expected += scores.astype(np.float16).astype(np.float64) @ v.astype(np.float64)
    assert_near(out, expected.astype(np.float32), absolute=1e-2)


@tilewright.jit
def values_kernel(
    q_ptr,
    k_ptr,
    v_array,
    v_ptr,
    place_ptr,
    out_ptr,
    length,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    DIM: tl.constexpr,
    FORM: tl.constexpr,
):
    """Chained products whose second factor is transposed, gathered, or computed."""
    rows, keys, dims = tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_N), tl.arange(0, DIM)
    acc = tl.zeros((BLOCK_M, DIM), tl.float32)
    for start in range(0, length, BLOCK_N):
        q = tl.load(q_ptr + rows[:, None] * DIM + dims[None, :])
        k = tl.load(k_ptr + (start + keys)[:, None] * DIM + dims[None, :])
        scores = tl.dot(q, k.T)
        if FORM == "transposed":
            v = v_array.load([0, start]).T
        elif FORM == "gathered":
            places = tl.load(place_ptr + start + keys)
            v = tl.load(v_ptr + places[:, None] * DIM + dims[None, :])
        else:
            v = (tl.load(v_ptr + (start + keys)[:, None] * DIM + dims[None, :]) * 2).to(q.dtype)
        acc = tl.dot(tl.minimum(tl.maximum(scores, -2), 2).to(q.dtype), v, acc)
    tl.store(out_ptr + rows[:, None] * DIM + dims[None, :], acc)


# As where pages of a cache lie anywhere, or 8-bit values along their columns.
@pytest.mark.parametrize(
    "form, name", [("transposed", "float16"), ("transposed", "float8e4nv"), ("gathered", "float16"), ("computed", "bfloat16")]
)
@pytest.mark.parametrize("trips", [0, 1, 2, 4])
@pytest.mark.parametrize("warps", [4, 8])
def test_chained_products_with_values_of_another_form(warps, trips, form, name):
    block_m, block_n, dim = 16 * warps, 32, 32
    length, width = trips * block_n, max(trips, 1) * block_n
    q, k, v = (exact_values(name, (rows, dim), seed, -2, 2) for seed, rows in enumerate((block_m, width, width)))
    places = np.random.default_rng(3).permutation(width).astype(np.int32)
    turned = np.ascontiguousarray(v.T)
    out = np.full((block_m, dim), 77, np.float32)
    Emulator("sm_90a").run(
        values_kernel,
        (1,),
        q,
        k,
        describe(turned, dim, block_n),
        v,
        places,
        out,
        length,
        BLOCK_M=block_m,
        BLOCK_N=block_n,
        DIM=dim,
        FORM=form,
        num_warps=warps,
        num_stages=3,
    )
    used = {"transposed": v, "gathered": v[places], "computed": v * 2}[form].astype(np.float64)
    scores = np.clip(q.astype(np.float64) @ k[:length].astype(np.float64).T, -2, 2)
    assert_same(out, (scores @ used[:length]).astype(np.float32), signed_zeros=False)


@tilewright.jit
def small_keys_kernel(
    q_ptr, k_ptr, v_ptr, scale_ptr, out_ptr, length, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, DIM: tl.constexpr
):
    """Chained products of which both second factors are computed from what is loaded: a cache of 8 bits."""
    rows, keys, dims = tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_N), tl.arange(0, DIM)
    q = tl.load(q_ptr + rows[:, None] * DIM + dims[None, :])
    acc = tl.zeros((BLOCK_M, DIM), tl.float32)
    for start in range(0, length, BLOCK_N):
        tile = (start + keys)[:, None] * DIM + dims[None, :]
        scores = tl.dot(q, tl.load(k_ptr + tile).to(q.dtype).T) * tl.load(scale_ptr + start + keys)[None, :]
        acc = tl.dot(tl.minimum(tl.maximum(scores, -2), 2).to(q.dtype), tl.load(v_ptr + tile).to(q.dtype), acc)
    tl.store(out_ptr + rows[:, None] * DIM + dims[None, :], acc)


@pytest.mark.parametrize("trips", [0, 1, 2, 5])
@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("name", ["int8", "float8e4nv"])
def test_chained_products_of_small_keys(name, warps, trips):
    block_m, block_n, dim = 16 * warps, 32, 64
    length, width = trips * block_n, max(trips, 1) * block_n
    q = exact_values("float16", (block_m, dim), 0, -2, 2)
    k, v = (exact_values("float16", (width, dim), seed, -2, 2).astype(NUMPY_TYPES[name]) for seed in (1, 2))
    scales = np.random.default_rng(3).choice([0.25, 0.5, 1], width).astype(np.float32)
    out, remarks = np.full((block_m, dim), 77, np.float32), []
    emulator = Emulator("sm_90a", inspect=lambda compiled: remarks.extend(str(remark) for remark in compiled.remarks))
    emulator.run(
        small_keys_kernel, (1,), q, k, v, scales, out, length,
        BLOCK_M=block_m, BLOCK_N=block_n, DIM=dim, num_warps=warps, num_stages=3,
    )  # fmt: skip
    assert any("pipeline: applied" in remark and "loads=2" in remark for remark in remarks), remarks
    scores = np.clip(q.astype(np.float64) @ k[:length].astype(np.float64).T * scales[:length], -2, 2)
    assert_same(out, (scores @ v[:length].astype(np.float64)).astype(np.float32), signed_zeros=False)


@tilewright.jit
def two_queries_kernel(
    q_array, other_array, k_array, out_ptr, length, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, DIM: tl.constexpr
):
    """Two products of one iteration that read one tile, with arithmetic between them."""
    rows, columns = tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_N)
    q, other = q_array.load([0, 0]), other_array.load([0, 0])
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, length, BLOCK_N):
        k = k_array.load([start, 0])
        scores = tl.abs(tl.dot(q, k.T))
        acc += scores * tl.dot(other, k.T)
    tl.store(out_ptr + rows[:, None] * BLOCK_N + columns[None, :], acc)


@pytest.mark.parametrize("trips", [0, 1, 3])
def test_two_products_of_the_same_tile(trips):
    block_m, block_n, dim = 64, 32, 32
    q, other = (exact_values("float16", (block_m, dim), seed, -1, 1) for seed in (0, 1))
    k = exact_values("float16", (max(trips, 1) * block_n, dim), 2, -1, 1)
    out = np.zeros((block_m, block_n), np.float32)
    Emulator("sm_90a").run(
        two_queries_kernel,
        (1,),
        describe(q, block_m, dim),
        describe(other, block_m, dim),
        describe(k, block_n, dim),
        out,
        trips * block_n,
        BLOCK_M=block_m,
        BLOCK_N=block_n,
        DIM=dim,
        num_warps=4,
        num_stages=3,
    )
    tiles = k[: trips * block_n].astype(np.float64).reshape(trips, block_n, dim)
    expected = sum((np.abs(q @ tile.T) * (other @ tile.T) for tile in tiles), np.zeros((block_m, block_n)))
    assert_same(out, expected.astype(np.float32), signed_zeros=False)


@tilewright.jit
def feedback_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    out_ptr,
    before_ptr,
    length,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    DIM: tl.constexpr,
    FORM: tl.constexpr,
):
    """Chained products whose sum is remembered: for what follows the loop, or for the next iteration's first product."""
    rows, keys, dims = tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_N), tl.arange(0, DIM)
    q = tl.load(q_ptr + rows[:, None] * DIM + dims[None, :])
    acc, before = tl.zeros((BLOCK_M, DIM), tl.float32), tl.zeros((BLOCK_M, DIM), tl.float32)
    for start in range(0, length, BLOCK_N):
        place = (start + keys)[:, None] * DIM + dims[None, :]
        scores = tl.dot(q, tl.load(k_ptr + place).T)
        if FORM == "read":
            scores += tl.sum(before, 1)[:, None]
            before = tl.where(acc > 0, 1.0, 0.0)
        else:
            before = acc
        acc = tl.dot(tl.minimum(tl.maximum(scores, -2), 2).to(q.dtype), tl.load(v_ptr + place), acc)
    tile = rows[:, None] * DIM + dims[None, :]
    tl.store(out_ptr + tile, acc)
    tl.store(before_ptr + tile, before)


@pytest.mark.parametrize("form", ["kept", "read"])
@pytest.mark.parametrize("trips", [0, 1, 2, 4])
@pytest.mark.parametrize("warps", [4, 8])
def test_chained_products_whose_sum_is_remembered(warps, trips, form):
    block_m, block_n, dim = 16 * warps, 32, 32
    q = exact_values("float16", (block_m, dim), 0, -1, 1)
    k, v = (exact_values("float16", (max(trips, 1) * block_n, dim), seed, -1, 1) for seed in (1, 2))
    out, kept = np.zeros((block_m, dim), np.float32), np.zeros((block_m, dim), np.float32)
    Emulator("sm_90a").run(
        feedback_kernel,
        (1,),
        q,
        k,
        v,
        out,
        kept,
        trips * block_n,
        BLOCK_M=block_m,
        BLOCK_N=block_n,
        DIM=dim,
        FORM=form,
        num_warps=warps,
        num_stages=3,
    )
    acc, before = np.zeros((block_m, dim)), np.zeros((block_m, dim))
    for trip in range(trips):
        rows = slice(trip * block_n, (trip + 1) * block_n)
        scores = q.astype(np.float64) @ k[rows].astype(np.float64).T
        if form == "read":
            scores += before.sum(axis=1)[:, None]
        before = (acc > 0) * 1.0 if form == "read" else acc
        acc = acc + np.clip(scores, -2, 2) @ v[rows].astype(np.float64)
    assert_same(out, acc.astype(np.float32), signed_zeros=False)
    assert_same(kept, before.astype(np.float32), signed_zeros=False)


@tilewright.jit
def both_units_kernel(q_ptr, k_ptr, out_ptr, length, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, DIM: tl.constexpr):
    """A tile of few rows: its product with the keys is too low for wgmma, that of its transpose is not."""
    rows, keys, dims = tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_N), tl.arange(0, DIM)
    k = tl.load(k_ptr + keys[:, None] * DIM + dims[None, :])
    acc = tl.zeros((BLOCK_N, DIM), tl.float32)
    for start in range(0, length, BLOCK_M):
        q = tl.load(q_ptr + (start + rows)[:, None] * DIM + dims[None, :])
        scores = tl.minimum(tl.maximum(tl.dot(q, k.T), -2), 2).to(q.dtype)
        acc = tl.dot(scores.T, q, acc)
    tl.store(out_ptr + keys[:, None] * DIM + dims[None, :], acc)


def test_a_tile_of_both_units_is_loaded_ahead():
    pointers = {"q_ptr": "*fp16", "k_ptr": "*fp16", "out_ptr": "*fp32"}
    tile = {"BLOCK_M": 32, "BLOCK_N": 128, "DIM": 64}
    source = tilewright.ASTSource(both_units_kernel, pointers | {"length": "i32"}, tile, dict.fromkeys(pointers, 16))
    result = tilewright.compile(source, "sm_90a", {"num_warps": 8, "num_stages": 3})
    assert any("pipeline: applied, stages=3" in str(remark) for remark in result.remarks), result.remarks
    assert "mma.sync" in result.asm["ptx"] and "wgmma.mma_async" in result.asm["ptx"]


@pytest.mark.parametrize("trips", [0, 1, 2, 5])
@pytest.mark.parametrize("warps", [4, 8])
def test_a_tile_of_both_units(warps, trips):
    block_m, block_n, dim = 32, 128, 64
    q = exact_values("float16", (max(trips, 1) * block_m, dim), 0, -1, 1)
    k = exact_values("float16", (block_n, dim), 1, -1, 1)
    out = np.zeros((block_n, dim), np.float32)
    Emulator("sm_90a").run(
        both_units_kernel,
        (1,),
        q,
        k,
        out,
        trips * block_m,
        BLOCK_M=block_m,
        BLOCK_N=block_n,
        DIM=dim,
        num_warps=warps,
        num_stages=3,
    )
    read = q[: trips * block_m].astype(np.float64)
    assert_same(out, (np.clip(read @ k.T.astype(np.float64), -2, 2).T @ read).astype(np.float32), signed_zeros=False)
