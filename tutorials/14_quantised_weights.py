# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lesson 14: weights of 8 and of 4 bits, made floats again inside of the product.

An order in memory that is chosen for the kernel, which side of a product may stay in
registers, and K shared out among programs.

    python tutorials/14_quantised_weights.py [--quick]
"""

import lesson
import numpy as np

import tilewright as tw
import tilewright.language as tl

# y = x W^T as in lesson 10, but for few rows of x: the tokens that a server generates in
# one step. The weights are read once and each is used for a handful of products, so the
# time is that of reading W. In 8 bits it is half of float16's, in 4 bits a quarter, and x
# and the sums stay in floating point: nothing is lost but what the weights lose.
#
# What is stored, with W of N x K:
#
#   8 bits   one byte per weight, a scale for each row of W, as lesson 10 makes them
#   4 bits   two weights per byte, a scale for each GROUP of weights along K
#
# First 8 bits. In the product W stands on the left: y^T = W x^T. Tensor cores have a side that
# comes by 64 rows and one that may be as narrow as 8 or 16 columns; few tokens are few columns.
#
# Few tokens also make few tiles: 4096 rows of W by 64 keep 64 multiprocessors busy, of 132. So
# programs share K: each takes `steps` steps of it, leaves its sums, and a second kernel adds
# up what the parts have left.
CONFIGS = [
    tw.Config({"BLOCK_N": 64}, num_warps=4, num_stages=4),
    tw.Config({"BLOCK_N": 64}, num_warps=4, num_stages=6),
    tw.Config({"BLOCK_N": 128}, num_warps=8, num_stages=4),
    tw.Config({"BLOCK_N": 128}, num_warps=4, num_stages=3),
]
# The interpreter takes the first configuration.
SMALL = [tw.Config({"BLOCK_N": 32}, num_warps=4)]
# Along K a program takes so many weights at a time. Rows of tiles are then 128 bytes, a whole line.
GROUP = tl.constexpr(128)


@tw.autotune(configs=CONFIGS if lesson.ON_GPU else SMALL, key=["M", "N", "K"])
@tw.jit
def int8_kernel(x_ptr, w_ptr, scale_ptr, out_ptr, M, N, K, steps, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    tokens = tl.program_id(1) * BLOCK_M + tl.arange(0, BLOCK_M)
    part = tl.program_id(2)
    inner = tl.arange(0, GROUP)
    # Rows and tokens past the end take the first ones, as in lesson 3: they are not stored.
    x_ptrs = x_ptr + (tokens % M)[None, :] * K + inner[:, None]
    w_ptrs = w_ptr + (rows % N).to(tl.int64)[:, None] * K + inner[None, :]
    total = tl.zeros((BLOCK_N, BLOCK_M), dtype=tl.float32)
    for step in range(part * steps, min((part + 1) * steps, K // GROUP)):
        # Bytes are what travels through the pipeline; they become float16 just before the
        # product. Whole numbers up to 127 are exact in float16.
        w = tl.load(w_ptrs + step * GROUP).to(tl.float16)
        x = tl.load(x_ptrs + step * GROUP)
        total = tl.dot(w, x, total)
    # One scale for a row of W: a row of the sums, once, after all products.
    total *= tl.load(scale_ptr + rows, mask=rows < N, other=0.0)[:, None]
    out_ptrs = out_ptr + (part * M + tokens[None, :]) * N + rows[:, None]
    mask = (tokens[None, :] < M) & (rows[:, None] < N)
    tl.store(out_ptrs, total.to(out_ptr.dtype.element_ty), mask=mask)


# Now 4 bits. They have 16 values, and one scale for a whole row would be that of its
# largest weight; so each GROUP has one.
#
# Which two weights share a byte is ours to choose, since we write them. Neighbours, as one
# would first think, have to be woven together again before a product can take them, which
# moves values between threads. Here the low half of byte i belongs to one group and the high
# half to the next one:
#
#   byte i of block b:  low half   W[n, 2 GROUP b + i]
#                       high half  W[n, 2 GROUP b + GROUP + i]
#
# Taken apart, a tile of bytes gives two tiles of weights, each in its natural order and each
# with one scale per row, for a product of its own with its own half of x.


@tw.jit
def pack_kernel(w_ptr, packed_ptr, scale_ptr, N, K):
    # One program: a block of a row, which is two groups.
    row = tl.program_id(0)
    block = tl.program_id(1)
    inner = tl.arange(0, GROUP)
    w_ptrs = w_ptr + row.to(tl.int64) * K + block * (2 * GROUP) + inner
    low = tl.load(w_ptrs).to(tl.float32)
    high = tl.load(w_ptrs + GROUP).to(tl.float32)
    # The largest magnitude becomes 7: numbers with a sign, -7 to 7, in four bits.
    low_scale = tl.maximum(tl.max(tl.abs(low), axis=0), 1e-6) / 7.0
    high_scale = tl.maximum(tl.max(tl.abs(high), axis=0), 1e-6) / 7.0
    low_half = tl.floor(low / low_scale + 0.5).to(tl.int8) & 15
    high_half = tl.floor(high / high_scale + 0.5).to(tl.int8) << 4
    tl.store(packed_ptr + row.to(tl.int64) * (K // 2) + block * GROUP + inner, low_half | high_half)
    # Groups x N: a tile of neighbouring rows finds its scales side by side.
    tl.store(scale_ptr + block * (2 * N) + row, low_scale)
    tl.store(scale_ptr + block * (2 * N) + N + row, high_scale)


@tw.autotune(configs=CONFIGS if lesson.ON_GPU else SMALL, key=["M", "N", "K"])
@tw.jit
def int4_kernel(x_ptr, packed_ptr, scale_ptr, out_ptr, M, N, K, row_bytes, steps, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    tokens = tl.program_id(1) * BLOCK_M + tl.arange(0, BLOCK_M)
    part = tl.program_id(2)
    inner = tl.arange(0, GROUP)
    x_ptrs = x_ptr + (tokens % M)[None, :] * K + inner[:, None]
    # row_bytes is K // 2, and an argument: that it is a multiple of 16 the compiler then sees,
    # and loads vectors of 16 bytes. Of K // 2 it could know multiples of 8 only.
    packed_ptrs = packed_ptr + (rows % N).to(tl.int64)[:, None] * row_bytes + inner[None, :]
    scale_ptrs = scale_ptr + rows % N
    first = part * steps
    last = min(first + steps, row_bytes // GROUP)
    # The scales of a step are loaded one step earlier: a program that waited for them after
    # its product would do nothing else meanwhile. (Tiles for products the compiler loads ahead
    # by itself.)
    low_scale = tl.load(scale_ptrs + first * (2 * N), mask=first < last, other=0.0)
    high_scale = tl.load(scale_ptrs + first * (2 * N) + N, mask=first < last, other=0.0)
    total = tl.zeros((BLOCK_N, BLOCK_M), dtype=tl.float32)
    for step in range(first, last):
        packed = tl.load(packed_ptrs + step * GROUP)
        x_low = tl.load(x_ptrs + step * (2 * GROUP))
        x_high = tl.load(x_ptrs + step * (2 * GROUP) + GROUP)
        later = scale_ptrs + (step + 1) * (2 * N)
        next_low = tl.load(later, mask=step + 1 < last, other=0.0)
        next_high = tl.load(later + N, mask=step + 1 < last, other=0.0)
        # Shifts of numbers with a sign keep it: up and down again for the low half.
        low = ((packed << 4) >> 4).to(tl.float16)
        high = (packed >> 4).to(tl.float16)
        # A scale multiplies BLOCK_M sums here, which is less than 128 weights.
        total += tl.dot(low, x_low) * low_scale[:, None]
        total += tl.dot(high, x_high) * high_scale[:, None]
        low_scale = next_low
        high_scale = next_high
    out_ptrs = out_ptr + (part * M + tokens[None, :]) * N + rows[:, None]
    mask = (tokens[None, :] < M) & (rows[:, None] < N)
    tl.store(out_ptrs, total.to(out_ptr.dtype.element_ty), mask=mask)


@tw.jit
def sum_kernel(parts_ptr, y_ptr, n, parts, BLOCK: tl.constexpr):
    # In a fixed order, so that the result is the same each time; with atomic additions it would not be.
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for part in range(0, parts):
        total += tl.load(parts_ptr + part * n + offsets, mask=mask, other=0.0)
    tl.store(y_ptr + offsets, total.to(y_ptr.dtype.element_ty), mask=mask)


def multiply(kernel, x, n: int, weights_per_step: int, *arrays_and_sizes):
    """Launches one of the products for y = x W^T with W of n rows, and adds its parts up."""
    (m, k), (w, scales, *sizes) = x.shape, arrays_and_sizes
    block_m = min(64, max(16, tw.next_power_of_2(m)))
    steps = k // weights_per_step
    # Two programs for each multiprocessor, but four steps for each program.
    tiles = tw.cdiv(n, 64) * tw.cdiv(m, block_m)
    parts = max(1, min(tw.cdiv(2 * lesson.multiprocessors(), tiles), steps // 4))
    steps = tw.cdiv(steps, parts)
    y = lesson.empty((m, n), "float16")
    out = y if parts == 1 else lesson.empty((parts, m, n), "float32")
    kernel[lambda meta: (tw.cdiv(n, meta["BLOCK_N"]), tw.cdiv(m, block_m), parts)](
        x, w, scales, out, m, n, k, *sizes, steps, BLOCK_M=block_m
    )
    if parts > 1:
        sum_kernel[(tw.cdiv(m * n, 1024),)](out, y, m * n, parts, BLOCK=1024)
    return y


def linear8(x, w, scales):
    """x W^T, with W as int8 (N x K) and a float32 scale per row."""
    return multiply(int8_kernel, x, w.shape[0], 128, w, scales)


def linear4(x, packed, scales):
    """x W^T, with W as `pack` gives it."""
    return multiply(int4_kernel, x, packed.shape[0], 256, packed, scales, packed.shape[1])


def pack(w):
    """(bytes of N x K / 2, scales of K / 128 x N) of float16 weights."""
    n, k = w.shape
    if k % 256:
        raise ValueError(f"K must be a multiple of 256, two groups of 128 weights, not {k}")
    packed, scales = lesson.empty((n, k // 2), "int8"), lesson.empty((k // 128, n), "float32")
    pack_kernel[(n, k // 256)](w, packed, scales, n, k, num_warps=1)
    return packed, scales


def unpack(packed: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """What packed weights stand for, in NumPy."""
    n = packed.shape[0]
    blocks = packed.reshape(n, -1, 128)
    halves = np.stack([(blocks << 4) >> 4, blocks >> 4], axis=2).reshape(n, -1, 128)
    return (halves.astype(np.float64) * scales.T[:, :, None]).reshape(n, -1)


def check(m: int, n: int, k: int):
    print(f"{m} x {n} x {k}")
    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal(shape).astype(np.float16) for shape in ((m, k), (n, k)))
    device_x = lesson.to_device(x)
    scales = (np.abs(w).max(axis=1) / 127).astype(np.float32)
    q = np.rint(w / scales[:, None]).astype(np.int8)
    exact = x.astype(np.float64) @ (q * scales[:, None].astype(np.float64)).T
    y = linear8(device_x, lesson.to_device(q), lesson.to_device(scales))
    lesson.check("8 bits", y, exact, tolerance=1e-3)

    packed, scales = pack(lesson.to_device(w))
    meant = unpack(lesson.to_numpy(packed), lesson.to_numpy(scales))
    # No weight is further from what it was than half a step.
    steps = np.abs(w.reshape(n, -1, 128) - meant.reshape(n, -1, 128)) / lesson.to_numpy(scales).T[:, :, None]
    lesson.check("rounding to 4 bits, in steps", lesson.to_device(np.maximum(steps, 0.5)), 0.5, tolerance=1e-3)
    lesson.check("4 bits", linear4(device_x, packed, scales), x.astype(np.float64) @ meant.T, tolerance=1e-3)


def sweep():
    """Time of a layer of 8192 x 8192 in GB/s of float16 weights against the tokens, beside torch in float16."""
    import torch

    n = k = 8192
    tokens = [1, 4, 16, 64, 128]
    speeds = {name: [] for name in ("4 bits", "8 bits", "torch fp16")}
    w = torch.randn(n, k, device="cuda", dtype=torch.float16) / k**0.5
    scales = w.abs().amax(dim=1).float() / 127
    q = (w / scales[:, None]).round().to(torch.int8)
    packed = pack(w)
    for m in tokens:
        x = torch.randn(m, k, device="cuda", dtype=torch.float16)
        measured = {
            "4 bits": lambda: linear4(x, *packed),
            "8 bits": lambda: linear8(x, q, scales),
            "torch fp16": lambda: torch.mm(x, w.T),
        }
        # All relative to the bytes of float16, so that twice the figure is half the time.
        for name, function in measured.items():
            speeds[name].append(lesson.gigabytes_per_second(function, w.nbytes))
    lesson.show("quantised weights", "tokens", tokens, speeds)


# What to try: zero points beside the scales (weights whose range is not around zero), as most
# published models of 4 bits have them; the sum of each group of x makes them cheap. And where do
# more tokens stop paying? Beyond some hundred, products take longer than the memory, and making
# float16 of the weights is in their way: then lesson 10, or float16.

if __name__ == "__main__":
    options = lesson.arguments(__doc__.splitlines()[0])
    check(1, 40, 256)
    check(19, 70, 2560)
    if lesson.ON_GPU:
        check(16, 4096, 4096)
    if lesson.ON_GPU and not options.quick:
        sweep()
