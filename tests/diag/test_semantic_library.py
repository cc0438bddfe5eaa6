# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The text of errors about functions of the library and code on elements, from both evaluators.

As in test_semantic_errors.py, each case is one kernel with one mistake.
"""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.messages import DOORS, Cases, check_message, f32, i32
from tilewright import errors

CASES = Cases()


# -- library ----------------------------------------------------------------


@CASES.add(
    "[E0121] tl.softmax along dimension 1 of fp32[8, 8] needs keep_dims=True",
    "pass keep_dims=True",
    "tl.softmax(tl.zeros((8, 8), tl.float32), 1)",
    x=f32(),
)
def softmax_of_rows(x):
    y = tl.softmax(tl.zeros((8, 8), tl.float32), 1)
    tl.store(x, tl.sum(y))


@CASES.add(
    "[E0120] tl.xor_sum only supported for integers, got fp32[8]",
    "cast or reinterpret it as an integer type",
    "tl.xor_sum(tl.zeros((8,), tl.float32))",
    x=f32(),
)
def xor_sum_of_floats(x):
    tl.store(x, tl.xor_sum(tl.zeros((8,), tl.float32)))


@CASES.add("[E0117] tl.topk: k is 3", "use a power of two from 1 to 8", "tl.topk(tl.arange(0, 8), 3)", x=i32())
def topk_of_three(x):
    tl.store(x, tl.max(tl.topk(tl.arange(0, 8), 3)))


@CASES.add(
    "[E0117] tl.sort works along the last dimension only, got 0",
    "move that dimension to the end with tl.permute",
    "tl.sort(tl.zeros((8, 8), tl.int32), 0)",
    x=i32(),
)
def sort_of_columns(x):
    tl.store(x, tl.max(tl.sort(tl.zeros((8, 8), tl.int32), 0)))


@CASES.add(
    "[E0121] tl.gather: i32[8, 8] by an index of i32[8]",
    "the shapes must match but for the gathered axis",
    "tl.gather(a, tl.arange(0, 8), 0)",
    x=i32(),
)
def gather_of_other_rank(x):
    a = tl.zeros((8, 8), tl.int32)
    tl.store(x, tl.max(tl.gather(a, tl.arange(0, 8), 0)))


@CASES.add(
    "[E0116] tl.make_block_ptr needs a scalar pointer, got int32",
    "pass a pointer argument, plus a scalar offset",
    "tl.make_block_ptr(tl.program_id(0), (8,), (1,), (0,), (8,), (0,))",
    x=i32(),
)
def block_pointer_of_a_number(x):
    p = tl.make_block_ptr(tl.program_id(0), (8,), (1,), (0,), (8,), (0,))
    tl.store(x, tl.sum(tl.load(p)))


@CASES.add(
    "[E0121] tl.make_block_ptr: lengths differ (shape 1, strides 2, offsets 1, block_shape 1, order 1)",
    "give one entry per dimension in each",
    "tl.make_block_ptr(x, (8,), (8, 1), (0,), (8,), (0,))",
    x=i32(),
)
def block_pointer_lengths(x):
    p = tl.make_block_ptr(x, (8,), (8, 1), (0,), (8,), (0,))
    tl.store(x, tl.sum(tl.load(p)))


@CASES.add("[E0117] tl.load: a block pointer takes no mask", "use boundary_check=", "tl.load(p, mask=True)", x=i32())
def block_pointer_with_mask(x):
    p = tl.make_block_ptr(x, (8,), (1,), (0,), (8,), (0,))
    tl.store(x, tl.sum(tl.load(p, mask=True)))


@CASES.add(
    "[E0117] boundary_check and padding_option apply to block pointers only",
    "use mask= and other=, or tl.make_block_ptr",
    "tl.load(x, boundary_check=(0,))",
    x=i32(),
)
def boundary_check_of_pointer(x):
    tl.store(x, tl.load(x, boundary_check=(0,)))


@CASES.add(
    "[E0117] tl.load: padding 'nan' needs a floating type, got int32",
    "use 'zero'",
    'tl.load(p, boundary_check=(0,), padding_option="nan")',
    x=i32(),
)
def nan_in_integers(x):
    p = tl.make_block_ptr(x, (8,), (1,), (0,), (8,), (0,))
    tl.store(x, tl.sum(tl.load(p, boundary_check=(0,), padding_option="nan")))


@CASES.add(
    "[E0117] tl.make_tensor_descriptor: the last stride must be the constant 1",
    "make the array contiguous along its last dimension",
    "tl.make_tensor_descriptor(x, [8, 8], [1, 8], [8, 8])",
    x=i32(64),
)
def descriptor_of_columns(x):
    d = tl.make_tensor_descriptor(x, [8, 8], [1, 8], [8, 8])
    tl.store(x, tl.sum(d.load([0, 0])))


@CASES.add(
    "[E0117] tl.atomic_poll cannot release",
    "choose 'acquire' or 'relaxed': it only reads",
    'tl.atomic_poll(x, 0, sem="release")',
    x=np.zeros(1, np.int32),
)
def poll_that_releases(x):
    tl.atomic_poll(x, 0, sem="release")


@CASES.add(
    "[E0120] tl.atomic_poll does not support fp32", "use an integer type of 16, 32 or 64 bits", "tl.atomic_poll(x, 0)", x=f32()
)
def poll_of_a_float(x):
    tl.atomic_poll(x, 0)


@CASES.add(
    "[E0116] tl.atomic_poll needs a scalar pointer, got *i32[16]",
    "pass a pointer argument plus a scalar offset",
    "tl.atomic_poll(x + tl.arange(0, 16), 0)",
    x=np.zeros(16, np.int32),
)
def poll_of_a_tile(x):
    tl.atomic_poll(x + tl.arange(0, 16), 0)


@CASES.add(
    "[E0120] libdevice.rcp64h needs fp64, got fp32",
    "cast it: x.to(tl.float64)",
    "tl.extra.libdevice.rcp64h(tl.load(x))",
    x=f32(),
)
def missing_function(x):
    tl.store(x, tl.extra.libdevice.rcp64h(tl.load(x)))


@CASES.add(
    "[E0122] call of 'tl.load': got an unexpected keyword argument 'masks'",
    "signature is load(pointer, mask=None, other=None, boundary_check=(), padding_option='', cache_modifier='', "
    "eviction_policy='', volatile=False)",
    "tl.load(x, masks=None)",
    x=f32(),
)
def misspelt_argument(x):
    tl.store(x, tl.load(x, masks=None))


@CASES.add(
    "[E0122] call of 'tl.store': missing 1 required positional argument: 'value'",
    "signature is store(pointer, value, mask=None, boundary_check=(), cache_modifier='', eviction_policy='')",
    "tl.store(x)",
    x=f32(),
)
def missing_argument(x):
    tl.store(x)


@CASES.add(
    "[E0122] call of 'tl.to': missing 1 required positional argument: 'dtype'",
    "signature is to(self, dtype, fp_downcast_rounding=None, bitcast=False)",
    "tl.load(x).to()",
    x=f32(),
)
def missing_argument_of_method(x):
    tl.store(x, tl.load(x).to())


def test_outside_a_kernel():
    with pytest.raises(errors.TilewrightError) as info:
        tl.arange(0, 8)
    assert str(info.value).splitlines() == [
        "[E0117] tl.arange was called outside a kernel",
        "  help: call it inside a function decorated with @tilewright.jit",
    ]


# -- code of the user on elements -------------------------------------------


@CASES.add(
    "[E0117] tl.inline_asm_elementwise: pack is 3",
    "use a power of two from 1 to 32",
    'tl.inline_asm_elementwise("", "=r,r", [tl.program_id(0)], tl.int32, True, 3)',
    x=i32(),
)
def odd_pack(x):
    tl.store(x, tl.inline_asm_elementwise("", "=r,r", [tl.program_id(0)], tl.int32, True, 3))


@CASES.add(
    "[E0117] tl.inline_asm_elementwise: constraints '=r,r' name 1 outputs and 1 inputs; 1 and 2 are needed",
    "a group of `pack` elements takes one register per 32 bits, outputs first",
    'tl.inline_asm_elementwise("", "=r,r", [tl.program_id(0), 1], tl.int32, True, 1)',
    x=i32(),
)
def missing_constraint(x):
    tl.store(x, tl.inline_asm_elementwise("", "=r,r", [tl.program_id(0), 1], tl.int32, True, 1))


@CASES.add(
    "[E0117] tl.inline_asm_elementwise: constraint 'x' is not known",
    "use h, r, l for integer registers of 16, 32 and 64 bits, f and d for floats, n for constants",
    'tl.inline_asm_elementwise("", "=r,x", [tl.program_id(0)], tl.int32, True, 1)',
    x=i32(),
)
def unknown_constraint(x):
    tl.store(x, tl.inline_asm_elementwise("", "=r,x", [tl.program_id(0)], tl.int32, True, 1))


@CASES.add(
    "[E0117] tl.inline_asm_elementwise: output '=n' names no register",
    "use h, r, l, f or d",
    'tl.inline_asm_elementwise("", "=n,r", [tl.program_id(0)], tl.int32, True, 1)',
    x=i32(),
)
def constant_result(x):
    tl.store(x, tl.inline_asm_elementwise("", "=n,r", [tl.program_id(0)], tl.int32, True, 1))


@CASES.add(
    "[E0117] tl.inline_asm_elementwise: input '1' names none of the 1 outputs",
    "count outputs from 0",
    'tl.inline_asm_elementwise("", "=r,1", [tl.program_id(0)], tl.int32, True, 1)',
    x=i32(),
)
def tied_to_nothing(x):
    tl.store(x, tl.inline_asm_elementwise("", "=r,1", [tl.program_id(0)], tl.int32, True, 1))


@tilewright.jit
def one_of_two(a, b):
    return a + b


@CASES.add(
    "[E0117] tl.map_elementwise: the function returned 1 values with pack=2",
    "return one element of each result for each element of a group",
    "tl.map_elementwise(one_of_two, tl.arange(0, 8), pack=2)",
    x=i32(),
)
def incomplete_group(x):
    tl.store(x, tl.sum(tl.map_elementwise(one_of_two, tl.arange(0, 8), pack=2)))


@tilewright.jit
def a_tile(a):
    return a + tl.arange(0, 8)


@CASES.add(
    "[E0121] tl.map_elementwise: the function returned i32[8]",
    "the function computes with scalars and returns scalars",
    "tl.map_elementwise(a_tile, tl.arange(0, 8))",
    x=i32(),
)
def tile_of_an_element(x):
    tl.store(x, tl.sum(tl.map_elementwise(a_tile, tl.arange(0, 8))))


# -- both doors -------------------------------------------------------------


@pytest.mark.parametrize("door", DOORS)
@CASES.parametrize
def test_message(door, case):
    check_message(door, case)
