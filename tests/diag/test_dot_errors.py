# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The text of every error about matrix products, from both evaluators."""

import pytest

import tilewright.language as tl
from harness.messages import DOORS, Cases, check_message, compile, f32

CASES = Cases()
# Of a GPU without fp8 units; the interpreter has them.
WITHOUT_FP8 = Cases()
SUPPORTED = "supported: equal types out of int8, fp16, bf16, fp32, fp64, or any two of fp8e4nv, fp8e5"

# -- types ------------------------------------------------------------------


@CASES.add("[E0109] dot does not support fp16 x fp32 on {arch}", SUPPORTED, "tl.dot(a, a.to(tl.float32))", x=f32())
def different_types(x):
    a = tl.zeros((16, 16), tl.float16)
    tl.store(x, tl.sum(tl.dot(a, a.to(tl.float32))))


@CASES.add("[E0109] dot does not support u8 x u8 on {arch}", SUPPORTED, "tl.dot(a, a)", x=f32())
def unsigned_bytes(x):
    a = tl.zeros((32, 32), tl.uint8)
    tl.store(x, tl.sum(tl.dot(a, a)))


@CASES.add("[E0109] dot does not support fp8e4nv x fp16 on {arch}", SUPPORTED, "tl.dot(a, a.to(tl.float16))", x=f32())
def float8_with_half(x):
    a = tl.zeros((32, 32), tl.float8e4nv)
    tl.store(x, tl.sum(tl.dot(a, a.to(tl.float16))))


@WITHOUT_FP8.add(
    "[E0109] dot does not support fp8e4nv x fp8e5 on {arch}",
    "supported: fp8e4nv only on GPUs with fp8 units; cast it to fp16, which holds all its values",
    "tl.dot(a, b)",
    x=f32(),
)
def float8_without_units(x):
    a = tl.zeros((32, 32), tl.float8e4nv)
    b = tl.zeros((32, 32), tl.float8e5)
    tl.store(x, tl.sum(tl.dot(a, b)))


@CASES.add(
    "[E0117] tl.dot cannot accumulate in bf16",
    "use tl.float32 or tl.float16, and cast the result",
    "tl.dot(a, a, out_dtype=tl.bfloat16)",
    x=f32(),
)
def bfloat16_result(x):
    a = tl.zeros((16, 16), tl.bfloat16)
    tl.store(x, tl.sum(tl.dot(a, a, out_dtype=tl.bfloat16)))


@CASES.add(
    "[E0116] tl.dot: the accumulator is fp16[16, 16], the product of bf16[16, 16] and bf16[16, 16] is fp32[16, 16]",
    "start the accumulator as tl.zeros([16, 16], tl.float32)",
    "tl.dot(a, a, acc)",
    x=f32(),
)
def accumulator_type(x):
    a = tl.zeros((16, 16), tl.bfloat16)
    acc = tl.zeros((16, 16), tl.float16)
    tl.store(x, tl.sum(tl.dot(a, a, acc)))


@CASES.add(
    "[E0116] tl.dot: the accumulator is fp32[16, 32], the product of fp16[16, 16] and fp16[16, 16] is fp32[16, 16]",
    "start the accumulator as tl.zeros([16, 16], tl.float32)",
    "tl.dot(a, a, tl.zeros((16, 32), tl.float32))",
    x=f32(),
)
def accumulator_shape(x):
    a = tl.zeros((16, 16), tl.float16)
    tl.store(x, tl.sum(tl.dot(a, a, tl.zeros((16, 32), tl.float32))))


# -- shapes -----------------------------------------------------------------


@CASES.add("[E0108] dot: inner dimensions differ, 32 and 16", "transpose or reshape one operand", "tl.dot(a, a)", x=f32())
def inner_dimensions(x):
    a = tl.zeros((16, 32), tl.float16)
    tl.store(x, tl.sum(tl.dot(a, a)))


@CASES.add(
    "[E0121] tl.dot of fp16[16] and fp16[16, 16]",
    "both operands need two dimensions, or more, of which all before the last two are batches",
    "tl.dot(a, b)",
    x=f32(),
)
def rank_of_one(x):
    a = tl.zeros((16,), tl.float16)
    b = tl.zeros((16, 16), tl.float16)
    tl.store(x, tl.sum(tl.dot(a, b)))


@CASES.add(
    "[E0121] tl.dot of fp32 and fp32[16, 16]",
    "both operands need two dimensions, or more, of which all before the last two are batches",
    "tl.dot(2.0, b)",
    x=f32(),
)
def scalar_operand(x):
    b = tl.zeros((16, 16), tl.float32)
    tl.store(x, tl.sum(tl.dot(2.0, b)))


@CASES.add(
    "[E0121] tl.dot: batches differ, 2 and 4", "broadcast one operand to the batch of the other", "tl.dot(a, b)", x=f32()
)
def batches(x):
    a = tl.zeros((2, 16, 16), tl.float16)
    b = tl.zeros((4, 16, 16), tl.float16)
    tl.store(x, tl.sum(tl.dot(a, b)))


@CASES.add(
    "[E0121] tl.dot: inner dimension is 8; fp16 needs at least 16", "use at least 16 and mask the rest", "tl.dot(a, b)", x=f32()
)
def small_inner_dimension(x):
    a = tl.zeros((16, 8), tl.float16)
    b = tl.zeros((8, 16), tl.float16)
    tl.store(x, tl.sum(tl.dot(a, b)))


@CASES.add("[E0107] tile has 4194304 elements; the limit is 1048576", "reduce the block size", "tl.dot(a, b)", x=f32())
def large_result(x):
    a = tl.zeros((2048, 16), tl.float16)
    b = tl.zeros((16, 2048), tl.float16)
    tl.store(x, tl.sum(tl.dot(a, b)))


# -- options ----------------------------------------------------------------


@CASES.add(
    "[E0117] input_precision is 'fp32'",
    "choose one of 'tf32', the fastest, 'tf32x3', 'bf16x3', 'bf16x6', 'ieee', the exact one; fast_math is an option "
    "of tl.dot_scaled",
    'tl.dot(a, a, input_precision="fp32")',
    x=f32(),
)
def unknown_precision(x):
    a = tl.zeros((16, 16), tl.float32)
    tl.store(x, tl.sum(tl.dot(a, a, input_precision="fp32")))


@CASES.add(
    "[E0117] tl.dot takes input_precision or allow_tf32, not both",
    "allow_tf32 is the older form of input_precision",
    'tl.dot(a, a, input_precision="ieee", allow_tf32=True)',
    x=f32(),
)
def both_precisions(x):
    a = tl.zeros((16, 16), tl.float32)
    tl.store(x, tl.sum(tl.dot(a, a, input_precision="ieee", allow_tf32=True)))


@CASES.add(
    "[E0117] max_num_imprecise_acc (64) must be <= K (32)",
    "it counts steps of the inner dimension K; 0 is for never",
    "tl.dot(a, a, max_num_imprecise_acc=64)",
    x=f32(),
)
def promotion_interval(x):
    a = tl.zeros((32, 32), tl.float8e5)
    tl.store(x, tl.sum(tl.dot(a, a, max_num_imprecise_acc=64)))


# -- scaled -----------------------------------------------------------------


@CASES.add(
    "[E0117] tl.dot_scaled: lhs_format is 'fp8'",
    "choose one of 'e2m1', 'e4m3', 'e5m2', 'bf16', 'fp16'",
    'tl.dot_scaled(a, None, "fp8", a, None, "bf16")',
    x=f32(),
)
def unknown_format(x):
    a = tl.zeros((32, 32), tl.bfloat16)
    tl.store(x, tl.sum(tl.dot_scaled(a, None, "fp8", a, None, "bf16")))


@CASES.add(
    "[E0116] tl.dot_scaled: rhs is bf16[32, 32], its format 'e4m3' is stored as fp8e4nv",
    "load or cast it as that type",
    'tl.dot_scaled(a, None, "bf16", a, None, "e4m3")',
    x=f32(),
)
def format_of_another_type(x):
    a = tl.zeros((32, 32), tl.bfloat16)
    tl.store(x, tl.sum(tl.dot_scaled(a, None, "bf16", a, None, "e4m3")))


@CASES.add(
    "[E0121] tl.dot_scaled: rhs_scale is u8[2, 64], [64, 2] is required",
    "the scales of rhs are [N, K / 32]",
    'tl.dot_scaled(a, None, "bf16", b, scale, "bf16")',
    x=f32(),
)
def transposed_scale(x):
    a = tl.zeros((16, 64), tl.bfloat16)
    b = tl.zeros((64, 64), tl.bfloat16)
    scale = tl.zeros((2, 64), tl.uint8)
    tl.store(x, tl.sum(tl.dot_scaled(a, None, "bf16", b, scale, "bf16")))


@CASES.add(
    "[E0116] tl.dot_scaled: lhs_scale is fp32[32, 1]",
    "pass exponents (E8M0) as uint8, one per 32 elements, or float8e4nv, one per 16",
    'tl.dot_scaled(a, scale, "bf16", a, None, "bf16")',
    x=f32(),
)
def scale_of_floats(x):
    a = tl.zeros((32, 32), tl.bfloat16)
    scale = tl.zeros((32, 1), tl.float32)
    tl.store(x, tl.sum(tl.dot_scaled(a, scale, "bf16", a, None, "bf16")))


@CASES.add(
    "[E0117] tl.dot_scaled: lhs_k_pack=False with format 'bf16'",
    "only e2m1 has two elements in a byte; leave it out",
    'tl.dot_scaled(a, None, "bf16", a, None, "bf16", lhs_k_pack=False)',
    x=f32(),
)
def packing_of_whole_elements(x):
    a = tl.zeros((32, 32), tl.bfloat16)
    tl.store(x, tl.sum(tl.dot_scaled(a, None, "bf16", a, None, "bf16", lhs_k_pack=False)))


@CASES.add(
    "[E0117] tl.dot_scaled: out_dtype is fp16",
    "the result is float32; cast it afterwards",
    'tl.dot_scaled(a, None, "bf16", a, None, "bf16", out_dtype=tl.float16)',
    x=f32(),
)
def scaled_half_result(x):
    a = tl.zeros((32, 32), tl.bfloat16)
    tl.store(x, tl.sum(tl.dot_scaled(a, None, "bf16", a, None, "bf16", out_dtype=tl.float16)))


@CASES.add(
    "[E0121] tl.dot_scaled: lhs is bf16[32]",
    "operands need two dimensions, or three with a batch",
    'tl.dot_scaled(a, None, "bf16", a, None, "bf16")',
    x=f32(),
)
def scaled_rank_of_one(x):
    a = tl.zeros((32,), tl.bfloat16)
    tl.store(x, tl.sum(tl.dot_scaled(a, None, "bf16", a, None, "bf16")))


@pytest.mark.parametrize("door", DOORS)
@CASES.parametrize
def test_message(door, case):
    check_message(door, case)


@WITHOUT_FP8.parametrize
def test_message_without_fp8(case):
    check_message(compile, case)
