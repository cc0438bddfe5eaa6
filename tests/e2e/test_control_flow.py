# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Branches, loops, calls, tuples: static and dynamic, nested, with carried values."""

from typing import NamedTuple

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.compare import assert_same
from harness.element_types import exact_values, random_values

SCALE = tl.constexpr(3)


@tilewright.jit
def branch_kernel(x_ptr, out_ptr, limit, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + pid * BLOCK + offsets)
    if pid < limit:
        y = x + 1
        factor = 2
    elif pid == limit:
        y = x * 0
        factor = 5
    else:
        y = -x
        factor = 3
    tl.store(out_ptr + pid * BLOCK + offsets, y * factor)


@pytest.mark.parametrize("limit", [0, 2, 9])
def test_dynamic_if(device, limit):
    x = exact_values("int32", (6, 32))
    out = device.empty((6, 32), np.int32)
    device.run(branch_kernel, (6,), device.array(x), out, limit, BLOCK=32)
    pid = np.arange(6)[:, None]
    assert_same(device.numpy(out), np.where(pid < limit, (x + 1) * 2, np.where(pid == limit, 0, x * -3)).astype(np.int32))


@tilewright.jit
def static_if_kernel(out_ptr, MODE: tl.constexpr, HAS: tl.constexpr, extra):
    if MODE == "double":
        value = 2
    elif MODE == "triple":
        value = 3
    else:
        value = this_name_does_not_exist  # noqa: F821  a dead branch is not looked at
    if HAS:
        value += 10
    if extra is not None:
        value += extra
    tl.store(out_ptr, value)


@pytest.mark.parametrize("mode, has, extra, expected", [("double", True, None, 12), ("triple", False, 100, 103)])
def test_static_if(device, mode, has, extra, expected):
    out = device.empty(1, np.int32)
    device.run(static_if_kernel, (1,), out, mode, has, extra)
    assert device.numpy(out)[0] == expected


@tilewright.jit
def ternary_kernel(out_ptr, n, FLAG: tl.constexpr):
    a = 4 if FLAG else 5
    b = n if n > 10 else -n
    tl.store(out_ptr, a * 100 + b)


@pytest.mark.parametrize("n, flag, expected", [(20, True, 420), (7, False, 493)])
def test_ternary(device, n, flag, expected):
    out = device.empty(1, np.int32)
    device.run(ternary_kernel, (1,), out, n, FLAG=flag)
    assert device.numpy(out)[0] == expected


@tilewright.jit
def early_return_kernel(out_ptr, n):
    pid = tl.program_id(0)
    tl.store(out_ptr + pid, -1)
    if pid >= n:
        return
    tl.store(out_ptr + pid, pid * 10)


def test_early_return(device):
    out = device.empty(8, np.int32)
    device.run(early_return_kernel, (8,), out, 5)
    assert device.numpy(out).tolist() == [0, 10, 20, 30, 40, -1, -1, -1]


@tilewright.jit
def absolute(x):
    if x < 0:
        return -x
    return x


@tilewright.jit
def return_value_kernel(out_ptr):
    pid = tl.program_id(0)
    tl.store(out_ptr + pid, absolute(pid - 3))


def test_return_in_branch_of_callee(device):
    out = device.empty(8, np.int32)
    device.run(return_value_kernel, (8,), out)
    assert device.numpy(out).tolist() == [abs(i - 3) for i in range(8)]


# ---------------------------------------------------------------------------
# Loops
# ---------------------------------------------------------------------------


@tilewright.jit
def for_kernel(out_ptr, start, stop, STEP: tl.constexpr):
    count = 0
    total = 0
    last = -1
    for i in range(start, stop, STEP):
        count += 1
        total += i
        last = i
    tl.store(out_ptr, count)
    tl.store(out_ptr + 1, total)
    tl.store(out_ptr + 2, last)


@pytest.mark.parametrize("bounds", [(0, 10, 1), (0, 10, 3), (5, 5, 1), (7, 3, 1), (10, 0, -1), (9, -4, -3), (-6, 6, 4)])
def test_for(device, bounds):
    out = device.empty(3, np.int32)
    device.run(for_kernel, (1,), out, bounds[0], bounds[1], STEP=bounds[2])
    values = list(range(*bounds))
    assert device.numpy(out).tolist() == [len(values), sum(values), values[-1] if values else -1]


@tilewright.jit
def wide_loop_kernel(out_ptr, start: tl.int64, stop: tl.int64):
    total = tl.zeros((1,), tl.int64)
    for i in range(start, stop):
        tl.static_assert(i.dtype == tl.int64)
        total += i
    tl.store(out_ptr + tl.arange(0, 1), total)


def test_wide_loop(device):
    out = device.empty(1, np.int64)
    device.run(wide_loop_kernel, (1,), out, 2**40, 2**40 + 3)
    assert device.numpy(out)[0] == 3 * 2**40 + 3


@tilewright.jit
def nested_kernel(x_ptr, out_ptr, rows, columns, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for i in range(rows):
        row = tl.zeros((BLOCK,), tl.float32)
        for j in tl.range(0, columns, BLOCK):
            inside = j + offsets < columns
            row += tl.load(x_ptr + i * columns + j + offsets, mask=inside, other=0.0)
        if i % 2 == 0:
            total += row
        else:
            total -= row
    tl.store(out_ptr + offsets, total)


def test_nested_loops(device):
    x = exact_values("float32", (5, 96))
    out = device.empty(32, np.float32)
    device.run(nested_kernel, (1,), device.array(x), out, 5, 96, BLOCK=32)
    signs = np.array([1, -1, 1, -1, 1])[:, None]
    assert_same(device.numpy(out), (x * signs).sum(axis=0).reshape(3, 32).sum(axis=0).astype(np.float32))


@tilewright.jit
def static_range_kernel(out_ptr, N: tl.constexpr):
    total = 0
    for i in tl.static_range(N):
        tl.static_assert(i < N)
        if i % 2 == 0:
            total += i
    for i in tl.static_range(10, 0, -4):
        total += i
    tl.store(out_ptr, total)


def test_static_range(device):
    out = device.empty(1, np.int32)
    device.run(static_range_kernel, (1,), out, N=7)
    assert device.numpy(out)[0] == 0 + 2 + 4 + 6 + 10 + 6 + 2


@tilewright.jit
def while_kernel(out_ptr, n):
    # Steps of the Collatz sequence.
    value = n + tl.program_id(0)
    steps = 0
    while value != 1:
        if value % 2 == 0:
            value = value // 2
        else:
            value = 3 * value + 1
        steps += 1
    tl.store(out_ptr + tl.program_id(0), steps)


def test_while(device):
    def steps(value):
        count = 0
        while value != 1:
            value = value // 2 if value % 2 == 0 else 3 * value + 1
            count += 1
        return count

    out = device.empty(20, np.int32)
    device.run(while_kernel, (20,), out, 2)
    assert device.numpy(out).tolist() == [steps(2 + i) for i in range(20)]


@tilewright.jit
def loop_carried_kernel(out_ptr, n, BLOCK: tl.constexpr):
    # Two values that swap: each new one needs the other's old one.
    a = tl.arange(0, BLOCK)
    b = tl.full((BLOCK,), 1, tl.int32)
    for _ in range(n):
        a, b = b, a + b
    tl.store(out_ptr + tl.arange(0, BLOCK), a)


@pytest.mark.parametrize("n", [0, 1, 7])
def test_loop_carried_swap(device, n):
    a, b = np.arange(16, dtype=np.int32), np.ones(16, np.int32)
    for _ in range(n):
        a, b = b, a + b
    out = device.empty(16, np.int32)
    device.run(loop_carried_kernel, (1,), out, n, BLOCK=16)
    assert_same(device.numpy(out), a)


@tilewright.jit
def pointer_loop_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    # Pointers themselves are carried and advanced.
    x_ptrs = x_ptr + tl.arange(0, BLOCK)
    out_ptrs = out_ptr + tl.arange(0, BLOCK)
    for _ in range(n):
        tl.store(out_ptrs, tl.load(x_ptrs) * 2)
        x_ptrs += BLOCK
        out_ptrs += BLOCK


def test_pointer_carried(device):
    x = random_values("float32", 5 * 64)
    out = device.empty(5 * 64, np.float32)
    device.run(pointer_loop_kernel, (1,), device.array(x), out, 5, BLOCK=64)
    assert_same(device.numpy(out), x * 2)


@tilewright.jit
def if_in_loop_kernel(out_ptr, n):
    even = 0
    odd = 0
    i = 0
    while i < n:
        if i % 2 == 0:
            even += i
        else:
            if i > 5:
                odd += i
        i += 1
    tl.store(out_ptr, even)
    tl.store(out_ptr + 1, odd)


def test_if_in_while(device):
    out = device.empty(2, np.int32)
    device.run(if_in_loop_kernel, (1,), out, 12)
    assert device.numpy(out).tolist() == [sum(range(0, 12, 2)), 7 + 9 + 11]


# ---------------------------------------------------------------------------
# Calls, tuples, globals
# ---------------------------------------------------------------------------


@tilewright.jit
def scale_and_shift(x, scale, shift=0):
    return x * scale + shift


@tilewright.jit
def minimum_maximum(a, b):
    return tl.minimum(a, b), tl.maximum(a, b)


@tilewright.jit
def apply_twice(x, FUNCTION: tl.constexpr):
    return FUNCTION(FUNCTION(x))


@tilewright.jit
def increment(x):
    return x + 1


@tilewright.jit
def call_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    low, high = minimum_maximum(x, scale_and_shift(x, SCALE, shift=-4))
    tl.store(out_ptr + offsets, low)
    tl.store(out_ptr + BLOCK + offsets, apply_twice(high, increment))


def test_calls(device):
    x = exact_values("int32", 64)
    out = device.empty((2, 64), np.int32)
    device.run(call_kernel, (1,), device.array(x), out, BLOCK=64)
    y = x * 3 - 4
    assert_same(device.numpy(out), np.stack([np.minimum(x, y), np.maximum(x, y) + 2]))


@tilewright.jit
def tuple_kernel(out_ptr, N: tl.constexpr):
    sizes = (1, 2, 3)
    a, (b, c) = 4, (5, 6)
    tl.static_assert(len(sizes) == 3)
    total = 0
    for i in tl.static_range(len(sizes)):
        total += sizes[i]
    joined = sizes + (a, b, c)
    tl.store(out_ptr, total)
    tl.store(out_ptr + 1, joined[3] + joined[-1])


def test_tuples(device):
    out = device.empty(2, np.int32)
    device.run(tuple_kernel, (1,), out, N=1)
    assert device.numpy(out).tolist() == [6, 10]


class Point(NamedTuple):
    x: tl.tensor
    y: tl.tensor


@tilewright.jit
def mirror(point):
    return Point(point.y, point.x)


@tilewright.jit
def namedtuple_kernel(out_ptr):
    point = mirror(Point(tl.program_id(0), tl.program_id(0) * 10))
    tl.store(out_ptr + tl.program_id(0) * 2, point.x)
    tl.store(out_ptr + tl.program_id(0) * 2 + 1, point[1])


def test_namedtuple(device):
    out = device.empty((3, 2), np.int32)
    device.run(namedtuple_kernel, (3,), out)
    assert device.numpy(out).tolist() == [[0, 0], [10, 1], [20, 2]]


@tilewright.jit
def logic_kernel(out_ptr, a, b):
    result = 0
    if a > 0 and b > 0:
        result += 1
    if a > 0 or b > 0:
        result += 2
    if not (a > 0):
        result += 4
    tl.store(out_ptr, result)


@pytest.mark.parametrize("a, b", [(5, 5), (5, -5), (-5, 5), (-5, -5)])
def test_logic_on_scalars(device, a, b):
    out = device.empty(1, np.int32)
    device.run(logic_kernel, (1,), out, a, b)
    assert device.numpy(out)[0] == (a > 0 and b > 0) + 2 * (a > 0 or b > 0) + 4 * (not a > 0)


@tilewright.jit
def grid_kernel(out_ptr):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    nx, ny, nz = tl.num_programs(0), tl.num_programs(1), tl.num_programs(2)
    tl.store(out_ptr + (z * ny + y) * nx + x, x + 10 * y + 100 * z + 1000 * nz)


def test_three_dimensional_grid(device):
    out = device.empty((4, 3, 2), np.int32)
    device.run(grid_kernel, (2, 3, 4), out)
    z, y, x = np.meshgrid(np.arange(4), np.arange(3), np.arange(2), indexing="ij")
    assert_same(device.numpy(out), (x + 10 * y + 100 * z + 4000).astype(np.int32))


# ---------------------------------------------------------------------------
# Names that change what they are
# ---------------------------------------------------------------------------


@tilewright.jit
def renamed_kernel(out_ptr, n, SIZE: tl.constexpr):
    factor: tl.constexpr = 2
    total = n * factor
    factor = 3  # from here on a run-time scalar
    for i in range(n):
        factor += i
    mask = None
    if n > 3:
        mask = tl.arange(0, SIZE) < 2
        total += tl.sum(mask.to(tl.int32))
    steps = [k * 2 for k in range(3)]
    # The second counter takes the name of the first; neither is read after its loop.
    for j in range(2):
        total += j
    for i in range(2):
        for j in range(2):
            total += 10 * j
    tl.store(out_ptr, total + factor * 100 + steps[2] * 10000)


@pytest.mark.parametrize("n", [2, 5])
def test_names_that_change_what_they_are(device, n):
    out = device.empty(1, np.int32)
    device.run(renamed_kernel, (1,), out, n, SIZE=4)
    factor = 3 + sum(range(n))
    total = 2 * n + (2 if n > 3 else 0) + 1 + 20
    assert_same(device.numpy(out), np.array([total + factor * 100 + 4 * 10000], np.int32))
