# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels as models use them, beside those of kernels.py; once for every compiler.

Nothing in the compiler was fitted to these. Matrices have contiguous rows.
Loaded as `kernels.py` is: `tw` and `tl` come from outside.
"""

# Put into the module before it runs.
tw = tw  # noqa: F821
tl = tl  # noqa: F821


@tw.jit
def rms_norm_kernel(x_ptr, residual_ptr, weight_ptr, sum_ptr, out_ptr, columns, eps, BLOCK: tl.constexpr):
    # x is added to the residual stream, which is then normalised.
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    start = tl.program_id(0).to(tl.int64) * columns
    x = tl.load(x_ptr + start + offsets, mask=mask, other=0.0).to(tl.float32)
    x += tl.load(residual_ptr + start + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(sum_ptr + start + offsets, x.to(sum_ptr.dtype.element_ty), mask=mask)
    scale = tl.rsqrt(tl.sum(x * x, axis=0) / columns + eps)
    weight = tl.load(weight_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + start + offsets, (x * scale * weight).to(out_ptr.dtype.element_ty), mask=mask)


@tw.jit
def swiglu_kernel(gate_ptr, up_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    gate = tl.load(gate_ptr + offsets, mask=mask).to(tl.float32)
    up = tl.load(up_ptr + offsets, mask=mask).to(tl.float32)
    tl.store(out_ptr + offsets, (gate * tl.sigmoid(gate) * up).to(out_ptr.dtype.element_ty), mask=mask)


@tw.jit
def gelu_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask).to(tl.float32)
    inner = 0.7978845608028654 * (x + 0.044715 * x * x * x)
    out = 0.5 * x * (1.0 + 2.0 * tl.sigmoid(2.0 * inner) - 1.0)
    tl.store(out_ptr + offsets, out.to(out_ptr.dtype.element_ty), mask=mask)


@tw.jit
def cross_entropy_kernel(logits_ptr, target_ptr, loss_ptr, columns, BLOCK: tl.constexpr):
    # Largest and sum of exponentials in one walk over the row.
    row = tl.program_id(0).to(tl.int64)
    largest = tl.full((BLOCK,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        x = tl.load(logits_ptr + row * columns + offsets, mask=offsets < columns, other=-1e30).to(tl.float32)
        now = tl.maximum(largest, x)
        total = total * tl.exp(largest - now) + tl.exp(x - now)
        largest = now
    top = tl.max(largest, axis=0)
    total_of_row = tl.sum(total * tl.exp(largest - top), axis=0)
    target = tl.load(target_ptr + row)
    wanted = tl.load(logits_ptr + row * columns + target).to(tl.float32)
    tl.store(loss_ptr + row, tl.log(total_of_row) + top - wanted)


@tw.jit
def rope_kernel(x_ptr, cos_ptr, sin_ptr, out_ptr, length, HEADS: tl.constexpr, HALF: tl.constexpr):
    # x: (tokens, HEADS, 2 HALF); one program turns all heads of a token.
    token = tl.program_id(0).to(tl.int64)
    d = tl.arange(0, HALF)
    place = token % length * HALF + d
    cos = tl.load(cos_ptr + place)[None, :]
    sin = tl.load(sin_ptr + place)[None, :]
    offsets = token * HEADS * 2 * HALF + tl.arange(0, HEADS)[:, None] * (2 * HALF) + d[None, :]
    left = tl.load(x_ptr + offsets).to(tl.float32)
    right = tl.load(x_ptr + offsets + HALF).to(tl.float32)
    tl.store(out_ptr + offsets, (left * cos - right * sin).to(out_ptr.dtype.element_ty))
    tl.store(out_ptr + offsets + HALF, (right * cos + left * sin).to(out_ptr.dtype.element_ty))


@tw.jit
def quantise_kernel(x_ptr, out_ptr, scale_ptr, columns, BLOCK: tl.constexpr):
    # One scale per row, for float8.
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    row = tl.program_id(0).to(tl.int64)
    x = tl.load(x_ptr + row * columns + offsets, mask=mask, other=0.0).to(tl.float32)
    scale = tl.maximum(tl.max(tl.abs(x), axis=0), 1e-12) / 448.0
    tl.store(out_ptr + row * columns + offsets, (x / scale).to(out_ptr.dtype.element_ty), mask=mask)
    tl.store(scale_ptr + row, scale)


@tw.jit
def dequantise_kernel(x_ptr, scale_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    # Two signed 4-bit numbers per byte, low one first; a scale per 128 of a row.
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    packed = tl.load(x_ptr + row * (columns // 2) + offsets, mask=offsets < columns // 2, other=0)
    low = ((packed << 4).to(tl.int8) >> 4).to(tl.float32)
    high = (packed >> 4).to(tl.float32)
    scale = tl.load(scale_ptr + row * (columns // 128) + offsets // 64, mask=offsets < columns // 2, other=0.0)
    out = tl.interleave(low * scale, high * scale).to(out_ptr.dtype.element_ty)
    places = tl.program_id(1) * (2 * BLOCK) + tl.arange(0, 2 * BLOCK)
    tl.store(out_ptr + row * columns + places, out, mask=places < columns)


@tw.jit
def dropout_kernel(x_ptr, out_ptr, n, p, seed, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    keep = tl.rand(seed, offsets) > p
    tl.store(out_ptr + offsets, tl.where(keep, x / (1 - p), 0.0), mask=mask)


@tw.jit
def embedding_kernel(index_ptr, table_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    row = tl.load(index_ptr + token)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    tl.store(out_ptr + token * columns + offsets, tl.load(table_ptr + row * columns + offsets, mask=mask), mask=mask)


@tw.jit
def column_sum_kernel(x_ptr, out_ptr, rows, columns, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    # The gradient of a bias: a block of rows is added up and given to the whole.
    n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    first = tl.program_id(1) * (16 * BLOCK_M)
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for k in range(16):
        m = first + k * BLOCK_M + tl.arange(0, BLOCK_M)
        inside = (m[:, None] < rows) & (n[None, :] < columns)
        total += tl.load(x_ptr + m[:, None].to(tl.int64) * columns + n[None, :], mask=inside, other=0.0).to(tl.float32)
    tl.atomic_add(out_ptr + n, tl.sum(total, axis=0), mask=n < columns)


@tw.jit
def cumulative_sum_kernel(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    start = tl.program_id(0).to(tl.int64) * columns
    x = tl.load(x_ptr + start + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + start + offsets, tl.cumsum(x, axis=0), mask=mask)


@tw.jit
def row_times_matrix_kernel(x_ptr, weight_ptr, out_ptr, rows, columns, BLOCK_M: tl.constexpr, BLOCK_K: tl.constexpr):
    # One token through a layer: out = W x, all of W is read once.
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    total = tl.zeros((BLOCK_M, BLOCK_K), tl.float32)
    for k in range(0, columns, BLOCK_K):
        offsets = k + tl.arange(0, BLOCK_K)
        x = tl.load(x_ptr + offsets, mask=offsets < columns, other=0.0).to(tl.float32)
        inside = (m[:, None] < rows) & (offsets[None, :] < columns)
        weight = tl.load(weight_ptr + m[:, None] * columns + offsets[None, :], mask=inside, other=0.0)
        total += weight.to(tl.float32) * x[None, :]
    tl.store(out_ptr + m, tl.sum(total, axis=1).to(out_ptr.dtype.element_ty), mask=m < rows)


@tw.jit
def layer_norm_backward_kernel(dy_ptr, x_ptr, weight_ptr, mean_ptr, rstd_ptr, dx_ptr, columns, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    row = tl.program_id(0).to(tl.int64)
    x = tl.load(x_ptr + row * columns + offsets, mask=mask, other=0.0).to(tl.float32)
    dy = tl.load(dy_ptr + row * columns + offsets, mask=mask, other=0.0).to(tl.float32)
    weight = tl.load(weight_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    rstd = tl.load(rstd_ptr + row)
    normal = tl.where(mask, (x - tl.load(mean_ptr + row)) * rstd, 0.0)
    scaled = tl.where(mask, weight * dy, 0.0)
    along = tl.sum(normal * scaled, axis=0) / columns
    level = tl.sum(scaled, axis=0) / columns
    dx = (scaled - (normal * along + level)) * rstd
    tl.store(dx_ptr + row * columns + offsets, dx.to(dx_ptr.dtype.element_ty), mask=mask)


@tw.jit
def causal_conv_kernel(x_ptr, weight_ptr, out_ptr, length, channels, BLOCK_T: tl.constexpr, BLOCK_C: tl.constexpr):
    # Depthwise, four taps, as in front of a state-space layer. x: (batch, length, channels).
    t = tl.program_id(0) * BLOCK_T + tl.arange(0, BLOCK_T)
    c = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    base = tl.program_id(2).to(tl.int64) * length * channels
    total = tl.zeros((BLOCK_T, BLOCK_C), tl.float32)
    for tap in tl.static_range(4):
        at = t - 3 + tap
        inside = (at[:, None] >= 0) & (at[:, None] < length) & (c[None, :] < channels)
        x = tl.load(x_ptr + base + at[:, None] * channels + c[None, :], mask=inside, other=0.0).to(tl.float32)
        total += x * tl.load(weight_ptr + tap * channels + c, mask=c < channels, other=0.0).to(tl.float32)[None, :]
    inside = (t[:, None] < length) & (c[None, :] < channels)
    total = total * tl.sigmoid(total)
    tl.store(out_ptr + base + t[:, None] * channels + c[None, :], total.to(out_ptr.dtype.element_ty), mask=inside)


@tw.jit
def adam_kernel(
    param_ptr,
    grad_ptr,
    mean_ptr,
    square_ptr,
    new_mean_ptr,
    new_square_ptr,
    out_ptr,
    n,
    rate,
    beta1,
    beta2,
    eps,
    BLOCK: tl.constexpr,
):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    param = tl.load(param_ptr + offsets, mask=mask)
    grad = tl.load(grad_ptr + offsets, mask=mask).to(tl.float32)
    mean = beta1 * tl.load(mean_ptr + offsets, mask=mask) + (1 - beta1) * grad
    square = beta2 * tl.load(square_ptr + offsets, mask=mask) + (1 - beta2) * grad * grad
    tl.store(out_ptr + offsets, param - rate * mean / (tl.sqrt(square) + eps), mask=mask)
    tl.store(new_mean_ptr + offsets, mean, mask=mask)
    tl.store(new_square_ptr + offsets, square, mask=mask)


@tw.jit
def persistent_softmax_kernel(x_ptr, out_ptr, rows, columns, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=STAGES):
        start = row.to(tl.int64) * columns
        x = tl.load(x_ptr + start + offsets, mask=mask, other=-float("inf")).to(tl.float32)
        numerator = tl.exp(x - tl.max(x, axis=0))
        tl.store(out_ptr + start + offsets, numerator / tl.sum(numerator, axis=0), mask=mask)
