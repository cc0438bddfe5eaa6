# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What kernels do and Python's types do not expect: no checker finds fault with any of it."""

import tilewright as tw
import tilewright.language as tl

LIMIT = tl.constexpr(4)


@tw.jit
def helper(x, columns, SCALE: tl.constexpr = 2.0):
    return x * SCALE + columns[None, :]


@tw.jit(do_not_specialize=["n"], debug=True)
def kernel(
    x_ptr,
    y_ptr: tl.const,
    stride: tl.int64,
    n,
    BLOCK: tl.constexpr = 64,
    NAME: tl.constexpr = None,
    EVEN: tl.constexpr = False,
    KIND: tl.constexpr = tl.float32,
):
    half: tl.constexpr = BLOCK // 2
    total = 0.0
    best = -float("inf")
    for start in range(0, tl.cdiv(n, BLOCK), 2):
        columns = start * BLOCK + tl.arange(0, BLOCK)
        mask = (columns < n) & (columns >= 0)
        row = tl.load(x_ptr + columns * stride, mask=mask, other=0.0).to(KIND)
        total += tl.sum(row)
        best = tl.maximum(best, tl.max(row, axis=0))
        value, index = tl.max(row, 0, return_indices=True)
        total = total + value * (1.0 / (1 + index))
        total = total - 2**value + helper(row[:, None], columns, SCALE=1.5)
    for i in tl.range(0, n, num_stages=2):
        total += tl.load(y_ptr + i)
    for j in tl.static_range(4):
        total += j * half
    if EVEN and NAME == "sum":
        total = tl.cast(total, x_ptr.dtype.element_ty)
    low, high = tl.split(tl.join(tl.zeros([BLOCK], dtype=tl.float32), tl.full((BLOCK,), 1, tl.float32)))
    low = tl.dot(low[:, None], high[None, :], acc=None, input_precision="ieee")
    if tl.program_id(axis=0) == 0:
        tl.store(x_ptr, total + tl.sum(tl.sum(low, 1), 0) + low.shape[0] + LIMIT, eviction_policy="evict_last")
    block = tl.make_block_ptr(x_ptr, (n,), (1,), (0,), (BLOCK,), (0,))
    block = tl.advance(block, (BLOCK,))
    tl.store(block, tl.load(block, boundary_check=(0,)).T.to(tl.float16), boundary_check=(0,))
    tl.device_print("total", total)
    tl.static_assert(BLOCK >= 16, "too small")


@tw.autotune([tw.Config({"BLOCK": 64}, num_warps=4, num_stages=2)], key=["n"])
@tw.heuristics({"EVEN": lambda args: args["n"] % 2 == 0})
@tw.jit
def tuned(x_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, BLOCK), n)


def launches(x, y, n: int):
    kernel[(tw.cdiv(n, 64),)](x, y, 1, n)
    kernel[lambda meta: (tw.cdiv(n, meta["BLOCK"]),)](x, y, 1, n, BLOCK=64, num_warps=4, num_stages=2)
    compiled = kernel[(1,)](x, y_ptr=y, stride=1, n=n, BLOCK=tw.next_power_of_2(n))
    tuned[(1,)](x, n)
    tw.testing.do_bench(lambda: tuned[(1,)](x, n, num_ctas=1))
    return compiled
