# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bits and shifts of 16-bit integers: two in a word where bytes are widened for them or halves are loaded together."""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.assemble import assemble_for
from harness.compare import assert_same
from harness.devices import Emulator

SIZE = 1024


@tilewright.jit
def bits_of_bytes(p, q, out, SIZE: tl.constexpr):
    """Each shift would move bits into the other half of a word."""
    i = tl.arange(0, SIZE)
    x = tl.load(p + i).to(tl.uint16)
    y = tl.load(q + i)
    moved = ((x & 7) << 6) | ((x & 8) << 12)
    crossed = ((x | 0xA500) << 9) ^ ((x ^ 0x5AFF) >> 3)
    tl.store(out + i, moved)
    tl.store(out + SIZE + i, crossed)
    tl.store(out + 2 * SIZE + i, (y << 15) | (y >> 15))
    # Sums and signed shifts take each half alone.
    tl.store(out + 3 * SIZE + i, (crossed & y) + (y.to(tl.int16, bitcast=True) >> 5).to(tl.uint16, bitcast=True))
    tl.store(out + 4 * SIZE + i, tl.where((x & 1) == 0, x, y) << 3)


@tilewright.jit
def interleaved(p, out, SIZE: tl.constexpr):
    """The halves of bytes side by side, as bfloat16."""
    i = tl.arange(0, SIZE)
    x = tl.load(p + i)
    pairs = tl.join(x, x >> 4).to(tl.uint16)
    bits = ((pairs & 7) << 6) | ((pairs & 8) << 12)
    values = bits.to(tl.bfloat16, bitcast=True) * 2.0**126
    tl.store(out + 2 * i[:, None] + tl.arange(0, 2)[None, :], values.to(tl.float32))


def expected_bits(x, y):
    x, y = x.astype(np.uint16), y
    crossed = ((x | 0xA500) << 9) ^ ((x ^ 0x5AFF) >> 3)
    return np.concatenate([
        ((x & 7) << 6) | ((x & 8) << 12),
        crossed,
        (y << 15) | (y >> 15),
        (crossed & y) + (y.view(np.int16) >> 5).view(np.uint16),
        np.where((x & 1) == 0, x, y) << 3,
    ]).astype(np.uint16)  # fmt: skip


def check_bits(device, **options):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, SIZE).astype(np.uint8)
    y = rng.integers(0, 1 << 16, SIZE).astype(np.uint16)
    out = device.array(np.zeros(5 * SIZE, np.uint16))
    device.run(bits_of_bytes, (1,), device.array(x), device.array(y), out, SIZE=SIZE, **options)
    assert_same(device.numpy(out), expected_bits(x, y))


def check_interleaved(device, **options):
    x = np.random.default_rng(1).integers(0, 256, SIZE).astype(np.uint8)
    out = device.array(np.zeros((SIZE, 2), np.float32))
    device.run(interleaved, (1,), device.array(x), out, SIZE=SIZE, **options)
    values = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
    signed = np.concatenate([values, -values])
    assert_same(device.numpy(out), np.stack([signed[x & 15], signed[x >> 4]], axis=1))


# Two elements in a thread or more, and one.
WARPS = [1, 4, 16, 32]


@pytest.mark.parametrize("num_warps", WARPS)
def test_bits(device, num_warps):
    check_bits(device, num_warps=num_warps)
    check_interleaved(device, num_warps=num_warps)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("num_warps", WARPS)
def test_bits_in_the_emulator(num_warps, target):
    check_bits(Emulator(target), num_warps=num_warps)
    check_interleaved(Emulator(target), num_warps=num_warps)


def test_two_elements_take_one_instruction():
    x, out = np.empty(SIZE, np.uint8), np.empty((SIZE, 2), np.float32)
    ptx = assemble_for(interleaved, "sm_90a", [x, out], {"SIZE": SIZE, "num_warps": 4}).asm["ptx"]
    assert not any(op in ptx for op in ("and.b16", "or.b16", "shl.b16"))
