# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lesson 5: layer normalisation, forward and backward.

Programs that share their results: partial sums that many programs add to, each
under a lock, and a second kernel that adds the partial sums up.

    python tutorials/05_layer_norm.py [--quick]
"""

import lesson
import numpy as np

import tilewright as tw
import tilewright.language as tl

# Forward, for each row x of n elements:
#
#   xhat = (x - mean(x)) * rstd,   rstd = 1 / sqrt(var(x) + eps)
#   y    = xhat * weight + bias


@tw.jit
def forward_kernel(x_ptr, weight_ptr, bias_ptr, y_ptr, mean_ptr, rstd_ptr, stride, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    x = tl.load(x_ptr + row * stride + offsets, mask=mask, other=0.0).to(tl.float32)

    mean = tl.sum(x, axis=0) / columns
    # Elements past the row's end would add mean**2 to the variance.
    centred = tl.where(mask, x - mean, 0.0)
    variance = tl.sum(centred * centred, axis=0) / columns
    rstd = 1.0 / tl.sqrt(variance + eps)

    # The backward pass needs both again.
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)

    weight = tl.load(weight_ptr + offsets, mask=mask).to(tl.float32)
    bias = tl.load(bias_ptr + offsets, mask=mask).to(tl.float32)
    tl.store(y_ptr + row * stride + offsets, centred * rstd * weight + bias, mask=mask)


# Backward, from dy: with g = dy * weight,
#
#   dx      = (g - mean(g) - xhat * mean(g * xhat)) * rstd     one value per element
#   dweight = sum over rows of dy * xhat                       one value per column
#   dbias   = sum over rows of dy
#
# dx is a row's own business, but dweight and dbias need every row. Thousands of
# programs adding to one row of memory would wait for each other, so there are
# GROUPS rows of partial sums; program i adds to row i % GROUPS, alone, because it
# holds that row's lock.


@tw.jit
def backward_rows_kernel(
    dy_ptr,
    x_ptr,
    weight_ptr,
    mean_ptr,
    rstd_ptr,
    dx_ptr,
    partial_dw_ptr,
    partial_db_ptr,
    lock_ptr,
    stride,
    columns,
    GROUPS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    x = tl.load(x_ptr + row * stride + offsets, mask=mask, other=0.0).to(tl.float32)
    dy = tl.load(dy_ptr + row * stride + offsets, mask=mask, other=0.0).to(tl.float32)
    weight = tl.load(weight_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    mean = tl.load(mean_ptr + row)
    rstd = tl.load(rstd_ptr + row)

    xhat = tl.where(mask, (x - mean) * rstd, 0.0)
    g = dy * weight
    mean_g = tl.sum(g, axis=0) / columns
    mean_g_xhat = tl.sum(g * xhat, axis=0) / columns
    tl.store(dx_ptr + row * stride + offsets, (g - mean_g - xhat * mean_g_xhat) * rstd, mask=mask)

    group = row % GROUPS
    dw_ptrs = partial_dw_ptr + group * columns + offsets
    db_ptrs = partial_db_ptr + group * columns + offsets
    # Whoever turns the 0 into a 1 has the lock; everybody else tries again.
    while tl.atomic_cas(lock_ptr + group, 0, 1) == 1:
        pass
    tl.store(dw_ptrs, tl.load(dw_ptrs, mask=mask) + dy * xhat, mask=mask)
    tl.store(db_ptrs, tl.load(db_ptrs, mask=mask) + dy, mask=mask)
    # All threads of this program must have stored before one of them unlocks.
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr + group, 0)


@tw.jit
def backward_columns_kernel(
    partial_dw_ptr, partial_db_ptr, dw_ptr, db_ptr, groups, columns, BLOCK_ROWS: tl.constexpr, BLOCK_COLUMNS: tl.constexpr
):
    cols = tl.program_id(0) * BLOCK_COLUMNS + tl.arange(0, BLOCK_COLUMNS)
    dw = tl.zeros((BLOCK_ROWS, BLOCK_COLUMNS), dtype=tl.float32)
    db = tl.zeros((BLOCK_ROWS, BLOCK_COLUMNS), dtype=tl.float32)
    # Sums BLOCK_ROWS rows at a time, and across them only once, at the end.
    for start in range(0, groups, BLOCK_ROWS):
        rows = start + tl.arange(0, BLOCK_ROWS)
        mask = (rows[:, None] < groups) & (cols[None, :] < columns)
        offsets = rows[:, None] * columns + cols[None, :]
        dw += tl.load(partial_dw_ptr + offsets, mask=mask, other=0.0)
        db += tl.load(partial_db_ptr + offsets, mask=mask, other=0.0)
    tl.store(dw_ptr + cols, tl.sum(dw, axis=0), mask=cols < columns)
    tl.store(db_ptr + cols, tl.sum(db, axis=0), mask=cols < columns)


def forward(x, weight, bias, eps=1e-5):
    rows, columns = x.shape
    y = lesson.empty_like(x)
    mean, rstd = lesson.zeros(rows, "float32"), lesson.zeros(rows, "float32")
    block = tw.next_power_of_2(columns)
    forward_kernel[(rows,)](x, weight, bias, y, mean, rstd, columns, columns, eps, BLOCK=block)
    return y, mean, rstd


def backward(dy, x, weight, mean, rstd, groups=64):
    rows, columns = x.shape
    groups = min(groups, rows)
    dx, dw, db = lesson.empty_like(x), lesson.empty_like(weight), lesson.empty_like(weight)
    partial_dw, partial_db = lesson.zeros((groups, columns), "float32"), lesson.zeros((groups, columns), "float32")
    locks = lesson.zeros(groups, "int32")
    backward_rows_kernel[(rows,)](
        dy,
        x,
        weight,
        mean,
        rstd,
        dx,
        partial_dw,
        partial_db,
        locks,
        columns,
        columns,
        GROUPS=groups,
        BLOCK=tw.next_power_of_2(columns),
    )
    backward_columns_kernel[(tw.cdiv(columns, 128),)](
        partial_dw, partial_db, dw, db, groups, columns, BLOCK_ROWS=32, BLOCK_COLUMNS=128
    )
    return dx, dw, db


def reference(x, weight, bias, dy, eps=1e-5):
    """Both directions in float64."""
    x, weight, bias, dy = (a.astype(np.float64) for a in (x, weight, bias, dy))
    rstd = 1 / np.sqrt(x.var(axis=1, keepdims=True) + eps)
    xhat = (x - x.mean(axis=1, keepdims=True)) * rstd
    g = dy * weight
    dx = (g - g.mean(axis=1, keepdims=True) - xhat * (g * xhat).mean(axis=1, keepdims=True)) * rstd
    return xhat * weight + bias, dx, (dy * xhat).sum(axis=0), dy.sum(axis=0)


def check(rows: int, columns: int, dtype: str, tolerance: float):
    rng = np.random.default_rng(0)
    x = (rng.standard_normal((rows, columns)) * 2 + 1).astype(dtype)
    dy = (rng.standard_normal((rows, columns)) / 10).astype(dtype)
    weight, bias = rng.random(columns).astype(dtype), rng.random(columns).astype(dtype)
    print(f"{rows} x {columns} {dtype}")
    device_x, device_dy, device_weight, device_bias = map(lesson.to_device, (x, dy, weight, bias))
    y, mean, rstd = forward(device_x, device_weight, device_bias)
    dx, dw, db = backward(device_dy, device_x, device_weight, mean, rstd)
    expected = reference(x, weight, bias, dy)
    for what, actual, right in zip(("y", "dx", "dweight", "dbias"), (y, dx, dw, db), expected):
        lesson.check(what, actual, right, tolerance)


def sweep():
    """Bandwidth against the row length, beside torch: forward reads x and writes y."""
    import torch

    columns = [2**i for i in range(10, 16)]
    ours, theirs = [], []
    for n in columns:
        x = torch.randn(2**26 // n, n, device="cuda", dtype=torch.float16)
        weight, bias = torch.rand(n, device="cuda").half(), torch.rand(n, device="cuda").half()
        ours.append(lesson.gigabytes_per_second(lambda: forward(x, weight, bias), 2 * x.nbytes))
        theirs.append(lesson.gigabytes_per_second(lambda: torch.nn.functional.layer_norm(x, (n,), weight, bias), 2 * x.nbytes))
    lesson.show("layer norm forward", "columns", columns, {"Tilewright": ours, "torch": theirs})


if __name__ == "__main__":
    options = lesson.arguments(__doc__.splitlines()[0])
    check(151, 513, "float32", tolerance=1e-4)
    check(64, 1024, "float16", tolerance=1e-2)
    if lesson.ON_GPU and not options.quick:
        sweep()
