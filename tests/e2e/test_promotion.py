# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mixed operand types: run-time values, literals and scalar arguments.

Each kernel asserts the type of its result while it is compiled, and NumPy says
the values.
"""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness import reference
from harness.compare import assert_near, assert_same
from harness.element_types import ALL, NUMPY_TYPES, exact_values, is_float, is_unsigned


@tilewright.jit
def mixed_kernel(x_ptr, y_ptr, out_ptr, OP: tl.constexpr, EXPECTED: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    y = tl.load(y_ptr + offsets)
    if OP == "add":
        result = x + y
    elif OP == "mul":
        result = x * y
    elif OP == "truediv":
        result = x / y
    elif OP == "lt":
        result = x < y
    else:
        tl.static_assert(OP == "maximum")
        result = tl.maximum(x, y)
    tl.static_assert(result.dtype == EXPECTED)
    tl.store(out_ptr + offsets, result)


@pytest.mark.parametrize("op", ["add", "truediv", "lt"])
@pytest.mark.parametrize(
    "right_name", ["int8", "uint8", "int32", "uint32", "int64", "float16", "bfloat16", "float32", "float64"]
)
@pytest.mark.parametrize("left_name", ["int8", "int32", "uint64", "float16", "bfloat16", "float32"])
def test_mixed_types(device, op, left_name, right_name):
    left = exact_values(left_name, 64, seed=1, high=8)
    right = exact_values(right_name, 64, seed=2, high=8)
    right[right == 0] = 2
    if (
        op == "truediv"
        and not (is_float(left_name) or is_float(right_name))
        and is_unsigned(left_name) != is_unsigned(right_name)
    ):
        with pytest.raises(tilewright.CompilationError, match="different signedness"):
            device.run(
                mixed_kernel,
                (1,),
                device.array(left),
                device.array(right),
                device.empty(64, np.float32),
                OP=op,
                EXPECTED=tl.float32,
                BLOCK=64,
            )
        return
    name = reference.result_type(op, left_name, right_name)
    out = device.empty(64, NUMPY_TYPES[name])
    device.run(mixed_kernel, (1,), device.array(left), device.array(right), out, OP=op, EXPECTED=getattr(tl, name), BLOCK=64)
    expected = reference.binary(op, left, right, left_name, right_name).astype(NUMPY_TYPES[name])
    if op == "truediv":
        assert_near(device.numpy(out), expected, ulps=2)
    else:
        assert_same(device.numpy(out), expected)


# ---------------------------------------------------------------------------
# Literals are weak: they take the tile's type when their kind is not higher
# ---------------------------------------------------------------------------


@tilewright.jit
def literal_kernel(x_ptr, out_ptr, EXPECTED: tl.constexpr, USES_FLOAT: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    if USES_FLOAT:
        result = x * 0.5
        reflected = 0.5 * x
    else:
        result = x + 3
        reflected = 3 + x
    tl.static_assert(result.dtype == EXPECTED)
    tl.static_assert(reflected.dtype == EXPECTED)
    tl.store(out_ptr + offsets, result)
    tl.store(out_ptr + BLOCK + offsets, reflected)


@pytest.mark.parametrize("name", ALL)
def test_integer_literal(device, name):
    values = exact_values(name, 64)
    out = device.empty(128, NUMPY_TYPES[name])
    device.run(literal_kernel, (1,), device.array(values), out, EXPECTED=getattr(tl, name), USES_FLOAT=False, BLOCK=64)
    with np.errstate(all="ignore"):
        expected = values + np.array(3, NUMPY_TYPES[name])
    assert_same(device.numpy(out), np.concatenate([expected, expected]))


@pytest.mark.parametrize("name", ALL)
def test_float_literal(device, name):
    """A float literal keeps a float tile's type and turns an integer tile into float32."""
    values = exact_values(name, 64)
    result = name if is_float(name) else "float32"
    out = device.empty(128, NUMPY_TYPES[result])
    device.run(literal_kernel, (1,), device.array(values), out, EXPECTED=getattr(tl, result), USES_FLOAT=True, BLOCK=64)
    expected = (values.astype(np.float64) * 0.5).astype(NUMPY_TYPES[result])
    assert_same(device.numpy(out), np.concatenate([expected, expected]))


# ---------------------------------------------------------------------------
# Scalar arguments are run-time values, but for an int equal to 1
# ---------------------------------------------------------------------------


@tilewright.jit
def scalar_kernel(x_ptr, out_ptr, scalar, EXPECTED: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    result = tl.load(x_ptr + offsets) * scalar
    tl.static_assert(result.dtype == EXPECTED)
    tl.store(out_ptr + offsets, result)


@pytest.mark.parametrize("name, scalar, expected", [
    ("float16", 0.5, "float32"),  # a Python float arrives as a run-time float32
    ("bfloat16", 2.0, "float32"),
    ("float64", 0.1, "float64"),
    ("int32", 0.5, "float32"),
    ("int8", 2, "int32"),
    ("int8", 1, "int8"),  # an int equal to 1 is a constant, and a weak one
    ("bfloat16", 1, "bfloat16"),
    ("bfloat16", 2, "float32"),
    ("float16", 3, "float16"),
    ("int32", 2**40, "int64"),
    ("uint8", 300, "int32"),
    ("int32", 2**63, "uint64"),
    ("int32", True, "int32"),
])  # fmt: skip
def test_scalar_argument(device, name, scalar, expected):
    values = exact_values(name, 64)
    dtype = NUMPY_TYPES[expected]
    out = device.empty(64, dtype)
    device.run(scalar_kernel, (1,), device.array(values), out, scalar, EXPECTED=getattr(tl, expected), BLOCK=64)
    factor = np.float32(scalar) if isinstance(scalar, float) else scalar
    with np.errstate(all="ignore"):
        right = values.astype(dtype) * np.array(factor).astype(dtype)
    assert_same(device.numpy(out), right)


@tilewright.jit
def compare_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets) > 0.1)


def test_comparison_literal_is_not_weak(device):
    """0.1 is compared as float32: a float16 that rounds 0.1 is not greater than it."""
    values = np.array([0.1, 0.0999, 0.1001, 1.0], np.float16)
    out = device.empty(4, np.bool_)
    device.run(compare_kernel, (1,), device.array(values), out, BLOCK=4)
    assert_same(device.numpy(out), values.astype(np.float32) > np.float32(0.1))


@tilewright.jit
def annotated_kernel(out_ptr, small, wide: tl.int64, single: tl.float32):
    tl.static_assert(small.dtype == tl.int32)
    tl.static_assert(wide.dtype == tl.int64)
    tl.static_assert(single.dtype == tl.float32)
    tl.store(out_ptr, small + wide)


def test_annotated_scalars(device):
    out = device.empty(1, np.int64)
    device.run(annotated_kernel, (1,), out, 5, 7, 1.5)
    assert device.numpy(out)[0] == 12


@tilewright.jit
def constexpr_kernel(out_ptr, N: tl.constexpr):
    # Constants follow Python: floor division and the divisor's sign.
    A: tl.constexpr = -7
    tl.static_assert(A // 2 == -4)
    tl.static_assert(A % 2 == 1)
    tl.static_assert(2**10 == 1024)
    tl.static_assert((N if N > 3 else 0) == 4)
    # A plain assignment makes a run-time value, which truncates.
    b = -7
    tl.store(out_ptr, b // 2)
    tl.store(out_ptr + 1, b % 2)
    tl.store(out_ptr + 2, A // 2)


def test_constants_and_values_differ(device):
    out = device.empty(3, np.int32)
    device.run(constexpr_kernel, (1,), out, N=4)
    assert device.numpy(out).tolist() == [-3, -1, -4]


@pytest.mark.parametrize("name", [n for n in ALL if is_unsigned(n)])
def test_unsigned_wrap(device, name):
    values = np.array([0, 1, 2, 3], NUMPY_TYPES[name])
    out = device.empty(8, NUMPY_TYPES[name])
    device.run(
        literal_kernel,
        (1,),
        device.array(values - np.array(3, values.dtype)),
        out,
        EXPECTED=getattr(tl, name),
        USES_FLOAT=False,
        BLOCK=4,
    )
    assert_same(device.numpy(out), np.concatenate([values, values]))


@tilewright.jit
def annotated_one_kernel(out_ptr, n: tl.int64, scale: "fp16", wide: tl.float64, SIZE: tl.constexpr):
    tl.static_assert(n.dtype == tl.int64 and scale.dtype == tl.float16 and wide.dtype == tl.float64)
    i = tl.arange(0, SIZE)
    large = i * n  # 64 bits wide whatever the value
    tl.static_assert(large.dtype == tl.int64)
    while n < 3:
        n += i.shape[0] - 3
    tl.store(out_ptr + i, large + n + scale + wide)


@pytest.mark.parametrize("n, scale, wide", [(5, 1.5, 0.5), (1, 1, 1), (16, 1.0, 3)])
def test_annotated_scalars_have_their_type_whatever_the_value(device, n, scale, wide):
    out = device.empty(4, np.float64)
    device.run(annotated_one_kernel, (1,), out, n, scale, wide, SIZE=4)
    expected = np.arange(4) * n + (3 if n == 1 else n) + scale + wide
    assert_same(device.numpy(out), expected.astype(np.float64))


@tilewright.jit
def wide_kernel(out_ptr, declared: tl.uint64, plain):
    tl.static_assert(plain.dtype == tl.uint64)
    tl.store(out_ptr, declared // 3)
    tl.store(out_ptr + 1, plain // 3)


def test_numbers_of_64_bits_without_a_sign(device):
    out, value = device.empty(2, np.uint64), 2**64 - 4
    device.run(wide_kernel, (1,), out, value, value)
    assert device.numpy(out).tolist() == [value // 3] * 2
