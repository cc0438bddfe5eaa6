# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integers that wrap on the way to an address."""

import functools

import numpy as np

import tilewright as tw
import tilewright.language as tl
from planted.case import Case


@functools.cache
def huge():
    """More elements than int32 can count. The system gives memory only to pages that are written."""
    return np.zeros(2_800_000_000, np.int8)


@tw.jit
def copy_rows(x, out, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    start = row * stride  # fault
    tl.store(out + row * BLOCK + offsets, tl.load(x + start + offsets))


@tw.jit
def copy_rows_corrected(x, out, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    start = row.to(tl.int64) * stride
    tl.store(out + row * BLOCK + offsets, tl.load(x + start + offsets))


def launch_rows(kernel):
    kernel[(4,)](huge(), np.zeros(4 * 16, np.int8), 800_000_000, BLOCK=16)


@tw.jit
def gather_heads(x, out, batch_stride, head_stride, HEADS: tl.constexpr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    base = (pid // HEADS) * batch_stride + (pid % HEADS) * head_stride  # fault
    tl.store(out + pid * BLOCK + offsets, tl.load(x + base + offsets))


@tw.jit
def gather_heads_corrected(x, out, batch_stride, head_stride, HEADS: tl.constexpr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    base = (pid // HEADS).to(tl.int64) * batch_stride + (pid % HEADS).to(tl.int64) * head_stride
    tl.store(out + pid * BLOCK + offsets, tl.load(x + base + offsets))


def launch_heads(kernel):
    kernel[(4,)](huge(), np.zeros(4 * 16, np.int8), 1_200_000_000, 1_000_000_000, HEADS=2, BLOCK=16)


@tw.jit
def last_block(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    places = n + offsets  # fault
    tl.store(out + offsets, tl.load(x + places))


@tw.jit
def last_block_corrected(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    places = n.to(tl.int64) + offsets
    tl.store(out + offsets, tl.load(x + places))


def launch_last(kernel):
    kernel[(1,)](huge(), np.zeros(16, np.int8), 2**31 - 8, BLOCK=16)


@tw.jit
def flat_copy(x, out, first, BLOCK: tl.constexpr):
    offsets = first + tl.arange(0, BLOCK)
    narrow = offsets.to(tl.int32)  # fault
    tl.store(out + tl.arange(0, BLOCK), tl.load(x + narrow))


@tw.jit
def flat_copy_corrected(x, out, first, BLOCK: tl.constexpr):
    offsets = first + tl.arange(0, BLOCK)
    narrow = offsets
    tl.store(out + tl.arange(0, BLOCK), tl.load(x + narrow))


def launch_flat(kernel):
    kernel[(1,)](huge(), np.zeros(16, np.int8), 2**31 + 64, BLOCK=16)


@tw.jit
def look_up(codes, table, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    code = tl.load(codes + offsets)
    place = code * 8  # fault
    tl.store(out + offsets, tl.load(table + place + 1000))


@tw.jit
def look_up_corrected(codes, table, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    code = tl.load(codes + offsets)
    place = code.to(tl.int32) * 8
    tl.store(out + offsets, tl.load(table + place + 1000))


def launch_look_up(kernel):
    codes = np.arange(32, dtype=np.int8)
    kernel[(1,)](codes, np.ones(2000, np.float32), np.zeros(32, np.float32), BLOCK=32)


@tw.jit
def ragged(lengths, x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    length = tl.load(lengths + i)
    starts = tl.cumsum(length, axis=0) - length  # fault
    tl.store(out + i, tl.load(x + starts))


@tw.jit
def ragged_corrected(lengths, x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    length = tl.load(lengths + i)
    starts = tl.cumsum(length.to(tl.int64), axis=0) - length
    tl.store(out + i, tl.load(x + starts))


def launch_ragged(kernel):
    lengths = np.array([900_000_000, 900_000_000, 900_000_000, 1], np.int32)
    kernel[(1,)](lengths, huge(), np.zeros(4, np.int8), BLOCK=4)


CASES = [
    Case("rows-times-stride", "wraps", "E0415", copy_rows, copy_rows_corrected, launch_rows),
    Case("batch-and-head", "wraps", "E0415", gather_heads, gather_heads_corrected, launch_heads),
    Case("end-of-array", "wraps", "E0415", last_block, last_block_corrected, launch_last),
    Case("cast-to-int32", "wraps", "E0415", flat_copy, flat_copy_corrected, launch_flat),
    Case("product-in-int8", "wraps", "E0415", look_up, look_up_corrected, launch_look_up),
    Case("cumulative-sum", "wraps", "E0415", ragged, ragged_corrected, launch_ragged),
]
