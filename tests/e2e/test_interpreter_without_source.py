# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that `exec` makes have no source: the interpreter runs them as plain Python."""

import warnings

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from tilewright import errors

TEXT = """
@tilewright.jit
def helper(x, factor=2, *, shift=1):
    return x * factor + shift

@tilewright.jit
def total(*parts):
    result = parts[0]
    for part in tl.static_range(1, len(parts)):
        result += parts[part]
    return result

@tilewright.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr, USED: tl.constexpr = True):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    count = 0
    for step in range(0, n):
        if step % 2 == 0 and step < 6:
            count += 1
    if USED:
        x = total(x, helper(x, shift=3), tl.sum(x, axis=0))
    tl.store(out_ptr + offsets, x + count, mask=mask)
"""


def made(text=TEXT, **names):
    space = {"tilewright": tilewright, "tl": tl, **names}
    exec(text, space)
    return space


def test_kernel_made_by_exec():
    kernel = made()["kernel"]
    x = np.arange(10, dtype=np.float32)
    out = np.full(10, -1, np.float32)
    errors._warned.clear()
    with pytest.warns(
        UserWarning, match=r"\[W0127\] cannot read the source of 'kernel': the interpreter runs it as plain Python"
    ):
        kernel[(1,)](x, out, 10, BLOCK=16)
    assert out.tolist() == (x + x * 2 + 3 + x.sum() + 3).tolist()
    kernel[(1,)](x, out, 10, BLOCK=16, USED=False)
    assert out.tolist() == (x + 3).tolist()


SHAPES = """
@tilewright.jit
def kernel(out_ptr):
    tile = tl.full((4, 8), 1.0, tl.float32)
    tl.static_assert(tile.shape == [4, 8])
    tl.static_assert([4, 8] == tile.shape)
    tl.static_assert(tile.type.shape == [4, 8])
    tl.static_assert(tile.type.get_block_shapes() == [4, 8])
    tl.static_assert(tile.shape != [8, 4])
    tl.static_assert(tile.shape == (4, 8) and hash(tile.shape) == hash((4, 8)))
    tl.store(out_ptr + tl.arange(0, 4)[:, None] * 8 + tl.arange(0, 8)[None, :], tile)
"""


def test_shapes_equal_lists():
    """In a kernel with a text a list is a tuple, so programs write either."""
    out = np.zeros((4, 8), np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made(SHAPES)["kernel"][(1,)](out)
    assert out.all()


def test_accesses_are_still_checked():
    kernel = made(TEXT.replace(", mask=mask)\n", ")\n"))["kernel"]
    with warnings.catch_warnings(), pytest.raises(errors.OutOfBounds) as info:
        warnings.simplefilter("ignore")
        kernel[(1,)](np.zeros(10, np.float32), np.zeros(10, np.float32), 10, BLOCK=16)
    assert info.value.code == "E0407"


def test_given_source_is_used():
    text = "def kernel(out_ptr):\n    number = -7\n    tl.store(out_ptr, number // 2)\n"
    space, out = {"tl": tl}, np.zeros(1, np.int32)
    exec(text, space)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tilewright.jit(space["kernel"], source=text)[(1,)](out)
    assert out[0] == -3  # as on the GPU


def test_compiler_needs_the_source():
    kernel = made()["kernel"]
    with pytest.raises(errors.SourceUnavailable, match="cannot read the source of 'kernel'"):
        tilewright.compile(
            tilewright.ASTSource(kernel, {"x_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32"}, {"BLOCK": 16}), "sm_80"
        )
