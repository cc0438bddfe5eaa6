# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operands that a warpgroup's product takes with the other dimension contiguous: lanes take turns at the banks."""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.assemble import assemble_for
from harness.compare import assert_same
from harness.devices import Emulator


@tilewright.jit
def widened(a, b, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """a is K x M and b is K x N, both with the wrong dimension contiguous for tf32."""
    i, j, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    left = tl.load(a + k[:, None] * M + i[None, :]).to(tl.float32)
    right = tl.load(b + k[:, None] * N + j[None, :]).to(tl.float32)
    tl.store(out + i[:, None] * N + j[None, :], tl.dot(tl.trans(left), right * 2.0))


@tilewright.jit
def bytes_in_a_loop(a, b, out, K, M: tl.constexpr, N: tl.constexpr, STEP: tl.constexpr):
    i, j, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, STEP)
    total = tl.zeros((M, N), tl.int32)
    for start in range(0, K, STEP):
        left = tl.load(a + i[:, None] * K + start + k[None, :])
        right = tl.load(b + (start + k[:, None]) * N + j[None, :])
        total = tl.dot(left, right, total)
    tl.store(out + i[:, None] * N + j[None, :], total)


def check_widened(device, shape, dtype, **options):
    m, n, k = shape
    rng = np.random.default_rng(m + n + k)
    a, b = (rng.integers(-4, 5, (k, size)).astype(dtype) for size in (m, n))
    out = device.array(np.zeros((m, n), np.float32))
    device.run(widened, (1,), device.array(a), device.array(b), out, M=m, N=n, K=k, **options)
    assert_same(device.numpy(out), 2 * (a.astype(np.float32).T @ b.astype(np.float32)))  # all are exact


def check_bytes(device, shape, **options):
    m, n, k = shape
    rng = np.random.default_rng(m + n + k)
    a, b = rng.integers(-128, 128, (m, 2 * k)).astype(np.int8), rng.integers(-128, 128, (2 * k, n)).astype(np.int8)
    out = device.array(np.zeros((m, n), np.int32))
    device.run(bytes_in_a_loop, (1,), device.array(a), device.array(b), out, 2 * k, M=m, N=n, STEP=k, **options)
    assert_same(device.numpy(out), a.astype(np.int32) @ b.astype(np.int32))


SHAPES = [(64, 64, 64), (64, 32, 32), (128, 64, 32), (64, 128, 64)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("num_warps", [4, 8])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_widened(device, shape, dtype, num_warps):
    check_widened(device, shape, dtype, num_warps=num_warps)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_widened_in_the_emulator(shape, dtype, target):
    check_widened(Emulator(target), shape, dtype, num_warps=4)


# With more stages the bytes are transposed on their way between two buffers (test_transposed_bytes.py).
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("num_warps", [4, 8])
def test_bytes(device, shape, num_warps):
    check_bytes(device, shape, num_warps=num_warps, num_stages=1)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_bytes_in_the_emulator(shape, target):
    check_bytes(Emulator(target), shape, num_warps=4, num_stages=1)


def test_no_banks_are_shared():
    """Each operand took eight wavefronts for an instruction where one does."""
    a, out = np.empty((64, 64), np.float16), np.empty((64, 64), np.float32)
    compiled = assemble_for(widened, "sm_90a", [a, a, out], {"M": 64, "N": 64, "K": 64, "num_warps": 4})
    assert "wgmma" in compiled.asm["ptx"]
    told = [each for each in compiled.remarks if "shared-accesses" in each]
    assert len(told) == 1 and "conflicting=0" in told[0]
