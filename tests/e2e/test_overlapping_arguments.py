# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that get one array as two arguments, or arrays that overlap.

The order of the accesses of a thread holds across arguments. Loops that run loads ahead of
stores through another argument are compiled anew for such launches.
"""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.assemble import assemble_for
from harness.compare import assert_same
from harness.element_types import exact_values

EMULATED = True


@tilewright.jit
def accumulate_kernel(d_ptr, e_ptr, a_ptr, b_ptr, trips, B: tl.constexpr):
    # Each iteration adds to the tile that the one before has stored.
    rows, columns = tl.arange(0, B)[:, None], tl.arange(0, B)[None, :]
    tile = rows * B + columns
    b = tl.load(b_ptr + tile)
    for trip in range(trips):
        a = tl.load(a_ptr + trip * B * B + tile)
        value = tl.load(e_ptr + tile) + tl.dot(a, b).to(tl.float16)
        tl.store(d_ptr + tile, value)


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_a_sum_in_memory(device, stages):
    size, trips = 32, 4
    a, b = exact_values("float16", (trips, size, size)) % 3, exact_values("float16", (size, size), seed=1) % 2
    out = device.array(np.zeros((size, size), np.float16))
    device.run(accumulate_kernel, (1,), out, out, device.array(a), device.array(b), trips, B=size, num_stages=stages)
    expected = sum(a[trip].astype(np.float64) @ b.astype(np.float64) for trip in range(trips))
    assert np.abs(expected).max() < 2048, "the sums must be exact in float16"
    assert_same(device.numpy(out), expected.astype(np.float16), signed_zeros=False)


@tilewright.jit
def chain_kernel(d_ptr, a_ptr, b_ptr, trips, B: tl.constexpr):
    # The next iteration multiplies what this one stores.
    rows, columns = tl.arange(0, B)[:, None], tl.arange(0, B)[None, :]
    tile = rows * B + columns
    b = tl.load(b_ptr + tile)
    for trip in range(trips):
        a = tl.load(a_ptr + trip * B * B + tile)
        tl.debug_barrier()
        tl.store(d_ptr + (trip + 1) * B * B + tile, tl.dot(a, b).to(tl.float16))
        tl.debug_barrier()


@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("shift", [0, 1], ids=["equal", "overlapping"])
def test_a_product_of_what_was_stored(device, stages, shift):
    size, trips = 32, 4
    b = np.roll(np.eye(size), 3, axis=1).astype(np.float16)
    memory = np.zeros((trips + 2, size, size), np.float16)
    memory[shift] = exact_values("float16", (size, size))
    array = device.array(memory)
    # With a shift the array that is read begins one tile after the one that is written.
    device.run(chain_kernel, (1,), array[:], array[shift:], device.array(b), trips, B=size, num_stages=stages)
    expected = memory.copy()
    for trip in range(trips):
        expected[trip + 1] = expected[trip + shift].astype(np.float32) @ b.astype(np.float32)
    assert_same(device.numpy(array), expected, signed_zeros=False)


@tilewright.jit
def swap_kernel(g_ptr, x_ptr, x2_ptr, y_ptr, y2_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    total = tl.sum(tl.load(g_ptr + offsets), axis=0)
    a, b = tl.load(x_ptr + offsets), tl.load(x2_ptr + offsets)
    tl.store(y_ptr + offsets, b * total)
    tl.store(y2_ptr + offsets, a * total)


@pytest.mark.parametrize("n, warps", [(8192, 8), (16384, 8), (16384, 16)])
def test_two_arrays_change_places(device, n, warps):
    x, x2 = exact_values("float32", n), exact_values("float32", n, seed=1)
    g = np.zeros(n, np.float32)
    g[:2] = 1.0
    one, other = device.array(x), device.array(x2)
    device.run(swap_kernel, (1,), device.array(g), one, other, one, other, N=n, num_warps=warps)
    assert_same(device.numpy(one), 2 * x2, signed_zeros=False)
    assert_same(device.numpy(other), 2 * x, signed_zeros=False)


# -- which kernels ask for distinct arguments ---------------------------------


def needs_distinct(kernel, *args, **options):
    return assemble_for(kernel, "sm_90a", args, options).metadata.needs_distinct_arguments


def test_kernels_say_whether_they_need_distinct_arguments():
    half = [np.zeros(32 * 32 * 8, np.float16) for _ in range(4)]
    single = [np.zeros(16384, np.float32) for _ in range(5)]
    assert needs_distinct(chain_kernel, half[0], half[1], half[2], 4, B=32, num_stages=3)
    assert not needs_distinct(chain_kernel, half[0], half[1], half[2], 4, B=32, num_stages=1)
    assert needs_distinct(swap_kernel, *single, N=16384, num_warps=8)
    # Compiled for overlapping arguments they need nothing.
    assert not needs_distinct(chain_kernel, half[0], half[0], half[2], 4, B=32, num_stages=3)
    assert not needs_distinct(swap_kernel, single[0], *[single[1]] * 4, N=16384, num_warps=8)


def test_kernels_compiled_ahead_take_overlapping_arguments():
    source = tilewright.ASTSource(
        chain_kernel,
        {"d_ptr": "*fp16", "a_ptr": "*fp16", "b_ptr": "*fp16", "trips": "i32"},
        {"B": 32},
        {"d_ptr": 16, "a_ptr": 16, "b_ptr": 16},
    )
    assert not tilewright.compile(source, "sm_90a").metadata.needs_distinct_arguments
    distinct = tilewright.compile(source, "sm_90a", {"arguments_may_overlap": False})
    assert distinct.metadata.needs_distinct_arguments
