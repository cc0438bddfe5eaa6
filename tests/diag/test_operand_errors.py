# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors of single functions about their operands, from both evaluators; the common ones are in test_semantic_errors.py."""

import pytest

import tilewright.language as tl
from harness.messages import DOORS, Cases, check_message, f32, i32

CASES = Cases()


@CASES.add("[E0116] tl.atomic_cas needs a pointer, got i32", "pass a pointer argument plus offsets", "tl.atomic_cas(n, 0, 1)",
           x=i32(), n=5)
def swap_of_no_pointer(x, n):
    tl.store(x, tl.atomic_cas(n, 0, 1))


@CASES.add("[E0117] tl.multiple_of: 0 is not positive", "give a positive number", "tl.multiple_of(n, 0)", x=i32(), n=5)
def multiple_of_zero(x, n):
    tl.store(x, tl.multiple_of(n, 0))


@CASES.add("[E0117] tl.device_print: the prefix has a character that cannot be printed", "use printable ASCII characters",
           'tl.device_print("\\x01", n)', x=i32(), n=5)
def printed_control_character(x, n):
    tl.device_print("\x01", n)


@CASES.add("[E0116] tl.maximum does not take the pointer *i32", "cast it to int64", "tl.maximum(x, x)", x=i32())
def larger_pointer(x):
    tl.store(x, tl.maximum(x, x))


@CASES.add("[E0120] tl.abs does not take the pointer *i32", "cast it to int64", "tl.abs(x)", x=i32())
def absolute_pointer(x):
    tl.store(x, tl.abs(x))


@CASES.add("[E0120] tl.fdiv needs floats, got i32 and i32", "cast both to a floating type", "tl.fdiv(n, n)", x=f32(), n=5)
def floating_division_of_integers(x, n):
    tl.store(x, tl.fdiv(n, n))


@CASES.add("[E0120] tl.fma needs floats, got i32", "write x * y + z for integers", "tl.fma(n, n, n)", x=i32(), n=5)
def fused_integers(x, n):
    tl.store(x, tl.fma(n, n, n))


@CASES.add("[E0121] tl.load: a scalar pointer takes a scalar other=, got fp32[8]", "make the pointer a tile: add tl.arange offsets",
           "tl.load(x, mask=n > 0, other=tl.zeros((8,), tl.float32))", x=f32(), n=5)
def tile_for_a_scalar(x, n):
    tl.store(x, tl.load(x, mask=n > 0, other=tl.zeros((8,), tl.float32)))


@CASES.add("[E0116] tl.cat needs one type, got i32[8] and fp32[8]", "cast both to one type",
           "tl.cat(tl.arange(0, 8), tl.zeros((8,), tl.float32), can_reorder=True)", x=f32())
def joined_types(x):
    tl.store(x + tl.arange(0, 16), tl.cat(tl.arange(0, 8), tl.zeros((8,), tl.float32), can_reorder=True))


@pytest.mark.parametrize("door", DOORS)
@CASES.parametrize
def test_message(door, case):
    check_message(door, case)
