# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels as people write them, whole: normalisations, losses, embeddings, optimiser steps."""

import math

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.compare import assert_near, assert_same
from harness.element_types import NUMPY_TYPES, random_values

HALF = ["float16", "bfloat16"]


def power_of_2(n):
    return tilewright.next_power_of_2(n)


@tilewright.jit
def softmax_kernel(x_ptr, out_ptr, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    x = tl.load(x_ptr + row * stride + offsets, mask=mask, other=-float("inf")).to(tl.float32)
    numerator = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * stride + offsets, numerator / tl.sum(numerator, axis=0), mask=mask)


def softmax(x):
    e = np.exp(x.astype(np.float64) - x.astype(np.float64).max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("columns", [1, 3, 128, 781, 1024, 4096])
@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32"])
def test_softmax(device, name, columns):
    x = random_values(name, (5, columns)) * np.array(5, NUMPY_TYPES[name])
    out = device.empty(x.shape, x.dtype)
    device.run(softmax_kernel, (5,), device.array(x), out, columns, columns, BLOCK=power_of_2(columns))
    assert_near(device.numpy(out), softmax(x), ulps=1 if name in HALF else 8, absolute=1e-7)


@tilewright.jit
def online_softmax_kernel(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    # Two passes in tiles: a running maximum that rescales the running sum.
    row = tl.program_id(0) * columns
    offsets = tl.arange(0, BLOCK)
    largest = -float("inf")
    total = 0.0
    for start in range(0, columns, BLOCK):
        x = tl.load(x_ptr + row + start + offsets, mask=start + offsets < columns, other=-float("inf"))
        now = tl.maximum(largest, tl.max(x, axis=0))
        total = total * tl.exp(largest - now) + tl.sum(tl.exp(x - now), axis=0)
        largest = now
    for start in range(0, columns, BLOCK):
        mask = start + offsets < columns
        x = tl.load(x_ptr + row + start + offsets, mask=mask)
        tl.store(out_ptr + row + start + offsets, tl.exp(x - largest) / total, mask=mask)


def test_online_softmax(device):
    x = random_values("float32", (3, 1000)) * np.float32(4)
    out = device.empty(x.shape, x.dtype)
    device.run(online_softmax_kernel, (3,), device.array(x), out, 1000, BLOCK=256)
    assert_near(device.numpy(out), softmax(x), ulps=16, absolute=1e-8)


@tilewright.jit
def layer_norm_kernel(x_ptr, weight_ptr, bias_ptr, out_ptr, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0) * columns
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    x = tl.load(x_ptr + row + offsets, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / columns
    centred = tl.where(mask, x - mean, 0.0)
    rstd = tl.rsqrt(tl.sum(centred * centred, axis=0) / columns + eps)
    weight = tl.load(weight_ptr + offsets, mask=mask)
    bias = tl.load(bias_ptr + offsets, mask=mask)
    tl.store(out_ptr + row + offsets, centred * rstd * weight + bias, mask=mask)


@pytest.mark.parametrize("columns", [7, 256, 1000])
@pytest.mark.parametrize("name", ["float16", "float32"])
def test_layer_norm(device, name, columns):
    x, weight, bias = (random_values(name, shape, seed) for seed, shape in enumerate([(4, columns), columns, columns]))
    out = device.empty(x.shape, x.dtype)
    device.run(
        layer_norm_kernel,
        (4,),
        device.array(x),
        device.array(weight),
        device.array(bias),
        out,
        columns,
        1e-5,
        BLOCK=power_of_2(columns),
    )
    wide = x.astype(np.float64)
    expected = (wide - wide.mean(axis=1, keepdims=True)) / np.sqrt(wide.var(axis=1, keepdims=True) + 1e-5)
    expected = expected * weight.astype(np.float64) + bias.astype(np.float64)
    assert_near(device.numpy(out), expected, absolute=4e-3 if name in HALF else 1e-5)


@tilewright.jit
def rms_norm_kernel(x_ptr, weight_ptr, out_ptr, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0) * columns
    square = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row + offsets, mask=offsets < columns, other=0.0).to(tl.float32)
        square += x * x
    scale = tl.rsqrt(tl.sum(square, axis=0) / columns + eps)
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < columns
        x = tl.load(x_ptr + row + offsets, mask=mask).to(tl.float32)
        weight = tl.load(weight_ptr + offsets, mask=mask).to(tl.float32)
        tl.store(out_ptr + row + offsets, x * scale * weight, mask=mask)


@pytest.mark.parametrize("name", [*HALF, "float32"])
def test_rms_norm(device, name):
    x, weight = random_values(name, (3, 900)), random_values(name, 900, seed=1)
    out = device.empty(x.shape, x.dtype)
    device.run(rms_norm_kernel, (3,), device.array(x), device.array(weight), out, 900, 1e-6, BLOCK=256)
    wide = x.astype(np.float64)
    expected = wide / np.sqrt((wide**2).mean(axis=1, keepdims=True) + 1e-6) * weight.astype(np.float64)
    assert_near(device.numpy(out), expected, ulps=1 if name in HALF else 16)


@tilewright.jit
def cross_entropy_kernel(logits_ptr, label_ptr, loss_ptr, gradient_ptr, columns, ignored, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    label = tl.load(label_ptr + row)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    if label == ignored:
        tl.store(loss_ptr + row, 0.0)
        tl.store(gradient_ptr + row * columns + offsets, tl.zeros((BLOCK,), tl.float32), mask=mask)
        return
    x = tl.load(logits_ptr + row * columns + offsets, mask=mask, other=-float("inf"))
    largest = tl.max(x, axis=0)
    log_total = tl.log(tl.sum(tl.exp(x - largest), axis=0)) + largest
    tl.store(loss_ptr + row, log_total - tl.load(logits_ptr + row * columns + label))
    probability = tl.exp(x - log_total)
    tl.store(gradient_ptr + row * columns + offsets, tl.where(offsets == label, probability - 1.0, probability), mask=mask)


@pytest.mark.parametrize("columns", [10, 1000])
def test_cross_entropy(device, columns):
    x = random_values("float32", (6, columns)) * np.float32(3)
    label = np.random.default_rng(1).integers(0, columns, 6)
    label[2] = -100
    loss, gradient = device.empty(6, np.float32), device.empty(x.shape, np.float32)
    device.run(
        cross_entropy_kernel,
        (6,),
        device.array(x),
        device.array(label),
        loss,
        gradient,
        columns,
        -100,
        BLOCK=power_of_2(columns),
    )
    p = softmax(x)
    one_hot = np.arange(columns) == label[:, None]
    kept = label != -100
    expected_loss = np.where(kept, -np.log(p[np.arange(6), np.where(kept, label, 0)]), 0)
    assert_near(device.numpy(loss), expected_loss, absolute=2e-6, relative=2e-6)
    assert_near(device.numpy(gradient), np.where(kept[:, None], p - one_hot, 0), absolute=1e-6)


@tilewright.jit
def hash_bits(x):
    # A small integer hash: decent bits without a library.
    x = (x ^ (x >> 16)) * 0x7FEB352D
    x = (x ^ (x >> 15)) * 0x2C1B3C6D
    return x ^ (x >> 16)


@tilewright.jit
def dropout_kernel(x_ptr, out_ptr, n, p, seed, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    random = (hash_bits((offsets + seed).to(tl.uint32)) >> 8).to(tl.float32) * (1.0 / 16777216)
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, tl.where(random > p, x / (1 - p), 0.0), mask=mask)


def test_dropout(device):
    n, p, seed = 10000, 0.3, 123
    x = random_values("float32", n) + np.float32(10)
    out = device.empty(n, np.float32)
    device.run(dropout_kernel, (tilewright.cdiv(n, 512),), device.array(x), out, n, p, seed, BLOCK=512)
    bits = (np.arange(n) + seed).astype(np.uint32)
    for shift, factor in ((16, 0x7FEB352D), (15, 0x2C1B3C6D)):
        bits = (bits ^ (bits >> np.uint32(shift))) * np.uint32(factor)
    bits ^= bits >> np.uint32(16)
    kept = (bits >> np.uint32(8)).astype(np.float32) * np.float32(1 / 16777216) > np.float32(p)
    assert 0.68 < kept.mean() < 0.72
    expected = np.where(kept, x / (np.float32(1) - np.float32(p)), np.float32(0))
    actual = device.numpy(out)
    assert_same(actual == 0, ~kept)
    assert_near(actual, expected, ulps=2)


@tilewright.jit
def transpose_kernel(x_ptr, out_ptr, rows, columns, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inside = (m[:, None] < rows) & (n[None, :] < columns)
    tile = tl.load(x_ptr + m[:, None] * columns + n[None, :], mask=inside)
    tl.store(out_ptr + n[:, None] * rows + m[None, :], tl.trans(tile), mask=tl.trans(inside))


@pytest.mark.parametrize("block", [(32, 32), (64, 16), (128, 128)])
@pytest.mark.parametrize("name", ["int8", "float16", "float32", "float64"])
def test_transpose(device, name, block):
    x = random_values(name, (150, 203))
    out = device.empty((203, 150), NUMPY_TYPES[name])
    grid = (tilewright.cdiv(150, block[0]), tilewright.cdiv(203, block[1]))
    device.run(transpose_kernel, grid, device.array(x), out, 150, 203, BLOCK_M=block[0], BLOCK_N=block[1])
    assert_same(device.numpy(out), np.ascontiguousarray(x.T))


@tilewright.jit
def gather_rows_kernel(table_ptr, index_ptr, out_ptr, count, width, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, BLOCK)
    index = tl.load(index_ptr + rows, mask=rows < count, other=0)
    mask = (rows[:, None] < count) & (columns[None, :] < width)
    values = tl.load(table_ptr + index[:, None] * width + columns[None, :], mask=mask)
    tl.store(out_ptr + rows[:, None] * width + columns[None, :], values, mask=mask)


@pytest.mark.parametrize("name", ["float16", "float32"])
def test_gather_rows(device, name):
    table = random_values(name, (50, 96))
    index = np.random.default_rng(0).integers(0, 50, 21)
    out = device.empty((21, 96), NUMPY_TYPES[name])
    device.run(gather_rows_kernel, (6,), device.array(table), device.array(index), out, 21, 96, ROWS=4, BLOCK=128)
    assert_same(device.numpy(out), table[index])


@tilewright.jit
def rotary_kernel(x_ptr, cos_ptr, sin_ptr, out_ptr, heads, HALF: tl.constexpr):
    # Rotates the pairs (i, i + HALF) of a head by the angle of the position.
    position = tl.program_id(0)
    i = tl.arange(0, HALF)
    cos = tl.load(cos_ptr + position * HALF + i)
    sin = tl.load(sin_ptr + position * HALF + i)
    for head in range(heads):
        base = (position * heads + head) * 2 * HALF
        a = tl.load(x_ptr + base + i).to(tl.float32)
        b = tl.load(x_ptr + base + HALF + i).to(tl.float32)
        tl.store(out_ptr + base + i, a * cos - b * sin)
        tl.store(out_ptr + base + HALF + i, b * cos + a * sin)


@pytest.mark.parametrize("name", [*HALF, "float32"])
def test_rotary(device, name):
    length, heads, half = 9, 3, 32
    x = random_values(name, (length, heads, 2 * half))
    angle = np.arange(length)[:, None] / 10000 ** (np.arange(half) / half)
    cos, sin = np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)
    out = device.empty(x.shape, x.dtype)
    device.run(rotary_kernel, (length,), device.array(x), device.array(cos), device.array(sin), out, heads, HALF=half)
    a, b = x[..., :half].astype(np.float64), x[..., half:].astype(np.float64)
    c, s = cos[:, None].astype(np.float64), sin[:, None].astype(np.float64)
    expected = np.concatenate([a * c - b * s, b * c + a * s], axis=-1)
    assert_near(device.numpy(out), expected, ulps=1, absolute=0 if name in HALF else 1e-6)


@tilewright.jit
def gelu(x):
    return 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))


@tilewright.jit
def gated_kernel(x_ptr, gate_ptr, out_ptr, n, ACTIVATION: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask).to(tl.float32)
    gate = tl.load(gate_ptr + offsets, mask=mask).to(tl.float32)
    if ACTIVATION == "silu":
        activated = gate * tl.sigmoid(gate)
    elif ACTIVATION == "gelu":
        activated = gelu(gate)
    else:
        activated = tl.maximum(gate, 0.0)
    tl.store(out_ptr + offsets, x * activated, mask=mask)


@pytest.mark.parametrize("activation", ["silu", "gelu", "relu"])
@pytest.mark.parametrize("name", ["bfloat16", "float32"])
def test_gated_activation(device, name, activation):
    x, gate = random_values(name, 1001), random_values(name, 1001, seed=1)
    out = device.empty(1001, NUMPY_TYPES[name])
    device.run(gated_kernel, (4,), device.array(x), device.array(gate), out, 1001, ACTIVATION=activation, BLOCK=256)
    a, g = x.astype(np.float64), gate.astype(np.float64)
    functions = {
        "silu": lambda v: v / (1 + np.exp(-v)),
        "gelu": lambda v: 0.5 * v * (1 + np.vectorize(math.erf)(v / math.sqrt(2))),
        "relu": lambda v: np.maximum(v, 0),
    }
    assert_near(device.numpy(out), a * functions[activation](g), ulps=1 if name in HALF else 16, absolute=1e-6)


@tilewright.jit
def adam_kernel(p_ptr, g_ptr, m_ptr, v_ptr, n, lr, beta1, beta2, eps, correction1, correction2, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    g = tl.load(g_ptr + offsets, mask=mask)
    m = tl.load(m_ptr + offsets, mask=mask) * beta1 + g * (1 - beta1)
    v = tl.load(v_ptr + offsets, mask=mask) * beta2 + g * g * (1 - beta2)
    p = tl.load(p_ptr + offsets, mask=mask)
    p -= lr * (m / correction1) / (tl.sqrt(v / correction2) + eps)
    tl.store(p_ptr + offsets, p, mask=mask)
    tl.store(m_ptr + offsets, m, mask=mask)
    tl.store(v_ptr + offsets, v, mask=mask)


def test_adam(device):
    n = 777
    p, g, m = (random_values("float32", n, seed) for seed in range(3))
    v = np.abs(random_values("float32", n, 3))
    arrays = [device.array(a) for a in (p, g, m, v)]
    device.run(adam_kernel, (4,), *arrays, n, 1e-3, 0.9, 0.999, 1e-8, 0.1, 0.001, BLOCK=256)
    p, g, m, v = (a.astype(np.float64) for a in (p, g, m, v))
    m, v = m * 0.9 + g * 0.1, v * 0.999 + g * g * 0.001
    p = p - 1e-3 * (m / 0.1) / (np.sqrt(v / 0.001) + 1e-8)
    for array, expected in zip((arrays[0], arrays[2], arrays[3]), (p, m, v)):
        assert_near(device.numpy(array), expected, relative=2e-5, absolute=2e-6)


@tilewright.jit
def sum_columns_kernel(x_ptr, out_ptr, rows, columns, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    # A tile per program; its column sums are added to the result atomically.
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = (m[:, None] < rows) & (n[None, :] < columns)
    x = tl.load(x_ptr + m[:, None] * columns + n[None, :], mask=mask, other=0.0)
    tl.atomic_add(out_ptr + n, tl.sum(x, axis=0), mask=n < columns)


def test_sum_of_columns(device):
    from harness.element_types import exact_values

    x = exact_values("float32", (300, 70))
    out = device.array(np.zeros(70, np.float32))
    device.run(sum_columns_kernel, (10, 3), device.array(x), out, 300, 70, BLOCK_M=32, BLOCK_N=32)
    assert_same(device.numpy(out), x.sum(axis=0))


@tilewright.jit
def vector_matrix_kernel(matrix_ptr, x_ptr, out_ptr, rows, columns, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    # y = A x without tensor cores: a loop over columns and one sum at the end.
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, columns, BLOCK_N):
        n = start + tl.arange(0, BLOCK_N)
        mask = (m[:, None] < rows) & (n[None, :] < columns)
        a = tl.load(matrix_ptr + m[:, None] * columns + n[None, :], mask=mask, other=0.0)
        x = tl.load(x_ptr + n, mask=n < columns, other=0.0)
        total += a.to(tl.float32) * x[None, :].to(tl.float32)
    tl.store(out_ptr + m, tl.sum(total, axis=1), mask=m < rows)


@pytest.mark.parametrize("name", ["float16", "float32"])
def test_matrix_vector(device, name):
    from harness.element_types import exact_values

    matrix, x = exact_values(name, (67, 333)), exact_values(name, 333, seed=1)
    out = device.empty(67, np.float32)
    device.run(vector_matrix_kernel, (5,), device.array(matrix), device.array(x), out, 67, 333, BLOCK_M=16, BLOCK_N=64)
    assert_same(device.numpy(out), matrix.astype(np.float32) @ x.astype(np.float32))
