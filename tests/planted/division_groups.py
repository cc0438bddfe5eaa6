# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integer divisions by zero."""

import numpy as np

import tilewright as tw
import tilewright.language as tl
from planted.case import Case


@tw.jit
def grouped_order(out, m_tiles, n_tiles, GROUP: tl.constexpr):
    pid = tl.program_id(0)
    group = pid // (GROUP * n_tiles)
    first = group * GROUP
    size = min(m_tiles - first - GROUP, GROUP)
    row = first + pid % size  # fault
    tl.store(out + pid, row)


@tw.jit
def grouped_order_corrected(out, m_tiles, n_tiles, GROUP: tl.constexpr):
    pid = tl.program_id(0)
    group = pid // (GROUP * n_tiles)
    first = group * GROUP
    size = min(m_tiles - first, GROUP)
    row = first + pid % size
    tl.store(out + pid, row)


def launch_order(kernel):
    kernel[(16,)](np.zeros(16, np.int32), 4, 4, GROUP=4)


@tw.jit
def mean_of_segments(sums, counts, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    total = tl.load(sums + offsets, mask=mask, other=0)
    count = tl.load(counts + offsets, mask=mask, other=0)
    mean = total // count  # fault
    tl.store(out + offsets, mean, mask=mask)


@tw.jit
def mean_of_segments_corrected(sums, counts, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    total = tl.load(sums + offsets, mask=mask, other=0)
    count = tl.load(counts + offsets, mask=mask, other=0)
    mean = total // tl.where(count == 0, 1, count)
    tl.store(out + offsets, mean, mask=mask)


def launch_segments(kernel):
    counts = np.array([2, 1, 0, 4, 5], np.int32)
    kernel[(1,)](np.ones(5, np.int32), counts, np.zeros(5, np.int32), 5, BLOCK=8)


@tw.jit
def head_of(x, out, heads, groups, BLOCK: tl.constexpr):
    head = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    per_group = heads // groups
    source = head // per_group  # fault
    tl.store(out + head * BLOCK + offsets, tl.load(x + source * BLOCK + offsets))


@tw.jit
def head_of_corrected(x, out, heads, groups, BLOCK: tl.constexpr):
    head = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    per_group = tl.cdiv(heads, groups)
    source = head // per_group
    tl.store(out + head * BLOCK + offsets, tl.load(x + source * BLOCK + offsets))


def launch_heads(kernel):
    kernel[(2,)](np.ones((8, 16), np.float32), np.zeros((2, 16), np.float32), 2, 8, BLOCK=16)


CASES = [
    Case("size-of-last-group", "division", "E0421", grouped_order, grouped_order_corrected, launch_order),
    Case("empty-segment", "division", "E0421", mean_of_segments, mean_of_segments_corrected, launch_segments),
    Case("heads-per-group", "division", "E0421", head_of, head_of_corrected, launch_heads),
]
