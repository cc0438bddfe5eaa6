# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lesson 7: functions of mathematics that are not in the language.

What libdevice is, what its functions cost, and where a fast version is good enough.

    python tutorials/07_libdevice.py [--quick]
"""

import math

import lesson
import numpy as np

import tilewright as tw
import tilewright.language as tl
from tilewright.language.extra import libdevice

# `tl` has the functions for which GPUs have instructions, or nearly so: exp2, log2,
# sin, sqrt and what follows from them. Everything else comes from libdevice, a library
# that NVIDIA ships with its compiler: some 350 functions, among them the hyperbolic
# ones and their inverses, the gamma function, Bessel functions, inverses of
# distributions, roundings of every kind, counting of bits.
#
# It is no library that is called at run time. It is intermediate code; the compiler
# takes what a kernel uses, puts it in its place, and optimises it together with the
# rest. A tile goes in, a tile of the same shape comes out, and each thread computes
# its own elements in registers.
#
# The example is a loss: how badly a predicted rate explains a count (of clicks, of
# photons), the negative logarithm of the Poisson distribution,
#
#   loss = rate - k log(rate) + log(k!),   log(k!) = lgamma(k + 1)
#
# where the network gives log(rate). Written with array operations that is five
# kernels, each of which reads and writes everything. Here it is one.


@tw.jit
def poisson_loss_kernel(log_rate_ptr, count_ptr, loss_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    log_rate = tl.load(log_rate_ptr + offsets, mask=mask, other=0.0)
    # libdevice is for float32 and float64, so that is what counts become. `other` is
    # a value for which all functions below are defined: lanes past the end compute, too.
    count = tl.load(count_ptr + offsets, mask=mask, other=0).to(tl.float32)
    loss = tl.exp(log_rate) - count * log_rate + libdevice.lgamma(count + 1.0)
    tl.store(loss_ptr + offsets, loss, mask=mask)


# What does it cost? `tl.exp` is one multiplication and one instruction of the special
# function unit. lgamma is some 200 instructions with branches: one way for small
# arguments, one for large ones, one for negative ones. The threads of a warp go
# together, so a warp whose threads disagree goes all the ways one after the other. Most of
# that still hides behind the memory: while one warp waits for its loads, another
# computes. Look at it with
#
#     tilewright explain tutorials/07_libdevice.py:poisson_loss_kernel -s "*fp32:16,*i32:16,*fp32:16,i32:16,1024"
#
# Where arithmetic is what a kernel waits for, libdevice has fast versions of some
# functions, whose names begin with fast_. fast_sinf is two instructions: a scaling and
# the special function unit's sine, whose absolute error grows with the argument. The
# exact one first brings the argument into one period, carefully, and then takes a
# polynomial. An `if` on a constant chooses when the kernel is compiled.


@tw.jit
def wave_kernel(x_ptr, out_ptr, n, FAST: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    if FAST:
        y = libdevice.fast_sinf(x)
    else:
        y = libdevice.sin(x)
    tl.store(out_ptr + offsets, y, mask=mask)


def poisson_loss(log_rate, count):
    loss = lesson.empty_like(log_rate)
    n = log_rate.shape[0]
    poisson_loss_kernel[(tw.cdiv(n, 1024),)](log_rate, count, loss, n, BLOCK=1024)
    return loss


def wave(x, fast: bool):
    out = lesson.empty_like(x)
    n = x.shape[0]
    wave_kernel[(tw.cdiv(n, 1024),)](x, out, n, FAST=fast, BLOCK=1024)
    return out


def check(n: int, largest: int):
    rng = np.random.default_rng(0)
    log_rate = rng.uniform(-3, 3, n).astype(np.float32)
    count = rng.integers(0, largest, n, dtype=np.int32)
    exact = np.exp(log_rate.astype(np.float64)) - count * log_rate.astype(np.float64)
    exact += np.array([math.lgamma(k + 1) for k in count])
    loss = poisson_loss(lesson.to_device(log_rate), lesson.to_device(count))
    # The terms nearly cancel where the rate fits the count: the error is one of the terms.
    lesson.check(f"loss of {n}, counts < {largest}", loss, exact, tolerance=1e-4)


def check_waves(n: int):
    """The fast sine is good near zero and less and less so further out."""
    for periods, tolerance in ((1, 2e-6), (100, 2e-4)):
        x = np.random.default_rng(0).uniform(-math.pi * periods, math.pi * periods, n).astype(np.float32)
        exact = np.sin(x.astype(np.float64))
        lesson.check(f"sin, {periods} periods", wave(lesson.to_device(x), False), exact, tolerance=2e-7)
        lesson.check(f"fast_sinf, {periods} periods", wave(lesson.to_device(x), True), exact, tolerance)


def sweep():
    """Bandwidth of the loss against the size, beside torch: two reads and one write."""
    import torch

    sizes = [2**i for i in range(16, 27, 2)]
    ours, theirs = [], []
    for n in sizes:
        log_rate = torch.randn(n, device="cuda")
        count = torch.randint(0, 20, (n,), device="cuda", dtype=torch.int32)
        ours.append(lesson.gigabytes_per_second(lambda: poisson_loss(log_rate, count), 3 * log_rate.nbytes))
        theirs.append(
            lesson.gigabytes_per_second(
                lambda: torch.exp(log_rate) - count * log_rate + torch.lgamma(count + 1.0), 3 * log_rate.nbytes
            )
        )
    lesson.show("poisson loss", "elements", sizes, {"Tilewright": ours, "torch": theirs})


# What to try: `libdevice.erfinv` and `libdevice.normcdfinv` turn uniform numbers (lesson 4)
# into normal ones; `libdevice.tanh` beside 2 sigmoid(2 x) - 1 shows what its care near
# zero costs; in float64 the same names call the versions for float64.

if __name__ == "__main__":
    options = lesson.arguments(__doc__.splitlines()[0])
    check(10, 5)
    check(3001, 200)
    check_waves(3001)
    if lesson.ON_GPU and not options.quick:
        sweep()
