# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lanes of one store, and threads of one program, that meet in memory."""

import numpy as np

import tilewright as tw
import tilewright.language as tl
from planted.case import Case


@tw.jit
def histogram(x, bins, BLOCK: tl.constexpr):
    values = tl.load(x + tl.arange(0, BLOCK))
    counts = tl.load(bins + values) + tl.arange(0, BLOCK)
    tl.store(bins + values, counts)  # fault


@tw.jit
def histogram_corrected(x, bins, BLOCK: tl.constexpr):
    values = tl.load(x + tl.arange(0, BLOCK))
    tl.atomic_add(bins + values, 1)


def launch_histogram(kernel):
    kernel[(1,)](np.arange(64, dtype=np.int32) % 7, np.zeros(8, np.int32), BLOCK=64)


@tw.jit
def scatter_rows(x, index, out, BLOCK: tl.constexpr, WIDTH: tl.constexpr):
    rows, columns = tl.arange(0, BLOCK), tl.arange(0, WIDTH)
    to = tl.load(index + rows)
    values = tl.load(x + rows[:, None] * WIDTH + columns[None, :])
    tl.store(out + to[:, None] * WIDTH + columns[None, :], values)  # fault


@tw.jit
def scatter_rows_corrected(x, index, out, BLOCK: tl.constexpr, WIDTH: tl.constexpr):
    rows, columns = tl.arange(0, BLOCK), tl.arange(0, WIDTH)
    to = tl.load(index + rows)
    values = tl.load(x + rows[:, None] * WIDTH + columns[None, :])
    tl.atomic_add(out + to[:, None] * WIDTH + columns[None, :], values)


def launch_scatter(kernel):
    index = np.array([0, 3, 1, 3], np.int32)
    kernel[(1,)](np.arange(64, dtype=np.float32), index, np.zeros(64, np.float32), BLOCK=4, WIDTH=16)


@tw.jit
def rows_too_close(x, out, stride, BLOCK: tl.constexpr):
    i, j = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    tl.store(out + i * stride + j, tl.load(x + i * BLOCK + j))  # fault


@tw.jit
def rows_too_close_corrected(x, out, stride, BLOCK: tl.constexpr):
    i, j = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    tl.store(out + i * BLOCK + j, tl.load(x + i * BLOCK + j))


def launch_rows(kernel):
    kernel[(1,)](np.arange(64, dtype=np.float32), np.zeros(64, np.float32), 4, BLOCK=8)


@tw.jit
def shift_in_place(x, y, BLOCK: tl.constexpr):
    # x and y are one array.
    offsets = tl.arange(0, BLOCK)
    shifted = tl.load(x + (offsets + 1) % BLOCK)
    tl.store(y + offsets, shifted)  # fault


@tw.jit
def shift_in_place_corrected(x, y, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    shifted = tl.load(x + (offsets + 1) % BLOCK)
    tl.debug_barrier()
    tl.store(y + offsets, shifted)


@tw.jit
def reads_back_reversed(x, y, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(x + offsets, offsets + 100)
    reversed = tl.load(y + BLOCK - 1 - offsets)  # fault
    tl.debug_barrier()
    tl.store(x + offsets, reversed)


@tw.jit
def reads_back_reversed_corrected(x, y, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(x + offsets, offsets + 100)
    tl.debug_barrier()
    reversed = tl.load(y + BLOCK - 1 - offsets)
    tl.debug_barrier()
    tl.store(x + offsets, reversed)


def launch_twice(kernel):
    x = np.arange(64, dtype=np.int32)
    kernel[(1,)](x, x, BLOCK=64)


CASES = [
    Case("histogram", "scatter", "E0412", histogram, histogram_corrected, launch_histogram),
    Case("rows", "scatter", "E0412", scatter_rows, scatter_rows_corrected, launch_scatter),
    Case("rows-too-close", "scatter", "E0412", rows_too_close, rows_too_close_corrected, launch_rows),
    Case("shift-in-place", "threads", "E0413", shift_in_place, shift_in_place_corrected, launch_twice),
    Case("reads-back-reversed", "threads", "E0413", reads_back_reversed, reads_back_reversed_corrected, launch_twice),
]
