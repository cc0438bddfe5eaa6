# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions of many columns over several warps, where threads share the work of the last step."""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.compare import assert_same
from harness.element_types import exact_values

EMULATED = True


@tilewright.jit
def keep_first(first_a, last_a, first_b, last_b):
    # Associative, not commutative: the first of the first and the last of the last.
    return first_a, last_b


@tilewright.jit
def columns_kernel(x_ptr, sum_ptr, place_ptr, first_ptr, last_ptr, M: tl.constexpr, N: tl.constexpr):
    n = tl.arange(0, N)
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + n[None, :])
    tl.store(sum_ptr + n, tl.sum(x, axis=0, dtype=x.dtype))
    tl.store(place_ptr + n, tl.argmax(x, axis=0))
    first, last = tl.reduce((x, x), 0, keep_first)
    tl.store(first_ptr + n, first)
    tl.store(last_ptr + n, last)


@pytest.mark.parametrize("warps", [4, 16])
@pytest.mark.parametrize(
    "name, shape",
    [("float32", (32, 128)), ("float16", (32, 256)), ("int8", (64, 64)), ("float64", (16, 64)), ("float32", (32, 1024))],
)
def test_columns(device, name, shape, warps):
    """Many results, each folded by one thread over all warps."""
    x = exact_values(name, shape)
    columns = shape[1]
    out = [device.empty(columns, x.dtype) for _ in range(3)]
    place = device.empty(columns, np.int32)
    device.run(columns_kernel, (1,), device.array(x), out[0], place, out[1], out[2], *shape, num_warps=warps)
    assert_same(device.numpy(out[0]), x.astype(np.float64).sum(axis=0).astype(x.dtype))
    assert_same(device.numpy(place), x.argmax(axis=0).astype(np.int32))
    assert_same(device.numpy(out[1]), x[0])
    assert_same(device.numpy(out[2]), x[-1])
