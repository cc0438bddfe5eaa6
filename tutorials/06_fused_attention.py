# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lesson 6: attention in one kernel, forward and backward.

A softmax whose rows never exist as a whole, a product that feeds the next one,
and loops split so that masks cost only where they are needed.

    python tutorials/06_fused_attention.py [--quick]
"""

import math

import lesson
import numpy as np

import tilewright as tw
import tilewright.language as tl

# For each head: out = softmax(scale Q K^T) V, with Q, K, V of length x HEAD_DIM.
#
# The matrix of scores has length^2 elements, far more than Q, K and V together:
# written to memory it would be all the traffic. But its rows are only needed for
# sums, and a softmax can be summed up piece by piece. Keep for each row
#
#   largest      the largest score so far
#   total        the sum of exp(score - largest)
#   accumulator  the sum of exp(score - largest) times the rows of V
#
# When a piece has a larger score, what was summed so far shrinks by
# exp(old largest - new largest). In the end out = accumulator / total.
#
# GPUs compute 2^x in hardware, so all exponents are multiplied by log2(e) once.
LOG2_E = tl.constexpr(1.4426950408889634)


@tw.jit
def load_rows(ptr, rows, length, HEAD_DIM: tl.constexpr, MASKED: tl.constexpr):
    """Rows of a matrix with HEAD_DIM columns; MASKED: those past its end are zero."""
    ptrs = ptr + rows[:, None] * HEAD_DIM + tl.arange(0, HEAD_DIM)[None, :]
    if MASKED:
        tile = tl.load(ptrs, mask=rows[:, None] < length, other=0.0)
    else:
        tile = tl.load(ptrs)
    return tile


@tw.jit
def visible(rows, columns, length, CAUSAL: tl.constexpr):
    """Which of these queries see which of these keys."""
    mask = columns < length
    if CAUSAL:
        # A position sees itself and what came before.
        mask = mask & (rows >= columns)
    return mask


@tw.jit
def attend(
    accumulator,
    total,
    largest,
    q,
    k_ptr,
    v_ptr,
    rows,
    low,
    high,
    length,
    log2_scale,
    BLOCK_N: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    CAUSAL: tl.constexpr,
    MASKED: tl.constexpr,
):
    """Takes the keys low to high - 1 into the running softmax."""
    for start in range(low, high, BLOCK_N):
        columns = start + tl.arange(0, BLOCK_N)
        k = load_rows(k_ptr, columns, length, HEAD_DIM, MASKED)
        scores = tl.dot(q, k.T)
        if MASKED:
            scores = tl.where(visible(rows[:, None], columns[None, :], length, CAUSAL), scores, -float("inf"))
        now = tl.maximum(largest, tl.max(scores, axis=1) * log2_scale)
        weights = tl.exp2(scores * log2_scale - now[:, None])
        shrink = tl.exp2(largest - now)
        total = total * shrink + tl.sum(weights, axis=1)
        # The weights go from the first product into the second without leaving the
        # registers: the layouts of both fit.
        v = load_rows(v_ptr, columns, length, HEAD_DIM, MASKED)
        accumulator = tl.dot(weights.to(v.dtype), v, accumulator * shrink[:, None])
        largest = now
    return accumulator, total, largest


@tw.jit
def forward_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    out_ptr,
    lse_ptr,
    scale,
    length,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    # One program: BLOCK_M queries of one head. The arrays are heads x length x HEAD_DIM.
    m = tl.program_id(0)
    head = tl.program_id(1).to(tl.int64) * length
    q_ptr += head * HEAD_DIM
    k_ptr += head * HEAD_DIM
    v_ptr += head * HEAD_DIM
    out_ptr += head * HEAD_DIM
    rows = m * BLOCK_M + tl.arange(0, BLOCK_M)
    q = load_rows(q_ptr, rows, length, HEAD_DIM, True)
    accumulator = tl.zeros((BLOCK_M, HEAD_DIM), dtype=tl.float32)
    total = tl.zeros((BLOCK_M,), dtype=tl.float32)
    largest = tl.full((BLOCK_M,), -float("inf"), dtype=tl.float32)
    log2_scale = scale * LOG2_E

    # Most blocks of keys are seen by all queries of this program, and for them the
    # mask would be wasted work: a loop of their own. The rest, at the diagonal or at the
    # end of the sequence, takes a second loop. It never starts with a row that sees
    # nothing: the largest score would stay at -infinity, and inf - inf is not a number.
    whole = length // BLOCK_N * BLOCK_N
    end = length
    if CAUSAL:
        whole = min(whole, m * BLOCK_M // BLOCK_N * BLOCK_N)
        end = min(length, (m + 1) * BLOCK_M)
    accumulator, total, largest = attend(
        accumulator, total, largest, q, k_ptr, v_ptr, rows, 0, whole, length, log2_scale, BLOCK_N, HEAD_DIM, CAUSAL, False
    )
    accumulator, total, largest = attend(
        accumulator, total, largest, q, k_ptr, v_ptr, rows, whole, end, length, log2_scale, BLOCK_N, HEAD_DIM, CAUSAL, True
    )

    out_ptrs = out_ptr + rows[:, None] * HEAD_DIM + tl.arange(0, HEAD_DIM)[None, :]
    # One division per row instead of one per element.
    tl.store(out_ptrs, accumulator * (1.0 / total)[:, None], mask=rows[:, None] < length)
    # The backward pass makes the weights again from the scores and this one number
    # per row, the logarithm of the sum of exponentials (to base 2).
    tl.store(lse_ptr + head + rows, largest + tl.log2(total), mask=rows < length)


# Backward. With the weights P, their gradient dP and that of the scores dS:
#
#   dV = P^T dO        dP = dO V^T        dS = P * (dP - delta)
#   dQ = scale dS K    dK = scale dS^T Q
#
# where delta is, for each row, the sum of dO * out: what the division by the
# total contributes. dK and dV sum over queries, dQ over keys: two kernels, each
# of which keeps its sums in registers and makes P again.


@tw.jit
def delta_kernel(out_ptr, d_out_ptr, delta_ptr, count, BLOCK: tl.constexpr, HEAD_DIM: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    out = load_rows(out_ptr, rows, count, HEAD_DIM, True).to(tl.float32)
    d_out = load_rows(d_out_ptr, rows, count, HEAD_DIM, True).to(tl.float32)
    tl.store(delta_ptr + rows, tl.sum(out * d_out, axis=1), mask=rows < count)


@tw.jit
def collect_dk_dv(
    dk,
    dv,
    k,
    v,
    q_ptr,
    d_out_ptr,
    lse_ptr,
    delta_ptr,
    columns,
    low,
    high,
    length,
    log2_scale,
    BLOCK_M: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    CAUSAL: tl.constexpr,
    MASKED: tl.constexpr,
):
    for start in range(low, high, BLOCK_M):
        rows = start + tl.arange(0, BLOCK_M)
        q = load_rows(q_ptr, rows, length, HEAD_DIM, MASKED)
        d_out = load_rows(d_out_ptr, rows, length, HEAD_DIM, MASKED)
        if MASKED:
            lse = tl.load(lse_ptr + rows, mask=rows < length, other=0.0)
            delta = tl.load(delta_ptr + rows, mask=rows < length, other=0.0)
        else:
            lse = tl.load(lse_ptr + rows)
            delta = tl.load(delta_ptr + rows)
        # Keys by queries: the transposes of P and dS are what the sums need on the
        # left, and a product's left side may stay in registers.
        weights = tl.exp2(tl.dot(k, q.T) * log2_scale - lse[None, :])
        if MASKED:
            # Rows past the end have d_out = 0 and add nothing; the columns are not stored.
            weights = tl.where(visible(rows[None, :], columns[:, None], length, CAUSAL), weights, 0.0)
        dv = tl.dot(weights.to(d_out.dtype), d_out, dv)
        d_weights = tl.dot(v, d_out.T)
        d_scores = weights * (d_weights - delta[None, :])
        dk = tl.dot(d_scores.to(q.dtype), q, dk)
    return dk, dv


@tw.jit
def dk_dv_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    d_out_ptr,
    dk_ptr,
    dv_ptr,
    lse_ptr,
    delta_ptr,
    scale,
    length,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    n = tl.program_id(0)
    head = tl.program_id(1).to(tl.int64) * length
    q_ptr += head * HEAD_DIM
    d_out_ptr += head * HEAD_DIM
    columns = n * BLOCK_N + tl.arange(0, BLOCK_N)
    k = load_rows(k_ptr + head * HEAD_DIM, columns, length, HEAD_DIM, True)
    v = load_rows(v_ptr + head * HEAD_DIM, columns, length, HEAD_DIM, True)
    dk = tl.zeros((BLOCK_N, HEAD_DIM), dtype=tl.float32)
    dv = tl.zeros((BLOCK_N, HEAD_DIM), dtype=tl.float32)
    log2_scale = scale * LOG2_E

    # Queries in three parts: those on the diagonal, those that see all these keys,
    # and an incomplete block at the end.
    end = length // BLOCK_M * BLOCK_M
    whole = 0
    if CAUSAL:
        first = n * BLOCK_N // BLOCK_M * BLOCK_M
        whole = min(tl.cdiv((n + 1) * BLOCK_N, BLOCK_M) * BLOCK_M, end)
        dk, dv = collect_dk_dv(
            dk,
            dv,
            k,
            v,
            q_ptr,
            d_out_ptr,
            lse_ptr + head,
            delta_ptr + head,
            columns,
            first,
            whole,
            length,
            log2_scale,
            BLOCK_M,
            HEAD_DIM,
            CAUSAL,
            True,
        )
    dk, dv = collect_dk_dv(
        dk,
        dv,
        k,
        v,
        q_ptr,
        d_out_ptr,
        lse_ptr + head,
        delta_ptr + head,
        columns,
        whole,
        end,
        length,
        log2_scale,
        BLOCK_M,
        HEAD_DIM,
        CAUSAL,
        False,
    )
    dk, dv = collect_dk_dv(
        dk,
        dv,
        k,
        v,
        q_ptr,
        d_out_ptr,
        lse_ptr + head,
        delta_ptr + head,
        columns,
        end,
        length,
        length,
        log2_scale,
        BLOCK_M,
        HEAD_DIM,
        CAUSAL,
        True,
    )

    offsets = head * HEAD_DIM + columns[:, None] * HEAD_DIM + tl.arange(0, HEAD_DIM)[None, :]
    tl.store(dk_ptr + offsets, dk * scale, mask=columns[:, None] < length)
    tl.store(dv_ptr + offsets, dv, mask=columns[:, None] < length)


@tw.jit
def collect_dq(
    dq,
    q,
    d_out,
    lse,
    delta,
    k_ptr,
    v_ptr,
    rows,
    low,
    high,
    length,
    log2_scale,
    BLOCK_N: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    CAUSAL: tl.constexpr,
    MASKED: tl.constexpr,
):
    for start in range(low, high, BLOCK_N):
        columns = start + tl.arange(0, BLOCK_N)
        k = load_rows(k_ptr, columns, length, HEAD_DIM, MASKED)
        v = load_rows(v_ptr, columns, length, HEAD_DIM, MASKED)
        weights = tl.exp2(tl.dot(q, k.T) * log2_scale - lse[:, None])
        if MASKED:
            weights = tl.where(visible(rows[:, None], columns[None, :], length, CAUSAL), weights, 0.0)
        d_scores = weights * (tl.dot(d_out, v.T) - delta[:, None])
        dq = tl.dot(d_scores.to(k.dtype), k, dq)
    return dq


@tw.jit
def dq_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    d_out_ptr,
    dq_ptr,
    lse_ptr,
    delta_ptr,
    scale,
    length,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    m = tl.program_id(0)
    head = tl.program_id(1).to(tl.int64) * length
    k_ptr += head * HEAD_DIM
    v_ptr += head * HEAD_DIM
    rows = m * BLOCK_M + tl.arange(0, BLOCK_M)
    q = load_rows(q_ptr + head * HEAD_DIM, rows, length, HEAD_DIM, True)
    d_out = load_rows(d_out_ptr + head * HEAD_DIM, rows, length, HEAD_DIM, True)
    lse = tl.load(lse_ptr + head + rows, mask=rows < length, other=0.0)
    delta = tl.load(delta_ptr + head + rows, mask=rows < length, other=0.0)
    dq = tl.zeros((BLOCK_M, HEAD_DIM), dtype=tl.float32)
    log2_scale = scale * LOG2_E
    whole = length // BLOCK_N * BLOCK_N
    end = length
    if CAUSAL:
        whole = min(whole, m * BLOCK_M // BLOCK_N * BLOCK_N)
        end = min(length, (m + 1) * BLOCK_M)
    dq = collect_dq(
        dq, q, d_out, lse, delta, k_ptr, v_ptr, rows, 0, whole, length, log2_scale, BLOCK_N, HEAD_DIM, CAUSAL, False
    )
    dq = collect_dq(
        dq, q, d_out, lse, delta, k_ptr, v_ptr, rows, whole, end, length, log2_scale, BLOCK_N, HEAD_DIM, CAUSAL, True
    )
    offsets = head * HEAD_DIM + rows[:, None] * HEAD_DIM + tl.arange(0, HEAD_DIM)[None, :]
    tl.store(dq_ptr + offsets, dq * scale, mask=rows[:, None] < length)


def forward(q, k, v, causal: bool):
    """(out, lse) for arrays of heads x length x dimension."""
    heads, length, dim = q.shape
    out, lse = lesson.empty_like(q), lesson.zeros((heads, length), "float32")
    block_m, block_n = (128, 64) if lesson.ON_GPU else (32, 16)
    forward_kernel[(tw.cdiv(length, block_m), heads)](
        q,
        k,
        v,
        out,
        lse,
        1 / math.sqrt(dim),
        length,
        BLOCK_M=block_m,
        BLOCK_N=block_n,
        HEAD_DIM=dim,
        CAUSAL=causal,
        num_warps=8,
        num_stages=3,
    )
    return out, lse


def backward(d_out, q, k, v, out, lse, causal: bool):
    heads, length, dim = q.shape
    dq, dk, dv = lesson.empty_like(q), lesson.empty_like(k), lesson.empty_like(v)
    delta = lesson.zeros((heads, length), "float32")
    delta_kernel[(tw.cdiv(heads * length, 64),)](out, d_out, delta, heads * length, BLOCK=64, HEAD_DIM=dim)
    scale = 1 / math.sqrt(dim)
    block, loop = (128, 64) if lesson.ON_GPU else (32, 16)
    options = {"HEAD_DIM": dim, "CAUSAL": causal, "num_warps": 8, "num_stages": 2}
    dk_dv_kernel[(tw.cdiv(length, block), heads)](
        q, k, v, d_out, dk, dv, lse, delta, scale, length, BLOCK_M=loop, BLOCK_N=block, **options
    )
    dq_kernel[(tw.cdiv(length, block), heads)](
        q, k, v, d_out, dq, lse, delta, scale, length, BLOCK_M=block, BLOCK_N=loop, **options
    )
    return dq, dk, dv


def reference(q, k, v, d_out, causal: bool):
    """out, lse, dq, dk, dv in float64."""
    q, k, v, d_out = (array.astype(np.float64) for array in (q, k, v, d_out))
    scale = 1 / math.sqrt(q.shape[-1])
    scores = q @ k.swapaxes(1, 2) * scale
    if causal:
        scores = np.where(np.tril(np.ones(scores.shape[1:], bool)), scores, -np.inf)
    largest = scores.max(axis=2, keepdims=True)
    weights = np.exp(scores - largest)
    total = weights.sum(axis=2, keepdims=True)
    weights /= total
    out = weights @ v
    d_scores = weights * (d_out @ v.swapaxes(1, 2) - (out * d_out).sum(axis=2, keepdims=True)) * scale
    lse = ((largest + np.log(total)) / math.log(2))[..., 0]
    return out, lse, d_scores @ k, d_scores.swapaxes(1, 2) @ q, weights.swapaxes(1, 2) @ d_out


def check(heads: int, length: int, dim: int, causal: bool):
    print(f"{heads} heads, length {length}, dimension {dim}{', causal' if causal else ''}")
    rng = np.random.default_rng(0)
    q, k, v, d_out = (rng.standard_normal((heads, length, dim)).astype(np.float16) for _ in range(4))
    device_q, device_k, device_v, device_d_out = map(lesson.to_device, (q, k, v, d_out))
    out, lse = forward(device_q, device_k, device_v, causal)
    gradients = backward(device_d_out, device_q, device_k, device_v, out, lse, causal)
    expected = reference(q, k, v, d_out, causal)
    for what, actual, right in zip(("out", "lse", "dq", "dk", "dv"), (out, lse, *gradients), expected):
        # Weights and gradients of scores are rounded to float16 before they are multiplied.
        lesson.check(what, actual, right, tolerance=6e-3)


def sweep():
    """Operations per second against the length, forward and backward, beside torch."""
    import torch

    lengths = [1024, 2048, 4096, 8192, 16384]
    speeds = {name: [] for name in ("forward", "torch forward", "backward", "torch backward")}
    for length in lengths:
        # 16384 positions in all, 16 heads of dimension 128; the causal mask halves the work.
        heads, dim = 16384 // length * 16, 128
        q, k, v, d_out = (torch.randn(heads, length, dim, device="cuda", dtype=torch.float16) for _ in range(4))
        operations = 4 * heads * length**2 * dim // 2
        out, lse = forward(q, k, v, True)
        leaves = [array.view(-1, 16, length, dim).detach().requires_grad_() for array in (q, k, v)]
        result = torch.nn.functional.scaled_dot_product_attention(*leaves, is_causal=True)
        gradient = d_out.view_as(result)
        measured = {
            "forward": (lambda: forward(q, k, v, True), operations),
            "torch forward": (
                lambda: torch.nn.functional.scaled_dot_product_attention(*(leaf.detach() for leaf in leaves), is_causal=True),
                operations,
            ),
            "backward": (lambda: backward(d_out, q, k, v, out, lse, True), operations * 5 // 2),
            "torch backward": (lambda: torch.autograd.grad(result, leaves, gradient, retain_graph=True), operations * 5 // 2),
        }
        for name, (function, count) in measured.items():
            speeds[name].append(lesson.tflops_per_second(function, count))
    lesson.show("causal attention", "length", lengths, speeds, unit="TFLOP/s")


if __name__ == "__main__":
    options = lesson.arguments(__doc__.splitlines()[0])
    for is_causal in (False, True):
        check(2, 64, 32, is_causal)
        check(1, 75, 16, is_causal)
    if lesson.ON_GPU:
        check(2, 1000, 128, True)
    if lesson.ON_GPU and not options.quick:
        sweep()
