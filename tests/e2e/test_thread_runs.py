# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tiles that are loaded element by element and stored by vectors, and remainders that count up."""

import re

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.assemble import assemble_for
from harness.compare import assert_same

EMULATED = True


@tilewright.jit
def windows(x, out, H, W, count, BLOCK: tl.constexpr):
    """The maximum over 3 x 3 neighbours inside the image; a third of the loads are aligned."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    column, row, image = i % W, (i // W) % H, i // (W * H)
    most = tl.full((BLOCK,), -100, x.dtype.element_ty)
    for down in tl.static_range(-1, 2):
        for right in tl.static_range(-1, 2):
            r, c = row + down, column + right
            inside = (i < count) & (r >= 0) & (r < H) & (c >= 0) & (c < W)
            most = tl.maximum(most, tl.load(x + image * H * W + r * W + c, mask=inside, other=-100))
    tl.store(out + i, most, mask=i < count)


@tilewright.jit
def enlarged(x, out, H, W, count, BLOCK: tl.constexpr):
    """Each element four times: neighbours share an address."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    column, row, image = i % (2 * W), (i // (2 * W)) % (2 * H), i // (4 * W * H)
    tl.store(out + i, tl.load(x + image * H * W + row // 2 * W + column // 2, mask=i < count), mask=i < count)


@tilewright.jit
def filtered(x, weights, out, count, BLOCK: tl.constexpr):
    """Little is computed for each element that is loaded."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for tap in tl.static_range(7):
        j = i + tap - 3
        total += tl.load(weights + tap) * tl.load(x + j, mask=(j >= 0) & (j < count), other=0.0)
    tl.store(out + i, total, mask=i < count)


@tilewright.jit
def smoothed(x, out, W, count, BLOCK: tl.constexpr):
    """Most loads are aligned, and meet those that are not."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = (i >= W) & (i < count - W)
    middle = tl.load(x + i, mask=inside)
    sides = tl.load(x + i - 1, mask=inside) + tl.load(x + i + 1, mask=inside)
    tl.store(out + i, middle + sides + tl.load(x + i - W, mask=inside) + tl.load(x + i + W, mask=inside), mask=inside)


def padded_windows(images):
    count, height, width = images.shape
    padded = np.full((count, height + 2, width + 2), -100, images.dtype)
    padded[:, 1:-1, 1:-1] = images
    return np.max([padded[:, r : r + height, c : c + width] for r in range(3) for c in range(3)], axis=0)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8])
@pytest.mark.parametrize("height, width", [(16, 32), (7, 48), (5, 13)])
@pytest.mark.parametrize("block, num_warps", [(256, 1), (512, 4)])
def test_windows(device, dtype, height, width, block, num_warps):
    images = np.random.default_rng(width).integers(-9, 9, (3, height, width)).astype(dtype)
    out = device.array(np.zeros_like(images))
    grid = (-(-images.size // block),)
    device.run(windows, grid, device.array(images), out, height, width, images.size, BLOCK=block, num_warps=num_warps)
    assert_same(device.numpy(out), padded_windows(images))


@pytest.mark.parametrize("height, width", [(16, 32), (3, 5)])
def test_enlarged(device, height, width):
    images = np.arange(2 * height * width, dtype=np.float32).reshape(2, height, width)
    expected = images.repeat(2, axis=1).repeat(2, axis=2)
    out = device.array(np.zeros_like(expected))
    device.run(enlarged, (-(-expected.size // 512),), device.array(images), out, height, width, expected.size, BLOCK=512)
    assert_same(device.numpy(out), expected)


def test_filtered_and_smoothed(device):
    x, weights = np.arange(2048, dtype=np.float32), np.arange(7, dtype=np.float32)
    out = device.array(np.zeros_like(x))
    device.run(filtered, (2,), device.array(x), device.array(weights), out, x.size, BLOCK=1024)
    first = device.numpy(out).copy()
    device.run(smoothed, (2,), device.array(x), out, 64, x.size, BLOCK=1024)
    assert_same(first, np.convolve(np.pad(x, 3), weights[::-1], "valid"))
    assert_same(device.numpy(out)[64:-64], 5 * x[64:-64])


@tilewright.jit
def remainders(start, along, down, out_along, out_down, n, BLOCK: tl.constexpr):
    """Of values that count up along one dimension, or the other, or that begin below zero."""
    i, k = tl.arange(0, BLOCK), tl.arange(0, 16)
    place = k[:, None] * BLOCK + i[None, :]
    tl.store(along + i, (start + i) % n)
    tl.store(down + i, (i - 32) % n)
    tl.store(out_along + place, (start + place) % n)
    tl.store(out_down + place, (start + i[None, :] * 16 + k[:, None]) % n)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("n", [64, 48, 7])
@pytest.mark.parametrize("start", [0, 160, 13])
def test_remainders(device, dtype, n, start):
    along, down = (device.array(np.zeros(256, dtype)) for _ in range(2))
    out_along, out_down = (device.array(np.zeros((16, 256), dtype)) for _ in range(2))
    device.run(remainders, (1,), start, along, down, out_along, out_down, n, BLOCK=256, num_warps=1)
    i, place = np.arange(256), np.arange(4096).reshape(16, 256)
    assert_same(device.numpy(along), ((start + i) % n).astype(dtype))
    assert_same(device.numpy(down), np.fmod(i - 32, n).astype(dtype))
    assert_same(device.numpy(out_along), ((start + place) % n).astype(dtype))
    assert_same(device.numpy(out_down), ((start + i[None, :] * 16 + np.arange(16)[:, None]) % n).astype(dtype))


def instructions(kernel, arguments, pattern, **options):
    asm = assemble_for(kernel, "sm_90a", arguments, options).asm["ptx"]
    return len(re.findall(pattern, asm))


FLAT = np.zeros(4096, np.float32)
IMAGES = [FLAT, FLAT, 16, 64, 4096]


def test_neighbours_share_what_is_computed():
    """A thread has 4 elements next to each other: one row, one column and one image for all of them."""
    options = {"BLOCK": 256, "num_warps": 2}
    assert instructions(windows, IMAGES, r"(div|rem)\.[su]32", **options) <= 4
    assert instructions(windows, IMAGES, r"st\.global\.v4", **options) == 1
    assert instructions(windows, IMAGES, r"ld\.global\.v4", **options) == 3
    # Twice two.
    assert instructions(enlarged, IMAGES, r"(div|rem)\.[su]32", **options) <= 5
    assert instructions(enlarged, IMAGES, r"st\.global\.v2", **options) == 2
    # Of widths that end between neighbours nothing is known: an element for each lane, as before.
    uneven = [FLAT, FLAT, 5, 13, 1300]
    assert instructions(windows, uneven, r"(ld|st)\.global\.v", BLOCK=256, num_warps=2) == 0


def test_lanes_are_neighbours_where_little_is_computed():
    assert instructions(filtered, [FLAT, FLAT, FLAT, 4096], r"(ld|st)\.global\.v", BLOCK=1024, num_warps=4) == 0


def test_unaligned_loads_join_aligned_ones():
    """They met in shared memory, where the unaligned ones had other threads."""
    arguments = [FLAT, FLAT, 64, 4096]
    assert instructions(smoothed, arguments, r"\.shared|bar\.sync", BLOCK=1024, num_warps=4) == 0
    assert instructions(smoothed, arguments, r"st\.global\.v4", BLOCK=1024, num_warps=4) == 2
