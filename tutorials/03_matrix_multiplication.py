# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lesson 3: the matrix product, with what follows it in the same kernel.

Tiles in two dimensions, tensor cores through `tl.dot`, the order of the programs,
and configurations that are tuned.

    python tutorials/03_matrix_multiplication.py [--quick]
"""

import lesson
import numpy as np

import tilewright as tw
import tilewright.language as tl

# C = A B, with A of M x K and B of K x N. One program makes one tile of C: it
# walks along K, multiplies a tile of A by a tile of B, and adds. Each element of
# A is read once for every column of tiles, so larger tiles read less; what limits
# them are the registers that hold the sums.


# The order of the programs matters, although each tile is independent of the
# others. Programs with neighbouring numbers run at the same time and share the
# L2 cache. Row by row, 132 programs of an 8192 x 8192 product would need two rows
# of A's tiles but all of B. Walked in bands of GROUP_M rows, column by column
# within a band, they need 8 rows and some 16 columns: little more than a third of
# the traffic.
@tw.jit
def place(program, tiles_m, tiles_n, GROUP_M: tl.constexpr):
    per_band = GROUP_M * tiles_n
    first_row = program // per_band * GROUP_M
    # The last band may be lower.
    height = min(tiles_m - first_row, GROUP_M)
    inside = program % per_band
    return first_row + inside % height, inside // height


@tw.jit
def leaky_relu(x):
    return tl.where(x >= 0, x, 0.01 * x)


# Which tile is best depends on the sizes and on the GPU: the tuner measures these
# once per key and remembers. num_stages is how many tiles of A and B are on their
# way at the same time: while one is multiplied the next ones are being loaded.
CONFIGS = [
    tw.Config({"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "GROUP_M": 8}, num_warps=8, num_stages=3),
    tw.Config({"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "GROUP_M": 8}, num_warps=4, num_stages=4),
    tw.Config({"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "GROUP_M": 8}, num_warps=8, num_stages=4),
    tw.Config({"BLOCK_M": 64, "BLOCK_N": 128, "BLOCK_K": 64, "GROUP_M": 8}, num_warps=4, num_stages=4),
]
# The interpreter takes the first configuration, and small tiles suit small problems.
SMALL = [tw.Config({"BLOCK_M": 32, "BLOCK_N": 64, "BLOCK_K": 32, "GROUP_M": 2}, num_warps=4)]


@tw.autotune(configs=CONFIGS if lesson.ON_GPU else SMALL, key=["M", "N", "K"])
@tw.jit
def matmul_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    stride_cm,
    stride_cn,
    ACTIVATION: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    m, n = place(tl.program_id(0), tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), GROUP_M)
    rows = m * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = n * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)

    # A column of row numbers plus a row of column numbers is a tile of addresses.
    # The strides say how the matrices lie in memory, so a transposed view needs no
    # copy. Rows past the end wrap around to the first ones: their products are
    # never stored, and the loads need a mask along K only.
    a_ptrs = a_ptr + (rows % M)[:, None] * stride_am + inner[None, :] * stride_ak
    b_ptrs = b_ptr + inner[:, None] * stride_bk + (columns % N)[None, :] * stride_bn

    # Sums of float16 products are kept in float32: tensor cores add in that.
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_ptrs, mask=inner[None, :] < K - k * BLOCK_K, other=0.0)
        b = tl.load(b_ptrs, mask=inner[:, None] < K - k * BLOCK_K, other=0.0)
        accumulator = tl.dot(a, b, accumulator)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk

    # What follows a product element by element costs nearly nothing here, while the
    # sums are in registers; as a kernel of its own it would read and write C again.
    # ACTIVATION is a constant: of the `if` only one branch is compiled.
    if ACTIVATION == "leaky_relu":
        accumulator = leaky_relu(accumulator)
    c_ptrs = c_ptr + rows[:, None] * stride_cm + columns[None, :] * stride_cn
    tl.store(c_ptrs, accumulator, mask=(rows[:, None] < M) & (columns[None, :] < N))


def matmul(a, b, c, activation: str = ""):
    """c = activation(a b); all three may be views with any strides."""
    (m, k), n = a.shape, b.shape[1]
    strides = lesson.strides(a) + lesson.strides(b) + lesson.strides(c)
    # The grid depends on the configuration: a function of it.
    matmul_kernel[lambda meta: (tw.cdiv(m, meta["BLOCK_M"]) * tw.cdiv(n, meta["BLOCK_N"]),)](
        a, b, c, m, n, k, *strides, ACTIVATION=activation
    )
    return c


def check(m: int, n: int, k: int, activation: str = "", transposed: bool = False):
    rng = np.random.default_rng(0)
    # Small whole numbers: every sum is exact in float32, in any order, so the
    # only error is the last rounding to float16.
    a = rng.integers(-3, 4, (m, k)).astype(np.float16)
    b = rng.integers(-3, 4, (n, k) if transposed else (k, n)).astype(np.float16)
    device_a, device_b = lesson.to_device(a), lesson.to_device(b)
    if transposed:
        b, device_b = b.T, device_b.T
    expected = a.astype(np.float64) @ b.astype(np.float64)
    if activation:
        expected = np.where(expected >= 0, expected, np.float32(0.01) * expected)
    c = matmul(device_a, device_b, lesson.to_device(np.full((m, n), 99, np.float16)), activation)
    what = f"{m} x {n} x {k} {activation}{' B transposed' if transposed else ''}"
    lesson.check(what, c, expected.astype(np.float16).astype(np.float64), tolerance=1e-3 if activation else 0.0)


def sweep():
    """Operations per second against the size, beside torch (cuBLAS)."""
    import torch

    sizes = [512, 1024, 2048, 4096, 8192]
    ours, theirs = [], []
    for n in sizes:
        a, b, c = (torch.randn(n, n, device="cuda", dtype=torch.float16) for _ in range(3))
        ours.append(lesson.tflops_per_second(lambda: matmul(a, b, c), 2 * n**3))
        theirs.append(lesson.tflops_per_second(lambda: torch.mm(a, b, out=c), 2 * n**3))
    lesson.show("matrix product", "M = N = K", sizes, {"Tilewright": ours, "torch": theirs}, unit="TFLOP/s")


if __name__ == "__main__":
    options = lesson.arguments(__doc__.splitlines()[0])
    check(64, 128, 64)
    check(77, 150, 90)
    check(77, 150, 90, "leaky_relu")
    check(77, 150, 90, transposed=True)
    if lesson.ON_GPU:
        check(512, 1024, 512)
    if lesson.ON_GPU and not options.quick:
        sweep()
