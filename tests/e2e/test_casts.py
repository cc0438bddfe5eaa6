# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Casts between all element types, bit casts, rounding modes, fp8 in full."""

import ml_dtypes
import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.compare import assert_same
from harness.devices import Emulator
from harness.reference import round_to
from harness.element_types import ALL, FLOATS, FP8, INTEGERS, NUMPY_TYPES, bits, is_float, mixed_values, random_values


@tilewright.jit
def cast_kernel(x_ptr, out_ptr, n, TO: tl.constexpr, BITCAST: tl.constexpr, ROUNDING: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    result = x.to(TO, fp_downcast_rounding=ROUNDING, bitcast=BITCAST)
    tl.static_assert(result.dtype == TO)
    tl.store(out_ptr + offsets, result, mask=mask)


def run_cast(device, values, name, bitcast=False, rounding=None):
    out = device.empty(values.shape, NUMPY_TYPES[name])
    n = values.size
    device.run(
        cast_kernel,
        (tilewright.cdiv(n, 256),),
        device.array(values),
        out,
        n,
        TO=getattr(tl, name),
        BITCAST=bitcast,
        ROUNDING=rounding,
        BLOCK=256,
    )
    return device.numpy(out)


@pytest.mark.parametrize("target", ALL)
@pytest.mark.parametrize("source", ALL)
def test_cast(device, source, target):
    values = mixed_values(source, 700)
    if is_float(source) and not is_float(target):
        # Out of range and NaN are undefined: stay well inside, with fractions.
        limit = min(float(np.iinfo(NUMPY_TYPES[target]).max), 1e4)
        low = 0.0 if target.startswith("u") else -limit
        rng = np.random.default_rng(0)
        values = (low + rng.random(700) * (limit - low)).astype(NUMPY_TYPES[source])
        values[np.abs(values.astype(np.float64)) >= limit] = 1
    with np.errstate(all="ignore"):
        if {source, target} == {"float16", "bfloat16"}:
            expected = values.astype(np.float32).astype(NUMPY_TYPES[target])
        else:
            expected = values.astype(NUMPY_TYPES[target])
        if source in ("int64", "uint64", "int32", "uint32") and target in ("float16", "bfloat16"):
            # Through float32, as the hardware does it.
            expected = values.astype(np.float32).astype(NUMPY_TYPES[target])
    assert_same(run_cast(device, values, target), expected)


@pytest.mark.parametrize("target", INTEGERS)
def test_floats_out_of_range(device, target):
    """Undefined, and yet one result everywhere: the nearest integer, and the low half of it where 8 bits are asked for."""
    values = np.array([-1, -2, -2.5, 200, 300, -300, 7e4, -7e4, 5e9, -5e9, 1e30, -1e30, np.inf, -np.inf], np.float32)
    kind = np.dtype(NUMPY_TYPES[target])
    limits = np.iinfo(np.dtype(f"{kind.kind}2") if kind.itemsize == 1 else kind)
    expected = [
        min(max(int(value), limits.min), limits.max) if np.isfinite(value) else limits.max if value > 0 else limits.min
        for value in values.tolist()
    ]
    assert_same(run_cast(device, values, target), np.array(expected, limits.dtype).astype(kind))


@pytest.mark.parametrize("target", INTEGERS)
def test_floats_out_of_range_in_the_emulator(target):
    test_floats_out_of_range(Emulator("sm_90a"), target)


@pytest.mark.parametrize("source", [*ALL, *FP8])
def test_to_bool(device, source):
    """Anything to int1 is a comparison with zero, also for -0 and NaN."""
    values = mixed_values(source, 300)
    assert_same(run_cast(device, values, "int1"), values.astype(np.float64) != 0)


@pytest.mark.parametrize("target", ALL)
def test_from_bool(device, target):
    values = random_values("int1", 300)
    assert_same(run_cast(device, values, target), values.astype(NUMPY_TYPES[target]))


# ---------------------------------------------------------------------------
# fp8: every value up, every rounding case down
# ---------------------------------------------------------------------------


@pytest.mark.parametrize("target", FLOATS)
@pytest.mark.parametrize("source", FP8)
def test_fp8_up(device, source, target):
    values = np.arange(256, dtype=np.uint8).view(NUMPY_TYPES[source])
    assert_same(run_cast(device, values, target), values.astype(NUMPY_TYPES[target]))


def fp8_cases(target, source):
    """Every fp8 value, every midpoint of two neighbours, and their close neighbours in the source type."""
    exact = np.arange(256, dtype=np.uint8).view(NUMPY_TYPES[target]).astype(np.float64)
    exact = np.unique(exact[np.isfinite(exact)])
    middle = (exact[1:] + exact[:-1]) / 2
    epsilon = float(ml_dtypes.finfo(NUMPY_TYPES[source]).eps)
    around = np.concatenate([exact, middle, middle * (1 + epsilon), middle * (1 - epsilon), [np.nan, 0.0, -0.0]])
    return around.astype(NUMPY_TYPES[source])


@pytest.mark.parametrize("source", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("target", FP8)
def test_fp8_down(device, target, source):
    values = fp8_cases(target, source)
    assert_same(run_cast(device, values, target), round_to(values, target))


def test_fp8_e4m3_saturates(device):
    """E4M3 has no infinity: finite values beyond its range become its largest."""
    values = np.array([448, 449, 464, 465, 1000, -1e30, 3e38], np.float32)
    largest = np.float32(448)
    assert_same(run_cast(device, values, "float8e4nv"), np.clip(values, -largest, largest).astype(ml_dtypes.float8_e4m3fn))


# ---------------------------------------------------------------------------
# Rounding modes and bits
# ---------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["float16", "bfloat16"])
def test_round_towards_zero(device, target):
    values = random_values("float32", 1000) * np.float32(100)
    nearest = values.astype(NUMPY_TYPES[target])
    # Where rounding to nearest went away from zero, the neighbour below is right.
    too_large = np.abs(nearest.astype(np.float32)) > np.abs(values)
    expected = (nearest.view(np.uint16) - too_large.astype(np.uint16)).view(NUMPY_TYPES[target])
    assert_same(run_cast(device, values, target, rounding="rtz"), expected)


@pytest.mark.parametrize("source, target", [
    ("float32", "int32"), ("int32", "float32"), ("float16", "int16"), ("bfloat16", "uint16"), ("float64", "int64"),
    ("uint8", "int8"), ("int8", "float8e5"), ("float8e4nv", "uint8"), ("float16", "bfloat16"),
])  # fmt: skip
def test_bitcast(device, source, target):
    values = mixed_values(source, 300)
    expected = values.view(NUMPY_TYPES[target])
    actual = run_cast(device, values, target, bitcast=True)
    unsigned = f"uint{bits(target)}"
    if not (device.name == "assemble"):
        assert_same(np.asarray(actual).view(NUMPY_TYPES[unsigned]), expected.view(NUMPY_TYPES[unsigned]))


@tilewright.jit
def computed_bits_kernel(x_ptr, out_ptr, back_ptr, FROM: tl.constexpr, TO: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    there = (tl.load(x_ptr + offsets) + 1).to(FROM).to(TO, bitcast=True)
    tl.store(out_ptr + offsets, there.to(tl.float32) * 2)
    tl.store(back_ptr + offsets, there.to(FROM, bitcast=True).to(tl.float32) * 2)


@pytest.mark.parametrize("block", [32, 256])
@pytest.mark.parametrize("source, target", [
    ("float16", "bfloat16"), ("bfloat16", "float16"), ("float16", "int16"), ("uint16", "bfloat16"),
])  # fmt: skip
def test_bitcast_of_what_is_computed(device, source, target, block):
    """With one element for each thread, and with pairs: neither is of what memory holds."""
    # Bits that are ordinary numbers as both kinds of halves.
    x = (np.arange(block, dtype=np.uint16) * 32 + 0x2040).view(NUMPY_TYPES[source])
    out, back = device.empty((block,), np.float32), device.empty((block,), np.float32)
    arguments = [device.array(x), out, back, getattr(tl, source), getattr(tl, target), block]
    device.run(computed_bits_kernel, (1,), *arguments, num_warps=1)
    there = (x + np.ones((), x.dtype)).astype(x.dtype).view(NUMPY_TYPES[target])
    assert_same(device.numpy(out), there.astype(np.float32) * 2)
    assert_same(device.numpy(back), there.view(NUMPY_TYPES[source]).astype(np.float32) * 2)


@tilewright.jit
def implicit_cast_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets))


@pytest.mark.parametrize(
    "source, target",
    [
        ("float32", "float16"),
        ("int32", "int8"),
        ("float16", "float32"),
        ("float32", "bfloat16"),
        ("int8", "float32"),
        ("float32", "float8e5"),
    ],
)
def test_store_casts(device, source, target):
    values = mixed_values(source, 64) if source != "int32" else np.arange(-32, 32, dtype=np.int32)
    out = device.empty(64, NUMPY_TYPES[target])
    device.run(implicit_cast_kernel, (1,), device.array(values), out, BLOCK=64)
    with np.errstate(all="ignore"):
        assert_same(device.numpy(out), round_to(values, target) if is_float(target) else values.astype(np.int8))


@tilewright.jit
def pointer_cast_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    # A pointer as an integer and back, then the same bytes as another type.
    address = x_ptr.to(tl.int64)
    bytes_ptr = address.to(tl.pointer_type(tl.uint8))
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(bytes_ptr + offsets))


def test_pointer_cast(device):
    values = random_values("int32", 64)
    out = device.empty(256, np.uint8)
    device.run(pointer_cast_kernel, (1,), device.array(values), out, BLOCK=256)
    assert_same(device.numpy(out), values.view(np.uint8))


@pytest.mark.parametrize("name", INTEGERS)
def test_round_trip(device, name):
    """Integer to the next wider float and back loses nothing."""
    values = mixed_values(name, 300)
    if bits(name) == 64:
        values = values % (2**50)
        values = values.astype(NUMPY_TYPES[name])
    assert_same(run_cast(device, values.astype(np.float64), name), values)
