# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions that libdevice provides, against NumPy, Python's fractions and published values.

Functions of reals have an error bound in units of the last place; integers, bits and
rounding modes are exact.
"""

import ast
import fractions
import inspect
import math

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.assemble import assemble_for
from harness.compare import assert_near, assert_same
from harness.devices import Emulator, Interpreter
from harness.element_types import NUMPY_TYPES, exact_values, random_values, special_values

libdevice = tl.extra.libdevice


@tilewright.jit
def unary_kernel(x_ptr, out_ptr, F: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, F(tl.load(x_ptr + i)))


@tilewright.jit
def binary_kernel(x_ptr, y_ptr, out_ptr, F: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, F(tl.load(x_ptr + i), tl.load(y_ptr + i)))


@tilewright.jit
def ternary_kernel(x_ptr, y_ptr, z_ptr, out_ptr, F: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, F(tl.load(x_ptr + i), tl.load(y_ptr + i), tl.load(z_ptr + i)))


def run(device, name, arguments, result):
    kernel = (unary_kernel, binary_kernel, ternary_kernel)[len(arguments) - 1]
    out = device.empty(arguments[0].shape, NUMPY_TYPES[result])
    device.run(kernel, (1,), *map(device.array, arguments), out, F=getattr(libdevice, name), N=arguments[0].size)
    return device.numpy(out)


# ---------------------------------------------------------------------------
# Functions of reals
# ---------------------------------------------------------------------------

UNIT = np.linspace(-0.98, 0.98, 64)
POSITIVE = np.geomspace(1e-3, 60, 64)
ALL = np.concatenate([-POSITIVE[1::2], POSITIVE[::2]])
GREATER = 1 + POSITIVE
NUMPY_FUNCTIONS = {
    "acos": (UNIT, np.arccos), "asin": (UNIT, np.arcsin), "atan": (ALL, np.arctan), "acosh": (GREATER, np.arccosh),
    "asinh": (ALL, np.arcsinh), "atanh": (UNIT, np.arctanh), "cbrt": (ALL, np.cbrt),
    "rcbrt": (ALL, lambda x: 1 / np.cbrt(x)), "erfc": (ALL / 10, np.vectorize(math.erfc)),
    "tgamma": (POSITIVE / 3, np.vectorize(math.gamma)), "lgamma": (GREATER + 2, np.vectorize(math.lgamma)),
    "logb": (ALL, lambda x: np.floor(np.log2(np.abs(x)))), "sinpi": (ALL, lambda x: np.sin(np.pi * np.fmod(x, 2))),
    "normcdf": (ALL / 20, np.vectorize(lambda x: math.erfc(-x / math.sqrt(2)) / 2)),
    "log10": (POSITIVE, np.log10), "log1p": (POSITIVE - 0.9, np.log1p), "expm1": (ALL / 10, np.expm1),
    "exp10": (ALL / 2, lambda x: 10.0**x), "tan": (ALL, np.tan), "sinh": (ALL, np.sinh), "cosh": (ALL, np.cosh),
}  # fmt: skip


@pytest.mark.parametrize("type_name", ["float32", "float64"])
@pytest.mark.parametrize("name", NUMPY_FUNCTIONS)
def test_functions(device, name, type_name):
    values, function = NUMPY_FUNCTIONS[name]
    x = values.astype(NUMPY_TYPES[type_name])
    actual = run(device, name, [x], type_name)
    # In float64 the references have errors of their own, of digits that cancel.
    ulps = 32 if name in ("lgamma", "normcdf") and type_name == "float64" else 8
    assert_near(actual, function(x.astype(np.float64)), ulps=ulps, absolute=4e-15 if name == "sinpi" else 0)


# In the range where each is good; the compiled form must be of the special function unit and nothing longer.
FAST_FUNCTIONS = {
    "fast_sinf": (UNIT, np.sin), "fast_cosf": (UNIT, np.cos), "fast_tanf": (UNIT, np.tan), "fast_expf": (UNIT, np.exp),
    "fast_logf": (POSITIVE + 2, np.log), "fast_log2f": (POSITIVE + 2, np.log2), "fast_log10f": (POSITIVE + 2, np.log10),
    "fast_exp10f": (UNIT, lambda x: 10.0**x),
}  # fmt: skip


@pytest.mark.parametrize("name", FAST_FUNCTIONS)
def test_fast_functions(device, name):
    values, function = FAST_FUNCTIONS[name]
    x = values.astype(np.float32)
    actual = run(device, name, [x], "float32")
    np.testing.assert_allclose(actual, function(x.astype(np.float64)), rtol=1e-5, atol=2e-6)


def test_fast_powers(device):
    x, y = POSITIVE.astype(np.float32), UNIT.astype(np.float32)
    np.testing.assert_allclose(run(device, "fast_powf", [x, y], "float32"), x.astype(np.float64) ** y, rtol=1e-5)


@pytest.mark.parametrize("name", [*FAST_FUNCTIONS, "fast_powf"])
def test_fast_functions_are_short(name):
    seen, x = [], np.ones(64, np.float32)
    run(Emulator("sm_90a", inspect=seen.append), name, [x, x][: 2 if name == "fast_powf" else 1], "float32")
    ptx = seen[0].asm["ptx"]
    assert ".approx" in ptx and "f64" not in ptx and "bra" not in ptx, ptx


def test_fast_functions_are_for_float32():
    with pytest.raises(tilewright.errors.TilewrightError, match="libdevice.fast_logf needs fp32, got"):
        unary_kernel[(1,)](np.ones(64), np.ones(64), F=libdevice.fast_logf, N=64)


@tilewright.jit
def constant_kernel(out_ptr, F: tl.constexpr, X: tl.constexpr):
    tl.store(out_ptr, F(X))


@pytest.mark.parametrize("value, got", [("two", "str"), (None, "None")])
@pytest.mark.parametrize("name", ["sqrt_rn", "ilogb", "erfinv"])
def test_what_is_no_number_is_refused_by_name(name, value, got):
    expected = f"libdevice.{name}: an operand must be a tensor or a number, got {got}"
    out, constants = np.ones(1, np.float32), {"F": getattr(libdevice, name), "X": value}
    with pytest.raises(tilewright.errors.TilewrightError, match=expected):
        constant_kernel[(1,)](out, **constants)
    with pytest.raises(tilewright.errors.TilewrightError, match=expected):
        assemble_for(constant_kernel, "sm_90a", [out], constants)


# Values to 20 digits, from published tables.
TABLE = [
    ("j0", 1.0, 0.76519768655796655145), ("j1", 1.0, 0.44005058574493351596), ("y0", 1.0, 0.088256964215676957983),
    ("y1", 1.0, -0.78121282130028871655), ("cyl_bessel_i0", 1.0, 1.2660658777520083356),
    ("cyl_bessel_i1", 1.0, 0.56515910399248502721), ("erfcx", 0.5, 0.61569034419292587488),
    ("erfcx", 20.0, 0.028174348741051320), ("erfinv", 0.5, 0.47693627620446987338),
    ("erfcinv", 0.5, 0.47693627620446987338), ("erfcinv", 1e-10, 4.5728249673894852787),
    ("normcdfinv", 0.975, 1.9599639845400542355), ("cospi", 0.25, 0.70710678118654752440), ("saturatef", 1.5, 1.0),
]  # fmt: skip


@pytest.mark.parametrize("name, x, expected", TABLE)
def test_tabulated_values(device, name, x, expected):
    type_name = "float32" if name == "saturatef" else "float64"
    x = np.array([x], NUMPY_TYPES[type_name])
    assert_near(run(device, name, [x], type_name), np.array([expected]), ulps=16)


OWN_FUNCTIONS = ("log10", "log1p", "expm1", "exp10", "tan", "sinh", "cosh")
SPECIAL = np.array([0.0, -0.0, 1e-40, -1e-40, -1.0, -2.0, 100.0, -100.0, 3e38, np.inf, -np.inf, np.nan])


@pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")
@pytest.mark.parametrize("name", OWN_FUNCTIONS)
def test_own_functions_of_special_values(name):
    x = np.concatenate([SPECIAL, ALL[: 64 - SPECIAL.size]]).astype(np.float32)
    expected = NUMPY_FUNCTIONS[name][1](x.astype(np.float64))
    for device in (Interpreter(), Emulator("sm_90a")):
        assert_near(run(device, name, [x], "float32"), expected, ulps=8)


@pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")
def test_powers_of_special_values():
    values = np.concatenate([SPECIAL, [1.0, 2.0, 3.0, 0.5, -3.0, -2.5, 16777216.0, 1.1]]).astype(np.float32)
    x, y = (values[index].ravel() for index in np.indices((values.size, values.size)))
    x, y = np.resize(x, 512), np.resize(y, 512)
    for device in (Interpreter(), Emulator("sm_90a")):
        actual = run(device, "pow", [x, y], "float32")
        assert_near(actual, np.power(x.astype(np.float64), y.astype(np.float64)), ulps=8)


ROUNDINGS = {
    "trunc": np.trunc,
    "rint": np.rint,
    "nearbyint": np.rint,
    "round": lambda x: np.copysign(np.floor(np.abs(x)) + (np.abs(x) % 1 >= 0.5), x),
}


@pytest.mark.parametrize("type_name", ["float32", "float64"])
@pytest.mark.parametrize("name", ROUNDINGS)
def test_rounding_to_whole_numbers(name, type_name):
    below = np.nextafter(NUMPY_TYPES[type_name](0.5), 0)
    values = [0.0, 0.5, below, 1.5, 2.5, 3.5, 1.2, 1e-40, 8388607.5, 8388609.0, 4503599627370495.5, 1e30, np.inf]
    x = np.resize(np.concatenate([values, np.negative(values)]), 64).astype(NUMPY_TYPES[type_name])
    for device in (Interpreter(), Emulator("sm_80"), Emulator("sm_90a")):
        assert_same(run(device, name, [x], type_name), ROUNDINGS[name](x))


def test_reciprocal_of_the_upper_half(device):
    x = np.concatenate([ALL, [np.inf, -np.inf, 1.0, -0.25]] + [[1.0]] * 60)[:64]
    actual = run(device, "rcp64h", [x], "float64")
    assert not (actual.view(np.uint64) & 0xFFFFFFFF).any()
    np.testing.assert_allclose(actual, 1 / x, rtol=2.0**-18)


BINARY_FUNCTIONS = {
    "atan2": np.arctan2,
    "hypot": np.hypot,
    "rhypot": lambda x, y: 1 / np.hypot(x, y),
    "fdim": lambda x, y: np.maximum(x - y, 0),
}


@pytest.mark.parametrize("type_name", ["float32", "float64"])
@pytest.mark.parametrize("name", BINARY_FUNCTIONS)
def test_functions_of_two(device, name, type_name):
    x, y = random_values(type_name, 64), random_values(type_name, 64, seed=1)
    actual = run(device, name, [x, y], type_name)
    assert_near(actual, BINARY_FUNCTIONS[name](x.astype(np.float64), y.astype(np.float64)), ulps=4)


@tilewright.jit
def mixed_kernel(x_ptr, y_ptr, out_ptr, N: tl.constexpr, NAME: tl.constexpr):
    offsets = tl.arange(0, N)
    x, y = tl.load(x_ptr + offsets), tl.load(y_ptr + offsets)
    if NAME == "pow":
        tl.store(out_ptr + offsets, tl.extra.libdevice.pow(x, y))
    else:
        tl.store(out_ptr + offsets, tl.extra.libdevice.hypot(x, y))


@pytest.mark.parametrize("first, second", [("float32", "bfloat16"), ("float16", "float32"), ("float64", "float16")])
@pytest.mark.parametrize("name", ["pow", "hypot"])
def test_a_wide_operand_widens_the_other(device, name, first, second):
    x, y = np.abs(exact_values(first, 64)) % 7 + 1, np.abs(exact_values(second, 64, seed=1)) % 5
    x, y = x.astype(NUMPY_TYPES[first]), y.astype(NUMPY_TYPES[second])
    wide = np.float64 if "float64" in (first, second) else np.float32
    out = device.empty((64,), wide)
    device.run(mixed_kernel, (1,), device.array(x), device.array(y), out, N=64, NAME=name)
    expected = {"pow": np.power, "hypot": np.hypot}[name](x.astype(np.float64), y.astype(np.float64))
    assert_near(device.numpy(out), expected, ulps=16)


@pytest.mark.parametrize("type_name", ["float32", "float64"])
def test_neighbours_and_remainders(device, type_name):
    x, y = random_values(type_name, 64), random_values(type_name, 64, seed=1)
    assert_same(run(device, "nextafter", [x, y], type_name), np.nextafter(x, y))
    expected = np.array([math.remainder(a, b) for a, b in zip(x.tolist(), y.tolist())])
    assert_same(run(device, "remainder", [x, y], type_name), expected.astype(x.dtype))


def test_vectors(device):
    x, y, z = (random_values("float32", 64, seed=s) for s in range(3))
    exact = np.sqrt(sum(v.astype(np.float64) ** 2 for v in (x, y, z)))
    assert_near(run(device, "norm3d", [x, y, z], "float32"), exact, ulps=4)
    assert_near(run(device, "rnorm3d", [x, y, z], "float32"), 1 / exact, ulps=4)


def test_exponents(device):
    x = np.array([1.0, 0.75, 1e-40, 3e38, 0.0, -5.0, 2.0, 8.0], np.float32)
    expected = np.array([0, -1, -133, 127, -(2**31), 2, 1, 3], np.int32)
    assert_same(run(device, "ilogb", [x], "int32"), expected)
    n = np.array([1, -3, 10, -200, 5, 0, -149, 2], np.int32)
    assert_same(run(device, "ldexp", [x, n], "float32"), np.ldexp(x, n))


@pytest.mark.parametrize("type_name", ["float32", "float64"])
def test_powers_of_integers(device, type_name):
    """By squaring, each product rounded: what libdevice's powi gives, which Triton takes as well."""
    x = np.array([1.5, -2.0, 0.3, 1e-3, 0.0, np.inf, np.nan, 7.0], type_name)
    n = np.array([3, 5, -4, 7, -1, -2, 0, -(2**31)], np.int32)
    expected = []
    with np.errstate(all="ignore"):
        for base, exponent in zip(x, n):
            result, left = x.dtype.type(1), abs(int(exponent))
            while left:
                result = result * base if left & 1 else result
                base, left = base * base, left >> 1
            expected.append(1 / result if exponent < 0 else result)
    assert_same(run(device, "pow", [x, n], type_name), np.array(expected, type_name))


def test_bessel_of_higher_order(device):
    n, x = np.array([0, 1, 2, 3], np.int32), np.full(4, 2.0)
    expected = np.array([0.22389077914123566805, 0.57672480775687338720, 0.35283402861563771915, 0.12894324947440205110])
    # libdevice's recurrence is as inexact as this by itself: 420 ulps at order 3.
    assert_near(run(device, "jn", [n, x], "float64"), expected, ulps=8, absolute=2e-14)


# ---------------------------------------------------------------------------
# Integers and bits
# ---------------------------------------------------------------------------


def reversed_bits(value, width):
    return int(f"{value:0{width}b}"[::-1], 2)


@pytest.mark.parametrize("type_name", ["int32", "uint32", "int64", "uint64"])
def test_counting_bits(device, type_name):
    x = np.concatenate([random_values(type_name, 56), special_values(type_name)])
    width = x.dtype.itemsize * 8
    words = [int(v) & (2**width - 1) for v in x]
    expected = {
        "clz": [width - w.bit_length() for w in words],
        "popc": [w.bit_count() for w in words],
        "ffs": [(w & -w).bit_length() for w in words],
    }
    for name, values in expected.items():
        assert_same(run(device, name, [x], "int32"), np.array(values, np.int32))
    unsigned = np.array([reversed_bits(w, width) for w in words], f"uint{width}")
    assert_same(run(device, "brev", [x], type_name), unsigned.view(x.dtype))


@pytest.mark.parametrize("type_name", ["int32", "uint32"])
def test_averages(device, type_name):
    x, y = random_values(type_name, 64), random_values(type_name, 64, seed=1)
    wide = x.astype(np.int64) + y.astype(np.int64)
    assert_same(run(device, "hadd", [x, y], type_name), (wide >> 1).astype(x.dtype))
    assert_same(run(device, "rhadd", [x, y], type_name), ((wide + 1) >> 1).astype(x.dtype))
    z = random_values(type_name, 64, seed=2)
    distance = np.abs(x.astype(np.int64) - y.astype(np.int64)) + z.astype(np.int64)
    assert_same(run(device, "sad", [x, y, z], type_name), (distance & 0xFFFFFFFF).astype(np.uint32).view(x.dtype))


@pytest.mark.parametrize("type_name", ["int32", "uint32"])
def test_low_products(device, type_name):
    x, y = random_values(type_name, 64), random_values(type_name, 64, seed=1)
    low = [(v.astype(np.int64) << 40) >> 40 if type_name == "int32" else v.astype(np.int64) & 0xFFFFFF for v in (x, y)]
    product = (low[0] * low[1]) & 0xFFFFFFFF
    assert_same(run(device, "mul24", [x, y], type_name), product.astype(np.uint32).view(x.dtype))


@pytest.mark.parametrize("type_name", ["int32", "uint32", "int64", "uint64"])
def test_high_products(device, type_name):
    """Signed of signed integers, where tl.umulhi takes all for unsigned ones."""
    width = int(type_name[-2:])
    x, y = (np.concatenate([random_values(type_name, 56, seed=i), special_values(type_name)]) for i in range(2))
    product = [int(a) * int(b) >> width for a, b in zip(x, y[::-1])]
    assert_same(run(device, "mulhi", [x, y[::-1].copy()], type_name), np.array(product, type_name))


def test_bytes(device):
    x, y = random_values("uint32", 64), random_values("uint32", 64, seed=1)
    z = random_values("uint32", 64, seed=2) & np.uint32(0x7777)
    both = [int(a) | int(b) << 32 for a, b in zip(x, y)]
    expected = [sum((b >> 8 * (int(s) >> 4 * k & 7) & 255) << 8 * k for k in range(4)) for b, s in zip(both, z)]
    assert_same(run(device, "byte_perm", [x, y, z], "uint32"), np.array(expected, np.uint32))


def test_halves_of_doubles(device):
    x = random_values("float64", 64)
    words = x.view(np.int32).reshape(-1, 2)
    low, high = run(device, "double2loint", [x], "int32"), run(device, "double2hiint", [x], "int32")
    assert_same(low, np.ascontiguousarray(words[:, 0]))
    assert_same(high, np.ascontiguousarray(words[:, 1]))
    assert_same(run(device, "hiloint2double", [high, low], "float64"), x)


# ---------------------------------------------------------------------------
# Rounding modes
# ---------------------------------------------------------------------------


def rounded(exact, dtype, mode):
    """A fraction in a float type, rounded as `mode` says."""
    nearest = np.asarray(float(exact), dtype)  # float() of a fraction is correctly rounded
    if dtype == np.float32:
        nearest = np.asarray(
            min(
                (np.nextafter(nearest, np.float32(-np.inf)), nearest, np.nextafter(nearest, np.float32(np.inf))),
                key=lambda v: (abs(fractions.Fraction(float(v)) - exact), int(v.view(np.uint32)) & 1),
            )
        )
    difference = fractions.Fraction(float(nearest)) - exact
    down, up = np.nextafter(nearest, dtype(-np.inf)), np.nextafter(nearest, dtype(np.inf))
    if mode == "rz":
        mode = "rd" if exact > 0 else "ru"
    if mode == "rd" and difference > 0:
        return down
    if mode == "ru" and difference < 0:
        return up
    return nearest


OPERATIONS = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b}


@pytest.mark.parametrize("mode", ["rn", "rz", "rd", "ru"])
@pytest.mark.parametrize("type_name", ["float32", "float64"])
@pytest.mark.parametrize("op", OPERATIONS)
def test_rounding_modes(device, op, type_name, mode):
    x, y = random_values(type_name, 64), random_values(type_name, 64, seed=1)
    actual = run(device, f"{op}_{mode}", [x, y], type_name)
    exact = [OPERATIONS[op](*map(fractions.Fraction, pair)) for pair in zip(x.tolist(), y.tolist())]
    assert_same(actual, np.array([rounded(e, x.dtype.type, mode) for e in exact], x.dtype))


@pytest.mark.parametrize("type_name", ["float32", "float64"])
def test_rounded_roots_and_reciprocals(device, type_name):
    x = np.abs(random_values(type_name, 64)) + NUMPY_TYPES[type_name](0.125)
    one = x.dtype.type(1)
    assert_same(run(device, "sqrt_rn", [x], type_name), np.sqrt(x))
    assert_same(run(device, "rcp_rn", [x], type_name), one / x)


@pytest.mark.parametrize("mode, function", [("rn", np.rint), ("rz", np.trunc), ("rd", np.floor), ("ru", np.ceil)])
@pytest.mark.parametrize("target", ["int", "uint", "ll", "ull"])
def test_real_to_integer(device, target, mode, function):
    x = np.abs(random_values("float32", 64)) * 100
    x[:4] = [0.5, 1.5, 2.5, 0.0]
    result = {"int": "int32", "uint": "uint32", "ll": "int64", "ull": "uint64"}[target]
    actual = run(device, f"float2{target}_{mode}", [x], result)
    assert_same(actual, function(x).astype(NUMPY_TYPES[result]))


@pytest.mark.parametrize("mode", ["rn", "rz", "rd", "ru"])
@pytest.mark.parametrize("source", ["int32", "uint32", "int64", "uint64"])
def test_integer_to_real(device, source, mode):
    name = {"int32": "int", "uint32": "uint", "int64": "ll", "uint64": "ull"}[source]
    x = np.concatenate([random_values(source, 56), special_values(source)])
    actual = run(device, f"{name}2float_{mode}", [x], "float32")
    expected = [rounded(fractions.Fraction(int(v)), np.float32, mode) for v in x]
    assert_same(actual, np.array(expected, np.float32))


@pytest.mark.parametrize("mode", ["rn", "rz", "rd", "ru"])
@pytest.mark.parametrize("source", ["int32", "uint32", "int64", "uint64"])
def test_integer_to_real_emulated(source, mode):
    test_integer_to_real(Emulator("sm_80"), source, mode)


@pytest.mark.parametrize("mode", ["rz", "rd", "ru"])
@pytest.mark.parametrize("source", ["int64", "uint64"])
def test_integer_to_double(source, mode):
    x = np.concatenate([random_values(source, 56), special_values(source)])
    name = "ll" if source == "int64" else "ull"
    actual = run(Emulator("sm_80"), f"{name}2double_{mode}", [x], "float64")
    expected = [rounded(fractions.Fraction(int(v)), np.float64, mode) for v in x]
    assert_same(actual, np.array(expected, np.float64))


@pytest.mark.parametrize("target, low, high", [("int", -(2**31), 2**31 - 1), ("uint", 0, 2**32 - 1)])
@pytest.mark.parametrize("mode", ["rz", "rn"])
def test_real_to_integer_saturates(target, low, high, mode):
    x = np.array([-np.inf, -3e10, 3e10, np.inf], np.float32)
    result = "int32" if target == "int" else "uint32"
    actual = run(Emulator("sm_80"), f"float2{target}_{mode}", [x], result)
    assert_same(actual, np.array([low, low, high, high], NUMPY_TYPES[result]))


@pytest.mark.parametrize("mode", ["rn", "rz", "rd", "ru"])
def test_narrowing(device, mode):
    x = random_values("float64", 64)
    expected = [rounded(fractions.Fraction(v), np.float32, mode) for v in x.tolist()]
    assert_same(run(device, f"double2float_{mode}", [x], "float32"), np.array(expected, np.float32))


# ---------------------------------------------------------------------------
# By symbol
# ---------------------------------------------------------------------------


@tl.core.extern
def arctangent(x, _semantic=None):
    return tl.core.extern_elementwise(
        "",
        "",
        [x],
        {(tl.float32,): ("__nv_atanf", tl.float32), (tl.float64,): ("__nv_atan", tl.float64)},
        is_pure=True,
        _semantic=_semantic,
    )


@tilewright.jit
def symbol_kernel(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, arctangent(tl.load(x_ptr + i)))


@pytest.mark.parametrize("type_name", ["float32", "float64"])
def test_symbols(device, type_name):
    x = random_values(type_name, 64)
    out = device.empty(64, x.dtype)
    device.run(symbol_kernel, (1,), device.array(x), out, 64)
    assert_near(device.numpy(out), np.arctan(x.astype(np.float64)), ulps=4)


@pytest.mark.parametrize("module", [libdevice, tl.math], ids=["libdevice", "math"])
def test_functions_have_the_text_of_a_definition(module):
    """Libraries that generate kernels read the source of what they call, and look for a definition in it."""
    functions = {name: value for name, value in vars(module).items() if inspect.isfunction(value) and not name.startswith("_")}
    assert len(functions) > 15
    for name, function in functions.items():
        (definition,) = ast.parse(inspect.getsource(function)).body
        assert isinstance(definition, ast.FunctionDef) and definition.name == function.__name__, name
        assert [argument.arg for argument in definition.args.args] == list(inspect.signature(function).parameters), name
