# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lesson 1: adding two vectors.

What a kernel is, how a grid of programs covers an array, and why the last
program needs a mask.

    python tutorials/01_vector_add.py [--quick]
"""

import lesson
import numpy as np

import tilewright as tw
import tilewright.language as tl

# A kernel says what ONE program does. A program works on tiles, small arrays
# whose sizes are powers of two and known when the kernel is compiled: that is
# what `tl.constexpr` marks. How a tile is spread over threads and registers, and
# which instructions move it, is the compiler's business.


@tw.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    # Programs are numbered; this one takes the elements from its number times
    # BLOCK on. An array argument is a pointer to its first element, and adding a
    # tile of integers gives a tile of pointers.
    program = tl.program_id(axis=0)
    offsets = program * BLOCK + tl.arange(0, BLOCK)

    # n need not be a multiple of BLOCK: elements where the mask is false are
    # neither read nor written.
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


def add(x, y):
    """x + y through the kernel."""
    out = lesson.empty_like(x)
    n = x.shape[0]
    # The grid is the number of programs: enough to cover n elements.
    grid = (tw.cdiv(n, 1024),)
    add_kernel[grid](x, y, out, n, BLOCK=1024)
    return out


def check(n: int):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(n).astype(np.float32)
    y = rng.standard_normal(n).astype(np.float32)
    result = add(lesson.to_device(x), lesson.to_device(y))
    # One addition is exact in any order: the error must be zero.
    lesson.check(f"{n} elements", result, x + y, tolerance=0.0)


def sweep():
    """Bandwidth against the size, beside torch: two reads and one write per element."""
    import torch

    sizes = [2**i for i in range(14, 29, 2)]
    ours, theirs = [], []
    for n in sizes:
        x = torch.randn(n, device="cuda")
        y = torch.randn(n, device="cuda")
        ours.append(lesson.gigabytes_per_second(lambda: add(x, y), 3 * x.nbytes))
        theirs.append(lesson.gigabytes_per_second(lambda: x + y, 3 * x.nbytes))
    lesson.show("vector add", "elements", sizes, {"Tilewright": ours, "torch": theirs})


if __name__ == "__main__":
    options = lesson.arguments(__doc__.splitlines()[0])
    for n in (1, 1023, 98432):
        check(n)
    if lesson.ON_GPU and not options.quick:
        sweep()
