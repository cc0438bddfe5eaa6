# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions: every type, axis and combine function, ties and NaN among them."""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.compare import assert_near, assert_same, assert_sum
from harness.element_types import ALL, FLOATS, INTEGERS, NUMPY_TYPES, exact_values, is_float, is_unsigned, random_values


def accumulator(name):
    """The element type of a sum: short integers widen, floats do not."""
    if is_float(name) or name.endswith(("32", "64")):
        return name
    return "uint32" if is_unsigned(name) else "int32"


def widened(name):
    """The element type of max and min without indices: short types widen."""
    if name in ("float16", "bfloat16"):
        return "float32"
    return name if name.endswith(("32", "64")) else "int32"


@tilewright.jit
def reduce_1d_kernel(x_ptr, out_ptr, n, OP: tl.constexpr, EXPECTED: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    row = tl.program_id(0)
    x = tl.load(x_ptr + row * n + offsets, mask=offsets < n, other=0)
    if OP == "sum":
        result = tl.sum(x, axis=0)
    elif OP == "max":
        result = tl.max(x, axis=0)
    elif OP == "min":
        result = tl.min(x, axis=0)
    elif OP == "argmax":
        result = tl.argmax(x, axis=0)
    elif OP == "argmin":
        result = tl.argmin(x, axis=0)
    else:
        tl.static_assert(OP == "xor_sum")
        result = tl.xor_sum(x, axis=0)
    tl.static_assert(result.dtype == EXPECTED)
    tl.store(out_ptr + row, result)


def run_1d(device, op, x, name, block, **options):
    rows, n = x.shape
    out = device.empty(rows, NUMPY_TYPES[name])
    device.run(reduce_1d_kernel, (rows,), device.array(x), out, n, OP=op, EXPECTED=getattr(tl, name), BLOCK=block, **options)
    return device.numpy(out)


@pytest.mark.parametrize("name", ALL)
def test_sum_exact(device, name):
    """Small integers in every type: the sum has one right answer in any order."""
    x = exact_values(name, (3, 200), low=-1, high=1)
    result = accumulator(name)
    assert_same(run_1d(device, "sum", x, result, 256), x.astype(np.int64).sum(axis=1).astype(NUMPY_TYPES[result]))


@pytest.mark.parametrize("name", FLOATS)
def test_sum_rounding(device, name):
    x = random_values(name, (4, 1000))
    assert_sum(run_1d(device, "sum", x, name, 1024), x, axis=1)


@pytest.mark.parametrize("name", INTEGERS)
def test_sum_wraps(device, name):
    x = random_values(name, (3, 128))
    result = NUMPY_TYPES[accumulator(name)]
    with np.errstate(all="ignore"):
        assert_same(run_1d(device, "sum", x, accumulator(name), 128), x.sum(axis=1, dtype=result))


@pytest.mark.parametrize("op", ["max", "min"])
@pytest.mark.parametrize("name", ALL)
def test_extremes(device, op, name):
    x = random_values(name, (5, 128))
    result = widened(name)
    expected = getattr(np, op)(x.astype(np.float64 if is_float(name) else x.dtype), axis=1)
    assert_same(run_1d(device, op, x, result, 128), expected.astype(NUMPY_TYPES[result]))


@pytest.mark.parametrize("op", ["argmax", "argmin"])
@pytest.mark.parametrize("name", ALL)
def test_positions(device, op, name):
    """Few different values, so that there are ties: the leftmost wins."""
    x = exact_values(name, (5, 256))
    assert_same(run_1d(device, op, x, "int32", 256), getattr(np, op)(x, axis=1).astype(np.int32))


@pytest.mark.parametrize("name", ["int8", "uint16", "int32", "int64"])
def test_xor_sum(device, name):
    x = random_values(name, (3, 64))
    result = accumulator(name) if name in ("int32", "int64") else name
    actual = run_1d(device, "xor_sum", x, result, 64)
    assert_same(actual, np.bitwise_xor.reduce(x, axis=1).astype(NUMPY_TYPES[result]))


@pytest.mark.parametrize("block", [1, 2, 16, 32, 64, 128, 1024, 4096, 16384])
def test_lengths(device, block):
    x = exact_values("float32", (2, block))
    assert_same(run_1d(device, "sum", x, "float32", block), x.sum(axis=1))


@pytest.mark.parametrize("warps", [1, 2, 4, 8, 16, 32])
def test_warps(device, warps):
    x = exact_values("float32", (2, 1000))
    assert_same(run_1d(device, "sum", x, "float32", 1024, num_warps=warps), x.sum(axis=1))


@pytest.mark.parametrize("op", ["max", "min"])
@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_nan_is_ignored(device, op, name):
    """max and min take the operand that is not NaN; a row of only NaN is NaN."""
    x = random_values(name, (3, 64))
    x[0, 5] = x[0, 63] = np.nan
    x[1, :-1] = np.nan
    x[2, :] = np.nan
    function = np.fmax if op == "max" else np.fmin
    expected = function.reduce(x, axis=1).astype(NUMPY_TYPES[widened(name)])
    assert_same(run_1d(device, op, x, widened(name), 64), expected)


def test_infinities(device):
    x = random_values("float32", (2, 64))
    x[0, 3], x[1, 60] = np.inf, -np.inf
    assert_same(run_1d(device, "max", x, "float32", 64), x.max(axis=1))
    assert_same(run_1d(device, "min", x, "float32", 64), x.min(axis=1))


# ---------------------------------------------------------------------------
# Axes
# ---------------------------------------------------------------------------


@tilewright.jit
def reduce_2d_kernel(
    x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr, OP: tl.constexpr, KEEP: tl.constexpr
):
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    x = tl.load(x_ptr + m[:, None] * N + n[None, :])
    if OP == "sum":
        result = tl.sum(x, axis=AXIS, keep_dims=KEEP)
    elif OP == "max":
        result = tl.max(x, axis=AXIS, keep_dims=KEEP)
    else:
        result = tl.argmin(x, axis=AXIS, keep_dims=KEEP)
    if AXIS is None:
        if KEEP:
            tl.store(out_ptr + tl.zeros((1, 1), tl.int32), result)
        else:
            tl.store(out_ptr, result)
    elif AXIS == 0:
        if KEEP:
            tl.store(out_ptr + n[None, :], result)
        else:
            tl.store(out_ptr + n, result)
    else:
        if KEEP:
            tl.store(out_ptr + m[:, None], result)
        else:
            tl.store(out_ptr + m, result)


def run_2d(device, op, x, axis, keep):
    size = 1 if axis is None else x.shape[1 - axis]
    out = device.empty(size, np.int32 if op == "argmin" else x.dtype)
    device.run(reduce_2d_kernel, (1,), device.array(x), out, *x.shape, AXIS=axis, OP=op, KEEP=keep)
    return device.numpy(out)


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("op", ["sum", "max"])
@pytest.mark.parametrize("shape", [(16, 128), (128, 16), (1, 64), (64, 1), (64, 64)])
def test_axes(device, shape, op, axis, keep):
    x = exact_values("float32", shape)
    assert_same(run_2d(device, op, x, axis, keep), np.atleast_1d(getattr(x, op)(axis=axis)))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", [(8, 64), (64, 8), (32, 32)])
def test_position_axes(device, shape, axis):
    x = exact_values("int32", shape)
    assert_same(run_2d(device, "argmin", x, axis, False), x.argmin(axis=axis).astype(np.int32))


@tilewright.jit
def reduce_3d_kernel(
    x_ptr, out_ptr, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr, AXIS: tl.constexpr, P: tl.constexpr, Q: tl.constexpr
):
    i = tl.arange(0, A)[:, None, None]
    j = tl.arange(0, B)[None, :, None]
    k = tl.arange(0, C)[None, None, :]
    x = tl.load(x_ptr + (i * B + j) * C + k)
    result = tl.sum(x, axis=AXIS)
    tl.store(out_ptr + tl.arange(0, P)[:, None] * Q + tl.arange(0, Q)[None, :], result)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_three_axes(device, axis):
    x = exact_values("int32", (4, 16, 32))
    expected = x.sum(axis=axis, dtype=np.int32)
    out = device.empty(expected.shape, np.int32)
    device.run(reduce_3d_kernel, (1,), device.array(x), out, 4, 16, 32, AXIS=axis, P=expected.shape[0], Q=expected.shape[1])
    assert_same(device.numpy(out), expected)


# ---------------------------------------------------------------------------
# Functions of the user
# ---------------------------------------------------------------------------


@tilewright.jit
def multiply(a, b):
    return a * b


@tilewright.jit
def larger_magnitude(a, b):
    return tl.where(tl.abs(a) > tl.abs(b), a, b)


@tilewright.jit
def welford(mean_a, m2_a, count_a, mean_b, m2_b, count_b):
    count = count_a + count_b
    delta = mean_b - mean_a
    share = tl.where(count == 0, 0.0, count_b / count)
    return mean_a + delta * share, m2_a + m2_b + delta * delta * count_a * share, count


@tilewright.jit
def custom_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr, COMBINE: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    tl.store(out_ptr, tl.reduce(x, 0, COMBINE))


def test_product(device):
    x = np.where(np.random.default_rng(0).random(128) < 0.5, np.float32(2), np.float32(0.5))
    out = device.empty(1, np.float32)
    device.run(custom_kernel, (1,), device.array(x), out, BLOCK=128, COMBINE=multiply)
    assert device.numpy(out)[0] == np.prod(x.astype(np.float64))


def test_custom_select(device):
    x = random_values("float32", 256)
    out = device.empty(1, np.float32)
    device.run(custom_kernel, (1,), device.array(x), out, BLOCK=256, COMBINE=larger_magnitude)
    assert device.numpy(out)[0] == x[np.abs(x).argmax()]


@tilewright.jit
def welford_kernel(x_ptr, out_ptr, N: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < N, other=0.0)
    count = (offsets < N).to(tl.float32)
    mean, m2, total = tl.reduce((x, tl.zeros_like(x), count), 0, welford)
    tl.store(out_ptr, mean)
    tl.store(out_ptr + 1, m2 / total)
    tl.store(out_ptr + 2, total)


@pytest.mark.parametrize("n", [1, 100, 256])
def test_welford(device, n):
    """Three values at once, with an order of operands that matters little."""
    x = (random_values("float32", 256) + 3).astype(np.float32)
    out = device.empty(3, np.float32)
    device.run(welford_kernel, (1,), device.array(x), out, N=n, BLOCK=256)
    actual = device.numpy(out)
    expected = [x[:n].astype(np.float64).mean(), x[:n].astype(np.float64).var(), n]
    assert_near(actual, np.array(expected), relative=1e-5, absolute=1e-6)


@tilewright.jit
def with_indices_kernel(x_ptr, value_ptr, index_ptr, BLOCK: tl.constexpr, LEFT: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    value, index = tl.max(x, axis=0, return_indices=True, return_indices_tie_break_left=LEFT)
    tl.store(value_ptr, value)
    tl.store(index_ptr, index)


def test_max_with_indices(device):
    x = exact_values("float32", 256)
    value, index = device.empty(1, np.float32), device.empty(1, np.int32)
    device.run(with_indices_kernel, (1,), device.array(x), value, index, BLOCK=256, LEFT=True)
    assert device.numpy(value)[0] == x.max()
    assert device.numpy(index)[0] == x.argmax()


@tilewright.jit
def places_kernel(x_ptr, value_ptr, index_ptr, M: tl.constexpr, N: tl.constexpr):
    row = tl.arange(0, M)
    x = tl.load(x_ptr + row[:, None] * N + tl.arange(0, N)[None, :])
    value, index = tl.max(x, 1, return_indices=True)
    tl.store(value_ptr + row, value)
    tl.store(index_ptr + row, index)
    value, index = tl.min(x, -1, return_indices=True, return_indices_tie_break_left=False, keep_dims=True)
    tl.store(value_ptr + M + row[:, None], value)
    tl.store(index_ptr + M + row[:, None], index)
    tl.store(index_ptr + 2 * M, tl.argmax(x, None))
    tl.store(index_ptr + 2 * M + 1 + tl.zeros([1, 1], tl.int32), tl.argmin(x, None, keep_dims=True))


@pytest.mark.parametrize("name", ["float16", "float32", "float64", "int8", "uint8", "uint32", "int64"])
def test_places_of_extrema(device, name):
    """The lowest index among equals; a number before NaN, infinities too, and the first NaN where there is nothing else."""
    m, n = 8, 64
    x = np.random.default_rng(0).integers(0, 9, (m, n)).astype(NUMPY_TYPES[name])
    is_float = x.dtype.kind == "f"
    if is_float:
        x[0], x[1, 3], x[2, 5] = np.nan, np.nan, -np.inf
        x[3, :4], x[3, 4:] = np.nan, -np.inf
        x[4], x[5, :2] = np.inf, (-0.0, 0.0)
    elif name == "uint32":
        x[0, 5] = 2**32 - 1
    value, index = device.empty(2 * m, x.dtype), device.empty(2 * m + 2, np.int32)
    device.run(places_kernel, (1,), device.array(x), value, index, M=m, N=n)

    def place(values, best):
        numbers = values[~np.isnan(values)] if is_float else values
        return int(np.argmax(values == best(numbers))) if len(numbers) else 0

    wanted = [place(values, best) for best in (np.max, np.min) for values in x] + [place(x.ravel(), np.max)]
    assert device.numpy(index).tolist() == [*wanted, place(x.ravel(), np.min)]
    found = np.array([x[i % m, j] for i, j in enumerate(wanted[: 2 * m])])
    assert np.array_equal(device.numpy(value), found, equal_nan=is_float)


@tilewright.jit
def loop_reduce_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    total = 0.0
    largest = -float("inf")
    for start in range(0, n, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
        total += tl.sum(x, axis=0)
        largest = tl.maximum(largest, tl.max(tl.where(offsets < n, x, -float("inf")), axis=0))
    tl.store(out_ptr, total)
    tl.store(out_ptr + 1, largest)


@pytest.mark.parametrize("n", [0, 1, 63, 64, 1000])
def test_in_a_loop(device, n):
    x = exact_values("float32", max(n, 1))
    out = device.empty(2, np.float32)
    device.run(loop_reduce_kernel, (1,), device.array(x), out, n, BLOCK=64)
    assert device.numpy(out).tolist() == [x[:n].sum(), x[:n].max() if n else -np.inf]


@tilewright.jit
def softmax_tile_kernel(x_ptr, out_ptr, N: tl.constexpr):
    n = tl.arange(0, N)
    tl.store(out_ptr + n, tl.softmax(tl.load(x_ptr + n)))


def test_library_softmax(device):
    x = random_values("float32", 128)
    out = device.empty(128, np.float32)
    device.run(softmax_tile_kernel, (1,), device.array(x), out, N=128)
    e = np.exp(x.astype(np.float64) - x.max())
    assert_near(device.numpy(out), e / e.sum(), relative=2e-6)


@tilewright.jit
def byte_extremum_kernel(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    place = tl.argmax(tl.load(x_ptr + i), 0)
    counts = tl.histogram(i & 15, 16)
    tl.store(out_ptr + tl.arange(0, 16), counts + place)


def test_two_bytes_from_two_warps_stay_in_registers():
    # A vector of two bytes that is read in one block and taken apart in another went through local memory.
    source = tilewright.ASTSource(
        byte_extremum_kernel, {"x_ptr": "*i8", "out_ptr": "*i32"}, {"N": 128}, {"x_ptr": 16, "out_ptr": 16}
    )
    ptx = tilewright.compile(source, "sm_80", {"num_warps": 2}).asm["ptx"]
    assert "local_depot" not in ptx and "ld.shared" in ptx
