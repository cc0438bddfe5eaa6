# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Promises that do not hold."""

import numpy as np

import tilewright as tw
import tilewright.language as tl
from planted.case import Case


@tw.jit
def scale_rows(x, out, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    step = tl.multiple_of(stride, 16)  # fault
    offsets = row * step + tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets) * 2.0)


@tw.jit
def scale_rows_corrected(x, out, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    step = tl.multiple_of(stride, 4)
    offsets = row * step + tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets) * 2.0)


def launch_rows(kernel):
    x = np.ones((4, 68), np.float32)
    kernel[(4,)](x, np.zeros_like(x), 68, BLOCK=64)


@tw.jit
def wrapped_rows(x, out, M, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    rows = tl.max_contiguous(offsets % M, BLOCK)  # fault
    tl.store(out + offsets, tl.load(x + rows), mask=offsets < M)


@tw.jit
def wrapped_rows_corrected(x, out, M, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    rows = offsets % M
    tl.store(out + offsets, tl.load(x + rows), mask=offsets < M)


def launch_wrapped(kernel):
    x = np.ones(100, np.float32)
    kernel[(2,)](x, np.zeros_like(x), 100, BLOCK=64)


@tw.jit
def dequantise(q, scales, out, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    group = tl.max_constancy(offsets // GROUP, 64)  # fault
    tl.store(out + offsets, tl.load(q + offsets) * tl.load(scales + group))


@tw.jit
def dequantise_corrected(q, scales, out, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    group = tl.max_constancy(offsets // GROUP, GROUP)
    tl.store(out + offsets, tl.load(q + offsets) * tl.load(scales + group))


def launch_dequantise(kernel):
    q = np.ones(256, np.int8)
    kernel[(2,)](q, np.ones(8, np.float32), np.zeros(256, np.float32), GROUP=32, BLOCK=128)


@tw.jit
def reduce_even(x, out, n, BLOCK: tl.constexpr):
    tl.assume(n % BLOCK == 0)  # fault
    total = 0.0
    for start in range(0, n, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(x + offsets, mask=offsets < n, other=0.0), axis=0)
    tl.store(out, total)


@tw.jit
def reduce_even_corrected(x, out, n, BLOCK: tl.constexpr):
    tl.assume(n % 4 == 0)
    total = 0.0
    for start in range(0, n, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(x + offsets, mask=offsets < n, other=0.0), axis=0)
    tl.store(out, total)


def launch_even(kernel):
    kernel[(1,)](np.ones(100, np.float32), np.zeros(1, np.float32), 100, BLOCK=32)


@tw.jit
def shifted(x, out, start, BLOCK: tl.constexpr):
    pointers = tl.multiple_of(x + start + tl.arange(0, BLOCK), 16)  # fault
    tl.store(out + tl.arange(0, BLOCK), tl.load(pointers))


@tw.jit
def shifted_corrected(x, out, start, BLOCK: tl.constexpr):
    pointers = tl.multiple_of(x + start + tl.arange(0, BLOCK), 4)
    tl.store(out + tl.arange(0, BLOCK), tl.load(pointers))


def launch_shifted(kernel):
    kernel[(1,)](np.ones(100, np.float32), np.zeros(64, np.float32), 3, BLOCK=64)


CASES = [
    Case("stride-multiple", "hints", "E0416", scale_rows, scale_rows_corrected, launch_rows),
    Case("wrapped-rows-contiguous", "hints", "E0416", wrapped_rows, wrapped_rows_corrected, launch_wrapped),
    Case("groups-constant", "hints", "E0416", dequantise, dequantise_corrected, launch_dequantise),
    Case("even-length", "hints", "E0416", reduce_even, reduce_even_corrected, launch_even),
    Case("pointer-multiple", "hints", "E0416", shifted, shifted_corrected, launch_shifted),
]
