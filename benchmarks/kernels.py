# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels that are measured, once for every compiler.

The benchmarks load this file several times: `tw` and `tl` are Tilewright and its
language in one copy, Triton and its language in another (`peers.load_kernels`).
So both compile the same text.
"""

# Put into the module before it runs.
tw = tw  # noqa: F821
tl = tl  # noqa: F821


@tw.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


@tw.jit
def softmax_kernel(x_ptr, out_ptr, stride, columns, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    start = tl.program_id(0).to(tl.int64) * stride
    x = tl.load(x_ptr + start + offsets, mask=mask, other=-float("inf")).to(tl.float32)
    numerator = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + start + offsets, numerator / tl.sum(numerator, axis=0), mask=mask)


@tw.jit
def layer_norm_kernel(x_ptr, weight_ptr, bias_ptr, out_ptr, stride, columns, eps, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    start = tl.program_id(0).to(tl.int64) * stride
    x = tl.load(x_ptr + start + offsets, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / columns
    centred = tl.where(mask, x - mean, 0.0)
    rstd = 1.0 / tl.sqrt(tl.sum(centred * centred, axis=0) / columns + eps)
    weight = tl.load(weight_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    bias = tl.load(bias_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + start + offsets, centred * rstd * weight + bias, mask=mask)


@tw.jit
def partial_sum_kernel(x_ptr, partial_ptr, n, BLOCK: tl.constexpr):
    # A fixed number of programs walks over the array, each keeping a tile of sums.
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    step = tl.num_programs(0) * BLOCK
    for start in range(tl.program_id(0) * BLOCK, n, step):
        offsets = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    tl.store(partial_ptr + tl.program_id(0), tl.sum(total, axis=0))


@tw.jit
def final_sum_kernel(partial_ptr, out_ptr, count, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr, tl.sum(tl.load(partial_ptr + offsets, mask=offsets < count, other=0.0), axis=0))


@tw.jit
def transpose_kernel(x_ptr, out_ptr, rows, columns, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inside = (m[:, None] < rows) & (n[None, :] < columns)
    tile = tl.load(x_ptr + m[:, None] * columns + n[None, :], mask=inside)
    tl.store(out_ptr + n[:, None] * rows + m[None, :], tl.trans(tile), mask=tl.trans(inside))


# For the cost of a launch alone.
@tw.jit
def many_arguments_kernel(a_ptr, b_ptr, c_ptr, d_ptr, i, j, k, u, v, w, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < i + j + k
    tl.store(d_ptr + offsets, tl.load(a_ptr + offsets, mask=mask) + u + v + w, mask=mask)


# The same with the mixture of tritonbench's launch_latency: 5 tensors, 9 integers, 5 constants.
@tw.jit
def nineteen_arguments_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    d_ptr,
    e_ptr,
    i,
    j,
    k,
    l,
    m,
    n,
    o,
    p,
    q,
    BLOCK: tl.constexpr,
    C: tl.constexpr,
    D: tl.constexpr,
    E: tl.constexpr,
    F: tl.constexpr,
):
    offsets = tl.arange(0, BLOCK)
    total = i + j + k + l + m + n + o + p + q + C + D + E + F
    tl.store(e_ptr + offsets, tl.load(a_ptr + offsets) + total)


@tw.jit
def descriptors_kernel(a, b, c, BLOCK: tl.constexpr):
    c.store([0, 0], a.load([0, 0]) + b.load([0, 0]))
