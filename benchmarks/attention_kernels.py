# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention, forward and backward, once for every compiler.

q, k, v, out are (batch x heads, length, HEAD_DIM), contiguous, 16 bits; the length
is a multiple of every block. With DESCRIPTORS the arrays come as descriptors of
the same memory as one matrix of rows, else as pointers. `scale` is the usual
1 / sqrt(HEAD_DIM); exponentials are powers of two, so it is multiplied by
log2(e), and `lse`, the logarithm of each row's sum, is to base 2 as well.
Loaded as `kernels.py` is: `tw` and `tl` come from outside.
"""

# Put into the module before it runs.
tw = tw  # noqa: F821
tl = tl  # noqa: F821

LOG2_E = tl.constexpr(1.4426950408889634)


@tw.jit
def load_rows(array, first, ROWS: tl.constexpr, HEAD_DIM: tl.constexpr, DESCRIPTORS: tl.constexpr):
    """Rows first, first + 1, ... of the matrix of all rows."""
    if DESCRIPTORS:
        tile = array.load([first, 0])
    else:
        rows = first + tl.arange(0, ROWS)
        tile = tl.load(array + rows[:, None] * HEAD_DIM + tl.arange(0, HEAD_DIM)[None, :])
    return tile


@tw.jit
def store_rows(array, first, tile, ROWS: tl.constexpr, HEAD_DIM: tl.constexpr, DESCRIPTORS: tl.constexpr):
    if DESCRIPTORS:
        array.store([first, 0], tile.to(array.dtype))
    else:
        rows = first + tl.arange(0, ROWS)
        tl.store(array + rows[:, None] * HEAD_DIM + tl.arange(0, HEAD_DIM)[None, :], tile.to(array.dtype.element_ty))


# ---------------------------------------------------------------------------
# Forward
# ---------------------------------------------------------------------------


@tw.jit
def attend(
    accumulator,
    total,
    largest,
    q,
    k_array,
    v_array,
    head,
    rows,
    low,
    high,
    log2_scale,
    BLOCK_N: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    DESCRIPTORS: tl.constexpr,
    MASKED: tl.constexpr,
):
    """Adds keys low to high - 1 to the weighted sum so far, its weights' sum and largest score."""
    for start in range(low, high, BLOCK_N):
        k = load_rows(k_array, head + start, BLOCK_N, HEAD_DIM, DESCRIPTORS)
        scores = tl.dot(q, k.T)
        if MASKED:
            columns = start + tl.arange(0, BLOCK_N)
            scores = tl.where(rows[:, None] >= columns[None, :], scores, -float("inf"))
        now = tl.maximum(largest, tl.max(scores, 1) * log2_scale)
        weights = tl.exp2(scores * log2_scale - now[:, None])
        shrink = tl.exp2(largest - now)
        total = total * shrink + tl.sum(weights, 1)
        accumulator = accumulator * shrink[:, None]
        v = load_rows(v_array, head + start, BLOCK_N, HEAD_DIM, DESCRIPTORS)
        accumulator = tl.dot(weights.to(v.dtype), v, accumulator)
        largest = now
    return accumulator, total, largest


@tw.jit
def forward_kernel(
    q_array,
    k_array,
    v_array,
    out_array,
    lse_ptr,
    scale,
    length,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    CAUSAL: tl.constexpr,
    DESCRIPTORS: tl.constexpr,
):
    # The last rows of a causal head see the most keys: they start first.
    m = tl.num_programs(0) - 1 - tl.program_id(0) if CAUSAL else tl.program_id(0)
    head = tl.program_id(1) * length
    rows = m * BLOCK_M + tl.arange(0, BLOCK_M)
    q = load_rows(q_array, head + m * BLOCK_M, BLOCK_M, HEAD_DIM, DESCRIPTORS)
    accumulator = tl.zeros((BLOCK_M, HEAD_DIM), dtype=tl.float32)
    total = tl.zeros((BLOCK_M,), dtype=tl.float32)
    largest = tl.full((BLOCK_M,), -float("inf"), dtype=tl.float32)
    log2_scale = scale * LOG2_E
    # Keys that all rows of this block see need no mask; under the causal mask the
    # block's own columns do.
    whole = m * BLOCK_M // BLOCK_N * BLOCK_N if CAUSAL else length
    accumulator, total, largest = attend(
        accumulator,
        total,
        largest,
        q,
        k_array,
        v_array,
        head,
        rows,
        0,
        whole,
        log2_scale,
        BLOCK_N,
        HEAD_DIM,
        DESCRIPTORS,
        False,
    )
    if CAUSAL:
        accumulator, total, largest = attend(
            accumulator,
            total,
            largest,
            q,
            k_array,
            v_array,
            head,
            rows,
            whole,
            (m + 1) * BLOCK_M,
            log2_scale,
            BLOCK_N,
            HEAD_DIM,
            DESCRIPTORS,
            True,
        )
    # One division per row instead of one per element.
    store_rows(out_array, head + m * BLOCK_M, accumulator * (1.0 / total)[:, None], BLOCK_M, HEAD_DIM, DESCRIPTORS)
    tl.store(lse_ptr + head + rows, largest + tl.log2(total))


# ---------------------------------------------------------------------------
# Backward. With weights P = exp2(S - lse) and S = scale log2(e) Q K^T:
#
#   dV = P^T dO,  dP = dO V^T,  dS = P * (dP - delta),  dK = scale dS^T Q,  dQ = scale dS K
#
# where delta is the sum of each row of dO * O.
# ---------------------------------------------------------------------------


@tw.jit
def delta_kernel(out_ptr, d_out_ptr, delta_ptr, BLOCK_M: tl.constexpr, HEAD_DIM: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offsets = rows[:, None] * HEAD_DIM + tl.arange(0, HEAD_DIM)[None, :]
    out = tl.load(out_ptr + offsets).to(tl.float32)
    d_out = tl.load(d_out_ptr + offsets).to(tl.float32)
    tl.store(delta_ptr + rows, tl.sum(out * d_out, 1))


@tw.jit
def accumulate_dk_dv(
    dk,
    dv,
    k,
    v,
    q_array,
    d_out_array,
    dq_array,
    lse_ptr,
    delta_ptr,
    head,
    columns,
    low,
    high,
    log2_scale,
    BLOCK_M: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    DESCRIPTORS: tl.constexpr,
    MASKED: tl.constexpr,
    WITH_DQ: tl.constexpr,
):
    """What the queries low to high - 1 add to dK and dV of these keys, and these to the queries' dQ.

    Scores are computed transposed, keys by queries: so P^T and dS^T come out as
    accumulators in just the form in which the next products take their left side.
    """
    for start in range(low, high, BLOCK_M):
        rows = start + tl.arange(0, BLOCK_M)
        q = load_rows(q_array, head + start, BLOCK_M, HEAD_DIM, DESCRIPTORS)
        lse = tl.load(lse_ptr + head + rows)
        scores = tl.dot(k, q.T)
        weights = tl.exp2(scores * log2_scale - lse[None, :])
        if MASKED:
            weights = tl.where(rows[None, :] >= columns[:, None], weights, 0.0)
        d_out = load_rows(d_out_array, head + start, BLOCK_M, HEAD_DIM, DESCRIPTORS)
        dv = tl.dot(weights.to(d_out.dtype), d_out, dv)
        d_weights = tl.dot(v, d_out.T)
        delta = tl.load(delta_ptr + head + rows)
        d_scores = (weights * (d_weights - delta[None, :])).to(q.dtype)
        dk = tl.dot(d_scores, q, dk)
        if WITH_DQ:
            dq = tl.dot(d_scores.T, k)
            if DESCRIPTORS:
                dq_array.atomic_add([head + start, 0], dq)
            else:
                offsets = (head + rows)[:, None] * HEAD_DIM + tl.arange(0, HEAD_DIM)[None, :]
                tl.atomic_add(dq_array + offsets, dq, sem="relaxed")
    return dk, dv


@tw.jit
def dk_dv_kernel(
    q_array,
    k_array,
    v_array,
    d_out_array,
    dq_array,
    dk_array,
    dv_array,
    lse_ptr,
    delta_ptr,
    scale,
    length,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    CAUSAL: tl.constexpr,
    DESCRIPTORS: tl.constexpr,
    WITH_DQ: tl.constexpr,
):
    """dK and dV of BLOCK_N keys; WITH_DQ adds to dQ too, in float32, without the factor `scale`."""
    n = tl.program_id(0)
    head = tl.program_id(1) * length
    columns = n * BLOCK_N + tl.arange(0, BLOCK_N)
    k = load_rows(k_array, head + n * BLOCK_N, BLOCK_N, HEAD_DIM, DESCRIPTORS)
    v = load_rows(v_array, head + n * BLOCK_N, BLOCK_N, HEAD_DIM, DESCRIPTORS)
    dk = tl.zeros((BLOCK_N, HEAD_DIM), dtype=tl.float32)
    dv = tl.zeros((BLOCK_N, HEAD_DIM), dtype=tl.float32)
    log2_scale = scale * LOG2_E
    whole = 0
    if CAUSAL:
        # From the diagonal on; past the last of these columns no mask is needed.
        first = n * BLOCK_N // BLOCK_M * BLOCK_M
        whole = tl.cdiv((n + 1) * BLOCK_N, BLOCK_M) * BLOCK_M
        dk, dv = accumulate_dk_dv(
            dk,
            dv,
            k,
            v,
            q_array,
            d_out_array,
            dq_array,
            lse_ptr,
            delta_ptr,
            head,
            columns,
            first,
            whole,
            log2_scale,
            BLOCK_M,
            HEAD_DIM,
            DESCRIPTORS,
            True,
            WITH_DQ,
        )
    dk, dv = accumulate_dk_dv(
        dk,
        dv,
        k,
        v,
        q_array,
        d_out_array,
        dq_array,
        lse_ptr,
        delta_ptr,
        head,
        columns,
        whole,
        length,
        log2_scale,
        BLOCK_M,
        HEAD_DIM,
        DESCRIPTORS,
        False,
        WITH_DQ,
    )
    store_rows(dk_array, head + n * BLOCK_N, dk * scale, BLOCK_N, HEAD_DIM, DESCRIPTORS)
    store_rows(dv_array, head + n * BLOCK_N, dv, BLOCK_N, HEAD_DIM, DESCRIPTORS)


@tw.jit
def accumulate_dq(
    dq,
    q,
    d_out,
    lse,
    delta,
    k_array,
    v_array,
    head,
    rows,
    low,
    high,
    log2_scale,
    BLOCK_N: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    DESCRIPTORS: tl.constexpr,
    MASKED: tl.constexpr,
):
    for start in range(low, high, BLOCK_N):
        k = load_rows(k_array, head + start, BLOCK_N, HEAD_DIM, DESCRIPTORS)
        v = load_rows(v_array, head + start, BLOCK_N, HEAD_DIM, DESCRIPTORS)
        scores = tl.dot(q, k.T)
        weights = tl.exp2(scores * log2_scale - lse[:, None])
        if MASKED:
            columns = start + tl.arange(0, BLOCK_N)
            weights = tl.where(rows[:, None] >= columns[None, :], weights, 0.0)
        d_weights = tl.dot(d_out, v.T)
        d_scores = (weights * (d_weights - delta[:, None])).to(k.dtype)
        dq = tl.dot(d_scores, k, dq)
    return dq


@tw.jit
def dq_kernel(
    q_array,
    k_array,
    v_array,
    d_out_array,
    dq_array,
    lse_ptr,
    delta_ptr,
    scale,
    length,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    CAUSAL: tl.constexpr,
    DESCRIPTORS: tl.constexpr,
):
    m = tl.num_programs(0) - 1 - tl.program_id(0) if CAUSAL else tl.program_id(0)
    head = tl.program_id(1) * length
    rows = m * BLOCK_M + tl.arange(0, BLOCK_M)
    q = load_rows(q_array, head + m * BLOCK_M, BLOCK_M, HEAD_DIM, DESCRIPTORS)
    d_out = load_rows(d_out_array, head + m * BLOCK_M, BLOCK_M, HEAD_DIM, DESCRIPTORS)
    lse = tl.load(lse_ptr + head + rows)
    delta = tl.load(delta_ptr + head + rows)
    dq = tl.zeros((BLOCK_M, HEAD_DIM), dtype=tl.float32)
    log2_scale = scale * LOG2_E
    whole = m * BLOCK_M // BLOCK_N * BLOCK_N if CAUSAL else length
    dq = accumulate_dq(
        dq, q, d_out, lse, delta, k_array, v_array, head, rows, 0, whole, log2_scale, BLOCK_N, HEAD_DIM, DESCRIPTORS, False
    )
    if CAUSAL:
        dq = accumulate_dq(
            dq,
            q,
            d_out,
            lse,
            delta,
            k_array,
            v_array,
            head,
            rows,
            whole,
            (m + 1) * BLOCK_M,
            log2_scale,
            BLOCK_N,
            HEAD_DIM,
            DESCRIPTORS,
            True,
        )
    store_rows(dq_array, head + m * BLOCK_M, dq * scale, BLOCK_M, HEAD_DIM, DESCRIPTORS)


@tw.jit
def scale_kernel(x_ptr, out_ptr, scale, BLOCK: tl.constexpr):
    """x in float32 times `scale` to the type of out."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets) * scale)


@tw.jit
def clear_kernel(x_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, tl.zeros((BLOCK,), dtype=x_ptr.dtype.element_ty))
