# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of operands that are computed from what a loop loads: quantised weights, transposes, biases."""

import re

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.assemble import assemble_for
from harness.compare import assert_same
from harness.element_types import exact_values

EMULATED = True
DEPTHS = [0, 32, 64, 160]


@tilewright.jit
def quantised_kernel(
    x_ptr,
    w_ptr,
    out_ptr,
    M,
    N,
    K,
    M_BLOCK: tl.constexpr,
    N_BLOCK: tl.constexpr,
    K_BLOCK: tl.constexpr,
    W_IS_NK: tl.constexpr,
    X_OTHER: tl.constexpr,
    OTHER: tl.constexpr,
):
    # Past the end of K each operand is what its `other` says.
    m = tl.arange(0, M_BLOCK)
    n = tl.program_id(0) * N_BLOCK + tl.arange(0, N_BLOCK)
    k = tl.arange(0, K_BLOCK)
    total = tl.zeros((M_BLOCK, N_BLOCK), tl.float32)
    for start in range(0, K, K_BLOCK):
        inside = start + k < K
        x = tl.load(x_ptr + m[:, None] * K + (start + k)[None, :], mask=(m[:, None] < M) & inside[None, :], other=X_OTHER)
        if W_IS_NK:
            w = tl.load(w_ptr + n[:, None] * K + (start + k)[None, :], mask=inside[None, :], other=OTHER).to(tl.float16).T
        else:
            w = tl.load(w_ptr + (start + k)[:, None] * N + n[None, :], mask=inside[:, None], other=OTHER).to(tl.float16)
        total = tl.dot(x, w * 0.5, total)
    tl.store(out_ptr + m[:, None] * N + n[None, :], total, mask=m[:, None] < M)


def run_quantised(device, m, block, depth, stages, transposed, x_other=0.0, other=3):
    columns = 64
    # Of no depth nothing is read, but arrays are not empty.
    x = exact_values("float16", (m, max(depth, 1)))
    w = exact_values("int8", (max(depth, 1), columns), seed=1)
    out = device.empty((m, columns), np.float32)
    given = np.ascontiguousarray(w.T) if transposed else w
    device.run(
        quantised_kernel,
        (columns // block[1],),
        device.array(x),
        device.array(given),
        out,
        m,
        columns,
        depth,
        *block,
        transposed,
        x_other,
        other,
        num_warps=4,
        num_stages=stages,
    )
    expected = x[:, :depth].astype(np.float64) @ (0.5 * w[:depth].astype(np.float64))
    expected += -depth % block[2] * x_other * 0.5 * other
    assert_same(device.numpy(out), expected.astype(np.float32), signed_zeros=False)


# By mma with 16 rows, by wgmma, where there is such a thing, with 64.
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("stages", [1, 2, 4])
@pytest.mark.parametrize("rows", [16, 64])
def test_quantised_weights(device, rows, stages, depth):
    run_quantised(device, rows, (rows, 64, 32), depth, stages, transposed=False)


@pytest.mark.parametrize("depth", [32, 48, 160])
@pytest.mark.parametrize("rows", [16, 64])
def test_transposed_weights(device, rows, depth):
    run_quantised(device, rows, (rows, 32, 32), depth, 3, transposed=True)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("rows", [16, 64])
def test_other_than_zero(device, rows, transposed):
    """cp.async fills with zeros: what is computed from must hold `other` all the same."""
    run_quantised(device, rows, (rows, 64, 32), 80, 3, transposed, x_other=2.0)


@tilewright.jit
def packed_kernel(x_ptr, w_ptr, scale_ptr, out_ptr, N, K, M_BLOCK: tl.constexpr, N_BLOCK: tl.constexpr, K_BLOCK: tl.constexpr):
    # Eight 4-bit numbers per word, along K: eight rows of a tile have one address.
    m = tl.arange(0, M_BLOCK)
    n = tl.arange(0, N_BLOCK)
    k = tl.arange(0, K_BLOCK)
    w_ptrs = w_ptr + (k // 8)[:, None] * N + n[None, :]
    total = tl.zeros((M_BLOCK, N_BLOCK), tl.float32)
    for start in range(0, K, K_BLOCK):
        x = tl.load(x_ptr + m[:, None] * K + (start + k)[None, :])
        w = (tl.load(w_ptrs) >> (k % 8 * 4)[:, None]) & 15
        scale = tl.load(scale_ptr + start // K_BLOCK * N + n)
        total = tl.dot(x, (w - 8).to(tl.float16) * scale[None, :], total)
        w_ptrs += K_BLOCK // 8 * N
    tl.store(out_ptr + m[:, None] * N + n[None, :], total)


@pytest.mark.parametrize("trips", [0, 1, 2, 5])
@pytest.mark.parametrize("stages", [1, 2, 4])
@pytest.mark.parametrize("rows", [16, 64])
def test_packed_weights(device, rows, stages, trips):
    depth, columns = 32 * trips, 64
    x = exact_values("float16", (rows, max(depth, 1)))
    w = np.random.default_rng(0).integers(-(2**31), 2**31, (max(depth // 8, 1), columns)).astype(np.int32)
    scale = exact_values("float16", (max(trips, 1), columns), seed=1)
    out = device.empty((rows, columns), np.float32)
    device.run(
        packed_kernel,
        (1,),
        device.array(x),
        device.array(w),
        device.array(scale),
        out,
        columns,
        depth,
        rows,
        columns,
        32,
        num_warps=4,
        num_stages=stages,
    )
    numbers = ((w[:, None, :] >> (4 * np.arange(8))[None, :, None]) & 15).reshape(-1, columns)[:depth] - 8
    expected = x[:, :depth].astype(np.float64) @ (numbers * scale.astype(np.float64).repeat(32, axis=0)[:depth])
    assert_same(device.numpy(out), expected.astype(np.float32), signed_zeros=False)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_packed_weights_are_loaded_once_and_ahead(target):
    x, w, scale = np.zeros((64, 64), np.float16), np.zeros((8, 64), np.int32), np.zeros((2, 64), np.float16)
    arguments = [x, w, scale, np.zeros((64, 64), np.float32), 64, 64, 64, 64, 32]
    made = assemble_for(packed_kernel, target, arguments, {"num_warps": 4, "num_stages": 3})
    # 4 x 64 words are two for each of 128 threads: before the loop for two iterations, and in it.
    assert len(re.findall(r"cp\.async\.ca\.shared\.global \[.*\], \[.*\], 8;", made.asm["ptx"])) == 3


@tilewright.jit
def two_computed_kernel(x_ptr, w_ptr, bias_ptr, out_ptr, K, BLOCK: tl.constexpr, K_BLOCK: tl.constexpr):
    # Neither operand is what was loaded; the bias is as long as a tile.
    i = tl.arange(0, BLOCK)
    k = tl.arange(0, K_BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in tl.range(0, K, K_BLOCK, num_stages=3):
        x = tl.load(x_ptr + i[:, None] * K + (start + k)[None, :])
        bias = tl.load(bias_ptr + i[:, None] * K + (start + k)[None, :])
        w = tl.load(w_ptr + (start + k)[:, None] * BLOCK + i[None, :])
        total = tl.dot(x + bias, tl.abs(w), total)
    tl.store(out_ptr + i[:, None] * BLOCK + i[None, :], total)


@pytest.mark.parametrize("depth", DEPTHS)
def test_two_computed_operands(device, depth):
    x, bias = (exact_values("float16", (64, max(depth, 1)), seed=s) for s in (0, 1))
    w = exact_values("float16", (max(depth, 1), 64), seed=2)
    out = device.empty((64, 64), np.float32)
    device.run(two_computed_kernel, (1,), device.array(x), device.array(w), device.array(bias), out, depth, 64, 32)
    expected = (x[:, :depth].astype(np.float64) + bias[:, :depth]) @ np.abs(w[:depth].astype(np.float64))
    assert_same(device.numpy(out), expected.astype(np.float32), signed_zeros=False)


@tilewright.jit
def described_kernel(x_desc, w_ptr, out_ptr, K, BLOCK: tl.constexpr, K_BLOCK: tl.constexpr):
    # One operand by descriptor, the other one computed.
    i = tl.arange(0, BLOCK)
    k = tl.arange(0, K_BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, K, K_BLOCK):
        w = tl.load(w_ptr + (start + k)[:, None] * BLOCK + i[None, :]).to(tl.float16)
        total = tl.dot(x_desc.load([0, start]), w, total)
    tl.store(out_ptr + i[:, None] * BLOCK + i[None, :], total)


@pytest.mark.parametrize("depth", DEPTHS[1:])
def test_beside_a_descriptor(device, depth):
    x, w = exact_values("float16", (64, depth)), exact_values("int8", (depth, 64), seed=1)
    out = device.empty((64, 64), np.float32)
    described = device.descriptor(device.array(x), [64, 32])
    device.run(described_kernel, (1,), described, device.array(w), out, depth, 64, 32, num_warps=4, num_stages=3)
    assert_same(device.numpy(out), (x.astype(np.float64) @ w).astype(np.float32), signed_zeros=False)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("rows", [16, 64])
def test_weights_are_loaded_ahead(target, rows):
    """Both operands come through rings; by mma the weights are read as the product takes them."""
    x, w, out = np.zeros((rows, 64), np.float16), np.zeros((64, 64), np.int8), np.zeros((rows, 64), np.float32)
    arguments = [x, w, out, rows, 64, 64, rows, 64, 32, False, 0.0, 0]
    made = assemble_for(quantised_kernel, target, arguments, {"num_warps": 4, "num_stages": 3})
    assert "pipeline: applied" in " ".join(made.remarks) and "loads=2" in " ".join(made.remarks)
    in_loop = made.asm["ptx"].split("cp.async.wait_group")[1]
    assert "ld.global" not in in_loop


@tilewright.jit
def weighted_steps_kernel(
    x_ptr, y_ptr, weight_ptr, out_ptr, K, M_BLOCK: tl.constexpr, N_BLOCK: tl.constexpr, K_BLOCK: tl.constexpr
):
    m, n, k = tl.arange(0, M_BLOCK), tl.arange(0, N_BLOCK), tl.arange(0, K_BLOCK)
    total = tl.zeros((M_BLOCK, N_BLOCK), tl.float32)
    weights = weight_ptr + k
    for start in range(0, K, K_BLOCK):
        inside = start + k < K
        x = tl.load(x_ptr + m[:, None] * K + (start + k)[None, :], mask=inside[None, :], other=0.0)
        y = tl.load(y_ptr + (start + k)[:, None] * N_BLOCK + n[None, :], mask=inside[:, None], other=0.0)
        weight = tl.load(weights, mask=inside, other=1.0)
        total = tl.dot(x, y * weight[:, None], total)
        weights += K_BLOCK
    tl.store(out_ptr + m[:, None] * N_BLOCK + n[None, :], total)


@pytest.mark.parametrize("depth", [1, 32, 64, 200])
@pytest.mark.parametrize("stages", [1, 2, 3, 5])
@pytest.mark.parametrize("warps", [2, 4])
def test_a_weight_per_step(device, warps, stages, depth):
    x, y = exact_values("float16", (64, depth)), exact_values("float16", (depth, 32), seed=1)
    weight = exact_values("float16", depth, seed=2)
    out = device.empty((64, 32), np.float32)
    device.run(
        weighted_steps_kernel,
        (1,),
        device.array(x),
        device.array(y),
        device.array(weight),
        out,
        depth,
        64,
        32,
        32,
        num_warps=warps,
        num_stages=stages,
    )
    expected = x.astype(np.float64) @ (y.astype(np.float64) * weight.astype(np.float64)[:, None])
    assert_same(device.numpy(out), expected.astype(np.float32), signed_zeros=False)


def test_few_words_are_loaded_as_far_ahead_as_the_copies():
    x, y = np.zeros((64, 256), np.float16), np.zeros((256, 32), np.float16)
    arguments = [x, y, np.zeros(256, np.float16), np.zeros((64, 32), np.float32), 256, 64, 32, 32]
    remarks = " ".join(assemble_for(weighted_steps_kernel, "sm_90a", arguments, {"num_warps": 2, "num_stages": 5}).remarks)
    assert re.search("early-load: applied, iterations=4, words=1 ", remarks)


def test_a_loop_of_one_large_accumulator_has_registers_for_loads_ahead():
    """128 carried words, which are the product's: nothing else of that size is alive."""
    x, y = np.zeros((128, 256), np.float16), np.zeros((256, 128), np.float16)
    arguments = [x, y, np.zeros(256, np.float16), np.zeros((128, 128), np.float32), 256, 128, 128, 32]
    made = assemble_for(weighted_steps_kernel, "sm_90a", arguments, {"num_warps": 4, "num_stages": 3})
    assert re.search("early-load: applied, iterations=2, words=1 ", " ".join(made.remarks))
    assert made.n_spills == 0


@tilewright.jit
def gated_kernel(k_ptr, v_ptr, g_ptr, out_ptr, T, K: tl.constexpr, V: tl.constexpr, BLOCK: tl.constexpr):
    # A chunk of keys, each scaled by a gate less that of the chunk's last row: three loads make one operand.
    i = tl.arange(0, K)
    j = tl.arange(0, V)
    t = tl.arange(0, BLOCK)
    total = tl.zeros((K, V), tl.float32)
    for start in range(0, T, BLOCK):
        rows = start + t
        k = tl.load(k_ptr + i[:, None] + rows[None, :] * K, mask=rows[None, :] < T, other=0.0)
        v = tl.load(v_ptr + rows[:, None] * V + j[None, :], mask=rows[:, None] < T, other=0.0)
        g = tl.load(g_ptr + i[:, None] + rows[None, :] * K, mask=rows[None, :] < T, other=0.0)
        last = tl.load(g_ptr + (min(start + BLOCK, T) - 1) * K + i)
        total *= 0.5
        total += tl.dot((k * (last[:, None] - g)).to(tl.float16), v)
    tl.store(out_ptr + i[:, None] * V + j[None, :], total)


@pytest.mark.parametrize("rows", [32, 80, 128])
@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("warps", [1, 2, 4])
def test_gated_operand(device, warps, stages, rows):
    k, v = exact_values("float16", (rows, 32)), exact_values("float16", (rows, 32), seed=1)
    g = exact_values("float32", (rows, 32), seed=2)
    out = device.empty((32, 32), np.float32)
    given = (device.array(k), device.array(v), device.array(g), out)
    device.run(gated_kernel, (1,), *given, rows, 32, 32, 32, num_warps=warps, num_stages=stages)
    expected = np.zeros((32, 32), np.float64)
    for start in range(0, rows, 32):
        part = slice(start, min(start + 32, rows))
        gated = k[part].astype(np.float64) * (g[part][-1:] - g[part])
        expected = 0.5 * expected + gated.astype(np.float16).astype(np.float64).T @ v[part].astype(np.float64)
    assert_same(device.numpy(out), expected.astype(np.float32), signed_zeros=False)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_gated_operand_is_read_as_the_product_takes_it(target):
    halves, gates = np.zeros((64, 32), np.float16), np.zeros((64, 32), np.float32)
    arguments = [halves, halves, gates, np.zeros((32, 32), np.float32), 64, 32, 32, 32]
    made = assemble_for(gated_kernel, target, arguments, {"num_warps": 1, "num_stages": 2})
    assert "conversion-raised: applied" in " ".join(made.remarks)
    before, _, product = made.asm["ptx"].partition("mma.sync")
    # Only the row's numbers go from lane to lane.
    assert before.rpartition("cp.async.wait_group")[2].count("shfl") <= 4 and "shfl" not in product.partition("bra")[0]


@tilewright.jit
def scaled_left_kernel(
    x, w_ptr, g_ptr, out_ptr, K, M: tl.constexpr, N: tl.constexpr, BLOCK: tl.constexpr, FORM: tl.constexpr, WIDE: tl.constexpr
):
    # Columns of the left operand are scaled by what is loaded for them. It lies with either dimension fastest.
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BLOCK)
    total = tl.zeros((M, N), tl.float32)
    for start in range(0, K, BLOCK):
        inside = start + k < K
        if FORM == "rows":
            a = tl.load(x + m[:, None] * K + (start + k)[None, :], mask=inside[None, :], other=0.0)
        elif FORM == "columns":
            a = tl.load(x + m[:, None] + (start + k)[None, :] * M, mask=inside[None, :], other=0.0)
        else:
            a = x.load([0, start])
        w = tl.load(w_ptr + (start + k)[:, None] * N + n[None, :], mask=inside[:, None], other=0.0)
        a = a * tl.load(g_ptr + start + k, mask=inside, other=0.0)[None, :]
        if WIDE:
            total += tl.dot(a, w.to(tl.float32))
        else:
            total = tl.dot(a.to(tl.float16), w, total)
    tl.store(out_ptr + m[:, None] * N + n[None, :], total)


@pytest.mark.parametrize("depth", [0, 32, 96, 160])
@pytest.mark.parametrize("warps, rows, stages", [(4, 64, 1), (4, 64, 3), (4, 128, 2), (8, 128, 4), (8, 64, 3)])
@pytest.mark.parametrize("form", ["rows", "columns", "descriptor"])
@pytest.mark.parametrize("wide", [False, True], ids=["f16", "tf32"])
def test_left_operand_of_wgmma(device, wide, form, warps, rows, stages, depth):
    columns, block = 32, 32
    x, w = exact_values("float16", (rows, max(depth, 8))), exact_values("float16", (max(depth, 8), columns), seed=1)
    g, out = exact_values("float32", (max(depth, 8),), seed=2), device.empty((rows, columns), np.float32)
    given = np.ascontiguousarray(x.T) if form == "columns" else x
    given = device.descriptor(given, [rows, block]) if form == "descriptor" else device.array(given)
    options = {"num_warps": warps, "num_stages": stages}
    arguments = (given, device.array(w), device.array(g), out, depth, rows, columns, block, form, wide)
    device.run(scaled_left_kernel, (1,), *arguments, **options)
    expected = (x[:, :depth].astype(np.float64) * g[:depth]) @ w[:depth]
    assert_same(device.numpy(out), expected.astype(np.float32), signed_zeros=False)


# Numbers of 32 bits along K are stored as they are: halfs would be read one by one.
@pytest.mark.parametrize(
    "form, wide, stays", [("rows", False, True), ("columns", False, True), ("columns", True, True), ("rows", True, False)]
)
def test_left_operand_of_wgmma_stays_in_registers(form, wide, stays):
    halves, numbers = np.zeros((64, 64), np.float16), np.zeros((64, 64), np.float32)
    arguments = [halves, halves, numbers, numbers, 64, 64, 32, 32, form, wide]
    made = assemble_for(scaled_left_kernel, "sm_90a", arguments, {"num_warps": 4, "num_stages": 3})
    product = re.search(r"wgmma\.mma_async[^;]*;", made.asm["ptx"])[0]
    # The first operand after the results is a list of registers, not the descriptor of a tile in shared memory.
    assert bool(re.search(r"\},\s*\{", product)) == stays, product
    assert ("ldmatrix" in made.asm["ptx"]) == stays


def test_all_operands_come_fewer_iterations_ahead_where_memory_is_short():
    """24 KB and a row an iteration beside 48 KB of converted operands: seven slots of nine, rather than nine of one."""
    x, w, g = np.zeros((64, 1024), np.float16), np.zeros((1024, 128), np.float16), np.zeros(1024, np.float32)
    arguments = [x, w, g, np.zeros((64, 128), np.float32), 1024, 64, 128, 64, "rows", True]
    made = assemble_for(scaled_left_kernel, "sm_90a", arguments, {"num_warps": 4, "num_stages": 9})
    remarks = " ".join(made.remarks)
    assert "too little shared memory" not in remarks
    assert re.search(r"pipeline: applied, stages=7, slots=7, loads=3", remarks), remarks
