# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches of products and attention on small arrays of whole numbers."""

import math

import numpy as np

import tilewright
import tilewright.language as tl
from harness.tensor_core_cases import kernels
from harness.element_types import exact_values
from tilewright.tools.tensor_descriptor import TensorDescriptor


def describe(array, *block):
    return TensorDescriptor(array, list(array.shape), [array.shape[1], 1], list(block))


def multiply(device, form, m, n, trips, tile, programs=None, **constants):
    """(what a kernel of matmul_kernels.py makes of whole numbers, what is right)."""
    block_m, block_n, block_k, warps, stages = tile
    depth = trips * block_k
    # Without any iteration there are arrays all the same.
    width = max(depth, block_k)
    a, b = exact_values("float16", (m, width)), exact_values("float16", (width, n), seed=1)
    c = np.full((m, n), 77, np.float16)
    options = {
        "BLOCK_M": block_m,
        "BLOCK_N": block_n,
        "BLOCK_K": block_k,
        "GROUP_M": 2,
        "num_warps": warps,
        "num_stages": stages,
        **constants,
    }
    source = kernels("matmul_kernels")
    grid = (programs or tilewright.cdiv(m, block_m) * tilewright.cdiv(n, block_n),)
    if form == "pointers":
        arguments = (a, b, c, m, n, depth, width, 1, n, 1, n, 1)
    else:
        columns = block_n // 2 if constants.get("SPLIT_C") else block_n
        arguments = (describe(a, block_m, block_k), describe(b, block_k, block_n), describe(c, block_m, columns), m, n, depth)
        options["B_IS_NK"] = False
    kernel = {
        "pointers": source.pointer_kernel,
        "descriptors": source.descriptor_kernel,
        "persistent": source.persistent_kernel,
    }[form]
    device.run(kernel, grid, *arguments, **options)
    return c, (a[:, :depth].astype(np.float64) @ b[:depth].astype(np.float64)).astype(np.float16)


def attend(device, length, dim, causal, described, tile):
    """(q, k, v, out, lse) of one head whose scores are all small."""
    block_m, block_n, warps, stages = tile
    q, k, v = (exact_values("float16", (length, dim), seed, -2, 2) for seed in range(3))
    out, lse = np.zeros_like(q), np.zeros(length, np.float32)
    arrays = [q, k, v, out]
    if described:
        arrays = [describe(array, rows, dim) for array, rows in zip(arrays, (block_m, block_n, block_n, block_m))]
    device.run(
        kernels("attention_kernels").forward_kernel,
        (length // block_m, 1),
        *arrays,
        lse,
        1 / math.sqrt(dim),
        length,
        BLOCK_M=block_m,
        BLOCK_N=block_n,
        HEAD_DIM=dim,
        CAUSAL=causal,
        DESCRIPTORS=described,
        num_warps=warps,
        num_stages=stages,
    )
    return q, k, v, out, lse


@tilewright.jit
def multiply_segments(a_ptr, b_ptr, c_ptr, M, N, K, SEGMENTS, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """A product along K, whose segments lie apart: each iteration makes two descriptors."""
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(SEGMENTS):
        a = tl.make_tensor_descriptor(a_ptr + k * M * K, [M, K], [K, 1], [BM, BK])
        b = tl.make_tensor_descriptor(b_ptr + k * K * N, [K, N], [N, 1], [BK, BN])
        total = tl.dot(a.load([tl.program_id(0) * BM, 0]), b.load([0, 0]), total)
    c = tl.make_tensor_descriptor(c_ptr + tl.program_id(0) * BM * N, [M - tl.program_id(0) * BM, N], [N, 1], [BM, BN])
    c.store([0, 0], total.to(c.dtype))


def segments(device, count, m=80, stages=3):
    """(what multiply_segments makes of `count` segments, what is right)."""
    n, k = 32, 16
    a, b = exact_values("float16", (count, m, k)), exact_values("float16", (count, k, n), 1)
    out = device.empty((m, n), np.float16)
    device.run(
        multiply_segments,
        (2,),
        device.array(a),
        device.array(b),
        out,
        m,
        n,
        k,
        count,
        BM=64,
        BN=32,
        BK=32,
        num_warps=4,
        num_stages=stages,
    )
    expected = np.einsum("smk,skn->mn", a.astype(np.float64), b.astype(np.float64))
    return device.numpy(out).astype(np.float64), expected
