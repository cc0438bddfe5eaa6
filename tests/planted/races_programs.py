# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that write what others write or read."""

import numpy as np

import tilewright as tw
import tilewright.language as tl
from planted.case import Case


@tw.jit
def overlapping_tails(x, out, n, BLOCK: tl.constexpr):
    # The blocks of a row of n elements reach into the next row.
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    values = tl.load(x + row * n + offsets, mask=offsets < n, other=0.0)
    tl.store(out + row * n + offsets, values * 2)  # fault


@tw.jit
def overlapping_tails_corrected(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    values = tl.load(x + row * n + offsets, mask=offsets < n, other=0.0)
    tl.store(out + row * n + offsets, values * 2, mask=offsets < n)


def launch_tails(kernel):
    x = np.ones((4, 100), np.float32)
    kernel[(4,)](x, np.zeros(4 * 100 + 28, np.float32), 100, BLOCK=128)


@tw.jit
def one_result(x, out, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    total = tl.sum(tl.load(x + p * BLOCK + tl.arange(0, BLOCK)))
    tl.store(out, total)  # fault


@tw.jit
def one_result_corrected(x, out, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    total = tl.sum(tl.load(x + p * BLOCK + tl.arange(0, BLOCK)))
    tl.store(out + p, total)


def launch_result(kernel):
    kernel[(4,)](np.arange(256, dtype=np.float32), np.zeros(4, np.float32), BLOCK=64)


@tw.jit
def grid_axis_ignored(x, out, n, BLOCK: tl.constexpr):
    # The second axis of the grid is for the second half of the columns.
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    tl.store(out + row * n + offsets, tl.load(x + row * n + offsets) + tl.program_id(1))  # fault


@tw.jit
def grid_axis_ignored_corrected(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + row * n + offsets, tl.load(x + row * n + offsets) + tl.program_id(1))


def launch_axes(kernel):
    x = np.arange(128, dtype=np.int32)
    kernel[(2, 2)](x, np.zeros_like(x), 64, BLOCK=32)


@tw.jit
def stride_of_other(a, out, n, stride, BLOCK: tl.constexpr):
    # `stride` is that of a; rows of out are further apart.
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    tl.store(out + row * stride + offsets, tl.load(a + row * stride + offsets % stride) + row)  # fault


@tw.jit
def stride_of_other_corrected(a, out, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    tl.store(out + row * n + offsets, tl.load(a + row * stride + offsets % stride) + row)


def launch_strides(kernel):
    kernel[(4,)](np.zeros((4, 32), np.int32), np.zeros((4, 64), np.int32), 64, 32, BLOCK=64)


@tw.jit
def neighbours_in_place(x, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    here = tl.load(x + offsets)
    right = tl.load(x + offsets + 1, mask=offsets + 1 < n, other=0.0)
    tl.store(x + offsets, here + right)  # fault


@tw.jit
def neighbours_in_place_corrected(x, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    here = tl.load(x + offsets)
    tl.store(x + offsets, here + here)


def launch_in_place(kernel):
    kernel[(4,)](np.arange(1, 65, dtype=np.float32), 64, BLOCK=16)


@tw.jit
def two_phases(x, partial, out, COUNT: tl.constexpr, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    tl.store(partial + p, tl.sum(tl.load(x + p * BLOCK + tl.arange(0, BLOCK))))
    tl.debug_barrier()  # of this program alone
    if p == COUNT - 1:
        tl.store(out, tl.sum(tl.load(partial + tl.arange(0, COUNT))))  # fault


@tw.jit
def two_phases_corrected(x, partial, out, COUNT: tl.constexpr, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    tl.store(partial + p, tl.sum(tl.load(x + p * BLOCK + tl.arange(0, BLOCK))))
    tl.debug_barrier()
    if tl.atomic_add(out + 1, 1.0) == COUNT - 1:
        tl.store(out, tl.sum(tl.load(partial + tl.arange(0, COUNT))))


def launch_phases(kernel):
    kernel[(4,)](np.ones(256, np.float32), np.zeros(4, np.float32), np.zeros(2, np.float32), COUNT=4, BLOCK=64)


@tw.jit
def output_of_others(x, y, out, BLOCK: tl.constexpr):
    # The first half of the programs makes y, the second half uses it.
    p = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    if p < 2:
        tl.store(y + p * BLOCK + offsets, tl.load(x + p * BLOCK + offsets) + 1)
    else:
        tl.store(out + offsets + (p - 2) * BLOCK, tl.load(y + (p - 2) * BLOCK + offsets))  # fault


@tw.jit
def output_of_others_corrected(x, y, out, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    if p < 2:
        made = tl.load(x + p * BLOCK + offsets) + 1
        tl.store(y + p * BLOCK + offsets, made)
        tl.store(out + p * BLOCK + offsets, made)


def launch_halves(kernel):
    x = np.arange(64, dtype=np.int32)
    kernel[(4,)](x, np.zeros_like(x), np.zeros_like(x), BLOCK=32)


CASES = [
    Case("overlapping-tails", "races", "E0408", overlapping_tails, overlapping_tails_corrected, launch_tails),
    Case("one-result", "races", "E0408", one_result, one_result_corrected, launch_result),
    Case("grid-axis-ignored", "races", "E0408", grid_axis_ignored, grid_axis_ignored_corrected, launch_axes),
    Case("stride-of-other", "races", "E0408", stride_of_other, stride_of_other_corrected, launch_strides),
    Case("neighbours-in-place", "races", "E0409", neighbours_in_place, neighbours_in_place_corrected, launch_in_place),
    Case("two-phases", "races", "E0409", two_phases, two_phases_corrected, launch_phases),
    Case("output-of-others", "races", "E0409", output_of_others, output_of_others_corrected, launch_halves),
]
