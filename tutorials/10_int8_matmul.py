# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lesson 10: a quantised layer: int8 in, int32 sums, float out.

Products of small integers, scales applied while the sums are in registers, and
which order in memory 8-bit tensor cores want.

    python tutorials/10_int8_matmul.py [--quick]
"""

import lesson
import numpy as np

import tilewright as tw
import tilewright.language as tl

# y = x W^T + bias, with x of tokens x K and W of N x K, as in a linear layer. In int8 the
# tensor cores multiply twice as fast as in float16, and the weights need half the
# memory. Each row of x and of W gets a scale of its own:
#
#   x = scale_x * q_x,   W = scale_w * q_w,   q in -127 .. 127
#   y[i, j] = scale_x[i] * scale_w[j] * sum over k of q_x[i, k] * q_w[j, k] + bias[j]
#
# The sum is one of integers, so it is exact in any order as long as it fits int32:
# 127 * 127 * K stays below 2^31 up to K = 133,000.


@tw.jit
def quantise_kernel(x_ptr, q_ptr, scale_ptr, columns, BLOCK: tl.constexpr):
    # One program per row: the largest magnitude becomes 127.
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    x = tl.load(x_ptr + row * columns + offsets, mask=mask, other=0.0).to(tl.float32)
    scale = tl.maximum(tl.max(tl.abs(x), axis=0), 1e-10) / 127.0
    # Rounded to the nearest; the cast alone would cut the fraction off.
    q = tl.floor(x / scale + 0.5)
    tl.store(q_ptr + row * columns + offsets, q.to(tl.int8), mask=mask)
    tl.store(scale_ptr + row, scale)


@tw.jit
def linear_kernel(
    x_ptr,
    w_ptr,
    scale_x_ptr,
    scale_w_ptr,
    bias_ptr,
    y_ptr,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    # The order of the programs is that of lesson 3.
    tiles_n = tl.cdiv(N, BLOCK_N)
    per_band = GROUP_M * tiles_n
    first_row = tl.program_id(0) // per_band * GROUP_M
    height = min(tl.cdiv(M, BLOCK_M) - first_row, GROUP_M)
    inside = tl.program_id(0) % per_band
    rows = (first_row + inside % height) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = inside // height * BLOCK_N + tl.arange(0, BLOCK_N)
    along = tl.arange(0, BLOCK_K)

    # Both operands have K as the dimension without gaps. That is how 8-bit tensor
    # cores read them: with N contiguous instead, each tile of W would have to be
    # turned around on the way. A layer's weights lie like this anyway.
    x_ptrs = x_ptr + (rows % M)[:, None] * K + along[None, :]
    w_ptrs = w_ptr + (columns % N)[None, :] * K + along[:, None]
    sums = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.int32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        x = tl.load(x_ptrs, mask=along[None, :] < K - k * BLOCK_K, other=0)
        w = tl.load(w_ptrs, mask=along[:, None] < K - k * BLOCK_K, other=0)
        # Products of int8 add up in int32.
        sums = tl.dot(x, w, sums)
        x_ptrs += BLOCK_K
        w_ptrs += BLOCK_K

    # A number per row and a number per column, spread over the tile.
    scale_x = tl.load(scale_x_ptr + rows, mask=rows < M, other=0.0)
    scale_w = tl.load(scale_w_ptr + columns, mask=columns < N, other=0.0)
    bias = tl.load(bias_ptr + columns, mask=columns < N, other=0.0).to(tl.float32)
    y = sums.to(tl.float32) * scale_x[:, None] * scale_w[None, :] + bias[None, :]
    y_ptrs = y_ptr + rows[:, None] * N + columns[None, :]
    tl.store(y_ptrs, y.to(y_ptr.dtype.element_ty), mask=(rows[:, None] < M) & (columns[None, :] < N))


def quantise(x):
    """(int8 values, float32 scales) of the rows of a matrix."""
    rows, columns = x.shape
    q, scale = lesson.zeros((rows, columns), "int8"), lesson.zeros(rows, "float32")
    quantise_kernel[(rows,)](x, q, scale, columns, BLOCK=tw.next_power_of_2(columns))
    return q, scale


def linear(q_x, scale_x, q_w, scale_w, bias):
    (m, k), n = q_x.shape, q_w.shape[0]
    y = lesson.zeros((m, n), "float16")
    block_m, block_n, block_k = (128, 256, 128) if lesson.ON_GPU else (32, 32, 32)
    linear_kernel[(tw.cdiv(m, block_m) * tw.cdiv(n, block_n),)](
        q_x,
        q_w,
        scale_x,
        scale_w,
        bias,
        y,
        m,
        n,
        k,
        BLOCK_M=block_m,
        BLOCK_N=block_n,
        BLOCK_K=block_k,
        GROUP_M=8,
        num_warps=8,
        num_stages=3,
    )
    return y


def check(m: int, n: int, k: int):
    print(f"{m} x {n} x {k}")
    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal(shape).astype(np.float16) for shape in ((m, k), (n, k)))
    bias = rng.standard_normal(n).astype(np.float16)
    q_x, scale_x = quantise(lesson.to_device(x))
    q_w, scale_w = quantise(lesson.to_device(w))
    y = linear(q_x, scale_x, q_w, scale_w, lesson.to_device(bias))

    # First against the same integers: only the last steps round.
    values_x, values_w = lesson.to_numpy(q_x).astype(np.int64), lesson.to_numpy(q_w).astype(np.int64)
    scales = lesson.to_numpy(scale_x)[:, None].astype(np.float64) * lesson.to_numpy(scale_w)
    lesson.check("y from the integers", y, (values_x @ values_w.T) * scales + bias, tolerance=1e-3)
    # Then each value against what it stands for: within half a step.
    steps = np.abs(x.astype(np.float64) / lesson.to_numpy(scale_x)[:, None] - values_x)
    lesson.check("rounding of x, in steps", lesson.to_device(np.maximum(steps, 0.5)), 0.5, tolerance=1e-3)
    # And the layer against the one in floats: two roundings of 1 part in 250 or so.
    exact = x.astype(np.float64) @ w.astype(np.float64).T + bias
    error = np.linalg.norm(lesson.to_numpy(y) - exact) / np.linalg.norm(exact)
    lesson.check("loss by quantisation", lesson.to_device(np.array([error])), 0.0, tolerance=0.02)


def sweep():
    """Operations per second against the size, beside torch in int8 and in float16."""
    import torch

    sizes = [1024, 2048, 4096, 8192]
    speeds = {name: [] for name in ("Tilewright int8", "torch int8", "torch fp16")}
    for n in sizes:
        q_x, q_w = (torch.randint(-127, 128, (n, n), device="cuda", dtype=torch.int8) for _ in range(2))
        scale_x, scale_w = (torch.rand(n, device="cuda") for _ in range(2))
        bias, half = torch.randn(n, device="cuda").half(), torch.randn(n, n, device="cuda").half()
        measured = {
            "Tilewright int8": lambda: linear(q_x, scale_x, q_w, scale_w, bias),
            "torch int8": lambda: torch._int_mm(q_x, q_w.T),
            "torch fp16": lambda: torch.mm(half, half),
        }
        for name, function in measured.items():
            speeds[name].append(lesson.tflops_per_second(function, 2 * n**3))
    lesson.show("int8 linear layer", "M = N = K", sizes, speeds, unit="TFLOP/s")


if __name__ == "__main__":
    options = lesson.arguments(__doc__.splitlines()[0])
    check(64, 64, 64)
    check(50, 70, 176)
    if lesson.ON_GPU and not options.quick:
        sweep()
