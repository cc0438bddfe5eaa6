# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loads that are the same in each iteration of a loop: they happen once, and only if the loop runs."""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.compare import assert_same
from harness.element_types import exact_values

EMULATED = True


@tilewright.jit
def scores_kernel(q_ptr, k_ptr, out_ptr, rows, trips, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    columns = tl.arange(0, D)
    total = tl.zeros((M,), tl.float32)
    for trip in range(trips):
        row = tl.arange(0, M)
        q = tl.load(q_ptr + row[:, None] * D + columns[None, :], mask=(row < rows)[:, None], other=0.0)
        key = trip * N + tl.arange(0, N)
        k = tl.load(k_ptr + key[:, None] * D + columns[None, :])
        total += tl.sum(tl.dot(q, tl.trans(k)), axis=1)
    tl.store(out_ptr + tl.arange(0, M), total)


@pytest.mark.parametrize("trips", [0, 1, 4])
@pytest.mark.parametrize("stages", [1, 2, 3])
def test_operand_of_each_iteration(device, trips, stages):
    q = exact_values("float16", (64, 64), low=-4, high=4)
    k = exact_values("float16", (4 * 32, 64), low=-4, high=4)
    out = device.empty(64, np.float32)
    device.run(scores_kernel, (1,), device.array(q), device.array(k), out, 61, trips, M=64, N=32, D=64, num_stages=stages)
    expected = (q[:61].astype(np.float32) @ k[: 32 * trips].astype(np.float32).T).sum(axis=1)
    assert_same(device.numpy(out), np.concatenate([expected, np.zeros(3, np.float32)]))


@tilewright.jit
def sum_kernel(x_ptr, scale_ptr, out_ptr, outer, inner, first, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for i in range(outer):
        for j in range(inner):
            weight = tl.load(scale_ptr + first) * 2
            total += tl.load(x_ptr + first + offsets) * weight + i * j
    tl.store(out_ptr + offsets, total)


@pytest.mark.parametrize("outer,inner", [(0, 3), (3, 0), (1, 1), (2, 3)])
def test_loops_that_may_not_run(device, outer, inner):
    # Where nothing is to be loaded, there is nothing at the address.
    first = 0 if outer * inner > 0 else 2**40
    x, scale = exact_values("float32", 128), np.array([3], np.float32)
    out = device.empty(128, np.float32)
    device.run(sum_kernel, (1,), device.array(x), device.array(scale), out, outer, inner, first, BLOCK=128)
    counts = sum(i * j for i in range(outer) for j in range(inner))
    assert_same(device.numpy(out), x * 6 * (outer * inner) + np.float32(counts))


@tilewright.jit
def growing_kernel(x_ptr, out_ptr, trips, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    for _ in range(trips):
        x = tl.load(x_ptr + offsets)
        tl.store(out_ptr + offsets, x + tl.load(out_ptr + offsets))


@pytest.mark.parametrize("same", [False, True])
def test_what_the_loop_stores_is_loaded_again(device, same):
    x = exact_values("float32", 64)
    array = device.array(x)
    out = array if same else device.array(np.ones(64, np.float32))
    device.run(growing_kernel, (1,), array, out, 3, BLOCK=64)
    assert_same(device.numpy(out), 8 * x if same else 3 * x + 1)


def test_an_invariant_operand_has_one_buffer():
    # Twice, it would leave too little for the keys.
    pointers = {"q_ptr": "*fp16", "k_ptr": "*fp16", "out_ptr": "*fp32", "rows": "i32", "trips": "i32"}
    source = tilewright.ASTSource(scores_kernel, pointers, {"M": 128, "N": 64, "D": 512})
    kernel = tilewright.compile(source, "sm_90a", {"num_warps": 8, "num_stages": 2})
    assert kernel.metadata.shared <= 128 * 512 * 2 + 2 * 64 * 512 * 2 + 4096
