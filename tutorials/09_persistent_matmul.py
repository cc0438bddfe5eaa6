# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lesson 9: a matrix product by programs that stay.

One program per multiprocessor that works through many tiles, so that loading the
next tile overlaps with storing this one; and tensor descriptors, with which the
hardware copies whole tiles by itself.

    python tutorials/09_persistent_matmul.py [--quick]
"""

import lesson
import numpy as np

import tilewright as tw
import tilewright.language as tl
from tilewright.tools.tensor_descriptor import TensorDescriptor

# The kernel of lesson 3 starts a program for every tile of C. At its beginning a
# program waits for its first loads, at its end it stores: for that long the tensor
# cores have nothing to do unless another program fits beside it, and tiles large
# enough to keep them busy leave no room for one. The shorter K, the more it costs.
#
# A persistent kernel starts one program per multiprocessor. Each computes tile
# after tile, and the loads of the next one are on their way before the sums of
# this one are stored.


@tw.jit
def place(tile, tiles_m, tiles_n, GROUP_M: tl.constexpr):
    """As in lesson 3: bands of GROUP_M rows, walked column by column."""
    per_band = GROUP_M * tiles_n
    first_row = tile // per_band * GROUP_M
    height = min(tiles_m - first_row, GROUP_M)
    inside = tile % per_band
    return first_row + inside % height, inside // height


# First with pointers. `flatten` makes one loop of the loops over tiles and over K,
# so that the pipeline of loads runs on from tile to tile instead of draining at the
# end of each.


@tw.jit
def pointer_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr
):
    tiles_m = tl.cdiv(M, BLOCK_M)
    tiles_n = tl.cdiv(N, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    for tile in tl.range(tl.program_id(0), tiles_m * tiles_n, tl.num_programs(0), flatten=True):
        m, n = place(tile, tiles_m, tiles_n, GROUP_M)
        rows = m * BLOCK_M + tl.arange(0, BLOCK_M)
        columns = n * BLOCK_N + tl.arange(0, BLOCK_N)
        accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for k in range(0, tl.cdiv(K, BLOCK_K)):
            along = k * BLOCK_K + inner
            a = tl.load(a_ptr + (rows % M)[:, None] * K + along[None, :], mask=along[None, :] < K, other=0.0)
            b = tl.load(b_ptr + along[:, None] * N + (columns % N)[None, :], mask=along[:, None] < K, other=0.0)
            accumulator = tl.dot(a, b, accumulator)
        mask = (rows[:, None] < M) & (columns[None, :] < N)
        tl.store(c_ptr + rows[:, None] * N + columns[None, :], accumulator, mask=mask)


# Now with descriptors. One thread asks for a whole tile and the copy engine of the
# multiprocessor (TMA) does the rest: addresses, bounds, the order in shared
# memory. Nothing of it costs the other threads registers or instructions.


@tw.jit
def work(
    a_desc,
    b_desc,
    c_desc,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
    SPLIT_C: tl.constexpr,
):
    tiles_m = tl.cdiv(M, BLOCK_M)
    tiles_n = tl.cdiv(N, BLOCK_N)
    first = tl.program_id(0)
    step = tl.num_programs(0)
    # The position of the tile that is stored is counted on its own. Taken from
    # `tile`, it would have to travel through the whole pipeline beside the data.
    stored = first - step
    for tile in tl.range(first, tiles_m * tiles_n, step, flatten=True):
        m, n = place(tile, tiles_m, tiles_n, GROUP_M)
        accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for k in range(0, tl.cdiv(K, BLOCK_K)):
            a = a_desc.load([m * BLOCK_M, k * BLOCK_K])
            b = b_desc.load([k * BLOCK_K, n * BLOCK_N])
            accumulator = tl.dot(a, b, accumulator)
        stored += step
        m, n = place(stored, tiles_m, tiles_n, GROUP_M)
        if SPLIT_C:
            # A tile on its way out waits in shared memory. Half of it at a time takes
            # half the room, which one more stage of A and B can use.
            halves = tl.permute(tl.reshape(accumulator, (BLOCK_M, 2, BLOCK_N // 2)), (0, 2, 1))
            left, right = tl.split(halves)
            c_desc.store([m * BLOCK_M, n * BLOCK_N], left.to(c_desc.dtype))
            c_desc.store([m * BLOCK_M, n * BLOCK_N + BLOCK_N // 2], right.to(c_desc.dtype))
        else:
            c_desc.store([m * BLOCK_M, n * BLOCK_N], accumulator.to(c_desc.dtype))


@tw.jit
def host_descriptor_kernel(
    a_desc,
    b_desc,
    c_desc,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
    SPLIT_C: tl.constexpr,
):
    # The host made the descriptors and passes them like any other argument.
    work(a_desc, b_desc, c_desc, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K, GROUP_M, SPLIT_C)


@tw.jit
def device_descriptor_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
    SPLIT_C: tl.constexpr,
):
    # The kernel makes its own. Base, extents and strides follow from the arguments here, so
    # that the launch prepares these all the same. Where they come from memory, as in lesson
    # 8, each program makes them in a piece of memory that the launch provides; that takes a
    # moment, which a program that stays pays once for many tiles.
    a_desc = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BLOCK_M, BLOCK_K])
    b_desc = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [BLOCK_K, BLOCK_N])
    c_desc = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BLOCK_M, BLOCK_N // 2 if SPLIT_C else BLOCK_N])
    work(a_desc, b_desc, c_desc, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K, GROUP_M, SPLIT_C)


FORMS = ("pointers", "host descriptors", "device descriptors")


def matmul(form: str, a, b, c):
    """c = a b; rows contiguous, and for descriptors multiples of 16 bytes long."""
    (m, k), n = a.shape, b.shape[1]
    block = {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64} if lesson.ON_GPU else {"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 16}
    tiles = tw.cdiv(m, block["BLOCK_M"]) * tw.cdiv(n, block["BLOCK_N"])
    grid = (min(tiles, lesson.multiprocessors()),)
    options = {**block, "GROUP_M": 8, "num_warps": 8, "num_stages": 3}
    if form == "pointers":
        pointer_kernel[grid](a, b, c, m, n, k, **options)
    elif form == "host descriptors":

        def describe(array, rows, columns):
            return TensorDescriptor(array, list(array.shape), list(lesson.strides(array)), [rows, columns])

        descriptors = (
            describe(a, block["BLOCK_M"], block["BLOCK_K"]),
            describe(b, block["BLOCK_K"], block["BLOCK_N"]),
            describe(c, block["BLOCK_M"], block["BLOCK_N"] // 2),
        )
        host_descriptor_kernel[grid](*descriptors, m, n, k, SPLIT_C=True, **options)
    else:
        device_descriptor_kernel[grid](a, b, c, m, n, k, SPLIT_C=True, **options)
    return c


def check(form: str, m: int, n: int, k: int):
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, shape).astype(np.float16) for shape in ((m, k), (k, n)))
    c = matmul(form, lesson.to_device(a), lesson.to_device(b), lesson.to_device(np.full((m, n), 99, np.float16)))
    # Whole numbers: exact but for nothing at all, as long as float16 holds the sums.
    lesson.check(f"{m} x {n} x {k}, {form}", c, a.astype(np.float64) @ b.astype(np.float64), tolerance=0.0)


def sweep():
    """Operations per second against K, beside torch (cuBLAS): the shorter K, the more staying pays."""
    import torch

    m = n = 8192
    depths = [256, 512, 1024, 2048, 4096, 8192]
    speeds = {name: [] for name in (*FORMS, "torch")}
    for k in depths:
        a, b, c = (torch.randn(shape, device="cuda", dtype=torch.float16) for shape in ((m, k), (k, n), (m, n)))
        for form in FORMS:
            speeds[form].append(lesson.tflops_per_second(lambda: matmul(form, a, b, c), 2 * m * n * k))
        speeds["torch"].append(lesson.tflops_per_second(lambda: torch.mm(a, b, out=c), 2 * m * n * k))
    lesson.show("persistent matrix product", "K", depths, speeds, unit="TFLOP/s")


if __name__ == "__main__":
    options = lesson.arguments(__doc__.splitlines()[0])
    for name in FORMS:
        check(name, 64, 64, 32)
        check(name, 104, 136, 40)
    if lesson.ON_GPU:
        for name in FORMS:
            check(name, 1000, 2008, 136)
    if lesson.ON_GPU and not options.quick:
        sweep()
