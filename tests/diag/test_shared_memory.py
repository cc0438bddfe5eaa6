# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""E0301 from the compiler: which tiles are too much together, and what would fit."""

import re

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.assemble import assemble_for
from tilewright import errors


@tilewright.jit
def product_kernel(a_ptr, b_ptr, c_ptr, K, M: tl.constexpr, N: tl.constexpr, BLOCK_K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BLOCK_K)
    acc = tl.zeros((M, N), tl.float32)
    for start in range(0, K, BLOCK_K):
        a = tl.load(a_ptr + m[:, None] * K + (start + k)[None, :])
        b = tl.load(b_ptr + (start + k)[:, None] * N + n[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc.to(tl.float16))


def compile_with(stages, m=128, k=64, warps=8):
    arrays = [np.zeros(1, np.float16) for _ in range(3)]
    options = dict(M=m, N=256, BLOCK_K=k, num_warps=warps, num_stages=stages)
    return assemble_for(product_kernel, "sm_80", (*arrays, 4096), options)


def test_rings_name_the_stages_that_fit():
    with pytest.raises(errors.OutOfResources) as caught:
        compile_with(6)
    error = caught.value
    text = str(error)
    assert error.code == "E0301" and "sm_80 allows 166912" in text
    needed = int(re.search(r"needs (\d+) bytes", text)[1])
    parts = [int(count) for count in re.findall(r"(\d+) bytes for the ring of", text)]
    assert len(parts) == 2 and sum(parts) == needed
    # Both loads are named, in words of the language.
    assert "x tile<128x64xf16>" in text and "x tile<64x256xf16>" in text
    assert "tw." not in text and "#" not in text
    advised, bytes_then = map(int, re.search(r"num_stages=(\d+) would need (\d+) bytes", text).groups())
    assert compile_with(advised).metadata.shared == bytes_then
    with pytest.raises(errors.OutOfResources):
        compile_with(advised + 1)


@tilewright.jit
def chain_kernel(q_ptr, k_ptr, v_ptr, out_ptr, length, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr, STAGES: tl.constexpr):
    m, n, d = tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    q = tl.load(q_ptr + m[:, None] * D + d[None, :])
    acc = tl.zeros((M, D), tl.float32)
    for start in tl.range(0, length, N, num_stages=STAGES):
        k = tl.load(k_ptr + (start + n)[:, None] * D + d[None, :])
        v = tl.load(v_ptr + (start + n)[:, None] * D + d[None, :])
        acc = tl.dot(tl.dot(q, k.T).to(q.dtype), v, acc)
    tl.store(out_ptr + m[:, None] * D + d[None, :], acc)


# What would be left of the rings is not all: how many loads have one, and what shares
# their bytes, changes with the stages.
@pytest.mark.parametrize("target, m, n, d, stages, warps", [
    ("sm_86", 64, 64, 256, 4, 16), ("sm_80", 256, 256, 128, 4, 8), ("sm_90a", 64, 256, 32, 6, 8),
    ("sm_89", 128, 128, 128, 4, 8)])  # fmt: skip
def test_stages_of_a_loop_that_fit(target, m, n, d, stages, warps):
    def compile_chain(stages):
        arrays = [np.zeros(1, np.float16) for _ in range(4)]
        return assemble_for(chain_kernel, target, (*arrays, 4096, m, n, d, stages), {"num_warps": warps, "num_stages": stages})

    with pytest.raises(errors.OutOfResources) as caught:
        compile_chain(stages)
    found = re.search(r"num_stages=(\d+), in tl.range too, would need (\d+) bytes", str(caught.value))
    advised, bytes_then = map(int, found.groups())
    assert compile_chain(advised).metadata.shared == bytes_then
    if advised + 1 < stages:
        with pytest.raises(errors.OutOfResources):
            compile_chain(advised + 1)


@pytest.mark.parametrize("m, k, tile", [(512, 256, "that tile"), (512, 512, "the tiles")])
def test_tiles_name_the_size_that_fits(m, k, tile):
    with pytest.raises(errors.OutOfResources) as caught:
        compile_with(1, m, k, warps=16)
    times, bytes_then = map(
        int, re.search(rf"make {tile} (\d+) times smaller: .* would need (\d+) bytes", str(caught.value)).groups()
    )
    fitting = (m // times, k) if tile == "that tile" else (m, k // times)
    assert compile_with(1, *fitting, warps=16).metadata.shared == bytes_then
