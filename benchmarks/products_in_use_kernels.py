# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products as models use them, beside those of matmul_kernels.py; once for every compiler.

x is M x K, out is M x N, rows contiguous. Nothing in the compiler was fitted to these but
what came of measuring them. Loaded as `kernels.py` is: `tw` and `tl` come from outside.
"""

# Put into the module before it runs.
tw = tw  # noqa: F821
tl = tl  # noqa: F821


@tw.jit
def place(tile, tiles_m, tiles_n):
    """Row and column of a tile, walked in groups of eight rows."""
    group = 8 * tiles_n
    first = tile // group * 8
    height = min(tiles_m - first, 8)
    return first + tile % group % height, tile % group // height


@tw.jit
def linear_gelu_kernel(x_ptr, w_ptr, bias_ptr, out_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    # gelu(x w^T + bias); w is N x K.
    m, n = place(tl.program_id(0), tl.cdiv(M, BM), tl.cdiv(N, BN))
    rows, columns, inner = m * BM + tl.arange(0, BM), n * BN + tl.arange(0, BN), tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + inner
        x = tl.load(x_ptr + rows[:, None] * K + k[None, :], mask=(rows[:, None] < M) & (k[None, :] < K), other=0.0)
        w = tl.load(w_ptr + columns[None, :] * K + k[:, None], mask=(columns[None, :] < N) & (k[:, None] < K), other=0.0)
        total += tl.dot(x, w)
    total += tl.load(bias_ptr + columns, mask=columns < N, other=0.0)[None, :].to(tl.float32)
    total = total * tl.sigmoid(1.5957691216057308 * (total + 0.044715 * total * total * total))
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(out_ptr + rows[:, None] * N + columns[None, :], total.to(tl.float16), mask=inside)


@tw.jit
def int8_weights_kernel(x_ptr, w_ptr, scale_ptr, out_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    # w is int8, K x N, with a scale per column.
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    x_ptrs = x_ptr + rows[:, None] * K + inner[None, :]
    w_ptrs = w_ptr + inner[:, None] * N + columns[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        x = tl.load(x_ptrs, mask=rows[:, None] < M, other=0.0)
        total = tl.dot(x, tl.load(w_ptrs).to(tl.float16), total)
        x_ptrs += BK
        w_ptrs += BK * N
    total *= tl.load(scale_ptr + columns)[None, :].to(tl.float32)
    tl.store(out_ptr + rows[:, None] * N + columns[None, :], total.to(tl.float16), mask=rows[:, None] < M)


@tw.jit
def int4_weights_kernel(x_ptr, w_ptr, scale_ptr, out_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    # w is (K / 8) x N words of eight 4-bit numbers, with a scale per 128 of K and column.
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    x_ptrs = x_ptr + rows[:, None] * K + inner[None, :]
    w_ptrs = w_ptr + (inner[:, None] // 8) * N + columns[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        x = tl.load(x_ptrs, mask=rows[:, None] < M, other=0.0)
        w = ((tl.load(w_ptrs) >> (inner % 8 * 4)[:, None]) & 15) - 8
        scale = tl.load(scale_ptr + start // 128 * N + columns)
        total = tl.dot(x, w.to(tl.float16) * scale[None, :], total)
        x_ptrs += BK
        w_ptrs += BK // 8 * N
    tl.store(out_ptr + rows[:, None] * N + columns[None, :], total.to(tl.float16), mask=rows[:, None] < M)


@tw.jit
def weight_gradient_kernel(x_ptr, dy_ptr, out_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    # x^T dy: x is K x M, dy is K x N.
    m, n = place(tl.program_id(0), tl.cdiv(M, BM), tl.cdiv(N, BN))
    rows, columns, inner = m * BM + tl.arange(0, BM), n * BN + tl.arange(0, BN), tl.arange(0, BK)
    x_ptrs = x_ptr + inner[None, :] * M + rows[:, None]
    dy_ptrs = dy_ptr + inner[:, None] * N + columns[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        total = tl.dot(tl.load(x_ptrs), tl.load(dy_ptrs), total)
        x_ptrs += BK * M
        dy_ptrs += BK * N
    tl.store(out_ptr + rows[:, None] * N + columns[None, :], total)


@tw.jit
def tf32_kernel(x_ptr, w_ptr, out_ptr, M, N, K, TRANSPOSED: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    # x w in float32 on tensor cores; w is K x N, or N x K where it is transposed.
    m, n = place(tl.program_id(0), tl.cdiv(M, BM), tl.cdiv(N, BN))
    rows, columns, inner = m * BM + tl.arange(0, BM), n * BN + tl.arange(0, BN), tl.arange(0, BK)
    x_ptrs = x_ptr + rows[:, None] * K + inner[None, :]
    if TRANSPOSED:
        w_ptrs, w_step = w_ptr + columns[None, :] * K + inner[:, None], BK
    else:
        w_ptrs, w_step = w_ptr + inner[:, None] * N + columns[None, :], BK * N
    total = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        total = tl.dot(tl.load(x_ptrs), tl.load(w_ptrs), total)
        x_ptrs += BK
        w_ptrs += w_step
    tl.store(out_ptr + rows[:, None] * N + columns[None, :], total)


@tw.jit
def split_k_kernel(x_ptr, w_ptr, out_ptr, M, N, K, SPLIT: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    # x w^T for few rows: programs share K and add up with atomics; w is N x K.
    rows = tl.arange(0, BM)
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    inner = tl.program_id(1) * BK + tl.arange(0, BK)
    x_ptrs = x_ptr + rows[:, None] * K + inner[None, :]
    w_ptrs = w_ptr + columns[None, :] * K + inner[:, None]
    total = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, tl.cdiv(K, BK * SPLIT)):
        x = tl.load(x_ptrs, mask=rows[:, None] < M, other=0.0)
        total = tl.dot(x, tl.load(w_ptrs), total)
        x_ptrs += BK * SPLIT
        w_ptrs += BK * SPLIT
    tl.atomic_add(out_ptr + rows[:, None] * N + columns[None, :], total, mask=rows[:, None] < M)


@tw.jit
def gathered_rows_kernel(x_ptr, index_ptr, w_ptr, out_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    # Rows of x by index, as for experts; w is K x N.
    rows = tl.program_id(0) // tl.cdiv(N, BN) * BM + tl.arange(0, BM)
    columns = tl.program_id(0) % tl.cdiv(N, BN) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    x_ptrs = x_ptr + tl.load(index_ptr + rows)[:, None] * K + inner[None, :]
    w_ptrs = w_ptr + inner[:, None] * N + columns[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        x = tl.load(x_ptrs, mask=inner[None, :] < K - start, other=0.0)
        w = tl.load(w_ptrs, mask=inner[:, None] < K - start, other=0.0)
        total += tl.dot(x, w)
        x_ptrs += BK
        w_ptrs += BK * N
    tl.store(out_ptr + rows[:, None] * N + columns[None, :], total.to(tl.float16))


@tw.jit
def decode_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    out_ptr,
    lse_ptr,
    length,
    log2_scale,
    PART: tl.constexpr,
    GROUP: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    BN: tl.constexpr,
):
    # Attention of one new token: GROUP query heads share keys and values, of which a
    # program takes PART. lse is to base 2, for whoever joins the parts.
    head, part = tl.program_id(0).to(tl.int64), tl.program_id(1)
    d, g = tl.arange(0, HEAD_DIM), tl.arange(0, GROUP)
    q = tl.load(q_ptr + (head * GROUP + g)[:, None] * HEAD_DIM + d[None, :])
    largest = tl.full((GROUP,), -float("inf"), tl.float32)
    total = tl.zeros((GROUP,), tl.float32)
    accumulator = tl.zeros((GROUP, HEAD_DIM), tl.float32)
    for start in range(part * PART, min(part * PART + PART, length), BN):
        n = head * length + start + tl.arange(0, BN)
        scores = tl.dot(q, tl.load(k_ptr + n[None, :] * HEAD_DIM + d[:, None])) * log2_scale
        now = tl.maximum(largest, tl.max(scores, 1))
        weights = tl.exp2(scores - now[:, None])
        shrink = tl.exp2(largest - now)
        total = total * shrink + tl.sum(weights, 1)
        v = tl.load(v_ptr + n[:, None] * HEAD_DIM + d[None, :])
        accumulator = tl.dot(weights.to(tl.float16), v, accumulator * shrink[:, None])
        largest = now
    base = (head * tl.num_programs(1) + part) * GROUP
    tl.store(out_ptr + (base + g)[:, None] * HEAD_DIM + d[None, :], accumulator / total[:, None])
    tl.store(lse_ptr + base + g, largest + tl.log2(total))
