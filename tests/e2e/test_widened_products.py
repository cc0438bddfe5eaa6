# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of tiles that were widened to float32, and loops with products that load a little besides."""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.assemble import assemble_for
from harness.compare import assert_same
from harness.element_types import exact_values

EMULATED = True


@tilewright.jit
def widened_kernel(a_ptr, b_ptr, out_ptr, kept_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, FORM: tl.constexpr):
    """FORM: "plain", "transposed" (b is N x K in memory), "selected" (odd k are left out), "kept" (a is stored, too)."""
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(a_ptr + m[:, None] * K + k[None, :]).to(tl.float32)
    if FORM == "transposed":
        b = tl.load(b_ptr + n[:, None] * K + k[None, :]).to(tl.float32).T
    else:
        b = tl.load(b_ptr + k[:, None] * N + n[None, :]).to(tl.float32)
    if FORM == "selected":
        b = tl.where(k[:, None] % 2 == 0, b, 0.0)
    tl.store(out_ptr + m[:, None] * N + n[None, :], tl.dot(a, b))
    if FORM == "kept":
        tl.store(kept_ptr + m[:, None] * K + k[None, :], a + 1)


PAIRS = [
    ("float16", "float16"),
    ("bfloat16", "bfloat16"),
    ("bfloat16", "int8"),
    ("uint8", "float16"),
    ("int8", "int8"),
    ("float8e5", "float16"),
    ("float8e4nv", "int8"),
    ("float16", "bfloat16"),
    ("float8e4nv", "bfloat16"),
    ("float16", "float32"),
    ("int32", "float16"),
]


@pytest.mark.parametrize("form", ["plain", "transposed", "selected", "kept"])
@pytest.mark.parametrize("rows", [16, 64])
@pytest.mark.parametrize("left, right", PAIRS, ids="-".join)
def test_widened_operands(device, left, right, rows, form):
    columns, depth = 32, 32
    a, b = exact_values(left, (rows, depth)), exact_values(right, (depth, columns), seed=1)
    out, kept = device.empty((rows, columns), np.float32), device.empty((rows, depth), np.float32)
    given = np.ascontiguousarray(b.T) if form == "transposed" else b
    device.run(
        widened_kernel, (1,), device.array(a), device.array(given), out, kept, rows, columns, depth, FORM=form, num_warps=4
    )
    a, b = a.astype(np.float32), b.astype(np.float32)
    if form == "selected":
        b[1::2] = 0
    assert_same(device.numpy(out), a @ b, signed_zeros=False)
    if form == "kept":
        assert_same(device.numpy(kept), a + 1)


@pytest.mark.parametrize("target, instruction", [("sm_80", "mma.sync"), ("sm_90a", "wgmma.mma_async")])
@pytest.mark.parametrize(
    "left, right, kind",
    [("float16", "float16", ".f16.f16"), ("bfloat16", "bfloat16", ".bf16.bf16"), ("float16", "bfloat16", ".tf32.tf32")],
)
def test_which_products_take_halves(left, right, kind, target, instruction):
    out = np.zeros((64, 32), np.float32)
    arguments = [exact_values(left, (64, 32)), exact_values(right, (32, 32)), out, out, 64, 32, 32]
    made = assemble_for(widened_kernel, target, [*arguments, "plain"], {"num_warps": 4})
    products = [line for line in made.asm["ptx"].splitlines() if instruction in line]
    assert products and all(kind in line for line in products), products


@tilewright.jit
def causal_linear_kernel(q_ptr, k_ptr, v_ptr, out_ptr, n, trips, D: tl.constexpr, E: tl.constexpr, BLOCK: tl.constexpr):
    """Queries and values are multiplied both as they are and as float32, beside a state in float32."""
    d, e, rows = tl.arange(0, D), tl.arange(0, E), tl.arange(0, BLOCK)
    below = rows[:, None] >= rows[None, :]
    state = tl.zeros((D, E), tl.float32)
    for _ in range(trips):
        inside = rows < n
        q = tl.load(q_ptr + rows[:, None] * D + d[None, :], mask=inside[:, None], other=0.0).to(tl.float32)
        k = tl.load(k_ptr + rows[None, :] * D + d[:, None], mask=inside[None, :], other=0.0).to(tl.float32)
        v = tl.load(v_ptr + rows[:, None] * E + e[None, :], mask=inside[:, None], other=0.0).to(tl.float32)
        scores = tl.where(below, tl.dot(q, k), 0)
        out = tl.dot(scores, v) + tl.dot(q, state)
        tl.store(out_ptr + rows[:, None] * E + e[None, :], out, mask=inside[:, None])
        state += tl.dot(k, v)
        rows += BLOCK


@pytest.mark.parametrize("trips", [0, 1, 2, 5])
@pytest.mark.parametrize("stages", [1, 2, 3, 4])
@pytest.mark.parametrize("block", [16, 64])
def test_tiles_used_narrow_and_wide(device, block, stages, trips):
    d = e = 32
    n = max(block * trips - 3, 0)
    # Sums of ten values that are one in magnitude are exact in TF32 as well.
    shape = (max(n, 1), d)
    q, k, v = (exact_values("bfloat16", shape, seed, low=-1, high=1) for seed in range(3))
    k[:, 2:] = 0
    out = device.array(np.full((max(n, 1), e), 7, np.float32))
    device.run(
        causal_linear_kernel,
        (1,),
        *(device.array(x) for x in (q, k, v)),
        out,
        n,
        trips,
        d,
        e,
        block,
        num_warps=4,
        num_stages=stages,
    )
    q, k, v = (x.astype(np.float32)[:n] for x in (q, k, v))
    expected = np.full((max(n, 1), e), 7, np.float32)
    if n:
        expected[:n] = np.tril(q @ k.T) @ v
    assert_same(device.numpy(out), expected, signed_zeros=False)


@tilewright.jit
def scaled_kernel(
    a_ptr,
    b_ptr,
    row_scales,
    block_scales,
    out_ptr,
    K,
    M: tl.constexpr,
    N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    IN_PLACE: tl.constexpr,
):
    """A scale for each row, and one for each step, neither of which the product needs."""
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BLOCK_K)
    total = tl.zeros((M, N), tl.float32)
    for step in range(tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_ptr + m[:, None] * K + (step * BLOCK_K + k)[None, :])
        b = tl.load(b_ptr + (step * BLOCK_K + k)[:, None] * N + n[None, :])
        rows = tl.load(row_scales + step * M + m)
        total += tl.dot(a, b) * rows[:, None] * tl.load(block_scales + step)
        if IN_PLACE:
            # What the next iteration loads: nothing may be loaded before.
            tl.store(block_scales + step + 1, tl.load(block_scales + step) + 1)
    tl.store(out_ptr + m[:, None] * N + n[None, :], total)


@pytest.mark.parametrize("trips", [0, 1, 2, 3, 6])
@pytest.mark.parametrize("stages", [1, 2, 3, 4])
@pytest.mark.parametrize("rows, warps", [(1, 4), (16, 2), (64, 4)])
@pytest.mark.parametrize("in_place", [False, True], ids=["given", "in_place"])
def test_scales_beside_products(device, rows, warps, stages, trips, in_place):
    columns, step = 32, 32
    depth = trips * step
    a = exact_values("float16", (rows, max(depth, 1)))
    b = exact_values("float16", (max(depth, 1), columns), seed=1)
    scales = exact_values("float32", (max(trips, 1), rows), seed=2)
    steps = np.arange(1, trips + 2, dtype=np.float32)
    given = steps.copy()
    if in_place:
        given[1:] = 0
    out = device.empty((rows, columns), np.float32)
    device.run(
        scaled_kernel,
        (1,),
        device.array(a),
        device.array(b),
        device.array(scales),
        device.array(given),
        out,
        depth,
        rows,
        columns,
        step,
        IN_PLACE=in_place,
        num_warps=warps,
        num_stages=stages,
    )
    expected = np.zeros((rows, columns), np.float32)
    for i in range(trips):
        part = slice(i * step, (i + 1) * step)
        product = a[:, :depth].astype(np.float32)[:, part] @ b.astype(np.float32)[part]
        expected += product * scales[i][:, None] * steps[i]
    assert_same(device.numpy(out), expected, signed_zeros=False)


def test_scales_of_rows_are_loaded_ahead():
    arguments = [exact_values("float16", (16, 256)), exact_values("float16", (256, 32)), np.zeros((8, 16), np.float32)]
    arguments += [np.zeros(9, np.float32), np.zeros((16, 32), np.float32), 256, 16, 32, 32]
    made = assemble_for(scaled_kernel, "sm_90a", [*arguments, False], {"num_warps": 2, "num_stages": 3})
    early = [remark for remark in made.remarks if "early-load: applied" in remark]
    assert len(early) == 1, made.remarks
