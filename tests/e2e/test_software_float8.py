# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fp8e4b15, fp8e4b8 and fp8e5b16: every code, and every rounding between two codes."""

import ml_dtypes
import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.compare import assert_same

EMULATED = True

#: Mantissa bits, bias, code of the largest number, whether zero has no sign.
FORMATS = {"float8e4b15": (3, 15, 0x7E, False), "float8e4b8": (3, 8, 0x7F, True), "float8e5b16": (2, 16, 0x7F, True)}
TYPES = [getattr(tl, name) for name in FORMATS]


def decoded(name):
    """The value of each code, from the definition."""
    mantissa_bits, bias, largest, has_one_zero = FORMATS[name]
    codes = np.arange(256)
    magnitude = codes & 0x7F
    exponent, mantissa = magnitude >> mantissa_bits, magnitude & ((1 << mantissa_bits) - 1)
    values = np.where(
        exponent == 0,
        np.ldexp(mantissa, 1 - bias - mantissa_bits),
        np.ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits),
    )
    values = np.where(codes & 0x80, -values, values)
    return np.where(codes == 0x80 if has_one_zero else magnitude > largest, np.nan, values).astype(np.float32)


@pytest.mark.parametrize("name, other", [("float8e4b8", ml_dtypes.float8_e4m3fnuz), ("float8e5b16", ml_dtypes.float8_e5m2fnuz)])
def test_definition(name, other):
    assert_same(decoded(name), np.arange(256).astype(np.uint8).view(other).astype(np.float32))


def encoded(name, x):
    """The code nearest to each number, the even one of two; what is too large becomes the largest number."""
    _, _, largest, has_one_zero = FORMATS[name]
    values = decoded(name)[: largest + 1].astype(np.float64)
    magnitude = np.minimum(np.abs(x.astype(np.float64)), values[-1])
    above = np.searchsorted(values, magnitude).clip(1, largest)
    low, high = values[above - 1], values[above]
    takes_high = (magnitude - low > high - magnitude) | ((magnitude - low == high - magnitude) & (above % 2 == 0))
    codes = np.where(takes_high, above, above - 1)
    signed = np.where(np.signbit(x) & ~((codes == 0) & has_one_zero), codes | 0x80, codes)
    return np.where(np.isnan(x), 0x80 if has_one_zero else 0x7F, signed).astype(np.uint8)


@tilewright.jit
def decode_kernel(out_ptr, codes_ptr, TYPE: tl.constexpr, OUT: tl.constexpr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(codes_ptr + offsets).to(TYPE, bitcast=True)
    tl.store(out_ptr + offsets, x.to(OUT))


@pytest.mark.parametrize("wide", ["float32", "float16"])
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_decode(device, dtype, wide):
    out = device.empty(256, getattr(np, wide))
    codes = np.arange(256).astype(np.uint8)
    device.run(decode_kernel, (1,), out, device.array(codes), dtype, getattr(tl, wide), N=256)
    assert_same(device.numpy(out), decoded(str(dtype).replace("fp8", "float8")).astype(wide))


@tilewright.jit
def encode_kernel(out_ptr, x_ptr, TYPE: tl.constexpr, N: tl.constexpr):
    offsets = tl.program_id(0) * N + tl.arange(0, N)
    x = tl.load(x_ptr + offsets).to(TYPE)
    tl.store(out_ptr + offsets, x.to(tl.uint8, bitcast=True))


def interesting_numbers(name):
    """All values, the middles of neighbours, numbers beside those, and what is out of range; 2048 in all."""
    values = np.unique(decoded(name)[np.isfinite(decoded(name))].astype(np.float64))
    middles = ((values[1:] + values[:-1]) / 2).astype(np.float32)
    x = np.concatenate(
        [
            values.astype(np.float32),
            middles,
            np.nextafter(middles, np.float32(np.inf)),
            np.nextafter(middles, np.float32(-np.inf)),
            np.array([np.inf, -np.inf, np.nan, -0.0, 1e30, -1e30, 1e-40, 3e-39], np.float32),
        ]
    )
    fill = np.random.default_rng(1).standard_normal(2048 - len(x)) * values[-1]
    return np.concatenate([x, fill.astype(np.float32)])


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_encode(device, dtype):
    name = str(dtype).replace("fp8", "float8")
    x = interesting_numbers(name)
    out = device.empty(len(x), np.uint8)
    device.run(encode_kernel, (len(x) // 256,), out, device.array(x), dtype, N=256)
    assert_same(device.numpy(out), encoded(name, x))


@tilewright.jit
def toward_zero_kernel(out_ptr, x_ptr, TYPE: tl.constexpr, N: tl.constexpr):
    offsets = tl.program_id(0) * N + tl.arange(0, N)
    x = tl.cast(tl.load(x_ptr + offsets), TYPE, fp_downcast_rounding="rtz")
    tl.store(out_ptr + offsets, x.to(tl.float32))


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_encode_toward_zero(device, dtype):
    name = str(dtype).replace("fp8", "float8")
    x = interesting_numbers(name)
    out = device.empty(len(x), np.float32)
    device.run(toward_zero_kernel, (len(x) // 256,), out, device.array(x), dtype, N=256)
    values = np.unique(np.abs(decoded(name)[np.isfinite(decoded(name))]))
    expected = values[np.searchsorted(values, np.minimum(np.abs(np.nan_to_num(x)), values[-1]), side="right") - 1]
    expected = np.where(np.isnan(x), np.nan, np.copysign(expected, x))
    assert_same(device.numpy(out), expected.astype(np.float32), signed_zeros=False)


@tilewright.jit
def arithmetic_kernel(out_ptr, x_ptr, TYPE: tl.constexpr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    rows = offsets[:, None] * N + offsets[None, :]
    x = tl.load(x_ptr + rows).to(TYPE)
    tl.store(out_ptr + rows, tl.dot(x, x) + (x + x).to(tl.float32) + tl.full((N, N), 0.5, TYPE).to(tl.float32))


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_arithmetic_and_products(device, dtype):
    x = np.random.default_rng(2).integers(-2, 3, (32, 32)).astype(np.float32) / 4
    out = device.empty((32, 32), np.float32)
    device.run(arithmetic_kernel, (1,), out, device.array(x), dtype, N=32)
    assert_same(device.numpy(out), x @ x + 2 * x + np.float32(0.5))


def test_arguments_of_other_makers_types():
    """Arrays whose dtype the language has, by the names that ml_dtypes and torch give it."""
    x = np.array([0.5, -3.0, 240.0], np.float32)
    for dtype in (ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2fnuz):
        out = np.zeros(4, np.float32)
        widen_kernel[(1,)](out, np.append(x, 1.0).astype(dtype), 4)
        assert_same(out, np.append(x, np.float32(1.0)).astype(dtype).astype(np.float32))


@tilewright.jit
def widen_kernel(out_ptr, x_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets).to(tl.float32))
