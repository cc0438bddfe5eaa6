# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launch the benchmarks' kernels on a device of the tests, beside what is right."""

import math

import numpy as np

import tilewright
from harness.tensor_core_cases import kernels
from harness.element_types import NUMPY_TYPES
from tilewright.tools.tensor_descriptor import TensorDescriptor

# Element type of A and B -> of C.
KINDS = {"float16": "float16", "bfloat16": "bfloat16", "float8e4nv": "bfloat16", "int8": "int32"}
# The forms that take descriptors, with their constants.
DESCRIBED = [("descriptors", {})] + [
    ("persistent", {"FLATTEN": flatten, "SPLIT_C": split}) for flatten in (False, True) for split in (False, True)
]


def whole_numbers(name, shape, seed):
    return np.random.default_rng(seed).integers(-2, 3, shape).astype(np.float32).astype(NUMPY_TYPES[name])


def describe(array, *block):
    """A descriptor of a matrix with contiguous rows."""
    return TensorDescriptor(array, list(array.shape), [array.shape[1], 1], list(block))


def multiply(device, kind, m, n, k, tile, b_is_nk, form="pointers", **constants):
    """(what a kernel makes of random whole numbers, what is right)."""
    a, b = whole_numbers(kind, (m, k), 0), whole_numbers(kind, (n, k) if b_is_nk else (k, n), 1)
    result = np.dtype(NUMPY_TYPES[KINDS[kind]])
    c = device.empty((m, n), result)
    block_m, block_n, block_k, warps, stages = tile
    options = {
        "BLOCK_M": block_m,
        "BLOCK_N": block_n,
        "BLOCK_K": block_k,
        "GROUP_M": 3,
        "num_warps": warps,
        "num_stages": stages,
        **constants,
    }
    tiles = tilewright.cdiv(m, block_m) * tilewright.cdiv(n, block_n)
    source, arrays = kernels("matmul_kernels"), (device.array(a), device.array(b), c)
    if form == "pointers":
        strides = (1, k) if b_is_nk else (n, 1)
        device.run(source.pointer_kernel, (tiles,), *arrays, m, n, k, k, 1, *strides, n, 1, **options)
    else:
        blocks = (
            (block_m, block_k),
            (block_n, block_k) if b_is_nk else (block_k, block_n),
            (block_m, block_n // 2 if constants.get("SPLIT_C") else block_n),
        )
        descriptors = [describe(array, *block) for array, block in zip(arrays, blocks)]
        kernel = source.descriptor_kernel if form == "descriptors" else source.persistent_kernel
        # Fewer programs than tiles, so that each gets several.
        device.run(kernel, (tiles if form == "descriptors" else 2,), *descriptors, m, n, k, B_IS_NK=b_is_nk, **options)
    right = a.astype(np.float64) @ (b.T if b_is_nk else b).astype(np.float64)
    return device.numpy(c), right.astype(np.int64 if result.kind == "i" else np.float32).astype(result)


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
    return (
        out,
        ((largest + np.log(total)) / math.log(2))[..., 0],
        d_scores @ k,
        d_scores.swapaxes(1, 2) @ q,
        weights.swapaxes(1, 2) @ d_out,
        delta,
    )


def as_arguments(described, arrays, rows):
    """The arrays, or descriptors of them as matrices, with so many rows to a block."""
    if not described:
        return arrays
    return [describe(array.reshape(-1, array.shape[-1]), count, array.shape[-1]) for array, count in zip(arrays, rows)]


def run_forward(device, arrays, causal, tile, described=False):
    q, k, v, _ = arrays
    heads, length, dim = q.shape
    out, lse = device.empty(q.shape, np.float16), device.empty((heads, length), np.float32)
    block_m, block_n, warps, stages = tile
    arguments = as_arguments(described, [*map(device.array, (q, k, v)), out], (block_m, block_n, block_n, block_m))
    device.run(
        kernels("attention_kernels").forward_kernel,
        (length // block_m, heads),
        *arguments,
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
    return device.numpy(out), device.numpy(lse)
