# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tl.dot on single tiles and in whole matrix products, against NumPy.

Small integers make every sum exact, whatever the order and the precision: results
must then be equal bit for bit. Random values have a bound on the error that grows
with the sum of the magnitudes, so that a missing term shows.
"""

import itertools
import zlib

import ml_dtypes
import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.assemble import assemble_for
from harness.compare import assert_same, describe
from harness.devices import Assemble, Assembled
from harness.types import NUMPY_TYPES, exact_values, name_of, random_values, special_values
from tilewright import errors

EMULATED = True

# Operand types with the type of the result.
RESULTS = {"int8": "int32", "float16": "float32", "bfloat16": "float32", "float32": "float32", "float64": "float64",
           "float8e4nv": "float32", "float8e5": "float32"}  # fmt: skip
WARPS, STAGES = [1, 2, 4, 8, 16], [1, 2, 3, 4, 5]


def assert_product(actual, a, b, acc=0.0, relative=0.0):
    """Near a @ b + acc: `relative` of each product, and f32 sums in any order."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    exact = a @ b + acc
    magnitude = np.abs(a) @ np.abs(b) + np.abs(acc)
    epsilon = float(ml_dtypes.finfo(actual.dtype).eps)
    sums = np.float64(np.finfo(np.float32).eps) if actual.dtype != np.float64 else epsilon
    bound = (relative + sums * (a.shape[-1] + 1)) * magnitude + epsilon * np.abs(exact)
    wrong = ~(np.abs(actual.astype(np.float64) - exact) <= bound)
    assert not wrong.any(), describe(actual, exact, wrong)


def exact_product(a, b, result):
    return (a.astype(np.float64) @ b.astype(np.float64)).astype(NUMPY_TYPES[result])


# ---------------------------------------------------------------------------
# One tile
# ---------------------------------------------------------------------------


@tilewright.jit
def tile_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    out_ptr,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    TRANSPOSE_A: tl.constexpr,
    TRANSPOSE_B: tl.constexpr,
    PRECISION: tl.constexpr,
    HAS_ACC: tl.constexpr,
):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    if TRANSPOSE_A:
        a = tl.trans(tl.load(a_ptr + k[:, None] * M + m[None, :]))
    else:
        a = tl.load(a_ptr + m[:, None] * K + k[None, :])
    if TRANSPOSE_B:
        b = tl.load(b_ptr + n[:, None] * K + k[None, :]).T
    else:
        b = tl.load(b_ptr + k[:, None] * N + n[None, :])
    tile = m[:, None] * N + n[None, :]
    if HAS_ACC:
        result = tl.dot(a, b, tl.load(c_ptr + tile), input_precision=PRECISION)
    else:
        result = tl.dot(a, b, input_precision=PRECISION)
    tl.static_assert(result.dtype == out_ptr.dtype.element_ty)
    tl.store(out_ptr + tile, result)


def with_products(device, name):
    """`device` without the GPUs that do not multiply `name` (E0109: tests/diag/test_dot_errors.py)."""
    if name != "float8e4nv":
        return device
    if isinstance(device, Assemble):
        return Assemble([target for target in device.targets if target != "sm_80"])
    if getattr(device, "target", "") == "sm_80":
        pytest.skip("sm_80 has no fp8 units")
    return device


def run_tile(device, a, b, acc=None, result="float32", transposes=(False, False), precision=None, **options):
    (m, k), n = a.shape, b.shape[1]
    device = with_products(device, name_of(a.dtype))
    out = device.empty((m, n), NUMPY_TYPES[result])
    stored = [np.ascontiguousarray(x.T) if t else x for x, t in zip((a, b), transposes)]
    c = device.array(acc) if acc is not None else out
    device.run(
        tile_kernel,
        (1,),
        device.array(stored[0]),
        device.array(stored[1]),
        c,
        out,
        m,
        n,
        k,
        *transposes,
        precision,
        acc is not None,
        **options,
    )
    return device.numpy(out)


TILES = [(16, 16, 32), (64, 64, 32), (128, 64, 64), (32, 128, 64), (64, 256, 32), (128, 128, 128)]
PADDED = [(1, 1, 32), (1, 64, 32), (16, 1, 64), (4, 8, 128), (2, 256, 64), (8, 16, 32)]


@pytest.mark.parametrize("transposes", list(itertools.product([False, True], repeat=2)), ids=str)
@pytest.mark.parametrize("name", RESULTS)
def test_types_and_transposes(device, name, transposes):
    a, b = exact_values(name, (64, 64)), exact_values(name, (64, 32), seed=1)
    actual = run_tile(device, a, b, result=RESULTS[name], transposes=transposes)
    assert_same(actual, exact_product(a, b, RESULTS[name]), signed_zeros=False)


@pytest.mark.parametrize("shape", TILES + PADDED, ids=str)
@pytest.mark.parametrize("name", ["float16", "float32", "int8"])
def test_tile_shapes(device, name, shape):
    m, n, k = shape
    a, b = exact_values(name, (m, k)), exact_values(name, (k, n), seed=1)
    actual = run_tile(device, a, b, result=RESULTS[name])
    assert_same(actual, exact_product(a, b, RESULTS[name]), signed_zeros=False)


@pytest.mark.parametrize(
    "name, k", [("int8", 32), ("float8e5", 32), ("float16", 16), ("bfloat16", 16), ("float32", 8), ("float64", 4)]
)
def test_smallest_inner(device, name, k):
    a, b = exact_values(name, (16, k)), exact_values(name, (k, 16), seed=1)
    actual = run_tile(device, a, b, result=RESULTS[name])
    assert_same(actual, exact_product(a, b, RESULTS[name]), signed_zeros=False)


@pytest.mark.parametrize("warps", WARPS)
def test_warps(device, warps):
    a, b = exact_values("float16", (64, 64)), exact_values("float16", (64, 64), seed=1)
    actual = run_tile(device, a, b, num_warps=warps)
    assert_same(actual, exact_product(a, b, "float32"), signed_zeros=False)


# Relative error of one product: operands lose up to a unit of their last bit each.
PRECISIONS = {"tf32": 2.0**-9, "tf32x3": 2.0**-19, "bf16x3": 2.0**-13, "bf16x6": 2.0**-21, "ieee": 0.0}


@pytest.mark.parametrize("precision", PRECISIONS)
def test_precisions(device, precision):
    a, b = random_values("float32", (64, 64)), random_values("float32", (64, 64), seed=1)
    actual = run_tile(device, a, b, precision=precision)
    assert_product(actual, a, b, relative=PRECISIONS[precision])
    if precision == "tf32":
        # One that ignored its precision would be 1000 times nearer.
        error = np.abs(actual - a.astype(np.float64) @ b).max()
        assert error > 1e-5


# Read from shared memory in a loop along K, but for the first.
@pytest.mark.parametrize(
    "shape, warps",
    [((16, 16, 8), 4), ((16, 32, 64), 1), ((64, 64, 32), 4), ((128, 32, 128), 8), ((2, 4, 256), 2), ((64, 64, 64), 16)],
    ids=str,
)
@pytest.mark.parametrize("transposes", list(itertools.product([False, True], repeat=2)), ids=str)
def test_full_precision(device, transposes, shape, warps):
    m, n, k = shape
    a, b = exact_values("float32", (m, k)), exact_values("float32", (k, n), seed=1)
    actual = run_tile(device, a, b, transposes=transposes, precision="ieee", num_warps=warps)
    assert_same(actual, exact_product(a, b, "float32"), signed_zeros=False)


@pytest.mark.parametrize("target", ["sm_80", "sm_89", "sm_90a"])
def test_full_precision_in_one_warp_assembles(target):
    """All of K in registers took the assembler four minutes, and 1600 of them were spilled."""
    a = b = np.zeros((64, 64), np.float32)
    compiled = assemble_for(tile_kernel, target, [a, b, a, a, 64, 64, 64, False, False, "ieee", False], {"num_warps": 1})
    assert compiled.n_spills == 0


def test_hopeless_tiles_assemble_soon():
    """With all of the assembler's effort this took two minutes. It is spilled, and says so."""
    a = b = np.zeros((128, 64), np.float16)
    out = np.zeros((128, 128), np.float32)
    compiled = assemble_for(tile_kernel, "sm_80", [a, b, out, out, 128, 128, 64, False, False, None, False], {"num_warps": 1})
    found = " ".join(compiled.remarks)
    assert "assembler-effort: refused, accumulatorRegisters=512, limit=255" in found
    assert "register-spills: refused" in found
    assert compiled.step_seconds["assemble"] < 60


def test_tf32_takes_the_upper_bits(device):
    """The operands are cut off, not rounded, to 10 bits of mantissa."""
    a = random_values("float32", (16, 32))
    b = np.eye(32, 16, dtype=np.float32)
    actual = run_tile(device, a, b, precision="tf32")
    assert_same(actual, (a.view(np.uint32) & 0xFFFFE000).view(np.float32)[:, :16], signed_zeros=False)


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float64", "float8e4nv", "float8e5"])
def test_random_values(device, name):
    a, b = random_values(name, (64, 128)), random_values(name, (128, 64), seed=1)
    actual = run_tile(device, a, b, result=RESULTS[name])
    # fp8 sums keep fewer bits on some GPUs: 13 behind the largest product.
    assert_product(actual, a, b, relative=2.0**-12 if name.startswith("float8") else 0.0)


@pytest.mark.parametrize("precision", ["tf32x3", "bf16x3", "bf16x6"])
def test_splits_keep_infinities(device, precision):
    """An infinity has no smaller parts: no NaN comes of multiplying them."""
    a, b = exact_values("float32", (16, 32), low=1), exact_values("float32", (32, 16), seed=1, low=1)
    a[0, 3], a[1, 5], b[7, 2] = np.inf, -np.inf, np.inf
    actual = run_tile(device, a, b, precision=precision)
    with np.errstate(invalid="ignore"):
        assert_same(actual, (a.astype(np.float64) @ b).astype(np.float32))


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64", "float8e5"])
def test_special_values(device, name):
    """Infinity and NaN reach exactly the rows and columns that they stand in."""
    a, b = exact_values(name, (16, 32), low=1), exact_values(name, (32, 16), seed=1, low=1)
    a[0, 3], a[5, 1], b[4, 9] = np.inf, np.nan, -np.inf
    actual = run_tile(device, a, b, result=RESULTS[name])
    with np.errstate(invalid="ignore"):
        assert_same(actual, exact_product(a, b, RESULTS[name]))


# ---------------------------------------------------------------------------
# Accumulators
# ---------------------------------------------------------------------------


@pytest.mark.parametrize("name, result", [*RESULTS.items(), ("float16", "float16"), ("float8e5", "float16")])
def test_accumulators(device, name, result):
    a, b = exact_values(name, (32, 64), low=-2, high=2), exact_values(name, (64, 16), seed=1, low=-2, high=2)
    c = exact_values(result, (32, 16), seed=2, low=-100, high=100)
    actual = run_tile(device, a, b, acc=c, result=result)
    expected = a.astype(np.float64) @ b.astype(np.float64) + c
    assert_same(actual, expected.astype(NUMPY_TYPES[result]), signed_zeros=False)


def test_integers_wrap(device):
    a, b = np.full((16, 32), 127, np.int8), np.full((32, 16), 127, np.int8)
    c = np.full((16, 16), 2**31 - 1, np.int32)
    actual = run_tile(device, a, b, acc=c, result="int32")
    assert_same(actual, (c.astype(np.int64) + 32 * 127 * 127).astype(np.int32))


@tilewright.jit
def half_kernel(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + i)
    tl.store(out_ptr + i, tl.dot(x, x, out_dtype=tl.float16))


def test_half_precision_result(device):
    x, out = random_values("float16", (32, 32)), device.empty((32, 32), np.float16)
    device.run(half_kernel, (1,), device.array(x), out, 32)
    # Some GPUs round each step of the sum to float16.
    assert_product(device.numpy(out), x, x, relative=4 * 2.0**-10)


@tilewright.jit
def widened_kernel(a_ptr, b_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(a_ptr + m[:, None] * K + k[None, :])
    b = tl.load(b_ptr + k[:, None] * N + n[None, :]).to(a.dtype)
    tl.store(out_ptr + m[:, None] * N + n[None, :], tl.dot(a, b))


@pytest.mark.parametrize("stored", ["int8", "float8e5", "float8e4nv", "float32"])
@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_weights_of_another_type(device, name, stored):
    a, b = exact_values(name, (64, 64)), exact_values(stored, (64, 32), seed=1)
    out = device.empty((64, 32), np.float32)
    device.run(widened_kernel, (1,), device.array(a), device.array(b), out, 64, 32, 64)
    assert_same(device.numpy(out), exact_product(a, b, "float32"), signed_zeros=False)


# ---------------------------------------------------------------------------
# Batches, chains
# ---------------------------------------------------------------------------


@tilewright.jit
def batch_kernel(
    a_ptr, b_ptr, out_ptr, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, PRECISION: tl.constexpr = None
):
    batch = tl.arange(0, B)[:, None, None]
    m, n = tl.arange(0, M)[None, :, None], tl.arange(0, N)[None, None, :]
    a = tl.load(a_ptr + batch * (M * K) + m * K + tl.arange(0, K)[None, None, :])
    b = tl.load(b_ptr + batch * (K * N) + tl.arange(0, K)[None, :, None] * N + n)
    tl.store(out_ptr + batch * (M * N) + m * N + n, tl.dot(a, b, input_precision=PRECISION))


@pytest.mark.parametrize("shape", [(1, 16, 16, 32), (4, 32, 16, 32), (2, 64, 64, 64), (8, 4, 2, 32)], ids=str)
@pytest.mark.parametrize("name", ["float16", "float32", "int8"])
def test_batches(device, name, shape):
    batch, m, n, k = shape
    a, b = exact_values(name, (batch, m, k)), exact_values(name, (batch, k, n), seed=1)
    out = device.empty((batch, m, n), NUMPY_TYPES[RESULTS[name]])
    device.run(batch_kernel, (1,), device.array(a), device.array(b), out, *shape)
    assert_same(device.numpy(out), exact_product(a, b, RESULTS[name]), signed_zeros=False)


@pytest.mark.parametrize("shape", [(4, 32, 16, 32), (2, 64, 64, 64)], ids=str)
def test_batches_in_full_precision(device, shape):
    batch, m, n, k = shape
    a, b = exact_values("float32", (batch, m, k)), exact_values("float32", (batch, k, n), seed=1)
    out = device.empty((batch, m, n), np.float32)
    device.run(batch_kernel, (1,), device.array(a), device.array(b), out, *shape, "ieee")
    assert_same(device.numpy(out), exact_product(a, b, "float32"), signed_zeros=False)


@tilewright.jit
def chain_kernel(q_ptr, k_ptr, v_ptr, out_ptr, length, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    """Two products per step, the second of what the first gave: the shape of attention."""
    m, n, d = tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    q = tl.load(q_ptr + m[:, None] * D + d)
    total = tl.zeros((M, D), tl.float32)
    largest = tl.full((M,), -1000.0, tl.float32)
    for start in range(0, length, N):
        k = tl.load(k_ptr + (start + n)[:, None] * D + d)
        scores = tl.dot(q, tl.trans(k))
        largest = tl.maximum(largest, tl.max(scores, 1))
        weights = tl.where(scores > 0, scores, 0.0).to(q.dtype)
        total = tl.dot(weights, tl.load(v_ptr + (start + n)[:, None] * D + d), total)
    tl.store(out_ptr + m[:, None] * D + d, total + largest[:, None])


# Large tiles in few warps spill, and take the assembler minutes.
@pytest.mark.parametrize(
    "shape, warps", [((64, 32, 32), 1), ((64, 32, 32), 4), ((128, 64, 64), 4), ((128, 64, 64), 8), ((16, 64, 128), 4)], ids=str
)
@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32"])
def test_chained_products(device, name, shape, warps):
    m, n, d = shape
    # Scores stay below 256, which bfloat16 holds exactly.
    values = [exact_values(name, (rows, d), seed=s, low=-1, high=1) for s, rows in enumerate((m, 2 * n, 2 * n))]
    out = device.empty((m, d), np.float32)
    device.run(chain_kernel, (1,), *map(device.array, values), out, 2 * n, m, n, d, num_warps=warps)
    q, k, v = (x.astype(np.float64) for x in values)
    scores = q @ k.T
    expected = np.maximum(scores, 0) @ v + scores.max(axis=1, keepdims=True)
    assert_same(device.numpy(out), expected.astype(np.float32), signed_zeros=False)


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


# ---------------------------------------------------------------------------
# The default precision
# ---------------------------------------------------------------------------


@pytest.mark.parametrize("variable", ["TILEWRIGHT_F32_DEFAULT", "TRITON_F32_DEFAULT"])
def test_default_precision_of_the_environment(variable, monkeypatch):
    a, b = random_values("float32", (16, 16)), random_values("float32", (16, 16), seed=1)
    results = {}
    for precision in ("tf32", "ieee"):
        monkeypatch.setenv(variable, precision)
        out = np.zeros((16, 16), np.float32)
        tile_kernel[(1,)](a, b, out, out, 16, 16, 16, False, False, None, False)
        results[precision] = out
    exact = a.astype(np.float64) @ b
    assert np.abs(results["ieee"] - exact).max() < 1e-5 < np.abs(results["tf32"] - exact).max()


def test_subnormal_operands(device):
    """Nothing is flushed to zero in products of float16."""
    tiny = special_values("float16")[10]
    a, b = np.full((16, 16), tiny, np.float16), np.full((16, 16), 1024, np.float16)
    actual = run_tile(device, a, b)
    assert_same(actual, exact_product(a, b, "float32"))
