# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops whose products read a loaded tile that others read in registers, pipelined, on the emulator.

Both read the copy that was started iterations before, each in its own layout, and whoever fills the slot again waits for
both. As in test_pipelines.py, the question is how many times such a loop runs.
"""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.compare import assert_same
from harness.devices import Emulator
from harness.element_types import NUMPY_TYPES, exact_values

TRIPS = [0, 1, 2, 3, 5]
M, N, K = 64, 32, 32


@tilewright.jit
def normed_product_kernel(
    x_ptr, w_ptr, out_ptr, squares_ptr, copy_ptr, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, WHERE: tl.constexpr
):
    """A product and, of its first operand, sums of squares, as where a normalisation follows."""
    m, n, kk = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    acc, squares = tl.zeros((M, N), tl.float32), tl.zeros((M,), tl.float32)
    for start in range(0, k, K):
        column = start + kk
        at = m[:, None] * k + column[None, :]
        x = tl.load(x_ptr + at, mask=(column < k)[None, :], other=0.0)
        w = tl.load(w_ptr + column[:, None] * N + n[None, :], mask=(column < k)[:, None], other=0.0)
        if WHERE == "before":
            squares += tl.sum(x.to(tl.float32) * x.to(tl.float32), 1)
        acc = tl.dot(x, w, acc)
        if WHERE == "after":
            squares += tl.sum(x.to(tl.float32) * x.to(tl.float32), 1)
        if WHERE == "accumulator":
            # In the layout of the sum, where the shapes agree.
            acc += x.to(tl.float32)
        if WHERE == "stored":
            tl.store(copy_ptr + at, x + x, mask=(column < k)[None, :])
        if WHERE == "branch":
            if start % (2 * K) == 0:
                squares += tl.sum(x.to(tl.float32), 1)
    tl.store(out_ptr + m[:, None] * N + n[None, :], acc)
    tl.store(squares_ptr + m, squares)


def expected(x, w, where):
    x, w = x.astype(np.float64), w.astype(np.float64)
    out, squares = x @ w, np.zeros(M)
    chunks = x.reshape(M, -1, K)
    if where in ("before", "after"):
        squares = (x**2).sum(1)
    if where == "accumulator":
        out = out + chunks.sum(1)
    if where == "branch":
        squares = chunks[:, ::2].sum((1, 2))
    return out, squares


@pytest.mark.parametrize("trips", TRIPS)
@pytest.mark.parametrize("stages", [2, 3, 4])
@pytest.mark.parametrize("where", ["before", "after", "accumulator", "stored", "branch"])
@pytest.mark.parametrize("target,type_name", [("sm_80", "float16"), ("sm_90a", "float16"), ("sm_90a", "float32")])
def test_tiles_in_shared_memory_and_in_registers(target, type_name, where, stages, trips):
    k, texts = trips * K, []
    dtype = NUMPY_TYPES[type_name]
    x, w = exact_values(type_name, (M, max(k, 1)), 0, -2, 2), exact_values(type_name, (max(k, 1), N), 1, -2, 2)
    out, squares = np.zeros((M, N), np.float32), np.zeros(M, np.float32)
    copy = np.zeros_like(x)
    Emulator(target, inspect=lambda compiled: texts.append(compiled.asm["ptx"])).run(
        normed_product_kernel, (1,), x, w, out, squares, copy, k, M, N, K, where, num_warps=4, num_stages=stages
    )
    x, w = x[:, :k], w[:k]
    product, sums = expected(x, w, where) if trips else (np.zeros((M, N)), np.zeros(M))
    assert_same(out, product.astype(np.float32), signed_zeros=False)
    assert_same(squares, sums.astype(np.float32), signed_zeros=False)
    if where == "stored" and trips:
        assert_same(copy, (x + x).astype(dtype), signed_zeros=False)
    assert "cp.async" in texts[0] and "ld.global" not in texts[0]


@tilewright.jit
def watched_attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, sums_ptr, length, BLOCK: tl.constexpr, DIM: tl.constexpr, USES: tl.constexpr
):
    """Chained products of which registers see the operands as well: before, between and after."""
    rows, dims = tl.arange(0, BLOCK), tl.arange(0, DIM)
    tile = rows[:, None] * DIM + dims[None, :]
    q = tl.load(q_ptr + tile)
    acc, sums = tl.zeros((BLOCK, DIM), tl.float32), tl.zeros((DIM,), tl.float32)
    for start in range(0, length, BLOCK):
        k = tl.load(k_ptr + start * DIM + tile)
        v = tl.load(v_ptr + start * DIM + tile)
        if USES == "k" or USES == "both":
            sums += tl.sum(k.to(tl.float32), 0)
        scores = tl.dot(q, k.T)
        if USES == "late k":
            sums += tl.sum(k.to(tl.float32), 0)
        acc = tl.dot(scores.to(v.dtype), v, acc)
        if USES == "v" or USES == "both":
            sums += tl.sum(v.to(tl.float32), 0)
    tl.store(out_ptr + tile, acc)
    tl.store(sums_ptr + dims, sums)


@pytest.mark.parametrize("trips", TRIPS)
@pytest.mark.parametrize("uses", ["k", "late k", "v", "both"])
@pytest.mark.parametrize("dim", [32, 128])
@pytest.mark.parametrize("warps,stages", [(4, 3), (8, 2)])
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_operands_of_chained_products_in_registers(target, warps, stages, dim, uses, trips):
    block = 64 if warps == 4 else 128
    length = trips * block
    q = exact_values("float16", (block, dim), 0, -1, 1)
    k, v = (exact_values("float16", (max(length, block), dim), seed, -1, 1) for seed in (1, 2))
    out, sums = np.zeros((block, dim), np.float32), np.zeros(dim, np.float32)
    Emulator(target).run(
        watched_attention_kernel, (1,), q, k, v, out, sums, length, block, dim, uses, num_warps=warps, num_stages=stages
    )
    q, k, v = q.astype(np.float64), k[:length].astype(np.float64), v[:length].astype(np.float64)
    seen = {"k": k.sum(0), "late k": k.sum(0), "v": v.sum(0), "both": k.sum(0) + v.sum(0)}[uses]
    assert_same(out, ((q @ k.T) @ v).astype(np.float32), signed_zeros=False)
    assert_same(sums, seen.astype(np.float32), signed_zeros=False)
