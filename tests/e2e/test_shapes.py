# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Broadcasting and the functions that change a tile's shape but not its values."""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.compare import assert_same
from harness.element_types import NUMPY_TYPES, exact_values, random_values

TYPES = ["int8", "int32", "float16", "float64", "int1"]


@tilewright.jit
def outer_kernel(x_ptr, y_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    x = tl.load(x_ptr + m)
    y = tl.load(y_ptr + n)
    tl.store(out_ptr + m[:, None] * N + n[None, :], x[:, None] - y[None, :])


@pytest.mark.parametrize("shape", [(1, 1), (1, 64), (64, 1), (2, 128), (32, 32), (128, 16), (4, 1024)])
def test_outer(device, shape):
    x, y = exact_values("float32", shape[0]), exact_values("float32", shape[1], seed=1)
    out = device.empty(shape, np.float32)
    device.run(outer_kernel, (1,), device.array(x), device.array(y), out, M=shape[0], N=shape[1])
    assert_same(device.numpy(out), x[:, None] - y[None, :])


@tilewright.jit
def broadcast_kernel(
    x_ptr,
    y_ptr,
    out_ptr,
    X0: tl.constexpr,
    X1: tl.constexpr,
    Y0: tl.constexpr,
    Y1: tl.constexpr,
    M: tl.constexpr,
    N: tl.constexpr,
):
    x = tl.load(x_ptr + tl.arange(0, X0)[:, None] * X1 + tl.arange(0, X1)[None, :])
    y = tl.load(y_ptr + tl.arange(0, Y0)[:, None] * Y1 + tl.arange(0, Y1)[None, :])
    a, b = tl.broadcast(x, y)
    tl.static_assert(a.shape == b.shape)
    tl.store(out_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], x * 10 + y)


@pytest.mark.parametrize("left, right", [((8, 16), (8, 16)), ((1, 16), (8, 1)), ((8, 1), (8, 16)), ((1, 1), (4, 8))])
def test_broadcast(device, left, right):
    x, y = exact_values("int32", left), exact_values("int32", right, seed=1)
    shape = np.broadcast_shapes(left, right)
    out = device.empty(shape, np.int32)
    device.run(broadcast_kernel, (1,), device.array(x), device.array(y), out, *left, *right, *shape)
    assert_same(device.numpy(out), x * 10 + y)


@tilewright.jit
def rank_kernel(x_ptr, y_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    # The tile of lower rank gets leading ones.
    tile = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    row = tl.load(y_ptr + tl.arange(0, N))
    tl.store(out_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], tile + row)


def test_lower_rank(device):
    x, y = exact_values("float32", (16, 32)), exact_values("float32", 32, seed=1)
    out = device.empty((16, 32), np.float32)
    device.run(rank_kernel, (1,), device.array(x), device.array(y), out, M=16, N=32)
    assert_same(device.numpy(out), x + y)


@tilewright.jit
def broadcast_to_kernel(x_ptr, out_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    wide = tl.broadcast_to(x[None, :], (4, N))
    method = x[None, :].broadcast_to(4, N)
    offsets = tl.arange(0, 4)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out_ptr + offsets, wide + method)


def test_broadcast_to(device):
    x = exact_values("int32", 16)
    out = device.empty((4, 16), np.int32)
    device.run(broadcast_to_kernel, (1,), device.array(x), out, N=16)
    assert_same(device.numpy(out), np.broadcast_to(2 * x, (4, 16)))


@tilewright.jit
def transpose_kernel(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, HOW: tl.constexpr):
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    x = tl.load(x_ptr + m[:, None] * N + n[None, :])
    if HOW == "trans":
        y = tl.trans(x)
    elif HOW == "T":
        y = x.T
    else:
        y = tl.permute(x, (1, 0))
    tl.static_assert(y.shape[0] == N)
    tl.store(out_ptr + n[:, None] * M + m[None, :], y)


@pytest.mark.parametrize("how", ["trans", "T", "permute"])
@pytest.mark.parametrize("name", TYPES)
def test_transpose(device, name, how):
    x = random_values(name, (32, 64))
    out = device.empty((64, 32), NUMPY_TYPES[name])
    device.run(transpose_kernel, (1,), device.array(x), out, M=32, N=64, HOW=how)
    assert_same(device.numpy(out), np.ascontiguousarray(x.T))


@pytest.mark.parametrize("shape", [(1, 128), (128, 1), (2, 2), (16, 16), (128, 128), (256, 32)])
def test_transpose_shapes(device, shape):
    x = random_values("float16", shape)
    out = device.empty(shape[::-1], np.float16)
    device.run(transpose_kernel, (1,), device.array(x), out, M=shape[0], N=shape[1], HOW="trans")
    assert_same(device.numpy(out), np.ascontiguousarray(x.T))


@tilewright.jit
def permute_kernel(
    x_ptr,
    out_ptr,
    A: tl.constexpr,
    B: tl.constexpr,
    C: tl.constexpr,
    P: tl.constexpr,
    Q: tl.constexpr,
    R: tl.constexpr,
    ORDER: tl.constexpr,
):
    i = tl.arange(0, A)[:, None, None]
    j = tl.arange(0, B)[None, :, None]
    k = tl.arange(0, C)[None, None, :]
    y = tl.permute(tl.load(x_ptr + (i * B + j) * C + k), ORDER)
    p = tl.arange(0, P)[:, None, None]
    q = tl.arange(0, Q)[None, :, None]
    r = tl.arange(0, R)[None, None, :]
    tl.store(out_ptr + (p * Q + q) * R + r, y)


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)])
def test_permute(device, order):
    shape = (4, 16, 8)
    x = random_values("float32", shape)
    out_shape = tuple(shape[i] for i in order)
    out = device.empty(out_shape, np.float32)
    device.run(permute_kernel, (1,), device.array(x), out, *shape, *out_shape, ORDER=order)
    assert_same(device.numpy(out), np.ascontiguousarray(np.transpose(x, order)))


@tilewright.jit
def reshape_kernel(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, P: tl.constexpr, Q: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    y = tl.reshape(x, (P, Q))
    tl.store(out_ptr + tl.arange(0, P)[:, None] * Q + tl.arange(0, Q)[None, :], y)
    flat = tl.ravel(y)
    tl.static_assert(flat.shape[0] == M * N)
    tl.store(out_ptr + P * Q + tl.arange(0, M * N), flat)


@pytest.mark.parametrize(
    "source, target", [((8, 32), (32, 8)), ((1, 256), (16, 16)), ((64, 4), (2, 128)), ((16, 16), (256, 1))]
)
def test_reshape(device, source, target):
    x = random_values("int32", source)
    out = device.empty((2, *target), np.int32)
    device.run(reshape_kernel, (1,), device.array(x), out, *source, *target)
    expected = x.reshape(target)
    assert_same(device.numpy(out), np.stack([expected, expected]))


@tilewright.jit
def expand_kernel(x_ptr, out_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    a = tl.expand_dims(x, 0)
    b = tl.expand_dims(x, (0, 2))
    c = tl.expand_dims(x, -1)
    tl.static_assert(a.shape[0] == 1 and a.shape[1] == N)
    tl.static_assert(b.shape[1] == N and len(b.shape) == 3)
    tl.static_assert(c.shape[0] == N and c.shape[1] == 1)
    tl.store(out_ptr + tl.arange(0, N), tl.reshape(a, (N,)) + tl.reshape(b, (N,)) + tl.reshape(c, N))


def test_expand_dims(device):
    x = exact_values("int32", 64)
    out = device.empty(64, np.int32)
    device.run(expand_kernel, (1,), device.array(x), out, N=64)
    assert_same(device.numpy(out), 3 * x)


@tilewright.jit
def join_kernel(x_ptr, y_ptr, out_ptr, N: tl.constexpr):
    n = tl.arange(0, N)
    x = tl.load(x_ptr + n)
    y = tl.load(y_ptr + n)
    z = tl.join(x, y)
    tl.static_assert(z.shape[1] == 2)
    tl.store(out_ptr + n[:, None] * 2 + tl.arange(0, 2)[None, :], z)
    a, b = tl.split(z)
    tl.store(out_ptr + 2 * N + n, a - b)
    tl.store(out_ptr + 3 * N + tl.arange(0, 2 * N), tl.interleave(x, y))


@pytest.mark.parametrize("name", ["int8", "float16", "float32", "int64"])
def test_join_split_interleave(device, name):
    x, y = exact_values(name, 128), exact_values(name, 128, seed=1)
    out = device.empty(5 * 128, NUMPY_TYPES[name])
    device.run(join_kernel, (1,), device.array(x), device.array(y), out, N=128)
    pairs = np.stack([x, y], axis=-1).reshape(-1)
    assert_same(device.numpy(out), np.concatenate([pairs, x - y, pairs]))


@tilewright.jit
def split_2d_kernel(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    m = tl.arange(0, M)[:, None, None]
    n = tl.arange(0, N)[None, :, None]
    x = tl.load(x_ptr + (m * N + n) * 2 + tl.arange(0, 2)[None, None, :])
    even, odd = tl.split(x)
    offsets = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out_ptr + offsets, even)
    tl.store(out_ptr + M * N + offsets, odd)


def test_split_2d(device):
    x = random_values("float32", (8, 32, 2))
    out = device.empty((2, 8, 32), np.float32)
    device.run(split_2d_kernel, (1,), device.array(x), out, M=8, N=32)
    assert_same(device.numpy(out), np.ascontiguousarray(np.moveaxis(x, -1, 0)))


@tilewright.jit
def creation_kernel(out_ptr, value, N: tl.constexpr):
    n = tl.arange(0, N)
    a = tl.full((N,), 3, tl.int32)
    b = tl.full([N], value, tl.int32)
    c = tl.zeros((N,), dtype=tl.int32)
    d = tl.zeros_like(a)
    tl.static_assert(tl.full((2, 4), 1.5, tl.float16).dtype == tl.float16)
    tl.store(out_ptr + n, a + b + c + d + n)
    tl.store(out_ptr + N + n, tl.arange(5, 5 + N))


def test_creation(device):
    out = device.empty(128, np.int32)
    device.run(creation_kernel, (1,), out, 40, N=64)
    assert_same(device.numpy(out), np.concatenate([np.arange(43, 107), np.arange(5, 69)]).astype(np.int32))


@tilewright.jit
def matrix_where_kernel(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    m = tl.arange(0, M)[:, None]
    n = tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + m * N + n)
    # Condition, tile and scalar of three shapes.
    lower = tl.where(m >= n, x, 0.0)
    tl.store(out_ptr + m * N + n, tl.where((n % 2 == 0), lower, -lower))


def test_where_broadcasts(device):
    x = random_values("float32", (32, 32))
    out = device.empty((32, 32), np.float32)
    device.run(matrix_where_kernel, (1,), device.array(x), out, M=32, N=32)
    lower = np.tril(x)
    assert_same(device.numpy(out), np.where(np.arange(32) % 2 == 0, lower, -lower), signed_zeros=False)


@tilewright.jit
def large_tile_kernel(x_ptr, out_ptr, N: tl.constexpr):
    n = tl.arange(0, N)
    tl.store(out_ptr + n, tl.load(x_ptr + n) * 2)


@pytest.mark.parametrize("n", [1, 2, 32, 16384, 32768])
def test_tile_sizes(device, n):
    x = exact_values("float32", n)
    out = device.empty(n, np.float32)
    device.run(large_tile_kernel, (1,), device.array(x), out, N=n)
    assert_same(device.numpy(out), x * 2)
