# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which parameters a kernel writes and reads, as the compiler finds them."""

import pytest

import tilewright
import tilewright.language as tl


@tilewright.jit
def copies(BLOCK: tl.constexpr, x, y):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i))


@tilewright.jit
def in_place(BLOCK: tl.constexpr, x, y):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i) + tl.load(y + i))


@tilewright.jit
def chosen_by_a_mask(BLOCK: tl.constexpr, x, y):
    i = tl.arange(0, BLOCK)
    tl.store(tl.where(i < 4, x + i, y + i), 1.0)


@tilewright.jit
def carried_by_a_loop(BLOCK: tl.constexpr, x, y):
    p, q = x + tl.arange(0, BLOCK), y + tl.arange(0, BLOCK)
    for _ in range(0, 10):
        tl.store(q, tl.load(p))
        p += BLOCK
        q += BLOCK


@tilewright.jit
def swapped_in_a_loop(BLOCK: tl.constexpr, x, y):
    p, q = x + tl.arange(0, BLOCK), y + tl.arange(0, BLOCK)
    for _ in range(0, 10):
        tl.store(q, 1.0)
        p, q = q, p


@tilewright.jit
def chosen_by_a_branch(BLOCK: tl.constexpr, x, y):
    p = x + tl.arange(0, BLOCK)
    if tl.program_id(0) > 3:
        p = y + tl.arange(0, BLOCK)
    tl.store(p, 1.0)


@tilewright.jit
def atomics(BLOCK: tl.constexpr, x, y):
    tl.atomic_add(x + tl.arange(0, BLOCK), 1.0)


@tilewright.jit
def from_an_integer(BLOCK: tl.constexpr, x, y):
    p = x.to(tl.int64).to(tl.pointer_type(tl.float32))
    tl.store(p + tl.arange(0, BLOCK), tl.load(y + tl.arange(0, BLOCK)))


@tilewright.jit
def helper_that_writes(p, value):
    tl.store(p, value)


@tilewright.jit
def through_a_helper(BLOCK: tl.constexpr, x, y):
    helper_that_writes(y + tl.arange(0, BLOCK), tl.load(x + tl.arange(0, BLOCK)))


@tilewright.jit
def nothing(BLOCK: tl.constexpr, x, y):
    pass


@pytest.mark.parametrize(
    "kernel, written, read",
    [
        (copies, ["y"], ["x"]),
        (in_place, ["x"], ["x", "y"]),
        (chosen_by_a_mask, ["x", "y"], []),
        (carried_by_a_loop, ["y"], ["x"]),
        (swapped_in_a_loop, ["x", "y"], []),
        (chosen_by_a_branch, ["x", "y"], []),
        (atomics, ["x"], ["x"]),
        (from_an_integer, ["x", "y"], ["y"]),
        (through_a_helper, ["y"], ["x"]),
        (nothing, [], []),
    ],
    ids=lambda p: getattr(p, "__name__", ""),
)
def test_access(kernel, written, read):
    source = tilewright.ASTSource(kernel, {"x": "*fp32", "y": "*fp32"}, {"BLOCK": 32})
    metadata = tilewright.compile(source, "sm_80").metadata
    assert (metadata.written_args, metadata.read_args) == (written, read)
