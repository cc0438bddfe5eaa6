# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrix products C = A B in three forms, once for every compiler.

A is M x K with contiguous rows. B is K x N with contiguous rows, or, with
B_IS_NK, N x K (K-major: the only form that 8-bit tensor cores take). The
accumulator is int32 where C is, else float32. Loaded as `kernels.py` is:
`tw` and `tl` come from outside.
"""

# Put into the module before it runs.
tw = tw  # noqa: F821
tl = tl  # noqa: F821


@tw.jit
def place(tile, tiles_m, tiles_n, GROUP_M: tl.constexpr):
    """Row and column of a tile. GROUP_M rows of tiles are walked column by column, so
    that the tiles in flight share rows of A and columns of B in the L2."""
    per_group = GROUP_M * tiles_n
    first = tile // per_group * GROUP_M
    height = min(tiles_m - first, GROUP_M)
    inside = tile % per_group
    return first + inside % height, inside // height


@tw.jit
def pointer_kernel(
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
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    m, n = place(tl.program_id(0), tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), GROUP_M)
    rows = m * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = n * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    # Past the last row of A the first ones are read again, so that the loads need
    # a mask in K only; what they give is never stored.
    a_ptrs = a_ptr + (rows % M)[:, None] * stride_am + inner[None, :] * stride_ak
    b_ptrs = b_ptr + inner[:, None] * stride_bk + (columns % N)[None, :] * stride_bn
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.int32 if c_ptr.dtype.element_ty == tl.int32 else tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_ptrs, mask=inner[None, :] < K - k * BLOCK_K, other=0.0)
        b = tl.load(b_ptrs, mask=inner[:, None] < K - k * BLOCK_K, other=0.0)
        accumulator = tl.dot(a, b, accumulator, out_dtype=accumulator.dtype)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    c_ptrs = c_ptr + rows[:, None] * stride_cm + columns[None, :] * stride_cn
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c_ptrs, accumulator.to(c_ptr.dtype.element_ty), mask=inside)


@tw.jit
def multiply_tile(
    a_desc,
    b_desc,
    row,
    column,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    B_IS_NK: tl.constexpr,
    ACCUMULATOR: tl.constexpr,
):
    """The tile of A B at (row, column), from descriptors."""
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=ACCUMULATOR)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        a = a_desc.load([row, k * BLOCK_K])
        if B_IS_NK:
            b = b_desc.load([column, k * BLOCK_K]).T
        else:
            b = b_desc.load([k * BLOCK_K, column])
        accumulator = tl.dot(a, b, accumulator, out_dtype=accumulator.dtype)
    return accumulator


@tw.jit
def descriptor_kernel(
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
    B_IS_NK: tl.constexpr,
):
    m, n = place(tl.program_id(0), tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), GROUP_M)
    accumulator = multiply_tile(
        a_desc,
        b_desc,
        m * BLOCK_M,
        n * BLOCK_N,
        K,
        BLOCK_M,
        BLOCK_N,
        BLOCK_K,
        B_IS_NK,
        tl.int32 if c_desc.dtype == tl.int32 else tl.float32,
    )
    c_desc.store([m * BLOCK_M, n * BLOCK_N], accumulator.to(c_desc.dtype))


@tw.jit
def persistent_kernel(
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
    B_IS_NK: tl.constexpr,
    FLATTEN: tl.constexpr,
    SPLIT_C: tl.constexpr,
):
    """One program per multiprocessor, each working through every num_programs-th tile.

    FLATTEN makes one loop of the two, so that the loads of the next tile start
    under the end of this one. SPLIT_C stores the tile in two halves, which need
    half the staging in shared memory; the block of c_desc is that half.
    """
    tiles_m = tl.cdiv(M, BLOCK_M)
    tiles_n = tl.cdiv(N, BLOCK_N)
    first = tl.program_id(0)
    step = tl.num_programs(0)
    # The tile to be stored is counted apart from the tile to be multiplied: else
    # its position would have to be carried through the pipeline.
    stored = first - step
    for tile in tl.range(first, tiles_m * tiles_n, step, flatten=FLATTEN):
        m, n = place(tile, tiles_m, tiles_n, GROUP_M)
        accumulator = multiply_tile(
            a_desc,
            b_desc,
            m * BLOCK_M,
            n * BLOCK_N,
            K,
            BLOCK_M,
            BLOCK_N,
            BLOCK_K,
            B_IS_NK,
            tl.int32 if c_desc.dtype == tl.int32 else tl.float32,
        )
        stored += step
        m, n = place(stored, tiles_m, tiles_n, GROUP_M)
        if SPLIT_C:
            halves = tl.permute(tl.reshape(accumulator, (BLOCK_M, 2, BLOCK_N // 2)), (0, 2, 1))
            left, right = tl.split(halves)
            c_desc.store([m * BLOCK_M, n * BLOCK_N], left.to(c_desc.dtype))
            c_desc.store([m * BLOCK_M, n * BLOCK_N + BLOCK_N // 2], right.to(c_desc.dtype))
        else:
            c_desc.store([m * BLOCK_M, n * BLOCK_N], accumulator.to(c_desc.dtype))
