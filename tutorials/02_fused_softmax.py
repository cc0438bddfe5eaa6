# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lesson 2: softmax of each row, in one kernel.

Why fusing pays, reductions, and a tile size that follows from the input.

    python tutorials/02_fused_softmax.py [--quick]
"""

import lesson
import numpy as np

import tilewright as tw
import tilewright.language as tl

# softmax(x)_i = exp(x_i - max x) / sum_j exp(x_j - max x)
#
# Written with array operations, each step reads and writes the whole matrix: the
# maximum, the subtraction, the exponential, the sum, the division. About eight
# times the matrix goes through memory. A kernel that keeps a row in registers
# reads it once and writes it once, so it can be four times as fast, and no
# cleverness in arithmetic would gain as much.


@tw.jit
def softmax_kernel(x_ptr, out_ptr, x_row_stride, out_row_stride, columns, BLOCK: tl.constexpr):
    # One program per row. BLOCK is the next power of two from the row's length:
    # the elements past its end read as -infinity, which leaves the maximum
    # alone and adds exp(-inf) = 0 to the sum.
    row = tl.program_id(axis=0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    x = tl.load(x_ptr + row * x_row_stride + offsets, mask=mask, other=-float("inf")).to(tl.float32)

    # A reduction gives one number per program; subtracting it broadcasts.
    shifted = x - tl.max(x, axis=0)
    numerator = tl.exp(shifted)
    result = numerator / tl.sum(numerator, axis=0)

    # Storing casts to the element type of the output.
    tl.store(out_ptr + row * out_row_stride + offsets, result, mask=mask)


def softmax(x):
    """Softmax along the last axis of a matrix with contiguous rows."""
    out = lesson.empty_like(x)
    rows, columns = x.shape
    block = tw.next_power_of_2(columns)
    # The number of warps is left to the compiler, which knows the tile's size.
    softmax_kernel[(rows,)](x, out, columns, columns, columns, BLOCK=block)
    return out


def reference(x: np.ndarray) -> np.ndarray:
    x = x.astype(np.float64)
    numerator = np.exp(x - x.max(axis=1, keepdims=True))
    return numerator / numerator.sum(axis=1, keepdims=True)


def check(rows: int, columns: int, dtype: str, tolerance: float):
    x = np.random.default_rng(0).standard_normal((rows, columns)).astype(dtype)
    lesson.check(f"{rows} x {columns} {dtype}", softmax(lesson.to_device(x)), reference(x), tolerance)


def sweep():
    """Bandwidth against the row length, beside torch: one read and one write."""
    import torch

    columns = [2**i for i in range(8, 16)]
    ours, theirs = [], []
    for n in columns:
        x = torch.randn(2**26 // n, n, device="cuda")
        ours.append(lesson.gigabytes_per_second(lambda: softmax(x), 2 * x.nbytes))
        theirs.append(lesson.gigabytes_per_second(lambda: torch.softmax(x, dim=1), 2 * x.nbytes))
    lesson.show("softmax", "columns", columns, {"Tilewright": ours, "torch": theirs})


if __name__ == "__main__":
    options = lesson.arguments(__doc__.splitlines()[0])
    check(37, 781, "float32", tolerance=1e-6)
    check(4, 1, "float32", tolerance=0.0)
    check(16, 2048, "float16", tolerance=1e-3)
    if lesson.ON_GPU and not options.quick:
        sweep()
