# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The counter of a `for` after its loop has the value that Python gives it."""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.compare import assert_same

EMULATED = True


@tilewright.jit
def counter_kernel(out_ptr, start, stop, STEP: tl.constexpr):
    i = -7
    for i in range(start, stop, STEP):
        tl.store(out_ptr + 1, i)
    tl.store(out_ptr, i)


@pytest.mark.parametrize("step", [1, 3, -1, -4])
@pytest.mark.parametrize("start, stop", [(0, 10), (10, 0), (5, 5), (-3, 4), (4, -3)])
def test_counter_keeps_its_last_value(device, start, stop, step):
    out = device.array(np.full(2, 99, np.int32))
    device.run(counter_kernel, (1,), out, start, stop, STEP=step)
    values = list(range(start, stop, step))
    assert device.numpy(out)[0] == (values[-1] if values else -7)


@tilewright.jit
def new_name_kernel(out_ptr, n):
    for k in range(0, n, 4):
        tl.store(out_ptr + 1, k)
    tl.store(out_ptr, k)


def test_counter_that_was_no_name_before(device):
    out = device.array(np.zeros(2, np.int32))
    device.run(new_name_kernel, (1,), out, 18)
    assert device.numpy(out)[0] == 16


@tilewright.jit
def wide_kernel(out_ptr, stop: tl.int64):
    i = 5
    for i in range(0, stop):
        tl.store(out_ptr + 1, i)
    tl.static_assert(i.dtype == tl.int64)
    tl.store(out_ptr, i)


@pytest.mark.parametrize("stop, last", [(0, 5), (3, 2)])
def test_counter_has_the_type_of_its_loop(device, stop, last):
    out = device.array(np.zeros(2, np.int64))
    device.run(wide_kernel, (1,), out, stop)
    assert device.numpy(out)[0] == last


@tilewright.jit
def changed_kernel(out_ptr, n):
    i = 100
    for i in range(n):
        i += 10
    tl.store(out_ptr, i)


@pytest.mark.parametrize("n, last", [(0, 100), (3, 12)])
def test_counter_that_the_body_changes(device, n, last):
    out = device.array(np.zeros(1, np.int32))
    device.run(changed_kernel, (1,), out, n)
    assert device.numpy(out)[0] == last


@tilewright.jit
def nested_kernel(out_ptr, rows, columns):
    j = -1
    total = 0
    for i in range(rows):
        total += j  # of the row before
        for j in range(i, columns):
            total += 1
    tl.store(out_ptr, j)
    tl.store(out_ptr + 1, total)


@pytest.mark.parametrize("rows, columns", [(0, 3), (3, 3), (5, 3), (4, 0)])
def test_counter_of_an_inner_loop(device, rows, columns):
    out = device.array(np.zeros(2, np.int32))
    device.run(nested_kernel, (1,), out, rows, columns)
    j, total = -1, 0
    for i in range(rows):
        total += j
        for j in range(i, columns):
            total += 1
    assert_same(device.numpy(out), np.array([j, total], np.int32))


@tilewright.jit
def tile_kernel(out_ptr, x_ptr, n, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for trip in tl.range(0, n, num_stages=STAGES):
        x = tl.load(x_ptr + trip * BLOCK * BLOCK + offsets[:, None] * BLOCK + offsets[None, :])
        acc = tl.dot(x, x, acc)
    tl.store(out_ptr + offsets[:, None] * BLOCK + offsets[None, :], acc + trip)


@pytest.mark.parametrize("stages", [1, 3])
def test_counter_of_a_pipelined_loop(device, stages):
    x = np.random.default_rng(0).integers(-3, 4, (5, 32, 32)).astype(np.float16)
    out = device.empty((32, 32), np.float32)
    device.run(tile_kernel, (1,), out, device.array(x), 5, BLOCK=32, STAGES=stages, num_warps=4)
    expected = sum(tile.astype(np.float32) @ tile.astype(np.float32) for tile in x) + 4
    assert_same(device.numpy(out), expected.astype(np.float32))
