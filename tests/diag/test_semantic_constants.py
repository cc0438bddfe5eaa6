# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The text of errors about values known at compile time and the hints of loops, from both evaluators.

As in test_semantic_errors.py, each case is one kernel with one mistake.
"""

import pytest

import tilewright.language as tl
from harness.messages import DOORS, Cases, check_message, f32, i32

CASES = Cases()


# -- values known at compile time -------------------------------------------


@CASES.add(
    "[E0112] 'tl.arange: end' must be known at compile time",
    "annotate the parameter as constexpr",
    "tl.arange(0, n)",
    x=f32(),
    n=8,
)
def run_time_range(x, n):
    tl.store(x + tl.arange(0, n), 0.0)


@CASES.add("[E0117] tl.arange(8, 8) is empty", "the end must be greater than the start", "tl.arange(8, 8)", x=f32())
def empty_range(x):
    tl.store(x + tl.arange(8, 8), 0.0)


@CASES.add(
    "[E0117] program_id axis must be 0, 1, or 2 but got 3", "a grid has the axes 0, 1 and 2", "tl.program_id(3)", x=i32()
)
def fourth_axis(x):
    tl.store(x, tl.program_id(3))


@CASES.add("[E0113] blocks must be wide", "value was False", 'tl.static_assert(N > 64, "blocks must be wide")', x=f32(), N=32)
def static_assertion(x, N: tl.constexpr):
    tl.static_assert(N > 64, "blocks must be wide")
    tl.store(x, 0.0)


@CASES.add(
    "[E0112] 'the condition of tl.static_assert' must be known at compile time",
    "annotate the parameter as constexpr",
    "tl.static_assert(tl.program_id(0) == 0)",
    x=f32(),
)
def run_time_static_assertion(x):
    tl.static_assert(tl.program_id(0) == 0)
    tl.store(x, 0.0)


@CASES.add("[E0120] tl.full needs a dtype", "name one, such as tl.float32", "tl.full((8,), 0, None)", x=f32())
def full_without_dtype(x):
    tl.store(x + tl.arange(0, 8), tl.full((8,), 0, None))


@CASES.add(
    "[E0120] tl.load: mask must be a tensor or a number, got str",
    "pass a value of the kernel or a Python number",
    'tl.load(x, mask="all")',
    x=f32(),
)
def mask_of_text(x):
    tl.store(x, tl.load(x, mask="all"))


@CASES.add(
    "[E0120] tl.load: pointer must be a tensor or a number, got tuple",
    "a value with a comma behind it is a tuple; leave the comma out",
    "tl.load(pointers)",
    x=f32(),
)
def pointers_in_a_tuple(x):
    pointers = (x + tl.arange(0, 8),)
    tl.store(x + tl.arange(0, 8), tl.load(pointers))


# -- loops ------------------------------------------------------------------


@CASES.add("[E0117] num_stages of a loop is -1", "use 0 or more, or leave it out", "tl.range(0, 4, num_stages=-1)", x=f32())
def negative_stages(x):
    for i in tl.range(0, 4, num_stages=-1):
        tl.store(x + i, 1.0)


@CASES.add(
    "[E0120] loop_unroll_factor must be an int, got str",
    "pass an int that is known at compile time",
    'tl.range(0, 4, loop_unroll_factor="two")',
    x=f32(),
)
def unrolled_by_a_word(x):
    for i in tl.range(0, 4, loop_unroll_factor="two"):
        tl.store(x + i, 1.0)


@CASES.add(
    "[E0112] 'num_stages' must be known at compile time",
    "annotate the parameter as constexpr",
    "tl.range(0, n, num_stages=n)",
    x=f32(),
    n=4,
)
def stages_of_run_time(x, n):
    for i in tl.range(0, n, num_stages=n):
        tl.store(x + i, 1.0)


@CASES.add("[E0120] range() takes integer scalars, not str", "cast the bound with .to(tl.int32)", 'range("four")', x=f32())
def range_of_a_word(x):
    for i in range("four"):
        tl.store(x + i, 1.0)


@CASES.add("[E0120] range() takes integer scalars, not None", "cast the bound with .to(tl.int32)", "range(None)", x=f32())
def range_of_nothing(x):
    for i in range(None):
        tl.store(x + i, 1.0)


@CASES.add(
    "[E0122] call of 'range': unexpected argument 'num_steps'",
    "signature is range(arg1, arg2, step, num_stages, loop_unroll_factor, disallow_acc_multi_buffer, flatten, "
    "warp_specialize, disable_licm)",
    "range(0, 4, num_steps=2)",
    x=f32(),
)
def unknown_hint_of_a_plain_range(x):
    for i in range(0, 4, num_steps=2):
        tl.store(x + i, 1.0)


@CASES.add(
    "[E0112] 'end of tl.static_range' must be known at compile time",
    "annotate the parameter as constexpr",
    "tl.static_range(n)",
    x=f32(),
    n=4,
)
def unrolled_to_run_time(x, n):
    for i in tl.static_range(n):
        tl.store(x + i, 1.0)


@CASES.add(
    "[E0112] 'start of tl.static_range' must be known at compile time",
    "annotate the parameter as constexpr",
    "tl.static_range(n, 8)",
    x=f32(),
    n=4,
)
def unrolled_from_run_time(x, n):
    for i in tl.static_range(n, 8):
        tl.store(x + i, 1.0)


# -- both doors -------------------------------------------------------------


@pytest.mark.parametrize("door", DOORS)
@CASES.parametrize
def test_message(door, case):
    check_message(door, case)
