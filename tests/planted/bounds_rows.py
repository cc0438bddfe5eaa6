# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Accesses outside of an array."""

import numpy as np

import tilewright as tw
import tilewright.language as tl
from planted.case import Case


@tw.jit
def add_tail(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    a = tl.load(x + offsets, mask=mask)
    b = tl.load(y + offsets)  # fault
    tl.store(out + offsets, a + b, mask=mask)


@tw.jit
def add_tail_corrected(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    a = tl.load(x + offsets, mask=mask)
    b = tl.load(y + offsets, mask=mask)
    tl.store(out + offsets, a + b, mask=mask)


def launch_add(kernel):
    x, y = np.ones(1000, np.float32), np.ones(1000, np.float32)
    kernel[(tw.cdiv(1000, 128),)](x, y, np.zeros_like(x), 1000, BLOCK=128)


@tw.jit
def softmax(x, out, columns, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets <= columns
    values = tl.load(x + row * stride + offsets, mask=mask, other=-float("inf"))  # fault
    shifted = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * stride + offsets, shifted / tl.sum(shifted, axis=0), mask=offsets < columns)


@tw.jit
def softmax_corrected(x, out, columns, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    values = tl.load(x + row * stride + offsets, mask=mask, other=-float("inf"))
    shifted = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * stride + offsets, shifted / tl.sum(shifted, axis=0), mask=offsets < columns)


def launch_softmax(kernel):
    x = np.random.default_rng(0).standard_normal((5, 100), np.float32)
    kernel[(5,)](x, np.zeros_like(x), 100, 100, BLOCK=128)


@tw.jit
def transpose(x, out, rows, columns, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = (i[:, None] < rows) & (j[None, :] < columns)
    tile = tl.load(x + i[:, None] * columns + j[None, :], mask=mask)
    tl.store(out + j[None, :] * columns + i[:, None], tile, mask=mask)  # fault


@tw.jit
def transpose_corrected(x, out, rows, columns, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = (i[:, None] < rows) & (j[None, :] < columns)
    tile = tl.load(x + i[:, None] * columns + j[None, :], mask=mask)
    tl.store(out + j[None, :] * rows + i[:, None], tile, mask=mask)


def launch_transpose(kernel):
    x = np.ones((40, 70), np.float32)
    kernel[(3, 5)](x, np.zeros((70, 40), np.float32), 40, 70, BLOCK=16)


@tw.jit
def stencil(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    left = tl.load(x + offsets - 1, mask=mask, other=0.0)  # fault
    middle = tl.load(x + offsets, mask=mask)
    tl.store(out + offsets, middle - left, mask=mask)


@tw.jit
def stencil_corrected(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    left = tl.load(x + offsets - 1, mask=mask & (offsets > 0), other=0.0)
    middle = tl.load(x + offsets, mask=mask)
    tl.store(out + offsets, middle - left, mask=mask)


def launch_stencil(kernel):
    x = np.ones(100, np.float32)
    kernel[(2,)](x, np.zeros_like(x), 100, BLOCK=64)


@tw.jit
def embedding(table, indices, out, rows, width, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    index = tl.load(indices + token)
    mask = offsets < width
    row = tl.load(table + index * width + offsets, mask=mask, other=0.0)  # fault
    tl.store(out + token * width + offsets, row, mask=offsets < width)


@tw.jit
def embedding_corrected(table, indices, out, rows, width, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    index = tl.load(indices + token)
    mask = (offsets < width) & (index >= 0) & (index < rows)
    row = tl.load(table + index * width + offsets, mask=mask, other=0.0)
    tl.store(out + token * width + offsets, row, mask=offsets < width)


def launch_embedding(kernel):
    table, out = np.ones((10, 24), np.float32), np.zeros((4, 24), np.float32)
    kernel[(4,)](table, np.array([3, 0, 10, 9], np.int32), out, 10, 24, BLOCK=32)


@tw.jit
def matmul(a, b, c, M, N, K, BLOCK: tl.constexpr):
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, K, BLOCK):
        k = start + tl.arange(0, BLOCK)
        left = tl.load(a + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        right = tl.load(b + k[:, None] * N + n[None, :], mask=n[None, :] < N, other=0.0)  # fault
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


CASES = [
    Case("add-tail", "bounds", "E0407", add_tail, add_tail_corrected, launch_add),
    Case("softmax-off-by-one", "bounds", "E0407", softmax, softmax_corrected, launch_softmax),
    Case("transpose-stride", "bounds", "E0407", transpose, transpose_corrected, launch_transpose),
    Case("stencil-negative", "bounds", "E0407", stencil, stencil_corrected, launch_stencil),
    Case("embedding-index", "bounds", "E0407", embedding, embedding_corrected, launch_embedding),
    Case("matmul-tail-of-k", "bounds", "E0407", matmul, matmul_corrected, launch_matmul),
]
