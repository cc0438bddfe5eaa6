# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tuples as launch arguments: nested, named, with constants and descriptors inside."""

from typing import NamedTuple

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.element_types import exact_values


# Also on the CPU, from the PTX.
EMULATED = True


class Pair(NamedTuple):
    left: object
    right: object


@tilewright.jit
def add_all(arrays, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for k in tl.static_range(len(arrays)):
        total += tl.load(arrays[k] + i, i < n, 0.0)
    tl.store(out + i, total, i < n)


@pytest.mark.parametrize("count", [0, 1, 5])
def test_tuple_of_arrays(device, count):
    arrays = [exact_values("float32", 100, seed) for seed in range(count)]
    out = device.empty((100,), np.float32)
    device.run(add_all, (2,), tuple(device.array(a) for a in arrays), out, 100, BLOCK=64)
    np.testing.assert_array_equal(device.numpy(out), sum(arrays, np.zeros(100, np.float32)))


@tilewright.jit
def nested(spec, out):
    x, (scale, offset, extra), pair = spec
    i = tl.arange(0, 32)
    value = tl.load(x + i) * scale + offset
    if extra is not None:
        value += tl.load(extra + i)
    value += tl.load(pair.left + i) * pair.right
    tl.store(out + i, value)


@pytest.mark.parametrize("with_extra", [False, True])
@pytest.mark.parametrize("right", [1, 3, 16])
def test_nested_tuples_with_constants(device, with_extra, right):
    x, left, extra = (exact_values("float32", 32, seed) for seed in range(3))
    out = device.empty((32,), np.float32)
    spec = (device.array(x), (2.0, 7, device.array(extra) if with_extra else None), Pair(device.array(left), right))
    device.run(nested, (1,), spec, out)
    np.testing.assert_array_equal(device.numpy(out), x * 2 + 7 + (extra if with_extra else 0) + left * right)


@tilewright.jit
def copy_blocks(pair, n):
    for i in range(n):
        pair.right.store([i * 8, 0], pair.left.load([i * 8, 0]))


def test_descriptors_inside(device):
    x = exact_values("float16", (20, 64))
    out = device.empty(x.shape, x.dtype)
    device.run(copy_blocks, (1,), Pair(device.descriptor(device.array(x), (8, 64)), device.descriptor(out, (8, 64))), 3)
    np.testing.assert_array_equal(device.numpy(out), x)
