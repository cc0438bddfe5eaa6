# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Triton's sentences, where programs compare them: as the cause of the error, or in its text."""

import pytest

import tilewright
import tilewright.language as tl
from harness.messages import DOORS, compile, f32
from tilewright import errors


@tilewright.jit
def axis_of_the_grid(x):
    tl.store(x, tl.program_id(20))


@tilewright.jit
def axis_beyond(x):
    tl.store(x, tl.sum(tl.expand_dims(tl.arange(0, 8), -3)))


@tilewright.jit
def axis_twice(x):
    tl.store(x, tl.sum(tl.expand_dims(tl.arange(0, 8), (0, -3))))


@tilewright.jit
def uneven_range(x):
    tl.store(x, tl.sum(tl.arange(2, 7)))


@tilewright.jit
def uneven_tile(x):
    tl.store(x, tl.sum(tl.full((4, 33), 0.0, tl.float32)))


@tilewright.jit
def short_product(x):
    a = tl.full((8, 8), 0.0, tl.float16)
    tl.store(x, tl.sum(tl.dot(a, a)))


@tilewright.jit
def imprecise(x):
    a = tl.full((64, 64), 0.0, tl.float8e5)
    tl.store(x, tl.sum(tl.dot(a, a, max_num_imprecise_acc=128)))


@tilewright.jit
def narrow_block(x):
    d = tl.make_tensor_descriptor(x, [128, 128], [128, 1], [1, 2])
    tl.store(x, tl.sum(d.load([0, 0])))


@tilewright.jit
def wrong_scale(x):
    a = tl.full((32, 64), 0, tl.uint8).to(tl.float8e5, bitcast=True)
    b = tl.full((64, 32), 0, tl.uint8).to(tl.float8e5, bitcast=True)
    product = tl.dot_scaled(a, tl.full((32, 4), 0, tl.uint8), "e5m2", b, tl.full((32, 2), 0, tl.uint8), "e5m2")
    tl.store(x, tl.sum(product))


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    "kernel, sentence",
    [
        (axis_of_the_grid, "program_id axis must be 0, 1, or 2 but got 20"),
        (axis_beyond, "invalid axis -3"),
        (axis_twice, "duplicate axes, normalized axes = [0, 0]"),
        (uneven_range, "arange's range must be a power of 2"),
        (uneven_tile, "Shape element 1 must be a power of 2"),
        (short_product, "Input shapes should have M >= 1, N >= 1 and K >= 16"),
        (imprecise, "max_num_imprecise_acc (128) must be <= K (64)"),
        (narrow_block, "Descriptor block shape must have at least 16 bytes"),
        (wrong_scale, "lhs_scale must be a tensor of shape [32, 2]. Got ['32', '4']"),
    ],
)
def test_cause(door, kernel, sentence):
    with pytest.raises(errors.TilewrightError) as info:
        door(kernel, {"x": f32()})
    assert isinstance(info.value, tilewright.CompilationError)
    assert isinstance(info.value, errors.InterpreterError) == (door is not compile)
    assert isinstance(info.value.__cause__, ValueError) and sentence in str(info.value.__cause__)
    # The error's own text keeps its code and its advice.
    assert info.value.code and info.value.help in str(info.value)


@tilewright.must_use_result("It only computes.")
@tilewright.jit
def cube(x):
    return x * x * x


def test_unused_result_ends_with_its_reason():

    @tilewright.jit
    def kernel(x):
        cube(tl.load(x))

    with pytest.raises(tilewright.CompilationError) as info:
        compile(kernel, {"x": f32()})
    assert info.value.message == "the result of 'cube' is not used"
    assert str(info.value).splitlines()[-1] == "The result of cube is not being used. It only computes."


def test_constant_pointer():

    @tilewright.jit
    def kernel(x: tl.const):
        tl.store(x, 1.0)

    with pytest.raises(tilewright.CompilationError, match="Cannot store to a constant pointer") as info:
        tilewright.compile(tilewright.ASTSource(kernel, {"x": "*kfp32"}), "sm_80")
    assert "Cannot store to a constant pointer" in info.value.error_message


def test_constant_that_is_not_to_be_specialised():

    @tilewright.jit(do_not_specialize=["N"])
    def kernel(N: tl.constexpr):
        pass

    with pytest.raises(tilewright.CompilationError, match="N marked as constexpr and listed in do_not_specialize"):
        tilewright.compile(tilewright.ASTSource(kernel, {}, {"N": 5}), "sm_80")


def test_condition_that_is_no_bool():

    @tilewright.jit
    def kernel(x):
        offsets = tl.arange(0, 64)
        tl.store(x + offsets, tl.where(offsets, 1.0, 2.0))

    errors._warned.clear()
    with pytest.warns(UserWarning, match=r"\[W0126\] tl.where with a non-boolean condition: i32\[64\]"):
        compile(kernel, {"x": f32()})
