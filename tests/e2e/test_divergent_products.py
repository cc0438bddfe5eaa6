# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products behind code that single threads run: one prints, or needs the long way of a sine."""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.compare import assert_near, assert_same
from harness.devices import Emulator

SIZE = 32


@tilewright.jit
def printed_product(x, y, out, SIZE: tl.constexpr):
    i = tl.arange(0, SIZE)
    place = i[:, None] * SIZE + i[None, :]
    total = tl.zeros((SIZE, SIZE), tl.float32)
    for step in range(2):
        a, b = tl.load(x + step * SIZE * SIZE + place), tl.load(y + step * SIZE * SIZE + place)
        tl.device_print("step", step)
        total += tl.dot(a, b)
    tl.store(out + place, total)


@tilewright.jit
def product_of_sines(x, y, out, SIZE: tl.constexpr):
    i = tl.arange(0, SIZE)
    place = i[:, None] * SIZE + i[None, :]
    total = tl.dot(tl.sin(tl.load(x + place)).to(tl.float16), tl.load(y + place))
    tl.store(out + place, total + tl.sum(total, axis=1)[:, None])


def check_printed(device, num_warps):
    rng = np.random.default_rng(num_warps)
    x, y = (rng.integers(-2, 3, (2, SIZE, SIZE)).astype(np.float16) for _ in range(2))
    out = device.array(np.zeros((SIZE, SIZE), np.float32))
    device.run(printed_product, (1,), device.array(x), device.array(y), out, SIZE=SIZE, num_warps=num_warps)
    assert_same(device.numpy(out), (x.astype(np.float32) @ y.astype(np.float32)).sum(axis=0))


def check_sines(device, num_warps):
    rng = np.random.default_rng(num_warps)
    x = rng.standard_normal((SIZE, SIZE)).astype(np.float32)
    x[rng.random((SIZE, SIZE)) < 0.1] *= 1e7  # a few threads of each warp
    y = rng.standard_normal((SIZE, SIZE)).astype(np.float16)
    out = device.array(np.zeros((SIZE, SIZE), np.float32))
    device.run(product_of_sines, (1,), device.array(x), device.array(y), out, SIZE=SIZE, num_warps=num_warps)
    product = np.sin(x.astype(np.float64)).astype(np.float16).astype(np.float64) @ y.astype(np.float64)
    assert_near(device.numpy(out), product + product.sum(axis=1)[:, None], absolute=0.05, relative=2e-3)


@pytest.mark.parametrize("num_warps", [1, 4])
def test_product_behind_a_branch(device, num_warps):
    check_printed(device, num_warps)
    check_sines(device, num_warps)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("num_warps", [1, 4])
def test_product_behind_a_branch_in_the_emulator(num_warps, target):
    check_printed(Emulator(target), num_warps)
    check_sines(Emulator(target), num_warps)
