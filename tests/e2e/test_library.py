# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Library functions made of other functions: order, scans, lookup, random numbers."""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.compare import assert_near, assert_same
from harness.devices import Interpreter
from harness.element_types import NUMPY_TYPES, random_values

# ---------------------------------------------------------------------------
# One tile in, one tile out
# ---------------------------------------------------------------------------


@tilewright.jit
def apply_kernel(x_ptr, out_ptr, F: tl.constexpr, M: tl.constexpr, N: tl.constexpr, OUT: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    y = F(x)
    tl.static_assert(y.numel == OUT)
    tl.store(out_ptr + tl.arange(0, OUT), tl.reshape(y, (OUT,)))


@tilewright.jit
def sort_up(x):
    return tl.sort(x)


@tilewright.jit
def sort_down(x):
    return tl.sort(x, descending=True)


@tilewright.jit
def top_four(x):
    return tl.topk(x, 4)


@tilewright.jit
def top_one(x):
    return tl.topk(x, 1)


@tilewright.jit
def flip_last(x):
    return tl.flip(x)


@tilewright.jit
def flip_first(x):
    return tl.flip(x, 0)


@tilewright.jit
def running_sum(x):
    return tl.cumsum(x, 1)


@tilewright.jit
def running_sum_back(x):
    return x.cumsum(axis=0, reverse=True)


@tilewright.jit
def running_product(x):
    return tl.cumprod(x, 1)


@tilewright.jit
def softmax_rows(x):
    return tl.softmax(x, 1, keep_dims=True)


@tilewright.jit
def sigmoid(x):
    return tl.sigmoid(x)


def apply(device, function, x, dtype=None, count=None):
    count = x.size if count is None else count
    out = device.empty(count, x.dtype if dtype is None else NUMPY_TYPES[dtype])
    device.run(apply_kernel, (1,), device.array(x), out, F=function, M=x.shape[0], N=x.shape[1], OUT=count)
    return device.numpy(out)


SORTED_TYPES = ["int8", "uint8", "int32", "uint32", "int64", "float16", "bfloat16", "float32", "float64", "int1"]


@pytest.mark.parametrize("shape", [(1, 64), (4, 16), (8, 1)])
@pytest.mark.parametrize("name", SORTED_TYPES)
def test_sort(device, name, shape):
    x = random_values(name, shape[0] * shape[1]).reshape(shape)
    expected = np.sort(x.astype(np.float64) if name == "bfloat16" else x, axis=1).astype(x.dtype)
    assert_same(apply(device, sort_up, x).reshape(shape), expected)
    assert_same(apply(device, sort_down, x).reshape(shape), expected[:, ::-1])


def test_sort_puts_nan_last(device):
    x = np.array([[3, np.nan, -np.inf, 0, -0.0, np.inf, 1, np.nan]], np.float32)
    found = apply(device, sort_up, x)
    assert_same(found[:6], np.array([-np.inf, -0.0, 0, 1, 3, np.inf], np.float32))
    assert np.isnan(found[6:]).all()


@pytest.mark.parametrize("function, k", [(top_four, 4), (top_one, 1)])
@pytest.mark.parametrize("shape", [(1, 4), (2, 32)])
@pytest.mark.parametrize("name", ["int8", "int32", "float16", "bfloat16", "float32"])
def test_topk(device, name, shape, function, k):
    x = random_values(name, shape[0] * shape[1]).reshape(shape)
    expected = np.sort(x.astype(np.float64), axis=1)[:, ::-1][:, :k].astype(x.dtype)
    assert_same(apply(device, function, x, count=shape[0] * k).reshape(shape[0], k), expected)


@pytest.mark.parametrize("name", ["int8", "int1", "float16", "float32", "int64"])
def test_flip(device, name):
    x = random_values(name, 128).reshape(8, 16)
    assert_same(apply(device, flip_last, x).reshape(x.shape), x[:, ::-1])
    assert_same(apply(device, flip_first, x).reshape(x.shape), x[::-1])


def test_scans(device):
    x = np.random.default_rng(0).integers(-3, 4, (4, 32)).astype(np.int32)
    x[x == 0] = 1
    assert_same(apply(device, running_sum, x).reshape(x.shape), np.cumsum(x, 1, dtype=np.int32))
    assert_same(apply(device, running_sum_back, x).reshape(x.shape), np.cumsum(x[::-1], 0, dtype=np.int32)[::-1])
    assert_same(apply(device, running_product, x).reshape(x.shape), np.cumprod(x, 1, dtype=np.int32))
    small = x.astype(np.int8)
    assert_same(apply(device, running_sum, small, "int32").reshape(x.shape), np.cumsum(x, 1, dtype=np.int32))


def test_softmax_and_sigmoid(device):
    x = np.random.default_rng(1).normal(size=(4, 64)).astype(np.float32)
    wide = x.astype(np.float64)
    e = np.exp(wide - wide.max(1, keepdims=True))
    found = apply(device, softmax_rows, x).reshape(x.shape)
    assert_near(found, (e / e.sum(1, keepdims=True)).astype(np.float32), relative=2e-6)
    assert_near(apply(device, sigmoid, x).reshape(x.shape), (1 / (1 + np.exp(-wide))).astype(np.float32), relative=2e-6)


# ---------------------------------------------------------------------------
# Positions
# ---------------------------------------------------------------------------


@tilewright.jit
def position_kernel(x_ptr, out_ptr, OP: tl.constexpr, LEFT: tl.constexpr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    if OP == "argmax":
        index = tl.argmax(x, 0, tie_break_left=LEFT)
    else:
        index = tl.argmin(x, 0, tie_break_left=LEFT)
    tl.store(out_ptr, index)


@pytest.mark.parametrize("op", ["argmax", "argmin"])
@pytest.mark.parametrize(
    "values",
    [[2, 5, 5, 1, 1, 5, 2, 1], [np.nan, 1, 2, np.nan, 2, 1, 1, 2], [np.nan] * 8, [0.0, -0.0, 0.0, -0.0, 0.0, 0.0, 0.0, 0.0]],
)
def test_ties_break_left(device, op, values):
    """The lowest index wins among equals; numbers win against NaN."""
    x = np.array(values, np.float32)
    out = device.empty(1, np.int32)
    device.run(position_kernel, (1,), device.array(x), out, OP=op, LEFT=True, BLOCK=8)
    best = getattr(np, "nan" + op)(x) if not np.isnan(x).all() else 0
    assert device.numpy(out)[0] == best


# ---------------------------------------------------------------------------
# Lookup
# ---------------------------------------------------------------------------


@tilewright.jit
def histogram_kernel(x_ptr, out_ptr, n, N: tl.constexpr, BINS: tl.constexpr):
    offsets = tl.arange(0, N)
    counts = tl.histogram(tl.load(x_ptr + offsets), BINS, mask=offsets < n)
    tl.store(out_ptr + tl.arange(0, BINS), counts)


def test_histogram(device):
    x = np.random.default_rng(2).integers(0, 16, 128).astype(np.int32)
    out = device.empty(16, np.int32)
    device.run(histogram_kernel, (1,), device.array(x), out, 100, N=128, BINS=16)
    assert_same(device.numpy(out), np.bincount(x[:100], minlength=16).astype(np.int32))


def test_histogram_of_many():
    device = Interpreter()
    x = np.random.default_rng(2).integers(0, 512, 4096).astype(np.int32)
    out = device.empty(512, np.int32)
    device.run(histogram_kernel, (1,), device.array(x), out, 4000, N=4096, BINS=512)
    assert_same(device.numpy(out), np.bincount(x[:4000], minlength=512).astype(np.int32))


# ---------------------------------------------------------------------------
# Random numbers
# ---------------------------------------------------------------------------


@tilewright.jit
def philox_kernel(k_ptr, c_ptr, out_ptr):
    c0, c1, c2, c3 = tl.philox_impl(
        tl.load(c_ptr), tl.load(c_ptr + 1), tl.load(c_ptr + 2), tl.load(c_ptr + 3), tl.load(k_ptr), tl.load(k_ptr + 1)
    )
    tl.store(out_ptr, c0)
    tl.store(out_ptr + 1, c1)
    tl.store(out_ptr + 2, c2)
    tl.store(out_ptr + 3, c3)


# The known answers that the authors of the generator publish: key, counter, result.
KNOWN = [
    ("uint32", [0, 0], [0] * 4, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ("uint32", [0xFFFFFFFF] * 2, [0xFFFFFFFF] * 4, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    (
        "uint32",
        [0xA4093822, 0x299F31D0],
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ),
    ("uint64", [0, 0], [0] * 4, [0x16554D9ECA36314C, 0xDB20FE9D672D0FDC, 0xD7E772CEE186176B, 0x7E68B68AEC7BA23B]),
]


@pytest.mark.parametrize("name, key, counter, expected", KNOWN)
def test_philox_known_answers(device, name, key, counter, expected):
    dtype = NUMPY_TYPES[name]
    out = device.empty(4, dtype)
    device.run(philox_kernel, (1,), device.array(np.array(key, dtype)), device.array(np.array(counter, dtype)), out)
    assert_same(device.numpy(out), np.array(expected, dtype))


def philox(seed, offsets):
    """Four words per 64-bit offset, by Python integers."""
    mask, results = 0xFFFFFFFF, []
    for offset in offsets:
        c, k = [int(offset) & mask, int(offset) >> 32 & mask, 0, 0], [seed & mask, seed >> 32 & mask]
        for _ in range(10):
            a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [b >> 32 ^ c[1] ^ k[0], b & mask, a >> 32 ^ c[3] ^ k[1], a & mask]
            k = [k[0] + 0x9E3779B9 & mask, k[1] + 0xBB67AE85 & mask]
        results.append(c)
    return np.array(results, np.uint32).T


@tilewright.jit
def random_kernel(out_ptr, seed, start, KIND: tl.constexpr, N: tl.constexpr):
    offsets = start + tl.arange(0, N)
    if KIND == "randint":
        tl.store(out_ptr + tl.arange(0, N), tl.randint(seed, offsets))
    elif KIND == "rand":
        tl.store(out_ptr + tl.arange(0, N), tl.rand(seed, offsets))
    else:
        tl.store(out_ptr + tl.arange(0, N), tl.randn(seed, offsets))


@pytest.mark.parametrize("seed", [0, 1, 42, 2**31 - 1, 2**40 + 7])
@pytest.mark.parametrize("start", [0, 1000, 2**33])
def test_randint(device, seed, start):
    out = device.empty(64, np.uint32)
    device.run(random_kernel, (1,), out, seed, start, KIND="randint", N=64)
    assert_same(device.numpy(out), philox(seed, np.arange(start, start + 64))[0])


def test_uniform_and_normal(device):
    uniform, normal = device.empty(4096, np.float32), device.empty(4096, np.float32)
    device.run(random_kernel, (1,), uniform, 7, 0, KIND="rand", N=4096)
    device.run(random_kernel, (1,), normal, 7, 0, KIND="randn", N=4096)
    words = philox(7, np.arange(4096)).view(np.int32)
    unit = np.where(words < 0, -words - 1, words).astype(np.float32) * np.float32(4.6566127342e-10)
    assert_same(device.numpy(uniform), unit[0])
    u1 = np.maximum(1e-7, unit[0].astype(np.float64))
    expected = np.sqrt(-2 * np.log(u1)) * np.cos(6.283185307179586 * unit[1].astype(np.float64))
    assert_near(device.numpy(normal), expected.astype(np.float32), absolute=2e-6)


# ---------------------------------------------------------------------------
# Block pointers and descriptors
# ---------------------------------------------------------------------------


@tilewright.jit
def block_pointer_kernel(x_ptr, out_ptr, M, N, sm, sn, BM: tl.constexpr, BN: tl.constexpr):
    x = tl.make_block_ptr(x_ptr, (M, N), (sm, sn), (tl.program_id(0) * BM, 0), (BM, BN), (1, 0))
    out = tl.make_block_ptr(out_ptr, (M, N), (N, 1), (tl.program_id(0) * BM, 0), (BM, BN), (1, 0))
    for _ in range(0, tl.cdiv(N, BN)):
        tile = tl.load(x, boundary_check=(0, 1), padding_option="zero")
        tl.store(out, (tile + 1).to(out.dtype.element_ty), boundary_check=(0, 1))
        x = tl.advance(x, (0, BN))
        out = tl.advance(out, (0, BN))


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("m, n", [(16, 32), (13, 50), (1, 7)])
def test_block_pointers(device, m, n, transposed):
    x = random_values("float32", m * n).reshape(m, n)
    out = device.empty((m, n), np.float32)
    sm, sn = (1, m) if transposed else (n, 1)
    device.run(block_pointer_kernel, ((m + 7) // 8,), device.array(x.T if transposed else x), out, m, n, sm, sn, BM=8, BN=16)
    assert_same(device.numpy(out), x + np.float32(1))


@tilewright.jit
def padding_kernel(x_ptr, out_ptr, n, PADDING: tl.constexpr, BLOCK: tl.constexpr):
    x = tl.make_block_ptr(x_ptr, (n,), (1,), (0,), (BLOCK,), (0,))
    tl.store(out_ptr + tl.arange(0, BLOCK), tl.load(x, boundary_check=(0,), padding_option=PADDING))


@pytest.mark.parametrize("padding", ["zero", "nan"])
def test_padding(device, padding):
    x, out = random_values("float32", 5), device.empty(8, np.float32)
    device.run(padding_kernel, (1,), device.array(x), out, 5, PADDING=padding, BLOCK=8)
    found = device.numpy(out)
    assert_same(found[:5], x)
    assert (np.isnan(found[5:]) if padding == "nan" else found[5:] == 0).all()


@tilewright.jit
def descriptor_kernel(x_ptr, out_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [M, N], [N, 1], [BM, BN])
    out = tl.make_tensor_descriptor(out_ptr, [N, M], [M, 1], [BN, BM])
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    out.store([column, row], x.load([row, column]).T)


@pytest.mark.parametrize("m, n", [(16, 16), (12, 20), (40, 8)])
def test_descriptors(device, m, n):
    x, out = random_values("float32", m * n).reshape(m, n), device.empty((n, m), np.float32)
    device.run(descriptor_kernel, ((m + 7) // 8, (n + 15) // 16), device.array(x), out, m, n, BM=8, BN=16)
    assert_same(device.numpy(out), x.T)


@tilewright.jit
def descriptor_add_kernel(x_ptr, i_ptr, out_ptr, M, N: tl.constexpr, ROWS: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [M, N], [N, 1], [1, N])
    out = tl.make_tensor_descriptor(out_ptr, [ROWS, N], [N, 1], [ROWS, N])
    out.atomic_add([0, 0], x.gather(tl.load(i_ptr + tl.arange(0, ROWS)), 0))


def test_descriptor_gather_and_add(device):
    x = np.random.default_rng(5).integers(-9, 9, (32, 16)).astype(np.float32)
    rows = np.array([3, 31, 0, 3, 17, 5, 8, 9], np.int32)
    out = device.array(np.ones((8, 16), np.float32))
    device.run(descriptor_add_kernel, (1,), device.array(x), device.array(rows), out, 32, N=16, ROWS=8)
    assert_same(device.numpy(out), x[rows] + 1)


# ---------------------------------------------------------------------------
# Swizzling and libdevice
# ---------------------------------------------------------------------------


@tilewright.jit
def swizzle_kernel(out_ptr, M, N, GROUP: tl.constexpr):
    i, j = tl.program_id(0), tl.program_id(1)
    row, column = tl.swizzle2d(i, j, M, N, GROUP)
    tl.store(out_ptr + i * N + j, row * N + column)


@pytest.mark.parametrize("m, n, group", [(4, 4, 2), (5, 3, 2), (7, 2, 4), (3, 5, 8)])
def test_swizzle(device, m, n, group):
    out = device.empty((m, n), np.int32)
    device.run(swizzle_kernel, (m, n), out, m, n, GROUP=group)
    order = [r * n + c for first in range(0, m, group) for c in range(n) for r in range(first, min(first + group, m))]
    assert_same(device.numpy(out).reshape(-1), np.array(order, np.int32))


@tilewright.jit
def libdevice_kernel(x_ptr, out_ptr, F: tl.constexpr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    tl.store(out_ptr + tl.arange(0, N), F(x).to(tl.float32))


@pytest.mark.parametrize(
    "name, function",
    [
        ("rint", np.rint),
        ("trunc", np.trunc),
        ("isnan", np.isnan),
        ("isinf", np.isinf),
        ("finitef", np.isfinite),
        ("signbit", np.signbit),
        ("floor", np.floor),
    ],
)
def test_libdevice_exact(device, name, function):
    x = np.array(
        [0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, -0.0, 1e10, np.inf, -np.inf, np.nan, 3.7, -3.2, 8388609, 1e-30, -7], np.float32
    )
    out = device.empty(16, np.float32)
    device.run(libdevice_kernel, (1,), device.array(x), out, F=getattr(tl.extra.libdevice, name), N=16)
    assert_same(device.numpy(out), function(x).astype(np.float32))


def test_libdevice_round(device):
    x = np.array([0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, 8388609, -7.25], np.float32)
    out = device.empty(8, np.float32)
    device.run(libdevice_kernel, (1,), device.array(x), out, F=tl.extra.libdevice.round, N=8)
    assert_same(device.numpy(out), np.array([1, -1, 2, 3, -3, 0, 8388609, -7], np.float32))


@pytest.mark.parametrize(
    "name, function",
    [
        ("log10", np.log10),
        ("log1p", np.log1p),
        ("exp10", lambda x: 10.0**x),
        ("expm1", np.expm1),
        ("sinh", np.sinh),
        ("cosh", np.cosh),
        ("tan", np.tan),
    ],
)
def test_libdevice_composed(device, name, function):
    """Correct to the last bit or its neighbour, also where the formula would cancel."""
    x = np.array([1e-30, 3e-9, 1e-8, 1e-5, 6e-5, 1e-3, 0.1, 0.5, 1, 1.5, 2, 3.25, 5, 10, 20, 30], np.float32)
    if name in ("expm1", "sinh", "tan"):
        x[1::2] *= -1
    out = device.empty(16, np.float32)
    device.run(libdevice_kernel, (1,), device.array(x), out, F=getattr(tl.extra.libdevice, name), N=16)
    assert_near(device.numpy(out), function(x.astype(np.float64)).astype(np.float32), ulps=1)


@tilewright.jit
def pow_kernel(x_ptr, y_ptr, out_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    tl.store(out_ptr + offsets, tl.extra.libdevice.pow(tl.load(x_ptr + offsets), tl.load(y_ptr + offsets)))


def test_libdevice_pow(device):
    special = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, -3.0, 2.5, np.inf, -np.inf, np.nan, 1e-20, 7.25]
    x, y = (a.reshape(-1).astype(np.float32) for a in np.meshgrid(special, special))
    out = device.empty(256, np.float32)
    device.run(pow_kernel, (1,), device.array(x), device.array(y), out, N=256)
    with np.errstate(all="ignore"):
        expected = np.power(x.astype(np.float64), y.astype(np.float64)).astype(np.float32)
    assert_near(device.numpy(out), expected, ulps=1)


@tilewright.jit
def seeded_by_kernel(seed, out_ptr, N: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, N), tl.rand(seed, tl.arange(0, N)))


@pytest.mark.parametrize("seed", [7.9, "array"])
def test_seeds_of_other_types(device, seed):
    # A float loses its fraction; of an array the address counts, whatever it is.
    given = device.array(np.zeros(4, np.int64)) if seed == "array" else seed
    out, expected = device.empty((64,), np.float32), device.empty((64,), np.float32)
    device.run(seeded_by_kernel, (1,), given, out, N=64)
    device.run(seeded_by_kernel, (1,), 7, expected, N=64)
    numbers = device.numpy(out)
    assert ((0 <= numbers) & (numbers < 1)).all() and len(set(numbers.tolist())) > 32
    assert (numbers == device.numpy(expected)).all() == (seed != "array")
