# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels that the benchmarks measure give right results.

Products of small whole numbers, exact in every order of adding; attention against
float64, and once with scores that are all zero, where it is exact as well.
"""

import math

import numpy as np
import pytest

from harness.benchmark_launches import (
    DESCRIBED,
    KINDS,
    as_arguments,
    attention_arrays,
    attention_reference,
    multiply,
    run_forward,
)
from harness.compare import assert_near, assert_same
from harness.tensor_core_cases import kernels

# (BLOCK_M, BLOCK_N, BLOCK_K, warps, stages): every number of warps, wide and tall
# tiles, pipelines from none to deep.
TILES = [
    (16, 16, 32, 1, 1),
    (32, 64, 32, 2, 2),
    (64, 64, 64, 4, 3),
    (64, 256, 64, 4, 3),
    (128, 128, 64, 8, 4),
    (128, 256, 64, 8, 3),
    (256, 128, 64, 16, 2),
]


@pytest.fixture(autouse=True)
def only_where_results_are(device):
    if device.name == "assemble":
        pytest.skip("test_tensor_core_kernels.py assembles these kernels")


@pytest.mark.parametrize("tile", TILES, ids=str)
@pytest.mark.parametrize("b_is_nk", [False, True], ids=["kn", "nk"])
@pytest.mark.parametrize("kind", KINDS)
def test_product(device, kind, b_is_nk, tile):
    # Two tiles and a tail in each direction, K not a multiple of 16 bytes.
    block_m, block_n, block_k = tile[:3]
    actual, expected = multiply(device, kind, 2 * block_m + 7, block_n + 9, 2 * block_k + 11, tile, b_is_nk)
    assert_same(actual, expected, signed_zeros=False)


@pytest.mark.parametrize("tile", [(64, 64, 64, 4, 3), (64, 256, 64, 4, 2), (128, 128, 64, 8, 4), (128, 256, 64, 8, 3)], ids=str)
@pytest.mark.parametrize("form, constants", DESCRIBED, ids=str)
@pytest.mark.parametrize(
    "kind, b_is_nk", [("float16", False), ("float16", True), ("bfloat16", False), ("float8e4nv", True), ("int8", True)]
)
def test_product_from_descriptors(device, kind, b_is_nk, form, constants, tile):
    # Rows are multiples of 16 bytes; the tails are read as zero and not written.
    block_m, block_n, block_k = tile[:3]
    actual, expected = multiply(device, kind, 2 * block_m + 7, block_n + 16, 2 * block_k + 16, tile, b_is_nk, form, **constants)
    assert_same(actual, expected, signed_zeros=False)


@pytest.mark.parametrize("k", [16, 64, 128, 256, 1024])
@pytest.mark.parametrize("form, constants", DESCRIBED, ids=str)
def test_product_from_descriptors_of_any_depth(device, form, constants, k):
    actual, expected = multiply(device, "float16", 512, 384, k, (64, 128, 64, 4, 4), False, form, **constants)
    assert_same(actual, expected, signed_zeros=False)


@pytest.mark.parametrize("k", [16, 48, 64, 128, 192, 1024])
def test_product_of_any_depth(device, k):
    # Fewer steps along K than stages, as many, and more.
    actual, expected = multiply(device, "float16", 128, 128, k, (64, 128, 64, 4, 4), b_is_nk=False)
    assert_same(actual, expected, signed_zeros=False)


# ---------------------------------------------------------------------------
# Attention
# ---------------------------------------------------------------------------


FORWARD_TILES = [(32, 16, 2, 2), (64, 64, 4, 3), (64, 128, 4, 2), (128, 64, 8, 3), (128, 128, 8, 2)]


@pytest.mark.parametrize("tile", FORWARD_TILES, ids=str)
@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
@pytest.mark.parametrize("dim", [32, 64, 128])
@pytest.mark.parametrize("described", [False, True], ids=["pointers", "descriptors"])
def test_attention_forward(device, described, dim, causal, tile):
    arrays = attention_arrays(2, 256, dim)
    out, lse = run_forward(device, arrays, causal, tile, described)
    expected = attention_reference(*arrays, causal)
    assert_near(out, expected[0], absolute=2e-3)
    assert_near(lse, expected[1], absolute=1e-4)


@pytest.mark.parametrize("tile", FORWARD_TILES, ids=str)
@pytest.mark.parametrize("described", [False, True], ids=["pointers", "descriptors"])
def test_attention_of_equal_scores_is_exact(device, described, tile):
    # The mean of 256 whole numbers: a wrong or late operand of the second product
    # cannot hide in a tolerance.
    arrays = attention_arrays(2, 256, 64, uniform=True)
    out, lse = run_forward(device, arrays, False, tile, described)
    mean = arrays[2].astype(np.float64).mean(axis=1, keepdims=True)
    assert_same(out, np.broadcast_to(mean, out.shape).astype(np.float16), signed_zeros=False)
    assert_same(lse, np.full(lse.shape, 8, np.float32))


@pytest.mark.parametrize("form", ["split", "fused"])
@pytest.mark.parametrize("tile", [(16, 32, 2, 2), (64, 64, 4, 2), (64, 128, 8, 2), (128, 64, 8, 2)], ids=str)
@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
@pytest.mark.parametrize("dim", [64, 128])
@pytest.mark.parametrize("described", [False, True], ids=["pointers", "descriptors"])
def test_attention_backward(device, described, dim, causal, tile, form):
    arrays = attention_arrays(2, 128, dim)
    out, lse, *gradients, delta = attention_reference(*arrays, causal)
    source, (heads, length, _) = kernels("attention_kernels"), arrays[0].shape
    inputs = [device.array(array) for array in arrays]
    device_lse, device_delta = device.array(lse.astype(np.float32)), device.empty(delta.shape, np.float32)
    device.run(
        source.delta_kernel,
        (heads * length // 32,),
        device.array(out.astype(np.float16)),
        inputs[3],
        device_delta,
        BLOCK_M=32,
        HEAD_DIM=dim,
    )
    dq = device.array(np.zeros(arrays[0].shape, np.float32)) if form == "fused" else device.empty(arrays[0].shape, np.float16)
    dk, dv = device.empty(arrays[0].shape, np.float16), device.empty(arrays[0].shape, np.float16)
    block_m, block_n, warps, stages = tile
    if described and form == "fused" and dim == 128 and block_m == 128:
        # Two stages of queries and their gradients beside the 64 KB of dQ that TMA
        # adds come to 245,920 bytes; the error says that one fits.
        stages = 1
    scale = 1 / math.sqrt(dim)
    options = {"HEAD_DIM": dim, "CAUSAL": causal, "DESCRIPTORS": described, "num_warps": warps, "num_stages": stages}
    m, n = block_m, block_n
    arguments = as_arguments(described, [*inputs, dq, dk, dv], (m, n, n, m, m, n, n))
    device.run(
        source.dk_dv_kernel,
        (length // n, heads),
        *arguments,
        device_lse,
        device_delta,
        scale,
        length,
        BLOCK_M=m,
        BLOCK_N=n,
        WITH_DQ=form == "fused",
        **options,
    )
    if form == "split":
        arguments = as_arguments(described, [*inputs, dq], (n, m, m, n, n))
        device.run(
            source.dq_kernel,
            (length // n, heads),
            *arguments,
            device_lse,
            device_delta,
            scale,
            length,
            BLOCK_M=n,
            BLOCK_N=m,
            **options,
        )
    results = [device.numpy(dq), device.numpy(dk), device.numpy(dv)]
    if form == "fused":
        results[0] = results[0] * np.float32(scale)
    assert_near(device.numpy(device_delta), delta, absolute=2e-2)
    for actual, expected in zip(results, gradients):
        assert_near(actual, expected, absolute=6e-3)
