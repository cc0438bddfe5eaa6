# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lesson 8: many matrix products of different sizes in one launch.

A fixed number of programs that share out work which only the GPU knows, numbers
loaded from memory and what the compiler does not know about them, and
descriptors made inside a kernel.

    python tutorials/08_grouped_gemm.py [--quick]
"""

import lesson
import numpy as np

import tilewright as tw
import tilewright.language as tl

# Products of different sizes turn up where each expert of a mixture gets its own
# number of tokens. One launch per product leaves most of the GPU idle when the
# products are small. Here one launch does all: as many programs as the GPU has
# multiprocessors, and each takes every so-manieth tile of all products together.
#
# The matrices of one role lie behind one another in one buffer. A table with six
# numbers per product says where: M, N, K, and the offsets of A, B and C.
ENTRIES = tl.constexpr(6)


@tw.jit
def pointer_kernel(a_ptr, b_ptr, c_ptr, table_ptr, count, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    tile = tl.program_id(0)
    step = tl.num_programs(0)
    before = 0  # tiles of the products before this one
    for product in range(0, count):
        entry = table_ptr + product * ENTRIES
        m = tl.load(entry)
        n = tl.load(entry + 1)
        k = tl.load(entry + 2)
        # Of an argument the compiler sees at the launch whether it is a multiple of
        # 16; of a number in memory it knows nothing, and would have to load the
        # elements one by one. The host promises here what it keeps in `pack`.
        n = tl.multiple_of(n, 8)
        k = tl.multiple_of(k, 8)
        a_start = a_ptr + tl.multiple_of(tl.load(entry + 3), 8)
        b_start = b_ptr + tl.multiple_of(tl.load(entry + 4), 8)
        c_start = c_ptr + tl.multiple_of(tl.load(entry + 5), 8)
        tiles_n = tl.cdiv(n, BLOCK_N)
        tiles = tl.cdiv(m, BLOCK_M) * tiles_n
        # Nobody hands the tiles out: each program goes through the same numbers and
        # stops at its own.
        while tile < before + tiles:
            rows = (tile - before) // tiles_n * BLOCK_M + tl.arange(0, BLOCK_M)
            columns = (tile - before) % tiles_n * BLOCK_N + tl.arange(0, BLOCK_N)
            inner = tl.arange(0, BLOCK_K)
            accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
            for start in range(0, k, BLOCK_K):
                a_mask = (rows[:, None] < m) & (start + inner[None, :] < k)
                b_mask = (start + inner[:, None] < k) & (columns[None, :] < n)
                a = tl.load(a_start + rows[:, None] * k + start + inner[None, :], mask=a_mask, other=0.0)
                b = tl.load(b_start + (start + inner[:, None]) * n + columns[None, :], mask=b_mask, other=0.0)
                accumulator = tl.dot(a, b, accumulator)
            mask = (rows[:, None] < m) & (columns[None, :] < n)
            tl.store(c_start + rows[:, None] * n + columns[None, :], accumulator, mask=mask)
            tile += step
        before += tiles


# A descriptor says once where a matrix lies and how large it is. Its tiles need no
# addresses and no masks: outside of the matrix they read as zero, and what is
# stored there is dropped. Here descriptors are made in the kernel, from the table,
# since the host need not even know the sizes.


@tw.jit
def descriptor_kernel(
    a_ptr, b_ptr, c_ptr, table_ptr, count, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr
):
    tile = tl.program_id(0)
    step = tl.num_programs(0)
    before = 0
    for product in range(0, count):
        entry = table_ptr + product * ENTRIES
        m = tl.load(entry)
        n = tl.load(entry + 1)
        k = tl.load(entry + 2)
        tiles_n = tl.cdiv(n, BLOCK_N)
        tiles = tl.cdiv(m, BLOCK_M) * tiles_n
        if tile < before + tiles:
            # The memory must start at a multiple of 16 bytes, and so must every row.
            a = tl.make_tensor_descriptor(a_ptr + tl.load(entry + 3), [m, k], [k, 1], [BLOCK_M, BLOCK_K])
            b = tl.make_tensor_descriptor(b_ptr + tl.load(entry + 4), [k, n], [n, 1], [BLOCK_K, BLOCK_N])
            c = tl.make_tensor_descriptor(c_ptr + tl.load(entry + 5), [m, n], [n, 1], [BLOCK_M, BLOCK_N])
            while tile < before + tiles:
                row = (tile - before) // tiles_n * BLOCK_M
                column = (tile - before) % tiles_n * BLOCK_N
                accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
                for start in range(0, k, BLOCK_K):
                    accumulator = tl.dot(a.load([row, start]), b.load([start, column]), accumulator)
                c.store([row, column], accumulator.to(c.dtype))
                tile += step
        before += tiles


KERNELS = {"pointers": pointer_kernel, "descriptors": descriptor_kernel}


def pack(sizes: list[tuple]):
    """The table of products with these (M, N, K), and the elements of the three buffers."""
    table, used = [], [0, 0, 0]
    for m, n, k in sizes:
        if n % 8 or k % 8:
            raise ValueError(f"N and K must be multiples of 8, not {n} and {k}: rows start at multiples of 16 bytes")
        table.append((m, n, k, *used))
        # Multiples of 8 elements, since N and K are.
        used = [used[0] + m * k, used[1] + k * n, used[2] + m * n]
    return np.array(table, np.int32), used


def grouped(kernel: str, a, b, c, table, count: int):
    blocks = (128, 128, 64) if lesson.ON_GPU else (32, 32, 16)
    KERNELS[kernel][(lesson.multiprocessors(),)](
        a, b, c, table, count, BLOCK_M=blocks[0], BLOCK_N=blocks[1], BLOCK_K=blocks[2], num_warps=8, num_stages=3
    )
    return c


def check(kernel: str, sizes: list[tuple]):
    rng = np.random.default_rng(0)
    table, elements = pack(sizes)
    # Whole numbers whose sums float16 still holds exactly: the error must be zero.
    a, b = (rng.integers(-2, 3, count).astype(np.float16) for count in elements[:2])
    c = grouped(
        kernel,
        lesson.to_device(a),
        lesson.to_device(b),
        lesson.to_device(np.full(elements[2], 99, np.float16)),
        lesson.to_device(table),
        len(sizes),
    )
    expected = np.empty(elements[2])
    for m, n, k, at_a, at_b, at_c in table:
        product = a[at_a : at_a + m * k].reshape(m, k).astype(np.float64) @ b[at_b : at_b + k * n].reshape(k, n)
        expected[at_c : at_c + m * n] = product.ravel()
    lesson.check(f"{len(sizes)} products, {kernel}", c, expected, tolerance=0.0)


def sweep():
    """Eight experts with uneven numbers of tokens, beside one launch of torch each."""
    import torch

    totals = [512, 1024, 2048, 4096, 8192, 16384]
    speeds = {name: [] for name in (*KERNELS, "torch, one by one")}
    n, k = 2048, 2048
    for total in totals:
        share = np.random.default_rng(0).dirichlet(np.ones(8)) * total
        sizes = [(max(1, int(m)), n, k) for m in share]
        table, elements = pack(sizes)
        a, b, c = (torch.randn(count, device="cuda", dtype=torch.float16) for count in elements)
        device_table = lesson.to_device(table)

        def one_by_one():
            for m, _, _, at_a, at_b, at_c in table.tolist():
                torch.mm(
                    a[at_a : at_a + m * k].view(m, k), b[at_b : at_b + k * n].view(k, n), out=c[at_c : at_c + m * n].view(m, n)
                )

        operations = sum(2 * m * n * k for m, n, k in sizes)
        for kernel in KERNELS:
            speeds[kernel].append(
                lesson.tflops_per_second(lambda: grouped(kernel, a, b, c, device_table, len(sizes)), operations)
            )
        speeds["torch, one by one"].append(lesson.tflops_per_second(one_by_one, operations))
    lesson.show("grouped products", "tokens", totals, speeds, unit="TFLOP/s")


if __name__ == "__main__":
    options = lesson.arguments(__doc__.splitlines()[0])
    for name in KERNELS:
        check(name, [(64, 64, 32)])
        check(name, [(40, 72, 56), (1, 8, 8), (100, 40, 16), (33, 32, 40)])
    if lesson.ON_GPU and not options.quick:
        sweep()
