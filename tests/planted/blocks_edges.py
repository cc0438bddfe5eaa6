# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Descriptors and block pointers."""

import numpy as np

import tilewright as tw
import tilewright.language as tl
from planted.case import Case


@tw.jit
def copy_block(x, out, M, N, BLOCK: tl.constexpr):
    start = (tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK)
    source = tl.make_block_ptr(x, (M, N), (N, 1), start, (BLOCK, BLOCK), (1, 0))
    target = tl.make_block_ptr(out, (M, N), (N, 1), start, (BLOCK, BLOCK), (1, 0))
    tile = tl.load(source, boundary_check=(0,))  # fault
    tl.store(target, tile, boundary_check=(0, 1))


@tw.jit
def copy_block_corrected(x, out, M, N, BLOCK: tl.constexpr):
    start = (tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK)
    source = tl.make_block_ptr(x, (M, N), (N, 1), start, (BLOCK, BLOCK), (1, 0))
    target = tl.make_block_ptr(out, (M, N), (N, 1), start, (BLOCK, BLOCK), (1, 0))
    tile = tl.load(source, boundary_check=(0, 1))
    tl.store(target, tile, boundary_check=(0, 1))


def launch_copy(kernel):
    x = np.ones((40, 24), np.float32)
    kernel[(3, 2)](x, np.zeros_like(x), 40, 24, BLOCK=16)


@tw.jit
def scale_block(x, out, M, N, BLOCK: tl.constexpr):
    start = (tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK)
    source = tl.make_block_ptr(x, (M, N), (N, 1), start, (BLOCK, BLOCK), (1, 0))
    target = tl.make_block_ptr(out, (M, N), (N, 1), start, (BLOCK, BLOCK), (1, 0))
    tile = tl.load(source, boundary_check=(0, 1), padding_option="zero")
    tl.store(target, tile * 2.0, boundary_check=(0,))  # fault


@tw.jit
def scale_block_corrected(x, out, M, N, BLOCK: tl.constexpr):
    start = (tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK)
    source = tl.make_block_ptr(x, (M, N), (N, 1), start, (BLOCK, BLOCK), (1, 0))
    target = tl.make_block_ptr(out, (M, N), (N, 1), start, (BLOCK, BLOCK), (1, 0))
    tile = tl.load(source, boundary_check=(0, 1), padding_option="zero")
    tl.store(target, tile * 2.0, boundary_check=(0, 1))


def launch_scale(kernel):
    x = np.ones((40, 24), np.float32)
    kernel[(3, 2)](x, np.zeros_like(x), 40, 24, BLOCK=16)


@tw.jit
def walk(x, out, M, N, BLOCK: tl.constexpr):
    source = tl.make_block_ptr(x, (M, N), (N, 1), (0, 0), (BLOCK, BLOCK), (1, 0))
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for _ in range(0, tl.cdiv(N, BLOCK)):
        acc += tl.load(source)  # fault
        source = tl.advance(source, (0, BLOCK))
    tl.store(out + tl.arange(0, BLOCK), tl.sum(acc, axis=1))


@tw.jit
def walk_corrected(x, out, M, N, BLOCK: tl.constexpr):
    source = tl.make_block_ptr(x, (M, N), (N, 1), (0, 0), (BLOCK, BLOCK), (1, 0))
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for _ in range(0, tl.cdiv(N, BLOCK)):
        acc += tl.load(source, boundary_check=(1,), padding_option="zero")
        source = tl.advance(source, (0, BLOCK))
    tl.store(out + tl.arange(0, BLOCK), tl.sum(acc, axis=1))


def launch_walk(kernel):
    kernel[(1,)](np.ones((32, 40), np.float32), np.zeros(16, np.float32), 32, 40, BLOCK=16)


@tw.jit
def shifted_descriptor(x, out, M, N, BLOCK: tl.constexpr):
    base = x + 1
    columns = N - 4
    rows = tl.make_tensor_descriptor(base, [M, columns], [N, 1], [BLOCK, BLOCK])  # fault
    tile = rows.load([0, 0])
    i = tl.arange(0, BLOCK)
    tl.store(out + i[:, None] * BLOCK + i[None, :], tile)


@tw.jit
def shifted_descriptor_corrected(x, out, M, N, BLOCK: tl.constexpr):
    base = x + 4
    columns = N - 4
    rows = tl.make_tensor_descriptor(base, [M, columns], [N, 1], [BLOCK, BLOCK])
    tile = rows.load([0, 0])
    i = tl.arange(0, BLOCK)
    tl.store(out + i[:, None] * BLOCK + i[None, :], tile)


def launch_shifted(kernel):
    kernel[(1,)](np.ones((16, 64), np.float32), np.zeros((16, 16), np.float32), 16, 64, BLOCK=16)


@tw.jit
def narrow_rows(x, out, M, N, stride, BLOCK: tl.constexpr):
    rows = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BLOCK, BLOCK])  # fault
    i = tl.arange(0, BLOCK)
    tl.store(out + i[:, None] * BLOCK + i[None, :], rows.load([0, 0]))


@tw.jit
def narrow_rows_corrected(x, out, M, N, stride, BLOCK: tl.constexpr):
    rows = tl.make_tensor_descriptor(x, [M, N], [stride, 1], [BLOCK, BLOCK])
    i = tl.arange(0, BLOCK)
    tl.store(out + i[:, None] * BLOCK + i[None, :], rows.load([0, 0]))


def launch_narrow(kernel):
    kernel[(1,)](np.ones((16, 56), np.float32), np.zeros((16, 16), np.float32), 16, 50, 56, BLOCK=16)


@tw.jit
def window(x, out, M, N, start, BLOCK: tl.constexpr):
    rows = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BLOCK, BLOCK])
    tile = rows.load([0, start])  # fault
    i = tl.arange(0, BLOCK)
    tl.store(out + i[:, None] * BLOCK + i[None, :], tile)


@tw.jit
def window_corrected(x, out, M, N, start, BLOCK: tl.constexpr):
    rows = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BLOCK, BLOCK])
    tile = rows.load([0, start // 4 * 4])
    i = tl.arange(0, BLOCK)
    tl.store(out + i[:, None] * BLOCK + i[None, :], tile)


def launch_window(kernel):
    kernel[(1,)](np.ones((16, 64), np.float32), np.zeros((16, 16), np.float32), 16, 64, 6, BLOCK=16)


@tw.jit
def halo(x, out, M, N, BLOCK: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BLOCK, BLOCK])
    target = tl.make_tensor_descriptor(out, [M, N], [N, 1], [BLOCK, BLOCK])
    row = tl.program_id(0) * BLOCK
    tile = source.load([row, 0])
    target.store([row - 4, 0], tile)  # fault


@tw.jit
def halo_corrected(x, out, M, N, BLOCK: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BLOCK, BLOCK])
    target = tl.make_tensor_descriptor(out, [M, N], [N, 1], [BLOCK, BLOCK])
    row = tl.program_id(0) * BLOCK
    tile = source.load([row, 0])
    target.store([row, 0], tile)


def launch_halo(kernel):
    x = np.ones((32, 16), np.float32)
    kernel[(2,)](x, np.zeros_like(x), 32, 16, BLOCK=16)


CASES = [
    Case("load-past-a-row", "blocks", "E0418", copy_block, copy_block_corrected, launch_copy),
    Case("store-past-a-row", "blocks", "E0418", scale_block, scale_block_corrected, launch_scale),
    Case("advance-past-the-end", "blocks", "E0418", walk, walk_corrected, launch_walk),
    Case(
        "base-not-aligned",
        "blocks",
        "E0418",
        shifted_descriptor,
        shifted_descriptor_corrected,
        launch_shifted,
        checks="portable",
    ),
    Case("stride-not-aligned", "blocks", "E0418", narrow_rows, narrow_rows_corrected, launch_narrow, checks="portable"),
    Case("coordinate-not-aligned", "blocks", "E0418", window, window_corrected, launch_window, checks="portable"),
    Case("store-at-negative-row", "blocks", "E0418", halo, halo_corrected, launch_halo, checks="portable"),
]
