# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The text of every error about types, shapes and values, from both evaluators.

Each case is one kernel with one mistake. The compiler and the interpreter must say
the same, name the same line and mark the same columns.
"""

import numpy as np
import pytest

import tilewright.language as tl
from harness.messages import DOORS, Cases, check_message, f32, i32

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


@CASES.add(
    "[E0116] unexpected type: '//' needs integers, got fp32 and i32",
    "use '/' and tl.floor for floats",
    "a // tl.program_id(0)",
    x=f32(),
)
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
    "[E0120] tl.exp: Expected dtype ['fp32', 'fp64'] but got fp16",
    "cast it: x.to(tl.float32)",
    "tl.exp(tl.load(x))",
    x=np.zeros(1, np.float16),
)
def exp_of_half(x):
    tl.store(x, tl.exp(tl.load(x)))


@CASES.add(
    "[E0120] tl.max: input must be a tensor, got float",
    "pass a value of the kernel, or tl.full(shape, value, dtype)",
    "tl.max(3.0, axis=0)",
    x=i32(),
)
def max_of_a_number(x):
    tl.store(x, tl.max(3.0, axis=0))


@CASES.add(
    "[E0120] tl.sort: x must be a tensor, got None",
    "pass a value of the kernel, or tl.full(shape, value, dtype)",
    "tl.sort(None)",
    x=i32(),
)
def sort_of_none(x):
    tl.store(x, tl.sort(None))


@CASES.add(
    "[E0120] tl.argmax: input must be a tensor, got tuple",
    "pass a value of the kernel, or tl.full(shape, value, dtype)",
    "tl.argmax(tl.arange(0, 8).shape, 0)",
    x=i32(),
)
def argmax_of_a_shape(x):
    tl.store(x, tl.argmax(tl.arange(0, 8).shape, 0))


@CASES.add(
    "[E0120] tl.clamp needs floats, got i32",
    "use tl.minimum and tl.maximum for integers",
    "tl.clamp(tl.load(x), 0, 1)",
    x=i32(),
)
def clamp_of_integers(x):
    tl.store(x, tl.clamp(tl.load(x), 0, 1))


@CASES.add(
    "[E0120] tl.umulhi: Expected dtype ['int32', 'int64', 'uint32', 'uint64'] but got int16",
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


# -- both doors -------------------------------------------------------------


@pytest.mark.parametrize("door", DOORS)
@CASES.parametrize
def test_message(door, case):
    check_message(door, case)
