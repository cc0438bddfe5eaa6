# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors of single functions about their operands, from both evaluators; the common ones are in test_semantic_errors.py."""

import pytest

import tilewright
import tilewright.language as tl
from harness.messages import DOORS, Cases, check_message, f32, i32

CASES = Cases()


@CASES.add(
    "[E0116] tl.atomic_cas needs a pointer, got i32",
    "pass a pointer argument plus offsets",
    "tl.atomic_cas(n, 0, 1)",
    x=i32(),
    n=5,
)
def swap_of_no_pointer(x, n):
    tl.store(x, tl.atomic_cas(n, 0, 1))


@CASES.add("[E0117] tl.multiple_of: 0 is not positive", "give a positive number", "tl.multiple_of(n, 0)", x=i32(), n=5)
def multiple_of_zero(x, n):
    tl.store(x, tl.multiple_of(n, 0))


@CASES.add(
    "[E0117] tl.device_print: the prefix has a character that cannot be printed",
    "use printable ASCII characters",
    'tl.device_print("\\x01", n)',
    x=i32(),
    n=5,
)
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


@CASES.add(
    "[E0121] tl.load: a scalar pointer takes a scalar other=, got fp32[8]",
    "make the pointer a tile: add tl.arange offsets",
    "tl.load(x, mask=n > 0, other=tl.zeros((8,), tl.float32))",
    x=f32(),
    n=5,
)
def tile_for_a_scalar(x, n):
    tl.store(x, tl.load(x, mask=n > 0, other=tl.zeros((8,), tl.float32)))


@CASES.add(
    "[E0116] tl.cat needs one type, got i32[8] and fp32[8]",
    "cast both to one type",
    "tl.cat(tl.arange(0, 8), tl.zeros((8,), tl.float32), can_reorder=True)",
    x=f32(),
)
def joined_types(x):
    tl.store(x + tl.arange(0, 16), tl.cat(tl.arange(0, 8), tl.zeros((8,), tl.float32), can_reorder=True))


# -- operands that lack, or are of another kind ------------------------------


@CASES.add(
    "[E0120] cannot make a constant of type void", "name an integer or floating type", "tl.full((8,), 1, tl.void)", x=f32()
)
def tile_of_no_type(x):
    tl.store(x, tl.sum(tl.full((8,), 1, tl.void)))


@CASES.add(
    "[E0116] tl.atomic_poll needs a scalar to wait for, got i32[8]",
    "compare with one value",
    "tl.atomic_poll(x, tl.arange(0, 8))",
    x=i32(),
)
def polling_for_a_tile(x):
    tl.store(x, tl.atomic_poll(x, tl.arange(0, 8)).to(tl.int32))


@tl.core.extern
def function_of_another_library(x, _semantic=None):
    return tl.core.extern_elementwise("cuda", "", [x], {(tl.int32,): ("popcount", tl.int32)}, is_pure=True, _semantic=_semantic)


@CASES.add(
    "[E0120] 'popcount' is not a function of libdevice",
    "name a function of libdevice (__nv_...)",
    "function_of_another_library(n)",
    x=i32(),
    n=5,
)
def symbol_outside_libdevice(x, n):
    tl.store(x, function_of_another_library(n))


@tl.core.extern
def function_of_nothing(_semantic=None):
    return tl.core.extern_elementwise("libdevice", "", [], {(): ("__nv_popc", tl.int32)}, is_pure=True, _semantic=_semantic)


@CASES.add("[E0117] '__nv_popc' needs operands", "pass the operands of the function", "function_of_nothing()", x=i32())
def symbol_without_operands(x):
    tl.store(x, function_of_nothing())


@tilewright.jit
def add(x, y):
    return x + y


@CASES.add(
    "[E0117] tl.map_elementwise needs at least one tensor",
    "pass the tensors whose elements the function takes",
    "tl.map_elementwise(add)",
    x=i32(),
)
def mapping_of_nothing(x):
    tl.store(x, tl.map_elementwise(add))


@CASES.add("[E0117] tl.reduce has no input", "pass a tile or a tuple of tiles", "tl.reduce((), 0, add)", x=i32())
def reduction_of_nothing(x):
    tl.store(x, tl.reduce((), 0, add))


@CASES.add(
    "[E0117] tl.associative_scan has no input", "pass a tile or a tuple of tiles", "tl.associative_scan((), 0, add)", x=i32()
)
def scan_of_nothing(x):
    tl.store(x, tl.associative_scan((), 0, add))


@CASES.add(
    "[E0122] call of 'tl.static_range': missing argument 'arg1'",
    "signature is tl.static_range(arg1, arg2, step)",
    "tl.static_range()",
    x=i32(),
)
def unrolled_without_an_end(x):
    for i in tl.static_range():
        tl.store(x, i)


# -- operands of functions that are written in Python ---------------------------


@CASES.add(
    "[E0121] tl.trans needs at least two dimensions, got i32[8]",
    "add one with x[None, :]",
    "tl.trans(tl.arange(0, 8))",
    x=i32(),
)
def transposed_vector(x):
    tl.store(x + tl.arange(0, 8), tl.trans(tl.arange(0, 8)))


@CASES.add(
    "[E0117] tl.expand_dims: duplicate axes, normalized axes = [0, 0]",
    "name each new axis once",
    "tl.expand_dims(tl.arange(0, 8), (0, 0))",
    x=i32(),
)
def axis_added_twice(x):
    tl.store(x, tl.sum(tl.expand_dims(tl.arange(0, 8), (0, 0))))


@CASES.add(
    "[E0121] tl.squeeze: dimension 0 of i32[8] is not 1",
    "name a dimension of extent 1",
    "tl.squeeze(tl.arange(0, 8), 0)",
    x=i32(),
)
def squeezed_extent(x):
    tl.store(x, tl.squeeze(tl.arange(0, 8), 0))


@CASES.add(
    "[E0121] tl.histogram needs one dimension, got i32[2, 4]",
    "use x.ravel()",
    "tl.histogram(tl.arange(0, 8).reshape(2, 4), 8)",
    x=i32(),
)
def histogram_of_a_matrix(x):
    tl.store(x + tl.arange(0, 8), tl.histogram(tl.arange(0, 8).reshape(2, 4), 8))


@CASES.add(
    "[E0117] tl.sort: dimension 1 is out of range for 1 dimensions",
    "name a dimension of the tile",
    "tl.sort(tl.arange(0, 8), 1)",
    x=i32(),
)
def sorted_along_nothing(x):
    tl.store(x + tl.arange(0, 8), tl.sort(tl.arange(0, 8), 1))


@CASES.add(
    "[E0120] tl.philox_impl needs uint32 or uint64, got i32",
    "use tl.philox, which splits seed and counters",
    "tl.philox_impl(n, n, n, n, n, n)",
    x=i32(),
    n=5,
)
def random_rounds_of_signed_counters(x, n):
    tl.store(x, tl.philox_impl(n, n, n, n, n, n)[0].to(tl.int32))


@CASES.add("[E0120] there is no integer type of 24 bits", "use 1, 8, 16, 32 or 64", "tl.core.get_int_dtype(24, True)", x=i32())
def integer_of_three_bytes(x):
    tl.store(x, tl.zeros((), tl.core.get_int_dtype(24, True)))


@CASES.add(
    "[E0120] tl.core.extern_elementwise has no function of (fp32)",
    "cast the operands; there are functions of (int32)",
    "function_of_another_library(1.0)",
    x=i32(),
)
def symbol_of_other_operands(x):
    tl.store(x, function_of_another_library(1.0))


@CASES.add(
    "[E0117] tl.load: padding_option is 'one'",
    "choose one of '', 'zero', 'nan'",
    'tl.load(tl.make_block_ptr(x, (8,), (1,), (0,), (8,), (0,)), boundary_check=(0,), padding_option="one")',
    x=f32(),
)
def unknown_padding(x):
    tl.store(x, tl.sum(tl.load(tl.make_block_ptr(x, (8,), (1,), (0,), (8,), (0,)), boundary_check=(0,), padding_option="one")))


@CASES.add(
    "[E0117] boundary_check names dimension 1 of a tile of rank 1",
    "use dimensions from 0 to 0",
    "tl.load(tl.make_block_ptr(x, (8,), (1,), (0,), (8,), (0,)), boundary_check=(1,))",
    x=f32(),
)
def check_of_another_dimension(x):
    tl.store(x, tl.sum(tl.load(tl.make_block_ptr(x, (8,), (1,), (0,), (8,), (0,)), boundary_check=(1,))))


@CASES.add(
    "[E0117] tl.make_block_ptr: order (1, 1) is no permutation",
    "name each dimension once",
    "tl.make_block_ptr(x, (2, 4), (4, 1), (0, 0), (2, 4), (1, 1))",
    x=f32(),
)
def order_of_one_dimension(x):
    tl.store(x, tl.sum(tl.load(tl.make_block_ptr(x, (2, 4), (4, 1), (0, 0), (2, 4), (1, 1)))))


@CASES.add("[E0116] tl.advance needs a block pointer", "make one with tl.make_block_ptr", "tl.advance(x, (1,))", x=f32())
def advanced_pointer(x):
    moved = tl.advance(x, (1,))
    tl.store(x, tl.sum(tl.load(moved)))


@CASES.add(
    "[E0121] tl.make_tensor_descriptor: 6 dimensions",
    "use one to five dimensions",
    "tl.make_tensor_descriptor(x, (1, 1, 1, 1, 1, 8), (8, 8, 8, 8, 8, 1), (1, 1, 1, 1, 1, 8))",
    x=f32(),
)
def descriptor_of_six_dimensions(x):
    tl.make_tensor_descriptor(x, (1, 1, 1, 1, 1, 8), (8, 8, 8, 8, 8, 1), (1, 1, 1, 1, 1, 8))


@CASES.add(
    "[E0121] tl.make_tensor_descriptor: the last dimension of a block has 8 bytes; 16 are required",
    "use a wider block",
    "tl.make_tensor_descriptor(x, (8,), (1,), (2,))",
    x=f32(),
)
def descriptor_of_narrow_blocks(x):
    tl.make_tensor_descriptor(x, (8,), (1,), (2,))


@CASES.add(
    "[E0121] rows of a descriptor with the block [2, 4]",
    "use a block of one row: [1, n]",
    "blocks.gather(tl.arange(0, 8), 0)",
    x=f32(),
)
def rows_of_taller_blocks(x):
    blocks = tl.make_tensor_descriptor(x, (2, 4), (4, 1), (2, 4))
    tl.store(x, tl.sum(blocks.gather(tl.arange(0, 8), 0)))


@pytest.mark.parametrize("door", DOORS)
@CASES.parametrize
def test_message(door, case):
    check_message(door, case)
