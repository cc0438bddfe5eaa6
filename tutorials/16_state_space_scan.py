# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lesson 16: a state-space layer: a recurrence that is computed in parallel.

Scans with an operation of one's own, a state that travels from chunk to chunk, and
tiles that exist in registers only.

    python tutorials/16_state_space_scan.py [--quick]
"""

import lesson
import numpy as np

import tilewright as tw
import tilewright.language as tl

# A recurrence
#
#   h[t] = a[t] h[t - 1] + b[t]
#
# looks as if it had to be computed one step after the other. But a step is a function of h,
# "times a, plus b", and two of them one after the other are again one of that kind:
#
#   a2 (a1 h + b1) + b2  =  (a1 a2) h + (a2 b1 + b2)
#
# The operation that makes one pair of two is associative, so all its running results can be
# had by a scan, as running sums can: neighbours first, then pairs of pairs, and so on. A thread
# takes the elements that it holds one by one, then the threads of a warp exchange their last
# ones in five steps, then the warps.


@tw.jit
def after(a1, b1, a2, b2):
    """The step (a1, b1), and after it (a2, b2)."""
    return a1 * a2, a2 * b1 + b2


@tw.jit
def recurrence_kernel(a_ptr, b_ptr, h_ptr, length, BLOCK: tl.constexpr):
    # One program per row of rows x length. It walks along the row in chunks; what happened
    # before a chunk is in one number, the state at its beginning.
    row = tl.program_id(0).to(tl.int64) * length
    inner = tl.arange(0, BLOCK)
    state = 0.0
    # The next chunk does not need this one's state to be loaded. Loops with products load ahead by
    # themselves; others do so where `tl.range` asks for it, here for one chunk ahead.
    for start in tl.range(0, length, BLOCK, num_stages=2):
        mask = start + inner < length
        # Elements past the end are the step that changes nothing: times 1, plus 0.
        a = tl.load(a_ptr + row + start + inner, mask=mask, other=1.0)
        b = tl.load(b_ptr + row + start + inner, mask=mask, other=0.0)
        a, b = tl.associative_scan((a, b), axis=0, combine_fn=after)
        # Now (a[i], b[i]) are all the steps of the chunk up to i, to be applied to the state.
        h = a * state + b
        tl.store(h_ptr + row + start + inner, h, mask=mask)
        # The last element of a tile: a sum in which all others are zero.
        state = tl.sum(tl.where(inner == BLOCK - 1, h, 0.0), axis=0)


# A state-space layer (Mamba's) has such a recurrence for each channel c and each of STATES
# numbers n, whose coefficients come from its inputs:
#
#   h[c, n, t] = exp(dt[c, t] A[c, n]) h[c, n, t - 1] + dt[c, t] B[n, t] x[c, t]
#   y[c, t]    = sum over n of C[n, t] h[c, n, t]  +  D[c] x[c, t]
#
# Written with array operations, the coefficients and the states are arrays that are STATES =
# 16 times as large as x, each written and read again. In one kernel they never leave the
# registers: it reads x, dt, B and C, and writes y.
#
# x, dt and y are batch x channels x length here, B and C batch x STATES x length: time is what a
# warp reads side by side. A tile of STATES x BLOCK has a scan along its rows, and a sum
# across them.
LOG2_E = tl.constexpr(1.4426950408889634)

CONFIGS = [
    tw.Config({"BLOCK": 128}, num_warps=2),
    tw.Config({"BLOCK": 256}, num_warps=4),
    tw.Config({"BLOCK": 512}, num_warps=4),
    tw.Config({"BLOCK": 512}, num_warps=8),
    tw.Config({"BLOCK": 1024}, num_warps=8),
]
SMALL = [tw.Config({"BLOCK": 64}, num_warps=4)]


@tw.autotune(configs=CONFIGS if lesson.ON_GPU else SMALL, key=["channels", "length"])
@tw.jit
def selective_scan_kernel(
    x_ptr, dt_ptr, a_ptr, b_ptr, c_ptr, d_ptr, y_ptr, channels, length, STATES: tl.constexpr, BLOCK: tl.constexpr
):
    # One program per channel and sequence. Programs with neighbouring numbers are channels of
    # one sequence: the tiles of B and C, which all of them need, come from the L2 cache.
    channel = tl.program_id(0)
    batch = tl.program_id(1)
    n = tl.arange(0, STATES)
    inner = tl.arange(0, BLOCK)
    row = (batch * channels + channel).to(tl.int64) * length
    matrix = batch.to(tl.int64) * STATES * length + n[:, None] * length
    # GPUs compute 2^x in hardware: as in lesson 6, a factor that is multiplied in once.
    a = tl.load(a_ptr + channel * STATES + n) * LOG2_E
    d = tl.load(d_ptr + channel)
    state = tl.zeros((STATES,), dtype=tl.float32)
    for start in tl.range(0, length, BLOCK, num_stages=2):
        t = start + inner
        mask = t < length
        x = tl.load(x_ptr + row + t, mask=mask, other=0.0).to(tl.float32)
        # dt = 0 past the end makes steps that change nothing, exp(0) h + 0.
        dt = tl.load(dt_ptr + row + t, mask=mask, other=0.0).to(tl.float32)
        b = tl.load(b_ptr + matrix + t[None, :], mask=mask[None, :], other=0.0).to(tl.float32)
        c = tl.load(c_ptr + matrix + t[None, :], mask=mask[None, :], other=0.0).to(tl.float32)
        decay = tl.exp2(a[:, None] * dt[None, :])
        decay, h = tl.associative_scan((decay, b * (dt * x)[None, :]), axis=1, combine_fn=after)
        h += decay * state[:, None]
        y = tl.sum(h * c, axis=0) + d * x
        tl.store(y_ptr + row + t, y.to(y_ptr.dtype.element_ty), mask=mask)
        state = tl.sum(tl.where(inner[None, :] == BLOCK - 1, h, 0.0), axis=1)


def recurrence(a, b):
    """h with h[:, t] = a[:, t] h[:, t - 1] + b[:, t], for float32 matrices."""
    h = lesson.empty_like(b)
    rows, length = b.shape
    block = min(1024, max(64, tw.next_power_of_2(length))) if lesson.ON_GPU else 64
    recurrence_kernel[(rows,)](a, b, h, length, BLOCK=block)
    return h


def selective_scan(x, dt, a, b, c, d):
    batch, channels, length = x.shape
    y = lesson.empty_like(x)
    selective_scan_kernel[(channels, batch)](x, dt, a, b, c, d, y, channels, length, STATES=a.shape[1])
    return y


def check_recurrence(rows: int, length: int):
    rng = np.random.default_rng(0)
    a, b = (rng.uniform(-1, 1, (rows, length)).astype(np.float32) for _ in range(2))
    expected, h = np.empty((rows, length)), np.zeros(rows)
    for t in range(length):
        h = a[:, t] * h + b[:, t]
        expected[:, t] = h
    lesson.check(
        f"recurrence of {rows} x {length}", recurrence(lesson.to_device(a), lesson.to_device(b)), expected, tolerance=1e-5
    )


def reference(x, dt, a, b, c, d):
    x, dt, a, b, c, d = (array.astype(np.float64) for array in (x, dt, a, b, c, d))
    h, y = np.zeros((*x.shape[:2], a.shape[1])), np.empty(x.shape)
    for t in range(x.shape[2]):
        h = np.exp(dt[:, :, t, None] * a) * h + (dt * x)[:, :, t, None] * b[:, None, :, t]
        y[:, :, t] = (h * c[:, None, :, t]).sum(axis=2) + d * x[:, :, t]
    return y


def check(batch: int, channels: int, length: int, states: int):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((batch, channels, length)).astype(np.float16)
    dt = rng.uniform(0.001, 0.1, (batch, channels, length)).astype(np.float16)
    a = -rng.uniform(0.5, 16, (channels, states)).astype(np.float32)
    b, c = (rng.standard_normal((batch, states, length)).astype(np.float16) for _ in range(2))
    d = rng.standard_normal(channels).astype(np.float32)
    y = selective_scan(*(lesson.to_device(part) for part in (x, dt, a, b, c, d)))
    lesson.check(f"{batch} x {channels} x {length}, {states} states", y, reference(x, dt, a, b, c, d), tolerance=2e-3)


def sweep():
    """Bandwidth of x, dt and y against the length, beside torch, step by step."""
    import torch

    batch, channels, states = 8, 2048, 16
    lengths = [256, 512, 1024, 2048, 4096]
    speeds = {"Tilewright": [], "torch, step by step": []}
    for length in lengths:
        x = torch.randn(batch, channels, length, device="cuda", dtype=torch.float16)
        dt = torch.rand(batch, channels, length, device="cuda", dtype=torch.float16) / 10
        a, d = -torch.rand(channels, states, device="cuda") * 16, torch.randn(channels, device="cuda")
        b, c = (torch.randn(batch, states, length, device="cuda", dtype=torch.float16) for _ in range(2))

        def step_by_step():
            h = torch.zeros(batch, channels, states, device="cuda")
            y = torch.empty_like(x)
            for t in range(length):
                h = torch.exp(dt[:, :, t, None] * a) * h + (dt[:, :, t] * x[:, :, t])[:, :, None] * b[:, None, :, t]
                y[:, :, t] = (h * c[:, None, :, t]).sum(dim=2) + d * x[:, :, t]
            return y

        speeds["Tilewright"].append(lesson.gigabytes_per_second(lambda: selective_scan(x, dt, a, b, c, d), 3 * x.nbytes))
        speeds["torch, step by step"].append(lesson.gigabytes_per_second(step_by_step, 3 * x.nbytes))
    lesson.show("state-space scan", "length", lengths, speeds)


# What to try: two channels in a program, tiles of 2 x STATES x BLOCK, read B and C half as often. A
# few long sequences do not fill a GPU: then chunks are programs, which leave their (a, b) for a
# scan over chunks, and a second kernel applies what came before (as in lesson 5, two kernels).
# `reverse=True` scans from the end, which is what the gradient needs.

if __name__ == "__main__":
    options = lesson.arguments(__doc__.splitlines()[0])
    check_recurrence(3, 150)
    check(2, 3, 150, 4)
    check(1, 2, 64, 16)
    if lesson.ON_GPU:
        check(2, 64, 3000, 16)
    if lesson.ON_GPU and not options.quick:
        sweep()
