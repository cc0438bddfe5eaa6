# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every elementwise operation on every element type, against NumPy.

Inputs hold each type's special values; lengths lie around the block and leave
tails. Exact operations must match bit for bit, the others within stated bounds.
"""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness import reference
from harness.compare import assert_near, assert_same
from harness.element_types import (
    ALL,
    FLOATS,
    INTEGERS,
    LENGTHS,
    NUMPY_TYPES,
    SIGNED,
    bits,
    is_float,
    is_unsigned,
    mixed_values,
    random_values,
    special_values,
)

BLOCK = 128


@tilewright.jit
def binary_kernel(x_ptr, y_ptr, out_ptr, n, OP: tl.constexpr, EXPECTED: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    if OP == "add":
        result = x + y
    elif OP == "sub":
        result = x - y
    elif OP == "mul":
        result = x * y
    elif OP == "truediv":
        result = x / y
    elif OP == "floordiv":
        result = x // y
    elif OP == "mod":
        result = x % y
    elif OP == "and":
        result = x & y
    elif OP == "or":
        result = x | y
    elif OP == "xor":
        result = x ^ y
    elif OP == "shl":
        result = x << y
    elif OP == "shr":
        result = x >> y
    elif OP == "lt":
        result = x < y
    elif OP == "le":
        result = x <= y
    elif OP == "gt":
        result = x > y
    elif OP == "ge":
        result = x >= y
    elif OP == "eq":
        result = x == y
    elif OP == "ne":
        result = x != y
    elif OP == "minimum":
        result = tl.minimum(x, y)
    else:
        tl.static_assert(OP == "maximum")
        result = tl.maximum(x, y)
    tl.static_assert(result.dtype == EXPECTED)
    tl.store(out_ptr + offsets, result, mask=mask)


def run_binary(device, op, left, right, left_name, right_name):
    """Launches `left op right`; the result and what NumPy says."""
    name = reference.result_type(op, left_name, right_name)
    x, y = device.array(left), device.array(right)
    out = device.empty(left.shape, NUMPY_TYPES[name])
    n = left.size
    device.run(binary_kernel, (tilewright.cdiv(n, BLOCK),), x, y, out, n, OP=op, EXPECTED=getattr(tl, name), BLOCK=BLOCK)
    return device.numpy(out), reference.binary(op, left, right, left_name, right_name).astype(NUMPY_TYPES[name])


def operands(name, n, seed=0):
    return mixed_values(name, n, seed), mixed_values(name, n, seed + 10)


@pytest.mark.parametrize("op", ["add", "sub", "mul"])
@pytest.mark.parametrize("name", ALL)
def test_arithmetic(device, op, name):
    left, right = operands(name, 1000)
    actual, expected = run_binary(device, op, left, right, name, name)
    assert_same(actual, expected)


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("name", ["int8", "float16", "float32", "float64"])
def test_tails(device, name, n):
    left, right = operands(name, n)
    actual, expected = run_binary(device, "add", left, right, name, name)
    assert_same(actual, expected)


@pytest.mark.parametrize("name", FLOATS)
def test_float_division(device, name):
    left, right = operands(name, 1000)
    actual, expected = run_binary(device, "truediv", left, right, name, name)
    # Single precision may use the divider that is right within two units.
    assert_near(actual, expected, ulps=2, absolute=2e-38)


@pytest.mark.parametrize("name", INTEGERS)
def test_integer_true_division(device, name):
    """Both sides become float32, also from 64 bits."""
    left, right = random_values(name, 1000), random_values(name, 1000, seed=1)
    right[right == 0] = 3
    actual, expected = run_binary(device, "truediv", left, right, name, name)
    assert_near(actual, expected, ulps=2)


def safe_divisors(name, left, right):
    """No zeros, and no overflow of the smallest value by -1."""
    right[right == 0] = 7
    if not is_unsigned(name):
        right[(right == -1) & (left == np.iinfo(left.dtype).min)] = 5
    # Small divisors too, so that quotients are not all 0 or 1.
    right[::3] = np.arange(1, right[::3].size + 1) % 11 + 1
    if not is_unsigned(name):
        right[::6] = -right[::6]
    return right


@pytest.mark.parametrize("op", ["floordiv", "mod"])
@pytest.mark.parametrize("name", INTEGERS)
def test_integer_division(device, op, name):
    """Truncates towards zero; the remainder has the sign of the dividend."""
    left, right = operands(name, 1000)
    actual, expected = run_binary(device, op, left, safe_divisors(name, left, right), name, name)
    assert_same(actual, expected)


@pytest.mark.parametrize("name", FLOATS)
def test_float_remainder(device, name):
    rng = np.random.default_rng(3)
    left = (rng.standard_normal(1000) * 50).astype(NUMPY_TYPES[name])
    right = (rng.random(1000) * 7 + 0.5).astype(NUMPY_TYPES[name])
    actual, expected = run_binary(device, "mod", left, right, name, name)
    assert_near(actual, expected, absolute=1e-4 if name != "float64" else 1e-12)


@pytest.mark.parametrize("op", ["and", "or", "xor"])
@pytest.mark.parametrize("name", [*INTEGERS, "int1"])
def test_bitwise(device, op, name):
    left, right = random_values(name, 300), random_values(name, 300, seed=1)
    actual, expected = run_binary(device, op, left, right, name, name)
    assert_same(actual, expected)


@pytest.mark.parametrize("op", ["shl", "shr"])
@pytest.mark.parametrize("name", INTEGERS)
def test_shifts(device, op, name):
    """Right shifts are arithmetic for signed and logical for unsigned left sides."""
    left = mixed_values(name, 1000)
    right = (np.arange(1000) % bits(name)).astype(NUMPY_TYPES[name])
    actual, expected = run_binary(device, op, left, right, name, name)
    assert_same(actual, expected)


@pytest.mark.parametrize("op", reference.COMPARISONS)
@pytest.mark.parametrize("name", ALL)
def test_comparisons(device, op, name):
    left, right = operands(name, 1000)
    right[::4] = left[::4]  # equal pairs, NaN with itself among them
    actual, expected = run_binary(device, op, left, right, name, name)
    assert_same(actual, expected)


@pytest.mark.parametrize("op", ["minimum", "maximum"])
@pytest.mark.parametrize("name", ALL)
def test_minimum_maximum(device, op, name):
    """The operand that is not NaN wins; which zero is left open."""
    left, right = operands(name, 1000)
    actual, expected = run_binary(device, op, left, right, name, name)
    assert_same(actual, expected, signed_zeros=False)


def test_boolean_addition_wraps(device):
    left, right = np.array([False, True, False, True]), np.array([False, False, True, True])
    actual, expected = run_binary(device, "add", left, right, "int1", "int1")
    assert_same(actual, expected)


# ---------------------------------------------------------------------------
# One operand
# ---------------------------------------------------------------------------


@tilewright.jit
def unary_kernel(x_ptr, out_ptr, n, OP: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=1)
    if OP == "neg":
        result = -x
    elif OP == "invert":
        result = ~x
    elif OP == "not":
        result = not x
    elif OP == "abs":
        result = tl.abs(x)
    elif OP == "floor":
        result = tl.floor(x)
    elif OP == "ceil":
        result = tl.ceil(x)
    elif OP == "exp":
        result = tl.exp(x)
    elif OP == "exp2":
        result = tl.exp2(x)
    elif OP == "log":
        result = tl.log(x)
    elif OP == "log2":
        result = tl.log2(x)
    elif OP == "sin":
        result = tl.sin(x)
    elif OP == "cos":
        result = tl.cos(x)
    elif OP == "sqrt":
        result = tl.sqrt(x)
    elif OP == "rsqrt":
        result = tl.rsqrt(x)
    elif OP == "erf":
        result = tl.erf(x)
    else:
        tl.static_assert(OP == "sigmoid")
        result = tl.sigmoid(x)
    tl.store(out_ptr + offsets, result, mask=mask)


def run_unary(device, op, values):
    x, out = device.array(values), device.empty(values.shape, values.dtype)
    n = values.size
    device.run(unary_kernel, (tilewright.cdiv(n, BLOCK),), x, out, n, OP=op, BLOCK=BLOCK)
    return device.numpy(out)


@pytest.mark.parametrize("name", ALL)
def test_negation(device, name):
    values = mixed_values(name, 300)
    with np.errstate(all="ignore"):
        expected = -values if is_float(name) else (np.zeros_like(values) - values)
    assert_same(run_unary(device, "neg", values), expected)


@pytest.mark.parametrize("name", [*INTEGERS, "int1"])
def test_inversion(device, name):
    values = mixed_values(name, 300)
    assert_same(run_unary(device, "invert", values), ~values)


def test_not(device):
    values = random_values("int1", 300)
    assert_same(run_unary(device, "not", values), ~values)


@pytest.mark.parametrize("name", ALL)
def test_abs(device, name):
    values = mixed_values(name, 300)
    with np.errstate(all="ignore"):
        assert_same(run_unary(device, "abs", values), np.abs(values))


@pytest.mark.parametrize("op", ["floor", "ceil"])
@pytest.mark.parametrize("name", ["float32", "float64"])
def test_rounding(device, op, name):
    values = np.concatenate([special_values(name), (random_values(name, 300) * 10)]).astype(NUMPY_TYPES[name])
    assert_same(run_unary(device, op, values), reference.UNARY[op](values))


# Bounds in units in the last place of float32 and float64, and what is allowed
# absolutely where a function crosses zero.
BOUNDS = {
    "exp": (4, 4, 2e-38), "exp2": (3, 4, 2e-38), "log": (4, 4, 3e-7), "log2": (4, 4, 3e-7), "sin": (4, 4, 1e-6),
    "cos": (4, 4, 1e-6), "sqrt": (2, 1, 0), "rsqrt": (3, 2, 0), "sigmoid": (6, 6, 2e-38), "erf": (4, 4, 1e-7),
}  # fmt: skip


@pytest.mark.parametrize("op", sorted(BOUNDS))
@pytest.mark.parametrize("name", ["float32", "float64"])
def test_functions(device, op, name):
    rng = np.random.default_rng(5)
    values = rng.standard_normal(1000) * 20
    if op in ("log", "log2", "sqrt", "rsqrt"):
        values = np.exp(values)
    values = values.astype(NUMPY_TYPES[name])
    values[:6] = [0.0, 1.0, -1.0, float("inf"), -float("inf"), float("nan")]
    with np.errstate(all="ignore"):
        expected = reference.UNARY[op](values.astype(np.float64))
    single, double, absolute = BOUNDS[op]
    ulps = single if name == "float32" else double
    if device.name == "gpu" and name == "float32" and op in ("exp", "sigmoid"):
        # On the GPU exp(x) is 2^(x log2 e): rounding the product moves the result by up to
        # |x| log2(e) / 2 units of its exponent's last place.
        ulps = ulps + 1.2 * np.abs(np.nan_to_num(values, posinf=0, neginf=0))
    assert_near(run_unary(device, op, values), expected, ulps=ulps, absolute=absolute if name == "float32" else 0.0)


@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.parametrize("op", ["exp", "exp2"])
def test_exponentials_below_the_normal_numbers(device, op, keeps):
    """The GPU makes zero of them unless it is told not to; the interpreter keeps them."""
    x = np.linspace(-143, -127, 33, dtype=np.float32) * np.float32(1 if op == "exp2" else np.log(2))
    out = device.empty(x.shape, np.float32)
    device.run(unary_kernel, (1,), device.array(x), out, x.size, OP=op, BLOCK=64, enable_reflect_ftz=not keeps)
    expected = reference.UNARY[op](x.astype(np.float64))
    if not keeps and device.name != "interpreter":
        expected = np.zeros_like(expected)
    assert_near(device.numpy(out), expected, ulps=4, absolute=8 * 2.0**-149 + (6e-5 * 2.0**-126 if op == "exp" else 0))


# ---------------------------------------------------------------------------
# Three operands
# ---------------------------------------------------------------------------


@tilewright.jit
def where_kernel(condition_ptr, x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    condition = tl.load(condition_ptr + offsets, mask=mask)
    result = tl.where(condition, tl.load(x_ptr + offsets, mask=mask), tl.load(y_ptr + offsets, mask=mask))
    tl.store(out_ptr + offsets, result, mask=mask)


@pytest.mark.parametrize("name", [*ALL, "int1"])
def test_where(device, name):
    condition = random_values("int1", 1000)
    left, right = operands(name, 1000)
    c, x, y = device.array(condition), device.array(left), device.array(right)
    out = device.empty(left.shape, left.dtype)
    device.run(where_kernel, (8,), c, x, y, out, 1000, BLOCK=BLOCK)
    assert_same(device.numpy(out), np.where(condition, left, right))


@tilewright.jit
def fma_kernel(x_ptr, y_ptr, z_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    result = tl.fma(tl.load(x_ptr + offsets), tl.load(y_ptr + offsets), tl.load(z_ptr + offsets))
    tl.store(out_ptr + offsets, result)


def test_fma_rounds_once(device):
    """Operands in [1, 2): product and sum are exact in float64, so one rounding is known."""
    rng = np.random.default_rng(1)
    x, y = (1 + rng.random(256).astype(np.float32) for _ in range(2))
    z = -(x * y)  # cancels: what is left is the product's rounding error
    out = device.empty(256, np.float32)
    device.run(fma_kernel, (1,), device.array(x), device.array(y), device.array(z), out, BLOCK=256)
    expected = (x.astype(np.float64) * y.astype(np.float64) + z.astype(np.float64)).astype(np.float32)
    assert np.count_nonzero(expected) > 200
    assert_same(device.numpy(out), expected)


@tilewright.jit
def clamp_kernel(x_ptr, out_ptr, low, high, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.clamp(tl.load(x_ptr + offsets), low, high))


def test_clamp(device):
    values = mixed_values("float32", 256)
    values[np.isnan(values)] = 0
    out = device.empty(256, np.float32)
    device.run(clamp_kernel, (1,), device.array(values), out, -0.5, 1.5, BLOCK=256)
    assert_same(device.numpy(out), np.clip(values, np.float32(-0.5), np.float32(1.5)), signed_zeros=False)


@tilewright.jit
def cdiv_kernel(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.cdiv(tl.load(x_ptr + offsets), tl.load(y_ptr + offsets)))


@pytest.mark.parametrize("name", ["int32", "uint32", "int64"])
def test_cdiv(device, name):
    dtype = NUMPY_TYPES[name]
    x, y = np.arange(256).astype(dtype), (np.arange(256) % 13 + 1).astype(dtype)
    out = device.empty(256, dtype)
    device.run(cdiv_kernel, (1,), device.array(x), device.array(y), out, BLOCK=256)
    assert_same(device.numpy(out), (x + y - 1) // y)


@pytest.mark.parametrize("name", SIGNED)
def test_special_pairs(device, name):
    """Every special value with every other, wrapping included."""
    special = special_values(name)
    left, right = np.repeat(special, len(special)), np.tile(special, len(special))
    actual, expected = run_binary(device, "mul", left, right, name, name)
    assert_same(actual, expected)
