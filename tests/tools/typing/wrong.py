# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mistakes that every checker reports, and (`pyright`) those for which it has to know what a tile is."""

import tilewright as tw
import tilewright.language as tl


@tw.jit
def kernel(x_ptr, n, BLOCK: tl.constexpr):
    i = tl.arrange(0, BLOCK)  # wrong
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, maks=i < n)  # wrong
    x = tl.load(x_ptr + i, mask=i < n, cache_modifier=3)  # wrong
    y = tl.sum(x, axis="0")  # wrong
    y = tl.zeros([BLOCK], tl.flaot32)  # wrong
    z = tl.zeros([BLOCK], tl.float32).too(tl.float16)  # wrong pyright
    tl.store(x_ptr + i, x + y + z, i < n, boundary_chek=(0,))  # wrong
    helper(x, FACTOR=2)  # wrong


@tw.jit
def helper(x, SCALE: tl.constexpr):
    return x * SCALE


@tw.jit(do_not_specialise=["n"])  # wrong
def other(x_ptr, n):
    tl.store(x_ptr, n)


config = tw.Config({"BLOCK": 64}, num_warp=4)  # wrong


def launches(x, n: int):
    kernel[(1,)](x, n, BLOK=64)  # wrong
    kernel[(1,)](x, n, BLOCK=64, num_warp=4)  # wrong
    kernel[(1,)](x, n)  # wrong
    kernel[(1,)](x, n, BLOCK=64, num_warps="4")  # wrong
    tw.autotunne([config], key=["n"])  # wrong
