# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels that the benchmarks measure give right results.

Products of small whole numbers, exact in every order of adding; attention against
float64, and once with scores that are all zero, where it is exact as well.
"""

import math

import numpy as np
import pytest

import tilewright
from harness.compare import assert_near, assert_same
from harness.tensor_core_cases import kernels
from harness.types import NUMPY_TYPES

KINDS = {"float16": "float16", "bfloat16": "bfloat16", "float8e4nv": "bfloat16", "int8": "int32"}
# (BLOCK_M, BLOCK_N, BLOCK_K, warps, stages): every number of warps, wide and tall
# tiles, pipelines from none to deep.
TILES = [(16, 16, 32, 1, 1), (32, 64, 32, 2, 2), (64, 64, 64, 4, 3), (64, 256, 64, 4, 3), (128, 128, 64, 8, 4),
         (128, 256, 64, 8, 3), (256, 128, 64, 16, 2)]


@pytest.fixture(autouse=True)
def only_where_results_are(device):
    if device.name == "assemble":
        pytest.skip("test_tensor_core_kernels.py assembles these kernels")


def whole_numbers(name, shape, seed):
    return np.random.default_rng(seed).integers(-2, 3, shape).astype(np.float32).astype(NUMPY_TYPES[name])


def multiply(device, kind, m, n, k, tile, b_is_nk):
    """(what the pointer kernel makes of random whole numbers, what is right)."""
    a, b = whole_numbers(kind, (m, k), 0), whole_numbers(kind, (n, k) if b_is_nk else (k, n), 1)
    result = np.dtype(NUMPY_TYPES[KINDS[kind]])
    c = device.empty((m, n), result)
    block_m, block_n, block_k, warps, stages = tile
    grid = (tilewright.cdiv(m, block_m) * tilewright.cdiv(n, block_n),)
    strides = (1, k) if b_is_nk else (n, 1)
    device.run(kernels("matmul_kernels").pointer_kernel, grid, device.array(a), device.array(b), c, m, n, k, k, 1, *strides,
               n, 1, BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=block_k, GROUP_M=3, num_warps=warps, num_stages=stages)
    right = a.astype(np.float64) @ (b.T if b_is_nk else b).astype(np.float64)
    return device.numpy(c), right.astype(np.int64 if result.kind == "i" else np.float32).astype(result)


@pytest.mark.parametrize("tile", TILES, ids=str)
@pytest.mark.parametrize("b_is_nk", [False, True], ids=["kn", "nk"])
@pytest.mark.parametrize("kind", KINDS)
def test_product(device, kind, b_is_nk, tile):
    # Two tiles and a tail in each direction, K not a multiple of 16 bytes.
    block_m, block_n, block_k = tile[:3]
    actual, expected = multiply(device, kind, 2 * block_m + 7, block_n + 9, 2 * block_k + 11, tile, b_is_nk)
    assert_same(actual, expected, signed_zeros=False)


@pytest.mark.parametrize("k", [16, 48, 64, 128, 192, 1024])
def test_product_of_any_depth(device, k):
    # Fewer steps along K than stages, as many, and more.
    actual, expected = multiply(device, "float16", 128, 128, k, (64, 128, 64, 4, 4), b_is_nk=False)
    assert_same(actual, expected, signed_zeros=False)


# ---------------------------------------------------------------------------
# Attention
# ---------------------------------------------------------------------------


def attention_arrays(heads, length, dim, uniform=False):
    rng = np.random.default_rng(0)
    q, k, v, d_out = (rng.standard_normal((heads, length, dim)).astype(np.float16) for _ in range(4))
    if uniform:
        q[...] = 0
        v = rng.integers(-8, 9, v.shape).astype(np.float16)
    return q, k, v, d_out


def attention_reference(q, k, v, d_out, causal):
    """out, lse to base 2, dq, dk, dv, delta in float64."""
    q, k, v, d_out = (array.astype(np.float64) for array in (q, k, v, d_out))
    scale = 1 / math.sqrt(q.shape[-1])
    scores = q @ k.swapaxes(1, 2) * scale
    if causal:
        scores = np.where(np.tril(np.ones(scores.shape[1:], bool)), scores, -np.inf)
    largest = scores.max(axis=2, keepdims=True)
    weights = np.exp(scores - largest)
    total = weights.sum(axis=2, keepdims=True)
    weights /= total
    out = weights @ v
    delta = (out * d_out).sum(axis=2)
    d_scores = weights * (d_out @ v.swapaxes(1, 2) - delta[..., None]) * scale
    return (out, ((largest + np.log(total)) / math.log(2))[..., 0], d_scores @ k, d_scores.swapaxes(1, 2) @ q,
            weights.swapaxes(1, 2) @ d_out, delta)


def run_forward(device, arrays, causal, tile):
    q, k, v, _ = arrays
    heads, length, dim = q.shape
    out, lse = device.empty(q.shape, np.float16), device.empty((heads, length), np.float32)
    block_m, block_n, warps, stages = tile
    device.run(kernels("attention_kernels").forward_kernel, (length // block_m, heads), *map(device.array, (q, k, v)), out,
               lse, 1 / math.sqrt(dim), length, BLOCK_M=block_m, BLOCK_N=block_n, HEAD_DIM=dim, CAUSAL=causal,
               DESCRIPTORS=False, num_warps=warps, num_stages=stages)
    return device.numpy(out), device.numpy(lse)


FORWARD_TILES = [(32, 16, 2, 2), (64, 64, 4, 3), (64, 128, 4, 2), (128, 64, 8, 3), (128, 128, 8, 2)]


@pytest.mark.parametrize("tile", FORWARD_TILES, ids=str)
@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
@pytest.mark.parametrize("dim", [32, 64, 128])
def test_attention_forward(device, dim, causal, tile):
    arrays = attention_arrays(2, 256, dim)
    out, lse = run_forward(device, arrays, causal, tile)
    expected = attention_reference(*arrays, causal)
    assert_near(out, expected[0], absolute=2e-3)
    assert_near(lse, expected[1], absolute=1e-4)


@pytest.mark.parametrize("tile", FORWARD_TILES, ids=str)
def test_attention_of_equal_scores_is_exact(device, tile):
    # The mean of 256 whole numbers: a wrong or late operand of the second product
    # cannot hide in a tolerance.
    arrays = attention_arrays(2, 256, 64, uniform=True)
    out, lse = run_forward(device, arrays, False, tile)
    mean = arrays[2].astype(np.float64).mean(axis=1, keepdims=True)
    assert_same(out, np.broadcast_to(mean, out.shape).astype(np.float16), signed_zeros=False)
    assert_same(lse, np.full(lse.shape, 8, np.float32))


@pytest.mark.parametrize("form", ["split", "fused"])
@pytest.mark.parametrize("tile", [(16, 32, 2, 2), (64, 64, 4, 2), (64, 128, 8, 2), (128, 64, 8, 2)], ids=str)
@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
@pytest.mark.parametrize("dim", [64, 128])
def test_attention_backward(device, dim, causal, tile, form):
    arrays = attention_arrays(2, 128, dim)
    out, lse, *gradients, delta = attention_reference(*arrays, causal)
    source, (heads, length, _) = kernels("attention_kernels"), arrays[0].shape
    inputs = [device.array(array) for array in arrays]
    device_lse, device_delta = device.array(lse.astype(np.float32)), device.empty(delta.shape, np.float32)
    device.run(source.delta_kernel, (heads * length // 32,), device.array(out.astype(np.float16)), inputs[3], device_delta,
               BLOCK_M=32, HEAD_DIM=dim)
    dq = device.array(np.zeros(arrays[0].shape, np.float32)) if form == "fused" else device.empty(arrays[0].shape, np.float16)
    dk, dv = device.empty(arrays[0].shape, np.float16), device.empty(arrays[0].shape, np.float16)
    block_m, block_n, warps, stages = tile
    scale = 1 / math.sqrt(dim)
    options = {"HEAD_DIM": dim, "CAUSAL": causal, "DESCRIPTORS": False, "num_warps": warps, "num_stages": stages}
    device.run(source.dk_dv_kernel, (length // block_n, heads), *inputs, dq, dk, dv, device_lse, device_delta, scale, length,
               BLOCK_M=block_m, BLOCK_N=block_n, WITH_DQ=form == "fused", **options)
    if form == "split":
        device.run(source.dq_kernel, (length // block_n, heads), *inputs, dq, device_lse, device_delta, scale, length,
                   BLOCK_M=block_n, BLOCK_N=block_m, **options)
    results = [device.numpy(dq), device.numpy(dk), device.numpy(dv)]
    if form == "fused":
        results[0] = results[0] * np.float32(scale)
    assert_near(device.numpy(device_delta), delta, absolute=2e-2)
    for actual, expected in zip(results, gradients):
        assert_near(actual, expected, absolute=6e-3)
