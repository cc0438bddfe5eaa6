# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads of elements that nobody has written."""

import numpy as np

import tilewright as tw
import tilewright.language as tl
import tilewright.testing
from planted.case import Case


@tw.jit
def histogram(x, counts, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    bins = tl.load(x + offsets, mask=offsets < n, other=0)
    tl.atomic_add(counts + bins, 1, mask=offsets < n)  # fault


@tw.jit
def histogram_corrected(x, counts, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    bins = tl.load(x + offsets, mask=offsets < n, other=0)
    tl.atomic_xchg(counts + bins, 1, mask=offsets < n)


def launch_histogram(kernel):
    x = np.arange(100, dtype=np.int32) % 7
    kernel[(2,)](x, tilewright.testing.uninitialized(7, np.int32), 100, BLOCK=64)


@tw.jit
def split_sum(x, partial, out, n, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    last = tl.cdiv(n, BLOCK)
    for part in range(last):
        offsets = part * BLOCK + tl.arange(0, BLOCK)
        tl.store(partial + part, tl.sum(tl.load(x + offsets, mask=offsets < n, other=0.0), axis=0))
    tl.debug_barrier()
    parts = tl.arange(0, PARTS)
    tl.store(out, tl.sum(tl.load(partial + parts), axis=0))  # fault


@tw.jit
def split_sum_corrected(x, partial, out, n, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    last = tl.cdiv(n, BLOCK)
    for part in range(last):
        offsets = part * BLOCK + tl.arange(0, BLOCK)
        tl.store(partial + part, tl.sum(tl.load(x + offsets, mask=offsets < n, other=0.0), axis=0))
    tl.debug_barrier()
    parts = tl.arange(0, PARTS)
    tl.store(out, tl.sum(tl.load(partial + parts, mask=parts < last, other=0.0), axis=0))


def launch_split(kernel):
    x = np.ones(100, np.float32)
    kernel[(1,)](x, tilewright.testing.uninitialized(8), np.zeros(1, np.float32), 100, PARTS=8, BLOCK=32)


@tw.jit
def running_mean(x, mean, momentum, n, BLOCK: tl.constexpr):
    channel = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    now = tl.sum(tl.load(x + channel * n + offsets, mask=offsets < n, other=0.0), axis=0) / n
    before = tl.load(mean + channel)  # fault
    tl.store(mean + channel, before * momentum + now * (1.0 - momentum))


@tw.jit
def running_mean_corrected(x, mean, momentum, n, BLOCK: tl.constexpr):
    channel = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    now = tl.sum(tl.load(x + channel * n + offsets, mask=offsets < n, other=0.0), axis=0) / n
    before = now
    tl.store(mean + channel, before * momentum + now * (1.0 - momentum))


def launch_mean(kernel):
    kernel[(3,)](np.ones((3, 50), np.float32), tilewright.testing.uninitialized(3), 0.9, 50, BLOCK=64)


@tw.jit
def accumulate(x, gradient, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    before = tl.load(gradient + offsets, mask=mask, other=0.0)  # fault
    tl.store(gradient + offsets, before + tl.load(x + offsets, mask=mask, other=0.0), mask=mask)


@tw.jit
def accumulate_corrected(x, gradient, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    before = tl.zeros((BLOCK,), tl.float32)
    tl.store(gradient + offsets, before + tl.load(x + offsets, mask=mask, other=0.0), mask=mask)


def launch_accumulate(kernel):
    gradient = np.ones(100, np.float32)
    kernel[(2,)](np.ones(100, np.float32), tilewright.testing.forget(gradient), 100, BLOCK=64)


CASES = [
    Case("histogram-not-zeroed", "unwritten", "E0417", histogram, histogram_corrected, launch_histogram),
    Case("partial-sums", "unwritten", "E0417", split_sum, split_sum_corrected, launch_split),
    Case("running-mean", "unwritten", "E0417", running_mean, running_mean_corrected, launch_mean),
    Case("gradient-accumulated", "unwritten", "E0417", accumulate, accumulate_corrected, launch_accumulate),
]
