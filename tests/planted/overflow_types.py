# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers that outgrow their type."""

import ml_dtypes
import numpy as np

import tilewright as tw
import tilewright.language as tl
from planted.case import Case


@tw.jit
def sum_of_squares(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    values = tl.load(x + row * n + offsets, mask=offsets < n, other=0.0)
    squares = values * values  # fault
    tl.store(out + row, tl.sum(squares, axis=0))


@tw.jit
def sum_of_squares_corrected(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    values = tl.load(x + row * n + offsets, mask=offsets < n, other=0.0)
    wide = values.to(tl.float32)
    squares = wide * wide
    tl.store(out + row, tl.sum(squares, axis=0))


def launch_squares(kernel):
    kernel[(2,)](np.full((2, 50), 300, np.float16), np.zeros(2, np.float32), 50, BLOCK=64)


@tw.jit
def row_sum(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    values = tl.load(x + row * n + offsets, mask=offsets < n, other=0.0)
    total = tl.sum(values, axis=0)  # fault
    tl.store(out + row, total.to(tl.float32))


@tw.jit
def row_sum_corrected(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    values = tl.load(x + row * n + offsets, mask=offsets < n, other=0.0)
    total = tl.sum(values.to(tl.float32), axis=0)
    tl.store(out + row, total.to(tl.float32))


def launch_sum(kernel):
    kernel[(2,)](np.full((2, 100), 1000, np.float16), np.zeros(2, np.float32), 100, BLOCK=128)


@tw.jit
def half_product(a, b, c, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    places = i[:, None] * BLOCK + i[None, :]
    product = tl.dot(tl.load(a + places), tl.load(b + places), out_dtype=tl.float16)  # fault
    tl.store(c + places, product)


@tw.jit
def half_product_corrected(a, b, c, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    places = i[:, None] * BLOCK + i[None, :]
    product = tl.dot(tl.load(a + places), tl.load(b + places))
    tl.store(c + places, product)


def launch_product(kernel):
    a = np.full((32, 32), 60, np.float16)
    kernel[(1,)](a, a.copy(), np.zeros((32, 32), np.float32), BLOCK=32)


@tw.jit
def store_half(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    values = tl.load(x + offsets, mask=offsets < n, other=0.0)
    half = values.to(tl.float16)  # fault
    tl.store(out + offsets, half, mask=offsets < n)


@tw.jit
def store_half_corrected(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    values = tl.load(x + offsets, mask=offsets < n, other=0.0)
    half = tl.clamp(values, -65504.0, 65504.0).to(tl.float16)
    tl.store(out + offsets, half, mask=offsets < n)


def launch_half(kernel):
    kernel[(1,)](np.linspace(0, 1e5, 50, dtype=np.float32), np.zeros(50, np.float16), 50, BLOCK=64)


@tw.jit
def naive_softmax(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    values = tl.load(x + row * n + offsets, mask=offsets < n, other=-float("inf"))
    weights = tl.exp(values)  # fault
    tl.store(out + row * n + offsets, weights / tl.sum(weights, axis=0), mask=offsets < n)


@tw.jit
def naive_softmax_corrected(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    values = tl.load(x + row * n + offsets, mask=offsets < n, other=-float("inf"))
    weights = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * n + offsets, weights / tl.sum(weights, axis=0), mask=offsets < n)


def launch_naive(kernel):
    x = np.array([[1, 2, 100], [1, 2, 3]], np.float32)
    kernel[(2,)](x, np.zeros_like(x), 3, BLOCK=4)


@tw.jit
def count_votes(votes, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    values = tl.load(votes + offsets, mask=offsets < n, other=0)
    weighted = values * 3  # fault
    tl.store(out + offsets, weighted.to(tl.int32), mask=offsets < n)


@tw.jit
def count_votes_corrected(votes, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    values = tl.load(votes + offsets, mask=offsets < n, other=0)
    doubled = values.to(tl.int16)
    weighted = doubled * 3
    tl.store(out + offsets, weighted.to(tl.int32), mask=offsets < n)


def launch_votes(kernel):
    kernel[(1,)](np.arange(0, 100, dtype=np.int8), np.zeros(100, np.int32), 100, BLOCK=128)


@tw.jit
def quantise_fp8(x, scale, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    values = tl.load(x + offsets, mask=offsets < n, other=0.0) / tl.load(scale)
    small = values.to(tl.float8e4nv)  # fault
    tl.store(out + offsets, small, mask=offsets < n)


@tw.jit
def quantise_fp8_corrected(x, scale, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    values = tl.load(x + offsets, mask=offsets < n, other=0.0) / tl.load(scale)
    small = tl.clamp(values, -448.0, 448.0).to(tl.float8e4nv)
    tl.store(out + offsets, small, mask=offsets < n)


def launch_fp8(kernel):
    x = np.linspace(-100, 100, 50, dtype=np.float32)
    out = np.zeros(50, ml_dtypes.float8_e4m3fn)
    kernel[(1,)](x, np.array([0.1], np.float32), out, 50, BLOCK=64)


CASES = [
    Case("squares-in-half", "overflow", "E0420", sum_of_squares, sum_of_squares_corrected, launch_squares, checks="overflow"),
    Case("sum-in-half", "overflow", "E0420", row_sum, row_sum_corrected, launch_sum, checks="overflow"),
    Case("dot-in-half", "overflow", "E0420", half_product, half_product_corrected, launch_product, checks="overflow"),
    Case("cast-to-half", "overflow", "E0420", store_half, store_half_corrected, launch_half, checks="overflow"),
    Case(
        "softmax-without-maximum", "overflow", "E0420", naive_softmax, naive_softmax_corrected, launch_naive, checks="overflow"
    ),
    Case("product-in-int8", "overflow", "E0420", count_votes, count_votes_corrected, launch_votes, checks="overflow"),
    Case("cast-to-fp8", "overflow", "E0420", quantise_fp8, quantise_fp8_corrected, launch_fp8, checks="overflow"),
]
