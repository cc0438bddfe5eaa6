# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The text of every error about types, shapes and values, from both evaluators.

Each case is one kernel with one mistake. The compiler and the interpreter must say
the same, name the same line and mark the same columns.
"""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.messages import DOORS, Cases, check_message, f32, i32
from tilewright import errors

CASES = Cases()


# -- shapes -----------------------------------------------------------------


@CASES.add(
    "[E0106] tile dimension 0 is 100; a power of two is required", "use 128 and a mask", "tl.arange(0, N)", x=f32(), N=100
)
def not_a_power_of_two(x, N: tl.constexpr):
    offsets = tl.arange(0, N)
    tl.store(x + offsets, 0.0)


@CASES.add(
    "[E0107] tile has 4194304 elements; the limit is 1048576",
    "reduce the block size",
    "tl.zeros((2048, 2048), tl.float32)",
    x=f32(),
)
def too_many_elements(x):
    y = tl.zeros((2048, 2048), tl.float32)
    tl.store(x, tl.sum(y))


@CASES.add("[E0110] cannot broadcast [8] with [16]", "shapes must match or be 1", "a + b", x=i32())
def cannot_broadcast(x):
    a = tl.arange(0, 8)
    b = tl.arange(0, 16)
    tl.store(x + tl.arange(0, 8), a + b)


@CASES.add(
    "[E0110] cannot broadcast [8] with [4, 8]", "shapes must match or be 1", "tl.broadcast_to(tl.arange(0, 8), 4, 8)", x=i32(32)
)
def broadcast_to_other_rank(x):
    a = tl.broadcast_to(tl.arange(0, 8), 4, 8)
    tl.store(x, tl.sum(a))


@CASES.add(
    "[E0121] cannot reshape [8] (8 elements) to [16] (16 elements)",
    "the number of elements must stay the same",
    "tl.reshape(tl.arange(0, 8), (16,))",
    x=i32(),
)
def reshape_count(x):
    tl.store(x, tl.sum(tl.reshape(tl.arange(0, 8), (16,))))


@CASES.add(
    "[E0121] tl.split needs a last dimension of 2, got i32[8]",
    "reshape it to [..., 2] first",
    "tl.split(tl.arange(0, 8))",
    x=i32(),
)
def split_of_eight(x):
    a, b = tl.split(tl.arange(0, 8))
    tl.store(x, tl.sum(a + b))


@CASES.add(
    "[E0117] invalid axis 1: it is out of range for a tile of rank 1",
    "use an axis from -1 to 0",
    "tl.sum(tl.arange(0, 8), 1)",
    x=i32(),
)
def axis_out_of_range(x):
    tl.store(x, tl.sum(tl.arange(0, 8), 1))


@CASES.add("[E0121] tl.reduce needs a tile, got i32", "only tiles have an axis", "tl.sum(tl.program_id(0), 0)", x=i32())
def reduce_a_scalar(x):
    tl.store(x, tl.sum(tl.program_id(0), 0))


@CASES.add("[E0121] .T needs two dimensions, got i32[8]", "use tl.permute", "tl.arange(0, 8).T", x=i32())
def transpose_of_vector(x):
    tl.store(x + tl.arange(0, 8), tl.arange(0, 8).T)


# -- types ------------------------------------------------------------------


@CASES.add("[E0116] '//' needs integers, got fp32 and i32", "use '/' and tl.floor for floats", "a // tl.program_id(0)", x=f32())
def floor_division_of_floats(x):
    a = tl.load(x)
    tl.store(x, a // tl.program_id(0))


@CASES.add(
    "[E0116] Cannot use i32 and u32 in a division because they have different signedness",
    "cast both to one signedness",
    "a % b",
    x=i32(),
    y=np.ones(1, np.uint32),
)
def mixed_signs(x, y):
    a = tl.load(x)
    b = tl.load(y)
    tl.store(x, a % b)


@CASES.add(
    "[E0116] invalid operands of type fp32 and the literal 1: '&' needs integers",
    "cast floats, or reinterpret them with .to(type, bitcast=True)",
    "tl.load(x) & 1",
    x=f32(),
)
def bitwise_of_floats(x):
    tl.store(x, tl.load(x) & 1)


@CASES.add(
    "[E0116] cannot apply '+' to *fp32 and fp32",
    "a pointer takes '+' and '-' with an integer; cast it to int64 for others",
    "x + tl.load(x)",
    x=f32(),
)
def pointer_plus_float(x):
    tl.store(x + tl.load(x), 1.0)


@CASES.add(
    "[E0116] cannot compare *fp32 with the literal 0",
    "cast pointers to int64 to compare addresses; test for None with 'is'",
    "x == 0",
    x=f32(),
)
def pointer_comparison(x):
    tl.store(x, tl.where(x == 0, 1.0, 2.0))


@CASES.add(
    "[E0116] cannot cast *fp32 to i32",
    "pointers convert to 64-bit integers, to int1 and to other pointers",
    "x.to(tl.int32)",
    x=f32(),
)
def pointer_to_narrow_integer(x):
    tl.store(x, x.to(tl.int32))


@CASES.add(
    "[E0116] cannot reinterpret fp32 (32 bits) as i16 (16 bits)",
    "reinterpreting keeps the width; use a type of the same size",
    "tl.load(x).to(tl.int16, bitcast=True)",
    x=f32(),
)
def bitcast_width(x):
    tl.store(x, tl.load(x).to(tl.int16, bitcast=True))


@CASES.add(
    "[E0117] fp_downcast_rounding applies to narrowing float casts, not to fp32 to fp64",
    "leave fp_downcast_rounding out",
    'tl.load(x).to(tl.float64, fp_downcast_rounding="rtz")',
    x=f32(),
)
def rounding_of_widening(x):
    tl.store(x, tl.load(x).to(tl.float64, fp_downcast_rounding="rtz"))


@CASES.add(
    "[E0119] value -1 is out of range for u32",
    "use a wider type or a value that fits",
    "tl.load(x) + -1",
    x=np.zeros(1, np.uint32),
)
def negative_literal_on_unsigned(x):
    tl.store(x, tl.load(x) + -1)


@CASES.add(
    "[E0119] value 300 is out of range for u8",
    "use a wider type or a value that fits",
    "tl.full((8,), 300, tl.uint8)",
    x=np.zeros(8, np.uint8),
)
def literal_too_large(x):
    tl.store(x + tl.arange(0, 8), tl.full((8,), 300, tl.uint8))


@CASES.add(
    "[E0120] tl.exp needs fp32 or fp64, got fp16", "cast it: x.to(tl.float32)", "tl.exp(tl.load(x))", x=np.zeros(1, np.float16)
)
def exp_of_half(x):
    tl.store(x, tl.exp(tl.load(x)))


@CASES.add(
    "[E0120] tl.clamp needs floats, got i32",
    "use tl.minimum and tl.maximum for integers",
    "tl.clamp(tl.load(x), 0, 1)",
    x=i32(),
)
def clamp_of_integers(x):
    tl.store(x, tl.clamp(tl.load(x), 0, 1))


@CASES.add(
    "[E0120] tl.umulhi needs 32- or 64-bit integers, got i16",
    "cast both to uint32 or uint64",
    "tl.umulhi(tl.load(x), tl.load(x))",
    x=np.zeros(1, np.int16),
)
def umulhi_of_short(x):
    tl.store(x, tl.umulhi(tl.load(x), tl.load(x)))


@CASES.add(
    "[E0116] tl.join needs one type, got i32[8] and fp32[8]",
    "cast both to one type",
    "tl.join(tl.arange(0, 8), tl.zeros((8,), tl.float32))",
    x=i32(),
)
def join_of_two_types(x):
    y = tl.join(tl.arange(0, 8), tl.zeros((8,), tl.float32))
    tl.store(x, tl.sum(y))


@CASES.add(
    "[E0116] tl.where cannot choose between *fp32 and *i32",
    "cast one pointer to the type of the other",
    "tl.where(tl.program_id(0) == 0, x, y)",
    x=f32(),
    y=i32(),
)
def where_of_two_pointers(x, y):
    p = tl.where(tl.program_id(0) == 0, x, y)
    tl.store(p, 0)


@CASES.add(
    "[E0120] unsupported tensor index: only None and ':' have a meaning",
    "use tl.gather, masks with tl.where, or load the part you need",
    "a[0]",
    x=i32(),
)
def element_access(x):
    a = tl.arange(0, 8)
    tl.store(x, a[0])


# -- memory -----------------------------------------------------------------


@CASES.add(
    "[E0116] tl.load needs a pointer, got i32", "pass a pointer argument plus offsets", "tl.load(tl.program_id(0))", x=i32()
)
def load_from_a_number(x):
    tl.store(x, tl.load(tl.program_id(0)))


@CASES.add(
    "[E0117] tl.load: other= has no meaning without mask=", "add mask=, or leave other= out", "tl.load(x, other=0.0)", x=f32()
)
def other_without_mask(x):
    tl.store(x, tl.load(x, other=0.0))


@CASES.add(
    "[E0116] tl.store: the mask must be int1, got i32[8]",
    "compare it: mask != 0",
    "tl.store(x + tl.arange(0, 8), 1.0, mask=tl.arange(0, 8))",
    x=f32(),
)
def mask_of_integers(x):
    tl.store(x + tl.arange(0, 8), 1.0, mask=tl.arange(0, 8))


@CASES.add(
    "[E0121] tl.store: cannot store i32[8] through the scalar pointer *i32",
    "make the pointer a tile: add tl.arange offsets",
    "tl.store(x, tl.arange(0, 8))",
    x=i32(),
)
def tile_through_scalar_pointer(x):
    tl.store(x, tl.arange(0, 8))


@CASES.add(
    "[E0117] cache_modifier is '.xx'",
    "choose one of '', '.ca', '.cg', '.cs', '.cv'",
    'tl.load(x, cache_modifier=".xx")',
    x=f32(),
)
def unknown_cache_modifier(x):
    tl.store(x, tl.load(x, cache_modifier=".xx"))


@CASES.add(
    "[E0117] eviction_policy is 'never'",
    "choose one of '', 'evict_normal', 'evict_first', 'evict_last'",
    'tl.load(x, eviction_policy="never")',
    x=f32(),
)
def unknown_eviction_policy(x):
    tl.store(x, tl.load(x, eviction_policy="never"))


@CASES.add(
    "[E0120] tl.atomic_max does not support i16",
    "use 32- or 64-bit integers or floats of 16 to 64 bits",
    "tl.atomic_max(x, 1)",
    x=np.zeros(1, np.int16),
)
def atomic_of_short(x):
    tl.atomic_max(x, 1)


@CASES.add(
    "[E0120] tl.atomic_xchg does not support fp16",
    "use 32- or 64-bit integers or floats",
    "tl.atomic_xchg(x, 1.0)",
    x=np.zeros(1, np.float16),
)
def exchange_of_half(x):
    tl.atomic_xchg(x, 1.0)


@CASES.add(
    "[E0116] tl.atomic_cas: cmp is i32, the pointer points to i64",
    "cast it to i64",
    "tl.atomic_cas(x, tl.program_id(0), 1)",
    x=np.zeros(1, np.int64),
)
def compare_of_other_type(x):
    tl.atomic_cas(x, tl.program_id(0), 1)


@CASES.add(
    "[E0117] sem is 'strong'",
    "choose one of 'acquire', 'release', 'acq_rel', 'relaxed'",
    'tl.atomic_add(x, 1, sem="strong")',
    x=i32(),
)
def unknown_semantics(x):
    tl.atomic_add(x, 1, sem="strong")


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
    "[E0120] tl.xor_sum needs integers, got fp32[8]",
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
    "use h, r, l for integer registers of 16, 32 and 64 bits, f and d for floats",
    'tl.inline_asm_elementwise("", "=r,x", [tl.program_id(0)], tl.int32, True, 1)',
    x=i32(),
)
def unknown_constraint(x):
    tl.store(x, tl.inline_asm_elementwise("", "=r,x", [tl.program_id(0)], tl.int32, True, 1))


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
