# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lanes that a masked load leaves undefined, in a result."""

import numpy as np

import tilewright as tw
import tilewright.language as tl
from planted.case import Case


@tw.jit
def smallest(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    values = tl.load(x + offsets, mask=mask)  # fault
    tl.store(out, tl.min(values, axis=0))


@tw.jit
def smallest_corrected(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    values = tl.load(x + offsets, mask=mask, other=float("inf"))
    tl.store(out, tl.min(values, axis=0))


def launch_smallest(kernel):
    kernel[(1,)](np.ones(50, np.float32), np.zeros(1, np.float32), 50, BLOCK=64)


@tw.jit
def layer_norm(x, out, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    values = tl.load(x + row * n + offsets, mask=mask).to(tl.float32)  # fault
    mean = tl.sum(values, axis=0) / n
    centred = tl.where(mask, values - mean, 0.0)
    spread = tl.sum(centred * centred, axis=0) / n
    tl.store(out + row * n + offsets, centred * tl.rsqrt(spread + eps), mask=mask)


@tw.jit
def layer_norm_corrected(x, out, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    values = tl.load(x + row * n + offsets, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(values, axis=0) / n
    centred = tl.where(mask, values - mean, 0.0)
    spread = tl.sum(centred * centred, axis=0) / n
    tl.store(out + row * n + offsets, centred * tl.rsqrt(spread + eps), mask=mask)


def launch_norm(kernel):
    x = np.random.default_rng(0).standard_normal((3, 50), np.float32).astype(np.float16)
    kernel[(3,)](x, np.zeros((3, 50), np.float32), 50, 1e-5, BLOCK=64)


@tw.jit
def matmul(a, b, c, M, N, K, BLOCK: tl.constexpr):
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, K, BLOCK):
        k = start + tl.arange(0, BLOCK)
        left = tl.load(a + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K))  # fault
        right = tl.load(b + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc += tl.dot(left, right)
    tl.store(c + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


@tw.jit
def matmul_corrected(a, b, c, M, N, K, BLOCK: tl.constexpr):
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, K, BLOCK):
        k = start + tl.arange(0, BLOCK)
        left = tl.load(a + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        right = tl.load(b + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc += tl.dot(left, right)
    tl.store(c + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


def launch_matmul(kernel):
    a, b = np.ones((32, 40), np.float32), np.ones((40, 48), np.float32)
    kernel[(2, 3)](a, b, np.zeros((32, 48), np.float32), 32, 48, 40, BLOCK=16)


@tw.jit
def last_index(starts, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    begin = tl.load(starts + offsets, mask=offsets < n)  # fault
    end = tl.load(starts + offsets + 1, mask=offsets < n, other=0)
    tl.store(out + offsets, end - begin)


@tw.jit
def last_index_corrected(starts, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    begin = tl.load(starts + offsets, mask=offsets < n, other=0)
    end = tl.load(starts + offsets + 1, mask=offsets < n, other=0)
    tl.store(out + offsets, end - begin)


def launch_last(kernel):
    kernel[(1,)](np.arange(11, dtype=np.int32), np.zeros(16, np.int32), 10, BLOCK=16)


CASES = [
    Case("minimum-of-tail", "poison", "E0422", smallest, smallest_corrected, launch_smallest, checks="poison"),
    Case("mean-of-tail", "poison", "E0422", layer_norm, layer_norm_corrected, launch_norm, checks="poison"),
    Case("tail-of-k", "poison", "E0422", matmul, matmul_corrected, launch_matmul, checks="poison"),
    Case("stored-tail", "poison", "E0422", last_index, last_index_corrected, launch_last, checks="poison"),
]
