# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels whose names have not one type, or no value, after a branch or a loop."""

import tilewright
import tilewright.language as tl


@tilewright.jit
def growing_accumulator(out, n):
    total = 0.0
    for i in range(n):
        total += tl.zeros((4,), tl.float32)
    tl.store(out, tl.sum(total))


@tilewright.jit
def widening_while(out, n):
    count = n
    while count > 0:
        count = count - tl.full((), 1, tl.int64)
    tl.store(out, count)


@tilewright.jit
def changed_in_a_branch(out, n):
    value = n
    if n > 3:
        value = value * 0.5
    tl.store(out, value)


@tilewright.jit
def one_branch_only(out, n):
    if n > 3:
        fresh = n
    else:
        tl.store(out + 1, n)
    tl.store(out, fresh)


@tilewright.jit
def made_in_a_loop(out, n):
    for i in range(n):
        last = i * 2
    tl.store(out, last)
