# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launching: grids, ways to pass arguments, what a launch gives back."""

import re

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.assemble import assemble_for
from harness.compare import assert_same
from harness.devices import TARGETS


@tilewright.jit
def fill_kernel(out_ptr, n, value=3, BLOCK: tl.constexpr = 64):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, value, mask=offsets < n)


@pytest.mark.parametrize("grid", [(2,), [2], (2, 1), (2, 1, 1), lambda meta: (tilewright.cdiv(meta["n"], meta["BLOCK"]),)])
def test_grid_forms(device, grid):
    out = device.array(np.zeros(128, np.int32))
    device.run(fill_kernel, grid, out, 100)
    assert device.numpy(out).tolist() == [3] * 100 + [0] * 28


def test_keywords_and_defaults(device):
    out = device.array(np.zeros(128, np.int32))
    device.run(fill_kernel, (4,), n=128, out_ptr=out, BLOCK=32, value=7)
    assert device.numpy(out).tolist() == [7] * 128


@pytest.mark.parametrize("grid", [(0,), (2, 0), (1, 1, 0)])
def test_empty_grid(device, grid):
    out = device.array(np.zeros(64, np.int32))
    device.run(fill_kernel, grid, out, 64)
    assert not device.numpy(out).any()


@pytest.mark.parametrize("value", [0, 1, 16, -1, 2**31 - 1, -(2**31)])
def test_integer_specialisations(device, value):
    out = device.array(np.zeros(64, np.int32))
    device.run(fill_kernel, (1,), out, 64, value)
    assert device.numpy(out).tolist() == [value] * 64


@tilewright.jit
def many_kernel(a, b, c, d, e, f, g, h, i, j, out):
    tl.store(out, a + b + c + d + e + f + g + h + i + j)


def test_many_arguments(device):
    out = device.empty(1, np.int32)
    device.run(many_kernel, (1,), *range(10), out)
    assert device.numpy(out)[0] == 45


@tilewright.jit
def float_kernel(out_ptr, x, flag):
    tl.static_assert(x.dtype == tl.float32)
    if flag:
        tl.store(out_ptr, x)
    else:
        tl.store(out_ptr, -x)


@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize("x", [1.0, 0.1, float("inf"), 1e-45])
def test_float_and_bool(device, x, flag):
    out = device.empty(1, np.float32)
    device.run(float_kernel, (1,), out, x, flag)
    assert_same(device.numpy(out), np.array([x if flag else -x], np.float32))


def test_alternating_arguments(device):
    """The same kernel with other types, then the first again: no launch meets another's code."""
    for _ in range(2):
        for dtype in (np.int32, np.float32, np.int8, np.float64):
            for n in (1, 16, 33):
                out = device.array(np.zeros(64, dtype))
                device.run(fill_kernel, (1,), out, n, 5)
                if device.name != "assemble":
                    assert device.numpy(out).tolist() == [5] * n + [0] * (64 - n)


@pytest.mark.parametrize("target", TARGETS)
def test_compiled_kernel(target):
    """Every stage is there as text or bytes, and the resources are known without a GPU."""
    kernel = assemble_for(fill_kernel, target, (np.zeros(64, np.int32), 64), {})
    for stage in ("ttir", "ttgir", "llir", "ptx", "cubin"):
        assert kernel.asm[stage], stage
    assert ".visible .entry fill_kernel" in kernel.asm["ptx"]
    assert f".target {target}" in kernel.asm["ptx"]
    assert 0 < kernel.n_regs < 64
    assert kernel.n_spills == 0
    assert kernel.shared == 0


def test_line_table_names_the_source():
    kernel = assemble_for(fill_kernel, "sm_90a", (np.zeros(64, np.int32), 64), {})
    assert "test_launch.py" in kernel.asm["ptx"]
    assert ".loc" in kernel.asm["ptx"]


@tilewright.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask), mask=mask)


def test_wide_access():
    """An aligned float32 copy uses 128-bit loads and stores."""
    arrays = np.zeros(1024, np.float32), np.zeros(1024, np.float32)
    kernel = assemble_for(copy_kernel, "sm_80", (*arrays, 1024), {"BLOCK": 1024})
    ptx = kernel.asm["ptx"]
    assert re.search(r"ld\.global\S*\.v4", ptx) and re.search(r"st\.global\S*\.v4", ptx)
