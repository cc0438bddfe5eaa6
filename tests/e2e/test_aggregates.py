# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Records of the user's inside kernels: constructors, methods, operators, loops, copies."""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from tilewright import errors

SIZE = tl.constexpr(64)


@tilewright.aggregate
class Accumulator:
    total: tl.tensor
    factor: tl.constexpr

    @tilewright.jit
    def add(self, x):
        return tl.aggregate_replace(self, total=self.total + x * self.factor)

    @tilewright.constexpr_function
    def doubled(self):
        return self.factor.value * 2 if hasattr(self.factor, "value") else self.factor * 2

    def scaled(self, by):
        return self.total * by

    @tilewright.jit
    def __add__(self, other):
        return Accumulator(self.total + other.total, self.factor)


@tilewright.aggregate
class Checked(Accumulator):
    """Inherits fields and methods."""

    limit: tl.constexpr = 7

    @tilewright.jit
    def add(self, x):
        return tl.aggregate_replace(self, total=tl.minimum(self.total + x, self.limit))


@tilewright.aggregate
class Offsets:
    """Fields are computed by a constructor that is a jit function."""

    rows: tl.tensor
    width: tl.constexpr

    @tilewright.jit
    def __init__(self, start, width):
        self.rows = start + tl.arange(0, 64)
        self.width = width

    @staticmethod
    @tilewright.jit
    def at(start):
        return Offsets(start, 2)


@tilewright.jit
def gathers(x, out, rounds):
    i = tl.arange(0, SIZE)
    gathered = Accumulator(tl.zeros((SIZE,), tl.float32), 3)
    for step in range(rounds):
        gathered = gathered.add(tl.load(x + step * SIZE + i))
    both = gathered + Accumulator(tl.full((SIZE,), 1.0, tl.float32), 3)
    tl.store(out + i, both.scaled(gathered.doubled()))


@tilewright.jit
def chooses(x, out, which):
    i = tl.arange(0, SIZE)
    value = Accumulator(tl.load(x + i), factor=2)
    if which > 1:
        value = value.add(1.0)
    tl.store(out + i, value.total)


@tilewright.jit
def inherits(x, out, rounds):
    i = tl.arange(0, SIZE)
    gathered = Checked(tl.zeros((SIZE,), tl.float32), 3)
    for step in range(rounds):
        gathered = gathered.add(tl.load(x + step * SIZE + i))
    tl.store(out + i, gathered.scaled(1.0))


@tilewright.jit
def constructs(x, out, start):
    offsets = Offsets.at(start)
    tl.store(out + tl.arange(0, 64), tl.load(x + offsets.rows) * offsets.width)


def launch(kernel, *arguments):
    from tilewright import knobs

    with knobs.runtime.scope():
        knobs.runtime.interpret = True
        tilewright.jit(kernel.fn)[(1,)](*arguments)


X = np.arange(256, dtype=np.float32)


def test_methods_and_operators_in_a_loop():
    out = np.zeros(64, np.float32)
    launch(gathers, X, out, 4)
    np.testing.assert_array_equal(out, (X.reshape(4, 64).sum(0) * 3 + 1) * 6)


def test_a_branch_chooses():
    for which, more in ((1, 0), (2, 2)):
        out = np.zeros(64, np.float32)
        launch(chooses, X, out, which)
        np.testing.assert_array_equal(out, X[:64] + more)


def test_inherited_fields_and_methods():
    out = np.zeros(64, np.float32)
    launch(inherits, X, out, 4)
    np.testing.assert_array_equal(out, np.minimum(X.reshape(4, 64).cumsum(0)[-1], 7))


def test_a_constructor_that_is_a_kernel_function():
    out = np.zeros(64, np.float32)
    launch(constructs, X, out, 5)
    np.testing.assert_array_equal(out, X[5:69] * 2)


@pytest.mark.parametrize(
    "kernel, signature",
    [
        (gathers, "*fp32,*fp32,i32"),
        (chooses, "*fp32,*fp32,i32"),
        (inherits, "*fp32,*fp32,i32"),
        (constructs, "*fp32,*fp32,i32"),
    ],
)
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_compiles(kernel, signature, target):
    source = tilewright.ASTSource(kernel, dict(zip(kernel.arg_names, signature.split(","))))
    assert "st.global" in tilewright.compile(source, target).asm["ptx"]


# -- on the host ------------------------------------------------------------------------


def test_rules_of_construction():
    @tilewright.aggregate
    class Shape:
        m: tl.constexpr
        n: tl.constexpr = 4

    shape = Shape(3)
    assert isinstance(shape.m, tl.constexpr) and (shape.m.value, shape.n.value) == (3, 4)
    assert tl.aggregate_replace(shape, n=8).n.value == 8 and shape.n.value == 4
    with pytest.raises(AttributeError, match="cannot assign to field 'm' on immutable aggregate"):
        shape.m = tl.constexpr(1)
    with pytest.raises(AttributeError, match="Shape has no attribute 'k'"):
        shape.k = tl.constexpr(1)
    with pytest.raises(TypeError, match="missing required argument: 'm'"):
        Shape(n=1)
    with pytest.raises(TypeError, match="multiple values for argument 'm'"):
        Shape(1, m=2)
    with pytest.raises(TypeError, match="unexpected keyword argument 'k'"):
        Shape(1, k=2)
    with pytest.raises(TypeError, match="has no field 'z'"):
        tl.aggregate_replace(shape, z=1)
    with pytest.raises(TypeError, match="expects an aggregate instance"):
        tl.aggregate_replace(3, z=1)


def test_only_records_are_inherited():
    class Plain:
        pass

    with pytest.raises(TypeError, match="Aggregates can only inherit from other aggregates"):

        @tilewright.aggregate
        class Child(Plain):
            x: tl.constexpr


def test_a_constructor_sets_every_field():
    @tilewright.aggregate
    class Pair:
        a: tl.constexpr
        b: tl.constexpr

        def __init__(self, a):
            self.a = tl.constexpr(a + 1)

    with pytest.raises(AttributeError, match="did not initialize attribute 'b'"):
        Pair(1)


@tilewright.jit
def sets_an_attribute(x):
    x.value = 1


def test_attributes_of_other_things_are_not_assigned():
    with pytest.raises(errors.UnsupportedLanguageConstruct, match="assignment to an attribute"):
        tilewright.compile(tilewright.ASTSource(sets_an_attribute, {"x": "*fp32"}), "sm_80")
    with pytest.raises(errors.UnsupportedLanguageConstruct, match="assignment to an attribute"):
        launch(sets_an_attribute, X)


def test_a_method_is_part_of_the_kernel():
    before = gathers.cache_key
    assert "Accumulator" in gathers.fn.__globals__
    member = Accumulator.__dict__["add"].function
    text = member.src
    member._unsafe_update_src(text.replace("+ x", "- x"))
    try:
        assert gathers.cache_key != before
    finally:
        member._unsafe_update_src(text)
