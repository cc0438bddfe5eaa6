# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results that other compilers leave undefined."""

import numpy as np

import tilewright as tw
import tilewright.language as tl
from planted.case import Case


@tw.jit
def quantise(x, scale, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    values = tl.load(x + offsets, mask=offsets < n, other=0.0) / tl.load(scale)
    small = values.to(tl.int8)  # fault
    tl.store(out + offsets, small, mask=offsets < n)


@tw.jit
def quantise_corrected(x, scale, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    values = tl.load(x + offsets, mask=offsets < n, other=0.0) / tl.load(scale)
    small = tl.clamp(values, -128.0, 127.0).to(tl.int8)
    tl.store(out + offsets, small, mask=offsets < n)


def launch_quantise(kernel):
    x = np.linspace(-10, 10, 50, dtype=np.float32)
    kernel[(1,)](x, np.array([0.05], np.float32), np.zeros(50, np.int8), 50, BLOCK=64)


@tw.jit
def to_pixels(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    values = tl.load(x + offsets, mask=offsets < n, other=0.0)
    pixel = (values * 255.0).to(tl.uint8)  # fault
    tl.store(out + offsets, pixel, mask=offsets < n)


@tw.jit
def to_pixels_corrected(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    values = tl.load(x + offsets, mask=offsets < n, other=0.0)
    pixel = (tl.clamp(values, 0.0, 1.0) * 255.0).to(tl.uint8)
    tl.store(out + offsets, pixel, mask=offsets < n)


def launch_pixels(kernel):
    kernel[(1,)](np.linspace(-0.1, 1, 50, dtype=np.float32), np.zeros(50, np.uint8), 50, BLOCK=64)


@tw.jit
def unpack(packed, out, n, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    word = tl.load(packed + offsets // 8, mask=offsets < n, other=0)
    bits = word >> (offsets * WIDTH)  # fault
    tl.store(out + offsets, bits & 15, mask=offsets < n)


@tw.jit
def unpack_corrected(packed, out, n, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    word = tl.load(packed + offsets // 8, mask=offsets < n, other=0)
    bits = word >> (offsets % 8 * WIDTH)
    tl.store(out + offsets, bits & 15, mask=offsets < n)


def launch_unpack(kernel):
    packed = np.arange(4, dtype=np.int32)
    kernel[(1,)](packed, np.zeros(32, np.int32), 32, WIDTH=4, BLOCK=32)


CASES = [
    Case("float-to-int8", "portable", "E0423", quantise, quantise_corrected, launch_quantise, checks="portable"),
    Case("negative-to-uint8", "portable", "E0423", to_pixels, to_pixels_corrected, launch_pixels, checks="portable"),
    Case("shift-by-the-width", "portable", "E0423", unpack, unpack_corrected, launch_unpack, checks="portable"),
]
