# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products with words of several weights: loads whose elements have one address in groups."""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.compare import assert_same
from harness.devices import Emulator

EMULATED = True


@tilewright.jit
def rows_kernel(
    x_ptr, q_ptr, s_ptr, out_ptr, K, stride,
    PER: tl.constexpr, GROUP: tl.constexpr, MASKED: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    # A word holds PER weights of neighbouring rows of K; a scale stands for GROUP rows.
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    q_ptrs = q_ptr + (k // PER)[:, None] * stride + n[None, :]
    shifts = ((k % PER) * (32 // PER))[:, None]
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        x = tl.load(x_ptr + m[:, None] * K + start + k[None, :])
        if MASKED:
            words = tl.load(q_ptrs, mask=(start + k)[:, None] < K, other=0)
        else:
            words = tl.load(q_ptrs)
        scales = tl.load(s_ptr + ((start + k) // GROUP)[:, None] * stride + n[None, :])
        weights = ((words >> shifts) & (2 ** (32 // PER) - 1)).to(tl.float16) * scales
        total = tl.dot(x, weights, total)
        q_ptrs += (BK // PER) * stride
    tl.store(out_ptr + m[:, None] * BN + n[None, :], total)


@tilewright.jit
def columns_kernel(x_ptr, q_ptr, out_ptr, K, PER: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    # A word holds PER weights of neighbouring columns; the block of columns is that of the program.
    m, k = tl.arange(0, BM), tl.arange(0, BK)
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    width = tl.num_programs(0) * BN
    q_ptrs = q_ptr + k[:, None] * (width // PER) + (n // PER)[None, :]
    shifts = ((n % PER) * (32 // PER))[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        x = tl.load(x_ptr + m[:, None] * K + start + k[None, :])
        weights = ((tl.load(q_ptrs) >> shifts) & (2 ** (32 // PER) - 1)).to(tl.float16)
        total = tl.dot(x, weights, total)
        q_ptrs += BK * (width // PER)
    tl.store(out_ptr + m[:, None] * width + n[None, :], total)


def packed(weights, per, axis):
    """Words of `per` weights along an axis, the first one lowest."""
    bits = 32 // per
    shape = list(weights.shape)
    shape[axis : axis + 1] = [shape[axis] // per, per]
    shifts = (np.arange(per) * bits).astype(np.uint64).reshape([-1 if i == axis + 1 else 1 for i in range(3)])
    words = np.bitwise_or.reduce(weights.reshape(shape).astype(np.uint64) << shifts, axis=axis + 1)
    return words.astype(np.uint32).view(np.int32)


@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("stages", [1, 3])
@pytest.mark.parametrize(
    "per, group, masked, shape",
    [(8, 32, False, (16, 64, 32)), (8, 64, True, (64, 32, 64)), (4, 16, True, (32, 32, 32)), (16, 128, False, (16, 16, 64))],
)
def test_words_along_k(device, per, group, masked, shape, stages, warps):
    (bm, bn, bk), k = shape, 128
    rng = np.random.default_rng(per)
    x = rng.integers(-3, 4, (bm, k)).astype(np.float16)
    weights = rng.integers(0, min(16, 2 ** (32 // per)), (k, bn))
    scales = rng.integers(1, 4, (k // group, bn)).astype(np.float16)
    out = device.empty((bm, bn), np.float32)
    device.run(
        rows_kernel, (1,), device.array(x), device.array(packed(weights, per, 0)), device.array(scales), out, k, bn,
        PER=per, GROUP=group, MASKED=masked, BM=bm, BN=bn, BK=bk, num_stages=stages, num_warps=warps,
    )  # fmt: skip
    expected = x.astype(np.float32) @ (weights * np.repeat(scales, group, axis=0)).astype(np.float32)
    assert_same(device.numpy(out), expected)


@pytest.mark.parametrize("stages", [1, 2, 4])
@pytest.mark.parametrize(
    "per, shape, programs", [(8, (16, 64, 32), 1), (8, (64, 64, 32), 2), (4, (32, 32, 64), 2), (2, (16, 16, 16), 3)]
)
def test_words_along_n(device, per, shape, programs, stages):
    (bm, bn, bk), k = shape, 128
    rng = np.random.default_rng(per)
    x = rng.integers(-3, 4, (bm, k)).astype(np.float16)
    weights = rng.integers(0, min(16, 2 ** (32 // per)), (k, bn * programs))
    out = device.empty((bm, bn * programs), np.float32)
    device.run(
        columns_kernel, (programs,), device.array(x), device.array(packed(weights, per, 1)), out, k,
        PER=per, BM=bm, BN=bn, BK=bk, num_stages=stages,
    )  # fmt: skip
    assert_same(device.numpy(out), x.astype(np.float32) @ weights.astype(np.float32))


@tilewright.jit
def nested_kernel(x_ptr, q_ptr, out_ptr, outer, inner, B: tl.constexpr):
    # The pointers go through both loops, and a second variable of the same tiles beside them.
    i, k = tl.arange(0, B), tl.arange(0, B)
    ptrs = q_ptr + (k // 8)[:, None] * B + i[None, :]
    other = ptrs
    x_ptrs = x_ptr + i[:, None] * B + k[None, :]
    total = tl.zeros((B, B), tl.float32)
    for _ in range(outer):
        for _ in range(inner):
            weights = ((tl.load(ptrs) >> ((k % 8) * 4)[:, None]) & 15).to(tl.float16)
            total = tl.dot(tl.load(x_ptrs), weights, total)
            ptrs += (B // 8) * B
            x_ptrs += B * B
        weights = ((tl.load(other) >> ((k % 8) * 4)[:, None]) & 15).to(tl.float16)
        total = tl.dot(tl.load(x_ptr + i[:, None] * B + k[None, :]), weights, total)
        other += (B // 8) * B
    tl.store(out_ptr + i[:, None] * B + k[None, :], total)


def test_nested_loops(device):
    b, outer, inner = 32, 2, 3
    rng = np.random.default_rng(0)
    x = rng.integers(-3, 4, (outer * inner, b, b)).astype(np.float16)
    weights = rng.integers(0, 16, (outer * inner, b, b))
    out = device.empty((b, b), np.float32)
    words = packed(weights.reshape(-1, b), 8, 0)
    device.run(nested_kernel, (1,), device.array(x), device.array(words), out, outer, inner, B=b)
    wide = x.astype(np.float32)
    expected = sum(wide[i] @ weights[i] for i in range(outer * inner)) + sum(wide[0] @ weights[i] for i in range(outer))
    assert_same(device.numpy(out), expected.astype(np.float32))


def test_what_is_copied():
    """Each word once, by copies of 16 bytes: 8 rows of 64 words, 16 rows of 64 elements of x, and the row of scales."""
    texts = []
    emulator = Emulator("sm_90a", inspect=lambda compiled: texts.append(compiled.asm["ptx"]), num_warps=4, num_stages=3)
    x, q, scales, out = (
        emulator.empty(shape, kind)
        for shape, kind in (((16, 128), np.float16), ((16, 64), np.int32), ((1, 64), np.float16), ((16, 64), np.float32))
    )
    emulator.run(rows_kernel, (1,), x, q, scales, out, 128, 64, PER=8, GROUP=128, MASKED=False, BM=16, BN=64, BK=64)
    assert "cp.async.ca" not in texts[0]
    # Three before the loop and in it, of one instruction each.
    assert texts[0].count("cp.async.cg.shared.global") == 3 * 3
