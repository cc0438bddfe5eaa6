# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Native control flow with the language's meaning: each kernel is told apart from what plain Python would do."""

from collections import namedtuple

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.interpreted import interpreted, run, scalars
from tilewright import errors

Pair = namedtuple("Pair", ["first", "second"])

FOUR = tl.constexpr(4)


@tilewright.jit
def program_ids(out):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    linear = x + tl.num_programs(0) * (y + tl.num_programs(1) * z)
    tl.store(out + linear, x * 100 + y * 10 + z)


def test_every_program_of_the_grid_runs():
    out = scalars(24)
    run(program_ids, out, grid=(2, 3, 4))
    assert out.tolist() == [x * 100 + y * 10 + z for z in range(4) for y in range(3) for x in range(2)]


def test_empty_grid_runs_nothing():
    out = scalars(1)
    run(program_ids, out, grid=(0, 5))
    assert out[0] == -1


def test_grid_function_gets_the_arguments():
    out = scalars(2)
    run(program_ids, out, grid=lambda arguments: (len(arguments["out"]),))
    assert out.tolist() == [0, 100]


@tilewright.jit
def argument_types(out, one, two, big, huge, number, flag, nothing):
    tl.store(out + 0, isinstance(one, tl.constexpr))
    tl.store(out + 1, two.dtype.int_bitwidth)
    tl.store(out + 2, big.dtype.int_bitwidth)
    tl.store(out + 3, huge.dtype.is_int_unsigned())
    tl.store(out + 4, number.dtype is tl.float32)
    tl.store(out + 5, flag.dtype is tl.int1)
    tl.store(out + 6, nothing is None)


def test_arguments_have_the_types_of_the_compiler():
    out = scalars(7)
    run(argument_types, out, 1, 2, 2**40, 2**63, 0.5, True, None)
    assert out.tolist() == [1, 32, 64, 1, 1, 1, 1]


@tilewright.jit
def assigned_numbers(out):
    a = 5
    b = a / 2
    c: tl.constexpr = 7
    d = -7
    tl.store(out + 0, a.dtype is tl.int32)
    tl.store(out + 1, b.dtype is tl.float32)
    tl.store(out + 2, c // 2)
    tl.store(out + 3, d // 2)
    tl.store(out + 4, -7 // 2)
    tl.store(out + 5, tl.sum(tl.full((c + 1,), 1, tl.int32)))
    a += 1
    a <<= 2
    tl.store(out + 6, a)


def test_assigned_numbers_are_run_time_scalars():
    out = scalars(7)
    run(assigned_numbers, out)
    # Run-time division truncates, compile-time division floors.
    assert out.tolist() == [1, 1, 3, -3, -4, 8, 24]


@tilewright.jit
def assigned_shape(out):
    size = 4
    tl.store(out + tl.arange(0, size), 0)


def test_an_assigned_number_is_no_shape():
    with pytest.raises(errors.NotConstexpr, match="must be known at compile time"):
        run(assigned_shape, scalars())


@tilewright.jit
def branches(x, out, n):
    i = tl.program_id(0)
    value = tl.load(x + i)
    if value > 0:
        result = value * 2
    elif value == 0:
        result = value + 100
    else:
        result = -value
    if i >= n:
        return
    tl.store(out + i, result)


def test_if_follows_the_value():
    x = np.array([3, 0, -5, 7], np.int64)
    out = scalars(4)
    run(branches, x, out, 3, grid=(4,))
    assert out.tolist() == [6, 100, 5, -1]


@tilewright.jit
def loops(out, n, start, stop, step: tl.constexpr):
    total = 0
    for i in range(n):
        total += i * i
    tl.store(out + 0, total)
    backward = 0
    for i in range(start, stop, step):
        backward = backward * 10 + i
    tl.store(out + 1, backward)
    count = 0
    while count * count < n:
        count += 1
    tl.store(out + 2, count)
    unrolled = 0
    for i in tl.static_range(3):
        unrolled += tl.sum(tl.full((2**i,), 1, tl.int32))
    tl.store(out + 3, unrolled)
    for i in tl.range(2, n, num_stages=3):
        unrolled = unrolled + i
    tl.store(out + 4, unrolled)
    for i in range(2):
        tl.store(out + 5, i.dtype.int_bitwidth)
    for i in range(2, start + big_offset(), 2**20):
        tl.store(out + 6, i.dtype.int_bitwidth)


@tilewright.jit
def big_offset():
    return tl.full((), 2**21, tl.int64)


def test_loops():
    out = scalars(7)
    run(loops, out, 10, 5, 1, -2)
    assert out.tolist() == [sum(i * i for i in range(10)), 53, 4, 7, 7 + sum(range(2, 10)), 32, 64]


@tilewright.jit
def counts_by(out, step):
    for i in range(5, 1, step):
        tl.store(out, i)


def test_a_run_time_step_that_counts_down_is_refused():
    # Compiled, such a loop has no iteration.
    with pytest.raises(errors.TilewrightError, match="step of 'range' is -2 at run time") as info:
        run(counts_by, scalars(), -2)
    assert info.value.help == "a loop that counts down needs a step that is known at compile time"


@tilewright.jit
def loop_over_tuple(out):
    for i in (1, 2):
        tl.store(out, i)


@tilewright.jit
def long_unroll(out):
    for i in tl.static_range(20000):
        tl.store(out, i)


@tilewright.jit
def zero_step(out, step):
    for i in range(0, 4, step):
        tl.store(out, i)


@tilewright.jit
def float_bound(out, n):
    for i in range(n):
        tl.store(out, i)


@pytest.mark.parametrize(
    "kernel, args, code, text",
    [
        (loop_over_tuple, (), "E0102", "'for over a tuple' is not supported"),
        (long_unroll, (), "E0114", "loop would be unrolled 20000 times; the limit is 16384"),
        (zero_step, (0,), "E0117", "step of 'range' is zero"),
        (float_bound, (2.5,), "E0120", "range() takes integer scalars, not fp32"),
    ],
)
def test_loops_that_are_refused(kernel, args, code, text):
    with pytest.raises(errors.TilewrightError) as info:
        run(kernel, scalars(), *args)
    assert info.value.code == code and text in str(info.value), str(info.value)


@tilewright.jit
def logic(out, a, b, FLAG: tl.constexpr):
    x = a > 0
    y = b > 0
    tl.store(out + 0, x and y)
    tl.store(out + 1, x or y)
    tl.store(out + 2, not x)
    tl.store(out + 3, FLAG and x)
    tl.store(out + 4, (not FLAG) and x and y)
    tl.store(out + 5, FLAG or missing_name)  # noqa: F821 (decided before it is read)
    if FLAG and (x or y):
        tl.store(out + 6, 1)
    both = (x and y).dtype
    tl.store(out + 7, both is tl.int1)


def test_logic_short_circuits_at_compile_time_only():
    out = scalars(8)
    run(logic, out, 5, -5, FLAG=True)
    assert out.tolist() == [0, 1, 0, 1, 0, 1, 1, 1]


@tilewright.jit
def ternaries(x, out, n, WIDE: tl.constexpr):
    half = tl.load(x + tl.arange(0, 4))
    chosen = half * (0.5 if n > 3 else 2.0)
    tl.store(out + 0, chosen.dtype is tl.float32)
    static = half * (0.5 if WIDE else 2.0)
    tl.store(out + 1, static.dtype is tl.float16)
    tl.store(out + 2, tl.sum(chosen).to(tl.int64))


def test_a_run_time_choice_gives_a_run_time_value():
    out = scalars(3)
    run(ternaries, np.full(4, 8, np.float16), out, 4, WIDE=True)
    assert out.tolist() == [1, 1, 16]


@tilewright.jit
def tile_condition(x, out):
    tile = tl.load(x + tl.arange(0, 4))
    if tile > 0:
        tl.store(out, 1)


@tilewright.jit
def string_condition(out, MODE: tl.constexpr):
    if MODE:
        tl.store(out, 1)


def test_conditions_that_are_refused():
    with pytest.raises(errors.InvalidShape, match=r"condition of 'if' is a tile i1\[4\]; a scalar is required"):
        run(tile_condition, np.zeros(4, np.int32), scalars())
    with pytest.raises(errors.UnsupportedType, match="condition of 'if' has type str"):
        run(string_condition, scalars(), MODE="relu")


@tilewright.jit
def swap(a, b):
    return b, a


@interpreted
def tuples(out, pair, n):
    first, (second, third) = pair.first, (pair.second, 30)
    first, second = second, first
    tl.store(out + 0, first)
    tl.store(out + 1, second)
    tl.store(out + 2, third)
    a, b = swap(n, 5)
    tl.store(out + 3, a)
    tl.store(out + 4, b)
    items = (n, 7, 9)
    doubled = [item * 2 for item in items]
    for i in tl.static_range(len(items)):
        tl.store(out + 5 + i, doubled[i])
    tl.store(out + 8, pair[0] + min(n, 3, 8) + max(4, 2) + abs(-n))


def test_tuples_and_namedtuples():
    out = scalars(9)
    run(tuples, out, Pair(10, 20), 6)
    assert out.tolist() == [20, 10, 30, 5, 6, 12, 14, 18, 10 + 3 + 4 + 6]


@interpreted
def run_time_index(out, pair, n):
    tl.store(out, pair[n])


def test_a_tuple_needs_a_static_index():
    with pytest.raises(errors.NotConstexpr, match="'n' must be known"):
        run(run_time_index, scalars(), (10, 20), 0)


@tilewright.jit
def wrong_unpack(out, n):
    a, b = n, 1, 2
    tl.store(out, a + b)


def test_unpacking_is_checked():
    with pytest.raises(errors.TypeMismatch, match="cannot unpack 3 values into 2 names"):
        run(wrong_unpack, scalars(), 5)


@tilewright.jit
def walrus(out, n):
    if (doubled := n * 2) > 10:
        tl.store(out, doubled)


@tilewright.jit
def constants(out, SIZE: tl.constexpr):
    late: tl.constexpr
    late = SIZE.value * FOUR
    tl.store(out + 0, tl.sum(tl.full((late,), 1, tl.int32)))
    tl.store(out + 1, FOUR.value)
    n = 3
    tl.store(out + 2, n.to(tl.int64))
    tl.store(out + 3, SIZE.to(tl.int16).dtype.int_bitwidth)


def test_walrus_and_constants():
    out = scalars(4)
    run(walrus, out, 6)
    assert out[0] == 12
    run(constants, out, SIZE=2)
    assert out.tolist() == [8, 4, 3, 16]


@tilewright.constexpr_function
def double(x):
    return 2 * x


@tilewright.jit
def helper(x, factor=3, SIZE: tl.constexpr = FOUR):
    if factor == 1:
        return x
    return x * factor + SIZE


@tilewright.jit
def apply(function: tl.constexpr, x):
    return function(x)


@tilewright.jit
def calls(out, n):
    tl.store(out + 0, helper(n))
    tl.store(out + 1, helper(n, 1))
    tl.store(out + 2, helper(n, SIZE=double(8), factor=n))
    tl.store(out + 3, apply(helper, n))
    arguments = (n, 2)
    tl.store(out + 4, helper(*arguments))


def test_helpers_run_natively():
    out = scalars(5)
    run(calls, out, 10)
    assert out.tolist() == [34, 10, 116, 34, 24]


@tilewright.jit
def missing_argument(out):
    tl.store(out, helper())


@tilewright.jit
def static_call(out, n):
    tl.store(out, double(n))


@tilewright.jit
def endless(n):
    return endless(n - 1)


@tilewright.jit
def recursive(out, n):
    tl.store(out, endless(n))


@pytest.mark.parametrize(
    "kernel, args, code, text",
    [
        (missing_argument, (), "E0122", "call of 'helper': missing argument 'x'"),
        (static_call, (5,), "E0112", "'n' must be known"),
        (recursive, (5,), "E0111", "recursion: endless -> endless"),
    ],
)
def test_calls_that_are_refused(kernel, args, code, text):
    with pytest.raises(errors.TilewrightError) as info:
        run(kernel, scalars(), *args)
    assert info.value.code == code and text in str(info.value), str(info.value)


@tilewright.jit
def affine(first_m, first_b, second_m, second_b):
    return first_m * second_m, first_b * second_m + second_b


@tilewright.jit
def larger(a, b):
    if a > b:
        return a
    return b


@tilewright.jit
def custom_reductions(x, out, N: tl.constexpr):
    tile = tl.load(x + tl.arange(0, N))
    slope, offset = tl.reduce((tl.full((N,), -1, tl.int64), tile), 0, affine)
    tl.store(out + 0, offset)
    tl.store(out + 1, tl.reduce(tile, 0, larger))
    scanned = tl.associative_scan((tl.full((N,), -1, tl.int64), tile), 0, affine)
    tl.store(out + 2 + tl.arange(0, N), scanned[1])


def test_custom_reductions():
    x = np.array([3, 1, 4, 1, 5, 9, 2, 6], np.int64)
    out = scalars(10)
    run(custom_reductions, x, out, N=8)
    running, expected = 0, []
    for value in x:
        running = -running + value
        expected.append(running)
    assert out.tolist() == [expected[-1], 9, *expected]


@tilewright.jit
def successor(x):
    return x + 1


@tilewright.jit
def successor_of_small_numbers(x):
    if x > 100:
        x = no_such_function(x)  # noqa: F821
    return x + 1


def add_one(out):
    tl.store(out, successor(tl.load(out)))


def test_helper_that_was_replaced_is_judged(monkeypatch):
    """What the compiler refuses in it is refused, though the branch is not taken and the kernel has been launched before."""
    out, kernel = scalars(1), interpreted(add_one)
    run(kernel, out)
    assert out[0] == 0
    monkeypatch.setitem(globals(), "successor", successor_of_small_numbers)
    with pytest.raises(errors.UndefinedName):
        run(kernel, out)
    monkeypatch.undo()
    run(kernel, out)
