# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole matrix products of tl.dot in loops, and hints of such loops, against NumPy.

Small integers make every sum exact, whatever the order and the precision.
"""

import itertools
import zlib

import ml_dtypes
import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.compare import assert_same
from harness.devices import Assemble, Assembled
from harness.dot_products import RESULTS, STAGES, WARPS, assert_product, exact_product, with_products
from harness.element_types import NUMPY_TYPES, exact_values, name_of, random_values
from tilewright import errors

EMULATED = True


# ---------------------------------------------------------------------------
# Whole products
# ---------------------------------------------------------------------------


@tilewright.jit
def matmul_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    stride_cm,
    stride_cn,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP: tl.constexpr,
    ACCUMULATE: tl.constexpr,
):
    tiles_m, tiles_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    pid_m, pid_n = tl.swizzle2d(tl.program_id(0) // tiles_n, tl.program_id(0) % tiles_n, tiles_m, tiles_n, GROUP)
    rows = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + (rows % M)[:, None] * stride_am + inner[None, :] * stride_ak
    b_ptrs = b_ptr + inner[:, None] * stride_bk + (columns % N)[None, :] * stride_bn
    acc = tl.zeros(
        (BLOCK_M, BLOCK_N),
        tl.int32 if a_ptr.dtype.element_ty == tl.int8 else tl.float64 if a_ptr.dtype.element_ty == tl.float64 else tl.float32,
    )
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_ptrs, mask=inner[None, :] < K - k * BLOCK_K, other=0.0)
        b = tl.load(b_ptrs, mask=inner[:, None] < K - k * BLOCK_K, other=0.0)
        if ACCUMULATE:
            acc = tl.dot(a, b, acc)
        else:
            acc += tl.dot(a, b)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    mask = (rows[:, None] < M) & (columns[None, :] < N)
    c_ptrs = c_ptr + rows[:, None] * stride_cm + columns[None, :] * stride_cn
    tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=mask)


def strides(shape, column_major):
    return (1, shape[0]) if column_major else (shape[1], 1)


def run_matmul(device, a, b, result, layouts, blocks, accumulate=True, **options):
    """a @ b, each operand stored by rows or, where `layouts` says so, by columns."""
    (m, k), n = a.shape, b.shape[1]
    device = with_products(device, name_of(a.dtype))
    out = device.empty((m, n), NUMPY_TYPES[result])
    stored = [np.ascontiguousarray(x.T) if t else x for x, t in zip((a, b), layouts)]
    grid = (tilewright.cdiv(m, blocks[0]) * tilewright.cdiv(n, blocks[1]),)
    device.run(
        matmul_kernel,
        grid,
        device.array(stored[0]),
        device.array(stored[1]),
        out,
        m,
        n,
        k,
        *strides(a.shape, layouts[0]),
        *strides(b.shape, layouts[1]),
        n,
        1,
        *blocks,
        4,
        accumulate,
        **options,
    )
    return device.numpy(out)


@pytest.mark.parametrize("accumulate", [True, False])
@pytest.mark.parametrize("size", [(64, 64, 64), (127, 65, 33), (1, 200, 97), (192, 96, 256)], ids=str)
@pytest.mark.parametrize("name", ["float16", "float32", "int8"])
def test_matmul(device, name, size, accumulate):
    m, n, k = size
    a, b = exact_values(name, (m, k)), exact_values(name, (k, n), seed=1)
    actual = run_matmul(device, a, b, RESULTS[name], (False, False), (64, 32, 32), accumulate)
    assert_same(actual, exact_product(a, b, RESULTS[name]), signed_zeros=False)


@pytest.mark.parametrize("layouts", list(itertools.product([False, True], repeat=2)), ids=str)
@pytest.mark.parametrize("name", RESULTS)
def test_matmul_layouts(device, name, layouts):
    a, b = exact_values(name, (96, 80)), exact_values(name, (80, 112), seed=1)
    actual = run_matmul(device, a, b, RESULTS[name], layouts, (32, 64, 32))
    assert_same(actual, exact_product(a, b, RESULTS[name]), signed_zeros=False)


@pytest.mark.parametrize(
    "name, stored", [("float16", "float16"), ("bfloat16", "bfloat16"), ("float32", "float16"), ("float8e5", "float8e5")]
)
def test_matmul_stores_narrow(device, name, stored):
    a, b = random_values(name, (100, 300)), random_values(name, (300, 60), seed=1)
    actual = run_matmul(device, a, b, stored, (False, False), (64, 64, 32))
    epsilon = float(ml_dtypes.finfo(NUMPY_TYPES[stored]).eps)
    assert_product(actual, a, b, relative=max(epsilon, 2.0**-9))


# The sweep of shapes and launch options: on a GPU, and a sample of it assembled.
# The interpreter knows no options.
SWEEP_BLOCKS = [(16, 16, 64), (32, 64, 32), (64, 64, 32), (64, 128, 64), (128, 128, 64), (128, 256, 64), (256, 64, 32)]


def sweep_options(name, layouts, blocks):
    """A fifth of all combinations of warps and stages, another one for each test.

    Without those where a thread would hold more of the result than it has registers,
    and with one that surely fits.
    """
    offset = zlib.crc32(repr((name, layouts, blocks)).encode()) % 5
    pairs = [pair for i, pair in enumerate(itertools.product(WARPS, STAGES)) if (i + i // 5) % 5 == offset]
    words = blocks[0] * blocks[1] * NUMPY_TYPES[RESULTS[name]]().itemsize // 4
    surely = max(1, min(16, words // 32 // 64))
    return [pair for pair in pairs if words <= 256 * 32 * pair[0]] + [(surely, 1)]


def sums_per_thread(blocks, warps):
    return blocks[0] * blocks[1] // (32 * warps)


@pytest.mark.parametrize("layouts", list(itertools.product([False, True], repeat=2)), ids=str)
@pytest.mark.parametrize("name", RESULTS)
def test_matmul_sweep_assembles(name, layouts):
    assembled = 0
    for blocks in SWEEP_BLOCKS:
        size = (2 * blocks[0] + 8, blocks[1] + 24, 3 * blocks[2] + 16)
        a, b = np.zeros((size[0], size[2]), NUMPY_TYPES[name]), np.zeros((size[2], size[1]), NUMPY_TYPES[name])
        # Sums that do not fit the registers are spilled, and wgmma waits for each.
        options = [pair for pair in sweep_options(name, layouts, blocks) if sums_per_thread(blocks, pair[0]) < 256]
        index = zlib.crc32(repr((name, layouts, blocks)).encode())
        warps, stages = options[index // 5 % len(options)]
        targets = with_products(Assemble(), name).targets
        device = Assemble([targets[index // 64 % len(targets)]])
        try:
            run_matmul(device, a, b, RESULTS[name], layouts, blocks, num_warps=warps, num_stages=stages)
        except Assembled:
            assembled += 1
        except errors.OutOfResources as problem:
            assert "would need" in str(problem)
    assert assembled > len(SWEEP_BLOCKS) // 2


@pytest.mark.gpu
@pytest.mark.parametrize("blocks", SWEEP_BLOCKS, ids=str)
@pytest.mark.parametrize("layouts", list(itertools.product([False, True], repeat=2)), ids=str)
@pytest.mark.parametrize("name", RESULTS)
def test_matmul_sweep(gpu, name, layouts, blocks):
    size = (2 * blocks[0] + 8, blocks[1] + 24, 3 * blocks[2] + 16)
    a, b = exact_values(name, (size[0], size[2])), exact_values(name, (size[2], size[1]), seed=1)
    expected = exact_product(a, b, RESULTS[name])
    ran = 0
    for warps, stages in sweep_options(name, layouts, blocks):
        if sums_per_thread(blocks, warps) >= 512:
            continue  # spilled whatever anybody does, and seconds to assemble
        try:
            actual = run_matmul(gpu, a, b, RESULTS[name], layouts, blocks, num_warps=warps, num_stages=stages)
        except errors.OutOfResources:
            continue  # many stages of large tiles
        assert_same(actual, expected, signed_zeros=False)
        ran += 1
    assert ran


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["float16", "float32", "float8e5"])
def test_matmul_repeats(gpu, name):
    """Equal bits from equal inputs, however the threads are scheduled."""
    a, b = random_values(name, (512, 1024)), random_values(name, (1024, 256), seed=1)
    results = [run_matmul(gpu, a, b, "float32", (False, False), (128, 128, 32), num_warps=8, num_stages=4) for _ in range(5)]
    for other in results[1:]:
        assert_same(other, results[0])


# ---------------------------------------------------------------------------
# Loop hints
# ---------------------------------------------------------------------------


@tilewright.jit
def hinted_loop_kernel(
    a_ptr,
    b_ptr,
    out_ptr,
    K,
    N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    STAGES: tl.constexpr,
    UNROLL: tl.constexpr,
    SINGLE: tl.constexpr,
    FLATTEN: tl.constexpr,
    SPECIALIZE: tl.constexpr,
):
    n, k = tl.arange(0, N), tl.arange(0, BLOCK_K)
    acc = tl.zeros((N, N), tl.float32)
    for start in tl.range(
        0,
        K,
        BLOCK_K,
        num_stages=STAGES,
        loop_unroll_factor=UNROLL,
        disallow_acc_multi_buffer=SINGLE,
        flatten=FLATTEN,
        warp_specialize=SPECIALIZE,
        disable_licm=SINGLE,
    ):
        a = tl.load(a_ptr + n[:, None] * K + (start + k)[None, :])
        b = tl.load(b_ptr + (start + k)[:, None] * N + n[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(out_ptr + n[:, None] * N + n[None, :], acc)


@pytest.mark.parametrize(
    "hints",
    [(1, 1, False, False, False), (3, 2, True, False, False), (4, 4, False, True, False), (2, 1, True, True, True)],
    ids=str,
)
def test_loop_hints(device, hints):
    a, b = exact_values("float16", (64, 320)), exact_values("float16", (320, 64), seed=1)
    out = device.empty((64, 64), np.float32)
    device.run(hinted_loop_kernel, (1,), device.array(a), device.array(b), out, 320, 64, 32, *hints)
    assert_same(device.numpy(out), exact_product(a, b, "float32"), signed_zeros=False)


@pytest.mark.parametrize(
    "inner, stages, slots",
    [
        (128, 3, 2),  # of 40 KiB each: with a third one a block has the multiprocessor to itself
        (64, 3, 3),  # of 20 KiB each: two blocks fit in any case
        (128, 2, 2),  # the fewest
        (256, 3, 2),  # of 80 KiB each: a third does not fit
    ],
)
def test_a_ring_leaves_room_for_a_second_block(inner, stages, slots):
    # 32 rows are too few for wgmma.
    pointers = {"a_ptr": "*fp16", "b_ptr": "*fp16", "c_ptr": "*fp32"}
    extents = dict.fromkeys(["M", "N", "K", "stride_am", "stride_bn", "stride_cm"], "i32")
    constants = {"stride_ak": 1, "stride_bk": 1, "stride_cn": 1, "BLOCK_M": 32, "BLOCK_N": 128, "BLOCK_K": inner}
    source = tilewright.ASTSource(
        matmul_kernel, pointers | extents, constants | {"GROUP": 8, "ACCUMULATE": True}, dict.fromkeys(pointers | extents, 16)
    )
    remarks = tilewright.compile(source, "sm_90a", {"num_warps": 4, "num_stages": stages}).remarks
    assert any(f"pipeline: applied, stages={stages}, slots={slots}" in str(remark) for remark in remarks), remarks


@pytest.mark.parametrize("k", [40, 128, 256, 384, 600])
def test_slots_that_are_filled_in_the_iteration_that_uses_them(device, k):
    a, b = exact_values("float16", (32, k)), exact_values("float16", (k, 128), seed=1)
    actual = run_matmul(device, a, b, "float32", (False, True), (32, 128, 128), num_warps=4, num_stages=3)
    assert_same(actual, exact_product(a, b, "float32"), signed_zeros=False)
