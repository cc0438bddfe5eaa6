# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small kernels with machine code that only the emulator can judge where no GPU is.

Signed numbers in registers wider than they are, the two zeros, scans in any order of bits, and a launch that waits for
the one before.
"""

import math

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.compare import assert_near, assert_same
from harness.element_types import NUMPY_TYPES, random_values
from tilewright.language.extra.cuda import gdc_launch_dependents, gdc_wait

EMULATED = True


@tilewright.jit
def cross_entropy_kernel(x_ptr, label_ptr, loss_ptr, n, ignored, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    label = tl.load(label_ptr + row)
    if label == ignored:  # an int32 argument beside an int64 label
        tl.store(loss_ptr + row, 0.0)
        return
    largest = float("-inf")
    total = 0.0
    for start in range(0, n, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + offsets, mask=offsets < n, other=float("-inf"))
        new = tl.maximum(largest, tl.max(x))
        total = total * tl.exp(largest - new) + tl.sum(tl.exp(x - new))
        largest = new
    tl.store(loss_ptr + row, largest + tl.log(total) - tl.load(x_ptr + row * n + label))


def test_cross_entropy_with_ignored_rows(device):
    x = random_values("float32", 4 * 100).reshape(4, 100)
    labels = np.array([3, -100, 99, -100], np.int64)
    loss = device.empty(4, np.float32)
    device.run(cross_entropy_kernel, (4,), device.array(x), device.array(labels), loss, 100, -100, BLOCK=32)
    wide = x.astype(np.float64)
    largest = wide.max(1)
    expected = largest + np.log(np.exp(wide - largest[:, None]).sum(1)) - wide[np.arange(4), np.maximum(labels, 0)]
    assert_near(device.numpy(loss), np.where(labels < 0, 0, expected).astype(np.float32), ulps=16)


@tilewright.jit
def sort_kernel(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, tl.sort(tl.load(x_ptr + i)))


@pytest.mark.parametrize("name", ["int8", "uint8", "int16", "int64"])
def test_sort(device, name):
    x = random_values(name, 64)
    out = device.empty(64, x.dtype)
    device.run(sort_kernel, (1,), device.array(x), out, N=64)
    assert_same(device.numpy(out), np.sort(x))


@tilewright.jit
def extrema_kernel(x_ptr, y_ptr, low_ptr, high_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x, y = tl.load(x_ptr + i), tl.load(y_ptr + i)
    tl.store(low_ptr + i, tl.minimum(x, y))
    tl.store(high_ptr + i, tl.maximum(x, y))


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_plus_zero_is_more_than_minus_zero(device, dtype):
    x, y = np.array([0.0, -0.0, 0.0, -0.0], dtype), np.array([0.0, 0.0, -0.0, -0.0], dtype)
    low, high = device.empty(4, dtype), device.empty(4, dtype)
    device.run(extrema_kernel, (1,), device.array(x), device.array(y), low, high, N=4)
    assert_same(device.numpy(low), np.array([0.0, -0.0, -0.0, -0.0], dtype))
    assert_same(device.numpy(high), np.array([0.0, 0.0, 0.0, -0.0], dtype))


@tilewright.jit
def toward_zero_kernel(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, tl.load(x_ptr + i).to(out_ptr.dtype.element_ty, fp_downcast_rounding="rtz"))


@pytest.mark.parametrize(
    "source, name", [("float32", "float16"), ("float32", "bfloat16"), ("float64", "float32"), ("float64", "bfloat16")]
)
def test_rounding_toward_zero(device, source, name):
    x = random_values(source, 64)
    x[:3] = [np.inf, -0.0, np.float32(1e38) if name != "float16" else 65519]
    out = device.empty(64, NUMPY_TYPES[name])
    device.run(toward_zero_kernel, (1,), device.array(x), out, N=64)
    values = device.numpy(out)
    found = values.astype(np.float64)
    assert (np.abs(found) <= np.abs(x)).all() and (np.signbit(found) == np.signbit(x)).all()
    # The next number away from zero is too large.
    bits = values.view({2: np.uint16, 4: np.uint32}[values.dtype.itemsize])
    finite = np.isfinite(x)
    above = (bits[finite] + 1).view(values.dtype).astype(np.float64)
    assert (np.abs(above) > np.abs(x[finite])).all()


@tilewright.jit
def dependent_kernel(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    gdc_wait()
    x = tl.load(x_ptr + i)
    gdc_launch_dependents()
    tl.store(out_ptr + i, x + 1)


def test_a_kernel_that_waits_for_the_launch_before(device):
    x, out = device.array(np.arange(64, dtype=np.int32)), device.empty(64, np.int32)
    device.run(dependent_kernel, (1,), x, out, N=64)
    device.run(dependent_kernel, (1,), out, x, N=64)
    assert_same(device.numpy(x), np.arange(2, 66, dtype=np.int32))


@tilewright.jit
def affine(a, b, c, d):
    """First a x + b, then c x + d, modulo 2^32: the order matters, the grouping does not."""
    return c * a, c * b + d


@tilewright.jit
def affine_scan_kernel(x_ptr, y_ptr, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr, REVERSE: tl.constexpr):
    o = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    slope, start = tl.load(x_ptr + o), tl.load(y_ptr + o)
    slope, start = tl.associative_scan((slope, start), AXIS, affine, reverse=REVERSE)
    tl.store(x_ptr + o, slope)
    tl.store(y_ptr + o, start)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("num_warps", [1, 4, 8])
@pytest.mark.parametrize(
    "m, n, axis", [(2, 256, 1), (256, 2, 0), (16, 64, 1), (16, 64, 0), (64, 64, 0), (1, 32, 1), (4, 8, 1), (1, 1024, 1)]
)
def test_scans_keep_the_order(device, m, n, axis, num_warps, reverse):
    """Runs of a thread, of lanes, of warps, in any order; several values of a thread in one run, and one."""
    random = np.random.default_rng(m)
    slope, start = (random.integers(0, 2**32, (m, n), np.uint32) for _ in range(2))
    x, y = device.array(slope.copy()), device.array(start.copy())
    device.run(affine_scan_kernel, (1,), x, y, M=m, N=n, AXIS=axis, REVERSE=reverse, num_warps=num_warps)
    slope, start = (np.moveaxis(each, axis, 0) for each in (slope, start))
    positions = range(len(slope))[::-1] if reverse else range(len(slope))
    a, b = np.ones_like(slope[0]), np.zeros_like(slope[0])
    for i in positions:
        a, b = slope[i] * a, slope[i] * b + start[i]
        slope[i], start[i] = a, b
    assert_same(device.numpy(x), np.moveaxis(slope, 0, axis))
    assert_same(device.numpy(y), np.moveaxis(start, 0, axis))


@tilewright.jit
def permuted_scan_kernel(x_ptr, y_ptr, P: tl.constexpr, AXIS: tl.constexpr, REVERSE: tl.constexpr):
    o = tl.reshape(tl.arange(0, 512), (2, 4, 2, 8, 4))
    slope, start = tl.load(x_ptr + o), tl.load(y_ptr + o)
    slope, start = tl.permute(slope, P), tl.permute(start, P)
    slope, start = tl.reshape(slope, (8, 64)), tl.reshape(start, (8, 64))
    slope, start = tl.associative_scan((slope, start), AXIS, affine, reverse=REVERSE)
    i = tl.arange(0, 8)[:, None] * 64 + tl.arange(0, 64)[None, :]
    tl.store(x_ptr + i, slope)
    tl.store(y_ptr + i, start)


@pytest.mark.parametrize("num_warps", [1, 2, 4])
@pytest.mark.parametrize(
    "order, axis, reverse",
    [
        ((4, 3, 2, 1, 0), 1, False),
        ((1, 0, 3, 2, 4), 0, False),
        ((2, 4, 0, 1, 3), 1, True),
        ((3, 1, 4, 0, 2), 0, True),
        ((0, 3, 4, 2, 1), 1, False),
        ((0, 2, 1, 4, 3), 1, True),
    ],
)
def test_scans_of_permuted_tiles_keep_the_order(device, order, axis, reverse, num_warps):
    """Lanes and warps hold the bits of the axis in any order, with one another's between them."""
    random = np.random.default_rng(num_warps)
    slope, start = (random.integers(0, 2**32, 512, np.uint32) for _ in range(2))
    x, y = device.array(slope.copy()), device.array(start.copy())
    device.run(permuted_scan_kernel, (1,), x, y, P=order, AXIS=axis, REVERSE=reverse, num_warps=num_warps)
    slope, start = (
        np.moveaxis(each.reshape(2, 4, 2, 8, 4).transpose(order).reshape(8, 64).copy(), axis, 0) for each in (slope, start)
    )
    a, b = np.ones_like(slope[0]), np.zeros_like(slope[0])
    for i in range(len(slope))[::-1] if reverse else range(len(slope)):
        a, b = slope[i] * a, slope[i] * b + start[i]
        slope[i], start[i] = a, b
    assert_same(device.numpy(x), np.moveaxis(slope, 0, axis).ravel())
    assert_same(device.numpy(y), np.moveaxis(start, 0, axis).ravel())


@tilewright.jit
def methods_kernel(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    results = (x.exp(), x.exp2(), x.log(), x.log2(), x.sin(), x.cos(), x.sqrt(), x.rsqrt(), x.erf(), x.floor(), x.ceil())
    for k in tl.static_range(len(results)):
        tl.static_assert(results[k].dtype == x.dtype)
        tl.store(out_ptr + k * N + i, results[k].to(tl.float32))


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_methods_of_narrow_floats(device, name):
    """What `tl.exp` and its kin refuse, as Triton's do, `x.exp()` takes: in float32, rounded to the type."""
    dtype = NUMPY_TYPES[name]
    x = np.linspace(0.25, 4, 64).astype(dtype)
    out = device.empty(11 * 64, np.float32)
    device.run(methods_kernel, (1,), device.array(x), out, N=64)
    wide = x.astype(np.float64)
    expected = [np.exp(wide), np.exp2(wide), np.log(wide), np.log2(wide), np.sin(wide), np.cos(wide), np.sqrt(wide)]
    expected += [1 / np.sqrt(wide), np.array([math.erf(v) for v in wide]), np.floor(wide), np.ceil(wide)]
    rounded = np.stack(expected).astype(dtype)
    actual = device.numpy(out).reshape(11, 64)
    assert np.array_equal(actual.astype(dtype).astype(np.float32), actual)  # rounded
    # An error of 2 ULP in float32 can tip the rounding of a number that lies in the middle.
    assert_near(actual.astype(dtype), rounded, ulps=1)
