# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers of the interpreter against NumPy and ml_dtypes, bit for bit where the language defines bits."""

import ml_dtypes
import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from tilewright import knobs

BLOCK = 4096
TYPES = {
    "float16": (tl.float16, np.float16),
    "bfloat16": (tl.bfloat16, ml_dtypes.bfloat16),
    "float8e4nv": (tl.float8e4nv, ml_dtypes.float8_e4m3fn),
    "float8e5": (tl.float8e5, ml_dtypes.float8_e5m2),
    "float32": (tl.float32, np.float32),
    "float64": (tl.float64, np.float64),
}
SMALL = ["float16", "bfloat16", "float8e4nv", "float8e5"]


@tilewright.jit
def convert(x, out, n, TO: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=mask).to(TO), mask=mask)


def converted(x, name):
    tl_type, np_type = TYPES[name]
    out = np.zeros(len(x), np_type)
    convert[(tilewright.cdiv(len(x), BLOCK),)](x, out, len(x), TO=tl_type, BLOCK=BLOCK)
    return out


def all_codes(name):
    np_type = np.dtype(TYPES[name][1])
    word = np.uint8 if np_type.itemsize == 1 else np.uint16
    return np.arange(2 ** (8 * np_type.itemsize), dtype=np.uint64).astype(word).view(np_type)


def assert_same(actual, expected):
    """Equal bits; any NaN equals any NaN."""
    nan = np.isnan(expected.astype(np.float64))
    assert np.array_equal(np.isnan(actual.astype(np.float64)), nan)
    word = f"u{actual.dtype.itemsize}"
    different = (actual.view(word) != expected.view(word)) & ~nan
    assert not different.any(), f"{actual[different][:4]} instead of {expected[different][:4]}"


@pytest.mark.parametrize("name", SMALL)
def test_widening_is_exact_for_every_code(name):
    codes = all_codes(name)
    with np.errstate(all="ignore"):
        assert_same(converted(codes, "float32"), codes.astype(np.float32))
        assert_same(converted(codes, "float64"), codes.astype(np.float64))
        assert_same(converted(converted(codes, "float32"), name), saturated(codes.astype(np.float32), name))


def saturated(values, name):
    """ml_dtypes' nearest even; 8-bit floats saturate as the GPU's cvt.satfinite."""
    np_type = TYPES[name][1]
    with np.errstate(all="ignore"):
        result = values.astype(np_type)
        if name.startswith("float8"):
            largest = ml_dtypes.finfo(np_type).max
            above = np.abs(values.astype(np.float64)) > float(largest)
            result = np.where(above, np.copysign(np.float32(largest), values.astype(np.float32)).astype(np_type), result)
        return result


def interesting_floats(count=2**20):
    """Random bit patterns, all 16-bit prefixes with tails around the rounding points."""
    random = np.random.default_rng(3).integers(0, 2**32, count, np.uint64).astype(np.uint32)
    prefixes = np.arange(2**16, dtype=np.uint32) << 16
    tails = [prefixes | t for t in (0, 1, 0x0FFF, 0x1000, 0x1001, 0x7FFF, 0x8000, 0x8001, 0xFFFF)]
    return np.concatenate([random, *tails]).view(np.float32)


@pytest.mark.parametrize("name", SMALL)
def test_narrowing_from_float32(name):
    values = interesting_floats()
    assert_same(converted(values, name), saturated(values, name))


@pytest.mark.parametrize("source", SMALL)
@pytest.mark.parametrize("target", SMALL)
def test_conversions_between_small_floats(source, target):
    codes = all_codes(source)
    with np.errstate(all="ignore"):
        expected = codes if source == target else saturated(codes.astype(np.float32), target)
    assert_same(converted(codes, target), expected)


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, np.uint64])
def test_integers_to_floats(name, dtype):
    info = np.iinfo(dtype)
    random = np.random.default_rng(5).integers(info.min, info.max, 5000, dtype, endpoint=True)
    edges = np.array([0, 1, info.max, info.min, info.max // 3, 65519 % (info.max + 1), 65520 % (info.max + 1)], dtype)
    x = np.concatenate([random, edges])
    # bfloat16 has no instruction for integers and goes through float32.
    wide = x.astype(np.float32) if name == "bfloat16" else x
    with np.errstate(over="ignore"):
        expected = wide.astype(TYPES[name][1])
    assert_same(converted(x, name), expected)


@pytest.mark.parametrize("name", SMALL)
def test_narrowing_from_float64(name):
    values = interesting_floats(2**16).astype(np.float64)
    # Beside the midpoints by less than a float32 can tell.
    values = np.concatenate([values * (1 + 2.0**-40), values * (1 - 2.0**-40)])
    if name.startswith("float8"):
        with np.errstate(all="ignore"):
            expected = saturated(values.astype(np.float32), name)
    else:
        expected = rounded_once(values, name)
    assert_same(converted(values, name), expected)


def rounded_once(values, name):
    """Nearest even from float64, through a float32 that is rounded to odd."""
    with np.errstate(all="ignore"):
        single = values.astype(np.float32)
        inexact = np.isfinite(values) & (single.astype(np.float64) != values)
        bits = single.view(np.uint32).copy()
        bits[inexact & (np.abs(single.astype(np.float64)) > np.abs(values))] -= 1
        bits[inexact] |= 1
        return bits.view(np.float32).astype(TYPES[name][1])


@tilewright.jit
def binary(x, y, out, OP: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    b = tl.load(y + i)
    if OP == "+":
        result = a + b
    elif OP == "-":
        result = a - b
    elif OP == "*":
        result = a * b
    elif OP == "/":
        result = a / b
    elif OP == "%":
        result = a % b
    elif OP == "minimum":
        result = tl.minimum(a, b)
    elif OP == "maximum":
        result = tl.maximum(a, b)
    elif OP == "minimum with NaN":
        result = tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)
    elif OP == "maximum with NaN":
        result = tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)
    elif OP == "<":
        result = a < b
    elif OP == "==":
        result = a == b
    elif OP == "!=":
        result = a != b
    elif OP == "//":
        result = a // b
    elif OP == "<<":
        result = a << b
    elif OP == ">>":
        result = a >> b
    elif OP == "&":
        result = a & b
    else:
        result = a ^ b
    tl.store(out + i, result)


SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.1, 1.5, 3.0, -7.25, 65504.0, 1e-7, 6e-8, 1e-40, 3e38, np.inf, -np.inf, np.nan]


def grid_of(values, dtype):
    a = np.repeat(np.array(values, dtype), len(values))
    return a, np.tile(np.array(values, dtype), len(values))


def computed(op, a, b, result):
    out = np.zeros(len(a), result)
    binary[(1,)](a, b, out, OP=op, N=len(a))
    return out


@pytest.mark.parametrize("op", ["+", "-", "*", "/", "%", "<", "==", "!="])
@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_special_floats(name, op):
    with np.errstate(all="ignore"):
        a, b = grid_of(SPECIAL, TYPES[name][1])
        if op in ("<", "==", "!="):
            expected = {"<": np.less, "==": np.equal, "!=": np.not_equal}[op](a, b)
        else:
            # 16-bit + - * round once from f32; / and % are done in f32 by definition.
            wide = np.float64 if name == "float64" else np.float32
            function = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "%": np.fmod}[op]
            expected = function(a.astype(wide), b.astype(wide))
            if op in "+-*":
                expected = expected.astype(a.dtype)
    assert_same(computed(op, a, b, expected.dtype), expected)


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_minimum_and_maximum_order_zeros_and_skip_nan(name):
    a, b = grid_of(SPECIAL, TYPES[name][1])
    for op, choose in (
        ("minimum", np.fmin),
        ("maximum", np.fmax),
        ("minimum with NaN", np.minimum),
        ("maximum with NaN", np.maximum),
    ):
        expected = choose(a, b)
        both_zero = (a == 0) & (b == 0)
        negative = (np.signbit(a) | np.signbit(b)) if op.startswith("minimum") else (np.signbit(a) & np.signbit(b))
        expected = np.where(both_zero, np.where(negative, a.dtype.type(-0.0), a.dtype.type(0.0)), expected)
        assert_same(computed(op, a, b, a.dtype), expected.astype(a.dtype))


@pytest.mark.parametrize(
    "dtype", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64], ids=lambda d: d.__name__
)
def test_integer_arithmetic(dtype):
    info = np.iinfo(dtype)
    values = [0, 1, 2, 3, 7, 100, info.max, info.max - 1, info.min, info.min + 1, info.max // 3, info.max // 2 + 1]
    values += [v for v in (-1, -2, -7, -100) if v >= info.min] or [5, 6, 9, 11]
    a, b = grid_of(values, dtype)
    with np.errstate(all="ignore"):
        for op, function in (
            ("+", np.add),
            ("-", np.subtract),
            ("*", np.multiply),
            ("&", np.bitwise_and),
            ("^", np.bitwise_xor),
        ):
            assert np.array_equal(computed(op, a, b, dtype), function(a, b)), op

    def quotient(p, q):
        return 0 if q == 0 else abs(p) // abs(q) * (1 if (p < 0) == (q < 0) else -1)

    pairs = [(int(p), int(q)) for p, q in zip(a, b)]
    mask = 2**info.bits - 1
    quotients = np.array([quotient(p, q) & mask for p, q in pairs], np.uint64).astype(dtype)
    remainders = np.array([p if q == 0 else p - q * quotient(p, q) for p, q in pairs], object).astype(dtype)
    with knobs.runtime.scope():
        knobs.runtime.check = "-division"
        assert np.array_equal(computed("//", a, b, dtype), quotients)
        assert np.array_equal(computed("%", a, b, dtype), remainders)
    # Amounts count as unsigned; too large ones clear, or fill with the sign.
    bits = info.bits
    lefts = [(p << q) & mask if 0 <= q < bits else 0 for p, q in pairs]
    rights = [p >> (q if 0 <= q < bits else bits) for p, q in pairs]
    assert np.array_equal(computed("<<", a, b, dtype), np.array(lefts, np.uint64).astype(dtype))
    assert np.array_equal(computed(">>", a, b, dtype), np.array(rights, object).astype(dtype))


@tilewright.jit
def functions(x, out, NAME: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    tl.store(out + i, getattr(tl, NAME)(a))


@pytest.mark.parametrize("name", ["exp", "exp2", "log", "log2", "sin", "cos", "sqrt", "rsqrt", "floor", "ceil", "abs"])
def test_functions_are_correctly_rounded_within_half_a_unit(name):
    random = np.random.default_rng(8)
    x = np.concatenate(
        [
            random.normal(0, 1, 2000),
            random.normal(0, 30, 2000),
            [0, -0.0, np.inf, -np.inf, np.nan, 1e30],
            np.linspace(-104, 89, 90),
        ]
    ).astype(np.float32)[:4096]
    out = np.zeros_like(x)
    functions[(1,)](x, out, NAME=name, N=4096)
    with np.errstate(all="ignore"):
        wide = x.astype(np.float64)
        exact = 1 / np.sqrt(wide) if name == "rsqrt" else getattr(np, name)(wide)
        expected = exact.astype(np.float32)
        ok = (out == expected) | (np.isnan(out) & np.isnan(expected))
        unit = np.spacing(np.abs(expected)).astype(np.float64)
        close = np.abs(out.astype(np.float64) - exact) <= 0.5001 * unit
    assert (ok | close).all(), (x[~(ok | close)], out[~(ok | close)])


@tilewright.jit
def float_to_int(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i).to(out.dtype.element_ty))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, np.uint64])
def test_float_to_integer_saturates(dtype):
    # 8 bits are the low half of 16, as in compiled code.
    info = np.iinfo({np.int8: np.int16, np.uint8: np.uint16}.get(dtype, dtype))
    x = np.array([0.0, -0.9, 1.9, 1e30, -1e30, np.inf, -np.inf, 100.5], np.float32)
    out = np.zeros(8, dtype)
    float_to_int[(1,)](x, out, N=8)
    low = info.min
    expected = [0, 0, 1, info.max, low, info.max, low, 100]
    assert out.tolist() == np.array(expected, info.dtype).astype(dtype).tolist()


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.uint64])
@pytest.mark.parametrize("source", [np.float32, np.float64])
def test_no_number_as_an_integer(source, dtype):
    """0, but the top bit alone where either side has 64 bits."""
    out = np.ones(2, dtype)
    float_to_int[(1,)](np.full(2, np.nan, source), out, N=2)
    wide = source is np.float64 or np.dtype(dtype).itemsize == 8
    assert out.view(f"u{out.itemsize}").tolist() == [1 << (8 * out.itemsize - 1) if wide else 0] * 2


@tilewright.jit
def toward_zero(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i).to(out.dtype.element_ty, fp_downcast_rounding="rtz"))


def test_float64_toward_zero():
    with np.errstate(all="ignore"):
        x = interesting_floats(2**10).astype(np.float64) * (1 - 2.0**-30)  # nearer to the number that is farther from zero
    x = x[np.isfinite(x) & (np.abs(x) < 1e38)][:1024]
    out = np.zeros(len(x), np.float32)
    toward_zero[(1,)](x, out, N=1024)
    nearest = x.astype(np.float32)
    assert_same(out, np.where(np.abs(nearest.astype(np.float64)) > np.abs(x), np.nextafter(nearest, np.float32(0)), nearest))


@tilewright.jit
def reductions(x, out, M: tl.constexpr, N: tl.constexpr):
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    tile = tl.load(x + rows[:, None] * N + columns[None, :])
    tl.store(out + 0 * M + rows, tl.sum(tile, 1))
    tl.store(out + 1 * M + rows, tl.max(tile, 1))
    tl.store(out + 2 * M + rows, tl.min(tile, axis=1))
    tl.store(out + 3 * M + rows, tl.argmax(tile, 1))
    tl.store(out + 4 * M + rows, tl.argmin(tile, 1))
    tl.store(out + 5 * M, tl.sum(tile))
    softmax = tl.softmax(tile, 1, keep_dims=True)
    tl.store(out + 6 * M + rows[:, None] * N + columns[None, :], softmax)
    scan = tl.cumsum(tile, 0)
    tl.store(out + 6 * M + M * N + rows[:, None] * N + columns[None, :], scan)


def test_reductions_and_scans():
    m, n = 8, 32
    # Small integers: sums are exact in any order.
    x = np.random.default_rng(2).integers(-20, 20, (m, n)).astype(np.float32)
    out = np.zeros(6 * m + 2 * m * n, np.float32)
    reductions[(1,)](x, out, M=m, N=n)
    parts = out[: 5 * m].reshape(5, m)
    assert np.array_equal(parts[0], x.sum(1)) and np.array_equal(parts[1], x.max(1))
    assert np.array_equal(parts[2], x.min(1))
    assert np.array_equal(parts[3], x.argmax(1)) and np.array_equal(parts[4], x.argmin(1))
    assert out[5 * m] == x.sum()
    softmax = out[6 * m : 6 * m + m * n].reshape(m, n)
    e = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(softmax, e / e.sum(1, keepdims=True), rtol=1e-6)
    assert np.array_equal(out[6 * m + m * n :].reshape(m, n), np.cumsum(x, 0))
