# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names and their types after branches and loops in the interpreter, as the compiler judges them."""

import pytest

import tilewright
import tilewright.language as tl
from harness.interpreted import run, scalars
from harness.loop_names import changed_in_a_branch, growing_accumulator, made_in_a_loop, one_branch_only, widening_while
from tilewright import errors


# -- names and types after branches and loops ----------------------------------


@tilewright.jit
def tile_that_counts(out, n):
    i = tl.arange(0, 4)
    for i in range(n, 0):
        tl.store(out, i)
    tl.store(out, i)


@pytest.mark.parametrize(
    "kernel, code, text",
    [
        (growing_accumulator, "E0118", "'total' is fp32 before the loop and fp32[4] after an iteration"),
        (widening_while, "E0118", "'count' is i32 before the loop and i64 after an iteration"),
        (changed_in_a_branch, "E0105", "Mismatched type for value: fp32 in one branch and i32 in the other"),
        (one_branch_only, "E0104", "assigned in one branch of the 'if' in line"),
        (made_in_a_loop, "E0104", "first assigned inside a loop"),
        (tile_that_counts, "E0104", "it is i32[4] before the loop that counts with it"),
    ],
)
def test_names_keep_to_the_rules_of_the_compiler(kernel, code, text):
    with pytest.raises(errors.TilewrightError) as info:
        run(kernel, scalars(), 5)
    assert info.value.code == code and text in str(info.value), str(info.value)


@tilewright.jit
def allowed_names(out, n, ONE, FLAG: tl.constexpr):
    if FLAG:  # decided at compile time: names live on, types may change
        fresh = n
    value = n
    if FLAG:
        value = value * 0.5
    if n > 3:
        both = 1
    else:
        both = 2
    for i in tl.static_range(2):
        unrolled = i
        value = value.to(tl.float32) if i == 0 else value.to(tl.int64)
    for i in range(n):
        inner = i
        inner = inner.to(tl.float32)
        both += 1
        ONE += 1
    inner = n
    if n > 100:
        return
    later = n
    tl.store(out, fresh + both + unrolled + value + inner + ONE + later)


def test_names_that_the_compiler_allows():
    out = scalars()
    run(allowed_names, out, 5, 1, FLAG=True)
    assert out[0] == 5 + (1 + 5) + 1 + 2 + 5 + 6 + 5
