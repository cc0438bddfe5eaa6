# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops that hand a state on: what an iteration needs is loaded during those before, and no earlier than it may."""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.assemble import assemble_for
from harness.compare import assert_same
from harness.element_types import exact_values

EMULATED = True

COUNT = 64
STAGES = [1, 2, 3, 4]
TRIPS = [0, 1, 2, 3, 6]


def sequence(trips, seed=0, name="float32"):
    return exact_values(name, (trips + 1, COUNT), seed=seed) % 4


@tilewright.jit
def delta_kernel(key_ptr, value_ptr, beta_ptr, init_ptr, out_ptr, state_ptr, trips, N: tl.constexpr, REVERSE: tl.constexpr):
    index = tl.arange(0, N)
    first = (trips - 1) * N if REVERSE else 0
    step: tl.constexpr = -N if REVERSE else N
    key_at, value_at, beta_at = key_ptr + first + index, value_ptr + first + index, beta_ptr + first
    out_at = out_ptr + first + index
    state = tl.load(init_ptr + index[:, None] * N + index[None, :])
    for _ in range(trips):
        key, value = tl.load(key_at), tl.load(value_at)
        beta = tl.load(beta_at)
        value = (value - tl.sum(state * key[None, :], 1)) * beta
        state += value[:, None] * key[None, :]
        tl.store(out_at, tl.sum(state, 1))
        key_at += step
        value_at += step
        beta_at += step
        out_at += step
    tl.store(state_ptr + index[:, None] * N + index[None, :], state)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("trips", TRIPS)
@pytest.mark.parametrize("stages", STAGES)
def test_delta_rule(device, stages, trips, reverse):
    size = 16
    key, value, beta = (sequence(trips, seed)[:, :size].copy() % 2 for seed in range(3))
    init = exact_values("float32", (size, size), seed=3) % 2
    out, after = device.array(np.zeros((trips + 1, size), np.float32)), device.empty((size, size), np.float32)
    arrays = [device.array(x) for x in (key, value, beta, init)]
    device.run(delta_kernel, (1,), *arrays, out, after, trips, N=size, REVERSE=reverse, num_stages=stages)
    state, expected = init.copy(), np.zeros((trips + 1, size), np.float32)
    for trip in range(trips)[:: -1 if reverse else 1]:
        new = (value[trip] - (state * key[trip]).sum(1)) * beta[trip, 0]
        state = state + np.outer(new, key[trip])
        expected[trip] = state.sum(1)
    assert_same(device.numpy(after), state, signed_zeros=False)
    assert_same(device.numpy(out), expected, signed_zeros=False)


@tilewright.jit
def running_kernel(from_ptr, to_ptr, trips, N: tl.constexpr, SHIFT: tl.constexpr):
    index = tl.arange(0, N)
    state = tl.zeros((N,), tl.float32)
    for trip in range(trips):
        state = state + tl.load(from_ptr + trip * N + index)
        tl.store(to_ptr + (trip + SHIFT) * N + index, state)


@pytest.mark.parametrize("shift", [0, 1, 2])
@pytest.mark.parametrize("is_same", [False, True])
@pytest.mark.parametrize("stages", STAGES)
def test_what_one_iteration_stores_and_a_later_one_loads(device, stages, is_same, shift):
    """Through two arguments, which may be one array: then the loads must not be early."""
    trips = 5
    source = exact_values("float32", (trips + 2, COUNT)) % 4
    first = device.array(source)
    second = first if is_same else device.array(np.zeros_like(source))
    device.run(running_kernel, (1,), first, second, trips, N=COUNT, SHIFT=shift, num_stages=stages)
    read = source.copy()
    written = read if is_same else np.zeros_like(source)
    state = np.zeros(COUNT, np.float32)
    for trip in range(trips):
        state = state + read[trip]
        written[trip + shift] = state
    assert_same(device.numpy(second), written)


@tilewright.jit
def chosen_kernel(in_ptr, pick_ptr, out_ptr, trips, n, N: tl.constexpr):
    index = tl.arange(0, N)
    state = tl.zeros((N,), tl.float32)
    last = tl.zeros((N,), tl.float32)
    for trip in range(trips):
        row = tl.load(pick_ptr + trip)
        x = tl.load(in_ptr + row * n + index, mask=(index < n) & (row >= 0), other=3.0)
        if row % 2 == 0:
            state = state + x
        else:
            state = tl.maximum(state, x)
            tl.store(out_ptr + 2 * N + index, state)
        tl.store(out_ptr + index, state)
        last = x
    tl.store(out_ptr + N + index, last)


@pytest.mark.parametrize("trips", TRIPS)
@pytest.mark.parametrize("stages", STAGES)
def test_rows_that_are_looked_up_and_branches(device, stages, trips):
    rows, count = 7, 50
    x = exact_values("float32", (rows, count)) % 4
    pick = np.array([3, 0, -1, 6, 6, 1, 2], np.int32)
    out = device.array(np.full((3, COUNT), -1, np.float32))
    device.run(chosen_kernel, (1,), device.array(x), device.array(pick), out, trips, count, N=COUNT, num_stages=stages)
    expected = np.full((3, COUNT), -1, np.float32)
    state, last = np.zeros(COUNT, np.float32), np.zeros(COUNT, np.float32)
    for row in pick[:trips]:
        last = np.full(COUNT, 3, np.float32)
        if row >= 0:
            last[:count] = x[row]
        # C's remainder: that of -1 is odd, too.
        if row % 2 == 0:
            state = state + last
        else:
            state = np.maximum(state, last)
            expected[2] = state
        expected[0] = state
    expected[1] = last
    assert_same(device.numpy(out), expected)


@tilewright.jit
def constant_trips_kernel(in_ptr, out_ptr, N: tl.constexpr, TRIPS: tl.constexpr):
    index = tl.arange(0, N)
    state = tl.zeros((N,), tl.float32)
    for trip in range(TRIPS):
        state = state * 2 + tl.load(in_ptr + trip * N + index)
        tl.store(out_ptr + trip * N + index, state)


@pytest.mark.parametrize("trips", [1, 2, 3])
def test_fewer_iterations_than_stages(device, trips):
    x = sequence(trips)
    out = device.array(np.zeros((trips, COUNT), np.float32))
    device.run(constant_trips_kernel, (1,), device.array(x), out, N=COUNT, TRIPS=trips, num_stages=4)
    state, expected = np.zeros(COUNT, np.float32), []
    for trip in range(trips):
        state = state * 2 + x[trip]
        expected.append(state)
    assert_same(device.numpy(out), np.stack(expected))


@tilewright.jit
def gated_kernel(gate_ptr, in_ptr, out_ptr, trips, rows, columns, SHIFT: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    row, column = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    mask, place = (row < rows) & (column < columns), row * N + column
    state = tl.zeros((M, N), tl.float32)
    for trip in range(trips):
        gate = tl.load(gate_ptr + trip * M * N + place, mask, other=2)
        x = tl.load(in_ptr + trip * M * N + place, mask, other=1)
        state = tl.where(gate > 2, x, state + gate)
        tl.store(out_ptr + (trip + SHIFT) * M * N + place, state)


@pytest.mark.parametrize("shift, is_same", [(0, False), (0, True), (1, True)])
@pytest.mark.parametrize("columns", [64, 51])
@pytest.mark.parametrize("trips", [0, 1, 2, 5])
@pytest.mark.parametrize("stages", [1, 2, 4])
def test_states_as_large_as_tiles(device, stages, trips, columns, shift, is_same):
    """Whose loads are copied ahead, but where an iteration may load what the last one stored."""
    shape, rows = (16, 64), 13
    gate = exact_values("float32", (trips + 1, *shape)) % 4
    x = exact_values("float32", (trips + 1, *shape), seed=1) % 4
    first = device.array(x)
    out = first if is_same else device.array(np.zeros_like(x))
    arguments = (device.array(gate), first, out, trips, rows, columns)
    device.run(gated_kernel, (1,), *arguments, SHIFT=shift, M=16, N=64, num_warps=1, num_stages=stages)
    expected = x if is_same else np.zeros_like(x)
    state, mask = np.zeros(shape, np.float32), np.zeros(shape, bool)
    mask[:rows, :columns] = True
    for trip in range(trips):
        now = np.where(mask, gate[trip], 2)
        state = np.where(now > 2, np.where(mask, x[trip], 1), state + now)
        expected[trip + shift] = state
    assert_same(device.numpy(out), expected)


@tilewright.jit
def half_kernel(gate_ptr, in_ptr, out_ptr, trips, N: tl.constexpr, TOGETHER: tl.constexpr):
    index = tl.arange(0, N)
    state, total = tl.zeros((N,), tl.float32), 0.0
    for trip in range(trips):
        gate = tl.load(gate_ptr + trip * N + index)
        x = tl.load(in_ptr + (trip * N + index) * 2)
        state = state * gate.to(tl.float32) + x.to(tl.float32)
        if TOGETHER:
            total = total * 0.5 + tl.max(x.to(tl.float32), 0)
        tl.store(out_ptr + trip * N + index, state + total)


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("trips", [0, 1, 2, 3, 11])
@pytest.mark.parametrize("name", ["float16", "bfloat16", "int16", "int8"])
def test_small_elements_that_are_loaded_alone(device, name, trips, together):
    """They are loaded several iterations ahead."""
    gate = exact_values(name, (trips + 1, 256)) % 2
    x = exact_values(name, (trips + 1, 512), seed=1) % 4
    out = device.array(np.zeros((trips + 1, 256), np.float32))
    device.run(half_kernel, (1,), device.array(gate), device.array(x), out, trips, N=256, TOGETHER=together)
    state, total, expected = np.zeros(256, np.float32), np.float32(0), np.zeros((trips + 1, 256), np.float32)
    for trip in range(trips):
        state = state * gate[trip].astype(np.float32) + x[trip, ::2].astype(np.float32)
        if together:
            total = total * np.float32(0.5) + x[trip, ::2].astype(np.float32).max()
        expected[trip] = state + total
    assert_same(device.numpy(out), expected, signed_zeros=False)


@tilewright.jit
def gradient_kernel(x_ptr, dy_ptr, scale_ptr, dx_ptr, dw_ptr, rows, N: tl.constexpr, STAGES: tl.constexpr):
    # As the gradient of a norm: a sum over rows is carried, and a number per row is loaded beside two rows.
    index = tl.arange(0, N)
    dw = tl.zeros((N,), tl.float32)
    for row in tl.range(rows, num_stages=STAGES):
        x, dy = tl.load(x_ptr + row * N + index), tl.load(dy_ptr + row * N + index)
        scale = tl.load(scale_ptr + row)
        dw += x * dy * scale
        tl.store(dx_ptr + row * N + index, dy * scale + tl.sum(x * dy, 0))
    tl.store(dw_ptr + index, dw)


@pytest.mark.parametrize("warps", [4, 16])
@pytest.mark.parametrize("stages", [None, 2, 5])
@pytest.mark.parametrize("n", [512, 2048, 8192, 16384, 32768])
def test_rows_of_any_size(n, stages, warps):
    """Whether copies, registers or neither have room for them, the loop compiles."""
    row = np.zeros(n, np.float32)
    arrays = [row.copy() for _ in range(4)]
    made = assemble_for(gradient_kernel, "sm_90a", [*arrays[:2], row[:1], *arrays[2:], 7, n, stages], {"num_warps": warps})
    copies = made.asm["ptx"].count("cp.async.cg")
    if stages is None:
        # Two rows of at most 32 KB are copied ahead, but for what fits into four registers.
        assert (copies > 0) == (n // warps // 32 > 1 and n <= 4096)
    assert made.metadata.shared <= 227 * 1024


@pytest.mark.parametrize("n", [128, 1024])
@pytest.mark.parametrize("rows", [0, 1, 2, 5])
def test_sum_over_rows(device, rows, n):
    x, dy = (exact_values("float32", (rows + 1, n), seed=seed) % 4 for seed in range(2))
    scale = exact_values("float32", rows + 1, seed=2) % 2
    dx, dw = device.array(np.zeros((rows + 1, n), np.float32)), device.array(np.zeros(n, np.float32))
    arrays = [device.array(each) for each in (x, dy, scale)]
    device.run(gradient_kernel, (1,), *arrays, dx, dw, rows, N=n, STAGES=None, num_warps=1)
    expected = np.zeros((rows + 1, n), np.float32)
    expected[:rows] = dy[:rows] * scale[:rows, None] + (x[:rows] * dy[:rows]).sum(1, keepdims=True)
    assert_same(device.numpy(dx), expected, signed_zeros=False)
    assert_same(device.numpy(dw), (x[:rows] * dy[:rows] * scale[:rows, None]).sum(0), signed_zeros=False)
