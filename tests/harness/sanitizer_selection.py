# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A few small kernels for compute-sanitizer, which slows everything down a lot.

Chosen for what each exercises: tails of masked access, a reduction through shared
memory, a layout conversion through shared memory, atomics with a lock. Buffers are
written in full before they are read, so that initcheck has nothing to excuse.
"""

import torch

import tilewright as tw
import tilewright.language as tl


@tw.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask), mask=mask)


@tw.jit
def row_kernel(x_ptr, sum_ptr, place_ptr, columns, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    row = tl.program_id(0)
    x = tl.load(x_ptr + row * columns + offsets, mask=offsets < columns, other=-float("inf"))
    tl.store(place_ptr + row, tl.argmax(x, axis=0))
    tl.store(sum_ptr + row, tl.sum(tl.where(offsets < columns, x, 0.0), axis=0))


@tw.jit
def transpose_kernel(x_ptr, out_ptr, rows, columns, BLOCK: tl.constexpr):
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = (m[:, None] < rows) & (n[None, :] < columns)
    tile = tl.load(x_ptr + m[:, None] * columns + n[None, :], mask=inside)
    tl.store(out_ptr + n[:, None] * rows + m[None, :], tl.trans(tile), mask=tl.trans(inside))


@tw.jit
def locked_sum_kernel(x_ptr, total_ptr, lock_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + offsets)
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    tl.store(total_ptr + offsets, tl.load(total_ptr + offsets) + x)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


def main():
    x, y = torch.rand(1000, device="cuda"), torch.rand(1000, device="cuda")
    out = torch.zeros_like(x)
    add_kernel[(4,)](x, y, out, 1000, BLOCK=256)
    assert torch.equal(out, x + y)

    matrix = torch.rand(8, 777, device="cuda")
    sums, places = torch.zeros(8, device="cuda"), torch.zeros(8, device="cuda", dtype=torch.int32)
    for warps in (1, 4, 8):
        row_kernel[(8,)](matrix, sums, places, 777, BLOCK=1024, num_warps=warps)
        assert torch.equal(places.long(), matrix.argmax(dim=1))
        assert torch.allclose(sums, matrix.sum(dim=1))

    wide = torch.rand(100, 70, device="cuda").half()
    turned = torch.zeros(70, 100, device="cuda", dtype=torch.float16)
    transpose_kernel[(2, 2)](wide, turned, 100, 70, BLOCK=64)
    assert torch.equal(turned, wide.T)

    terms = torch.randint(0, 9, (32, 128), device="cuda").float()
    total, lock = torch.zeros(128, device="cuda"), torch.zeros(1, device="cuda", dtype=torch.int32)
    locked_sum_kernel[(32,)](terms, total, lock, BLOCK=128)
    assert torch.equal(total, terms.sum(dim=0))
    torch.cuda.synchronize()
    print("4 kernels right")


if __name__ == "__main__":
    main()
