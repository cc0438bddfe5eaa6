# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tl.histogram, which counts in shared memory: kinds of elements, masks, layouts, loops."""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.compare import assert_same
from harness.devices import Emulator
from harness.ptx_words import EmulationError

EMULATED = True


@tilewright.jit
def counting_kernel(x_ptr, out_ptr, n, N: tl.constexpr, BINS: tl.constexpr):
    offsets = tl.arange(0, N)
    counts = tl.histogram(tl.load(x_ptr + offsets), BINS, mask=offsets < n)
    tl.store(out_ptr + tl.arange(0, BINS), counts)


@tilewright.jit
def unmasked_kernel(x_ptr, out_ptr, N: tl.constexpr, BINS: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, BINS), tl.histogram(tl.load(x_ptr + tl.arange(0, N)), BINS))


@tilewright.jit
def summing_kernel(x_ptr, out_ptr, rounds, N: tl.constexpr, BINS: tl.constexpr):
    counts = tl.zeros((BINS,), tl.int32)
    for i in range(rounds):
        counts += tl.histogram(tl.load(x_ptr + i * N + tl.arange(0, N)), BINS)
    tl.store(out_ptr + tl.arange(0, BINS), counts)


def counted(x, bins):
    """How many elements are 0 ... bins - 1."""
    return np.array([np.count_nonzero(x == i) for i in range(bins)], np.int32)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_elements_outside_count_nowhere(device, dtype):
    limits = np.iinfo(dtype)
    edges = [limits.min, limits.max, 15, 16, 0, limits.max - 15]
    if limits.bits == 64:
        edges += [2**32, 2**32 + 3]  # their low words are bins
    x = np.concatenate([np.array(edges, dtype), np.arange(20).astype(dtype)])
    x = np.resize(x, 256)
    out = device.empty(16, np.int32)
    device.run(unmasked_kernel, (1,), device.array(x), out, N=256, BINS=16)
    assert_same(device.numpy(out), counted(x, 16))


@pytest.mark.parametrize("num_warps", [1, 4, 8])
@pytest.mark.parametrize("n, bins", [(2, 64), (64, 1), (64, 2), (1024, 128), (512, 1024)])
def test_any_number_of_elements_and_bins(device, n, bins, num_warps):
    """Fewer elements than threads too: each counts once, though several threads hold it."""
    x = np.random.default_rng(n).integers(0, bins, n).astype(np.int32)
    out = device.empty(bins, np.int32)
    device.run(unmasked_kernel, (1,), device.array(x), out, N=n, BINS=bins, num_warps=num_warps)
    assert_same(device.numpy(out), counted(x, bins))


def test_all_in_one_bin(device):
    x = np.full(1024, 5, np.int64)
    out = device.empty(32, np.int32)
    device.run(counting_kernel, (1,), device.array(x), out, 1000, N=1024, BINS=32)
    assert_same(device.numpy(out), np.where(np.arange(32) == 5, 1000, 0).astype(np.int32))


def test_more_bins_than_shared_memory_holds(device):
    x = np.random.default_rng(1).integers(-4, 16500, 64).astype(np.int32)
    out = device.empty(16384, np.int32)
    device.run(unmasked_kernel, (1,), device.array(x), out, N=64, BINS=16384)
    assert_same(device.numpy(out), counted(x, 16384))


def test_counts_of_each_round_start_at_zero(device):
    x = np.random.default_rng(3).integers(0, 16, 3 * 128).astype(np.int32)
    out = device.empty(16, np.int32)
    device.run(summing_kernel, (1,), device.array(x), out, 3, N=128, BINS=16)
    assert_same(device.numpy(out), counted(x, 16))


def test_one_instruction_per_element():
    """Elements are not compared with each bin: 1024 of them took 3200 instructions a thread for 128 bins."""
    source = tilewright.ASTSource(unmasked_kernel, {"x_ptr": "*i32", "out_ptr": "*i32"}, {"N": 1024, "BINS": 128})
    ptx = tilewright.compile(source, "sm_90a", {"num_warps": 4}).asm["ptx"]
    assert ptx.count("red.shared.add.u32") == 8 and ptx.count("setp.lt.u32") == 8 and ptx.count("bar.sync") == 2


@pytest.mark.parametrize("barrier", [0, 1])
def test_the_emulator_misses_each_barrier(barrier):
    """The zeros come before the counts, and these before they are read; counts need no order among themselves."""

    def without(ptx):
        parts = ptx.split("bar.sync")
        assert len(parts) == 3
        return "bar.sync".join(parts[: barrier + 1]) + "// " + "bar.sync".join(parts[barrier + 1 :])

    device = Emulator("sm_90a", edit=without)
    x = np.random.default_rng(5).integers(0, 128, 1024).astype(np.int32)
    with pytest.raises(EmulationError, match="reads shared memory that another warp wrote since the last barrier"):
        device.run(unmasked_kernel, (1,), device.array(x), device.empty(128, np.int32), N=1024, BINS=128)
