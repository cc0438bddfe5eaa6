# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lesson 4: dropout that keeps a seed instead of a mask.

Random numbers that follow from a counter, four of them for the price of one, and
an argument that must not make new kernels.

    python tutorials/04_dropout.py [--quick]
"""

import lesson
import numpy as np

import tilewright as tw
import tilewright.language as tl

# Dropout sets each element to zero with probability p, and divides the others by
# 1 - p so that the mean stays. The backward pass needs the same choice again:
# where x was dropped, its gradient is zero.
#
# The plain way is to draw a mask and keep it until the backward pass.


@tw.jit
def masked_kernel(x_ptr, keep_ptr, out_ptr, n, p, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    keep = tl.load(keep_ptr + offsets, mask=mask, other=0)
    tl.store(out_ptr + offsets, tl.where(keep != 0, x / (1 - p), 0.0), mask=mask)


# The mask is another array to write, to read twice, and to hold in memory for as long
# as the activations. None of that is needed. `tl.rand(seed, i)` is not a generator
# with a state: it scrambles the pair (seed, i) in ten rounds of multiplications
# (Philox), so number i of a seed can be computed anywhere, at any time, without the
# numbers before it. The backward pass draws the same numbers again from the same
# seed, and what has to be kept is the seed.
#
# The seed is a new one at every step. Arguments that are 1 or multiples of 16 get
# kernels of their own, since that is worth knowing of sizes and strides; of a seed it
# is not, and `do_not_specialize` says so. Without it, every 16th step or so would
# wait for the compiler the first time.


@tw.jit(do_not_specialize=["seed"])
def seeded_kernel(x_ptr, out_ptr, n, p, seed, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    keep = tl.rand(seed, offsets) >= p
    tl.store(out_ptr + offsets, tl.where(keep, x / (1 - p), 0.0), mask=mask)


# This kernel moves less memory, but it computes more: some 70 instructions per
# element, where a load and a store wait for nothing. With float16 the arithmetic
# takes longer than the memory. It is mostly wasted: the ten rounds give 128 bits, and
# `tl.rand` uses 32 of them. `tl.rand4x` returns all four numbers.
#
# Now a counter stands for four elements. The four tiles of numbers are put together
# so that element 4 i + j gets number j of counter i: `tl.interleave(a, b)` is
# a0, b0, a1, b1, ... and twice that is every fourth from each. A thread holds
# elements that lie side by side anyway, since it loads them as one vector, and these
# are made from counters of its own: nothing is exchanged between threads. And the
# choice depends on seed and element only, not on BLOCK: another tile size in the
# backward pass, or on another GPU, changes nothing.


@tw.jit(do_not_specialize=["seed"])
def dropout_kernel(x_ptr, out_ptr, n, p, seed, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    offsets = program * BLOCK + tl.arange(0, BLOCK)
    counters = program * (BLOCK // 4) + tl.arange(0, BLOCK // 4)
    r0, r1, r2, r3 = tl.rand4x(seed, counters)
    random = tl.interleave(tl.interleave(r0, r2), tl.interleave(r1, r3))
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask).to(tl.float32)
    # Multiplying by 0 or by 1 / (1 - p): one number per program is divided, not each.
    scale = 1 / (1 - p)
    tl.store(out_ptr + offsets, tl.where(random >= p, x * scale, 0.0), mask=mask)


def masked_dropout(x, keep, p: float):
    out = lesson.empty_like(x)
    n = x.shape[0]
    masked_kernel[(tw.cdiv(n, 1024),)](x, keep, out, n, p, BLOCK=1024)
    return out


def seeded_dropout(x, p: float, seed: int):
    out = lesson.empty_like(x)
    n = x.shape[0]
    seeded_kernel[(tw.cdiv(n, 1024),)](x, out, n, p, seed, BLOCK=1024)
    return out


def dropout(x, p: float, seed: int, block: int = 2048):
    """Forward, and also backward: the gradient is dropped and scaled as x was."""
    out = lesson.empty_like(x)
    n = x.shape[0]
    dropout_kernel[(tw.cdiv(n, block),)](x, out, n, p, seed, BLOCK=block)
    return out


def check(n: int, p: float, dtype: str):
    print(f"{n} elements, {dtype}, p = {p}")
    rng = np.random.default_rng(0)
    # No zero among the inputs: where the result is zero, the element was dropped.
    x = rng.uniform(1, 2, n).astype(dtype)
    dy = rng.uniform(1, 2, n).astype(dtype)
    device_x = lesson.to_device(x)
    tolerance = 1e-3 if dtype == "float16" else 1e-6
    keep = (rng.random(n) >= p).astype(np.int8)
    lesson.check(
        "with a mask",
        masked_dropout(device_x, lesson.to_device(keep), p),
        np.where(keep, x.astype(np.float64) / (1 - p), 0),
        tolerance,
    )
    for what, function in (("with a seed", seeded_dropout), ("four numbers at a time", dropout)):
        y = function(device_x, p, 1234)
        kept = lesson.to_numpy(y) != 0
        lesson.check(what, y, np.where(kept, x.astype(np.float64) / (1 - p), 0), tolerance)
        # The share that is kept is 1 - p, up to chance: five standard deviations.
        chance = max(5 * np.sqrt(p * (1 - p) / n), 1e-12)
        lesson.check(
            "its share, in deviations", lesson.to_device(np.array([(kept.mean() - 1 + p) / chance])), 0.0, tolerance=1.0
        )
    # Backward makes the same choice, whatever its tile size, and another seed another one.
    dx = dropout(lesson.to_device(dy), p, 1234, block=512)
    lesson.check("gradient", dx, np.where(kept, dy.astype(np.float64) / (1 - p), 0), tolerance)
    other = lesson.to_numpy(dropout(device_x, p, 1235)) != 0
    if 0 < p < 1 and n > 100 and (other == kept).all():
        raise SystemExit("another seed: the same elements were dropped: WRONG")


def sweep():
    """Bandwidth against the size, beside torch: one read and one write per element count, a mask does not."""
    import torch

    sizes = [2**i for i in range(18, 29, 2)]
    speeds = {name: [] for name in ("mask", "seed", "seed, rand4x", "torch")}
    for n in sizes:
        x = torch.randn(n, device="cuda", dtype=torch.float16)
        keep = (torch.rand(n, device="cuda") >= 0.1).to(torch.int8)
        measured = {
            "mask": lambda: masked_dropout(x, keep, 0.1),
            "seed": lambda: seeded_dropout(x, 0.1, 1234),
            "seed, rand4x": lambda: dropout(x, 0.1, 1234),
            # In training mode torch writes a mask, for the backward pass.
            "torch": lambda: torch.nn.functional.dropout(x, 0.1),
        }
        for name, function in measured.items():
            speeds[name].append(lesson.gigabytes_per_second(function, 2 * x.nbytes))
    lesson.show("dropout", "elements", sizes, speeds)


# What to try: add a residual in the same kernel, out = residual + dropout(x), as layers
# of a transformer have it; the sum is then free. Or use 16 bits for each choice, eight
# from one counter: `tl.randint4x` gives the integers, to be compared with p * 65536.

if __name__ == "__main__":
    options = lesson.arguments(__doc__.splitlines()[0])
    check(10, 0.5, "float32")
    check(4099, 0.1, "float16")
    check(3000, 0.9, "float32")
    if lesson.ON_GPU and not options.quick:
        sweep()
