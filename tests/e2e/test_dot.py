# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tl.dot on single tiles and in whole matrix products, against NumPy.

Small integers make every sum exact, whatever the order and the precision: results
must then be equal bit for bit. Random values have a bound on the error that grows
with the sum of the magnitudes, so that a missing term shows.
"""

import itertools

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.assemble import assemble_for
from harness.compare import assert_same
from harness.dot_products import RESULTS, WARPS, assert_product, exact_product, with_products
from harness.element_types import NUMPY_TYPES, exact_values, name_of, random_values, special_values

EMULATED = True


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
    # fp8 sums keep fewer bits on some GPUs: 13 below the largest product.
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


@tilewright.jit
def switched_kernel(a_ptr, out_ptr, WANTED: tl.constexpr):
    tile = tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :]
    a = tl.load(a_ptr + tile)
    switch = WANTED == 1  # an assignment makes a run-time value of it
    tl.store(out_ptr + tile, tl.dot(a, a, allow_tf32=switch))


@pytest.mark.parametrize("wanted", [0, 1])
def test_a_variable_allows_tf32_whatever_it_holds(device, wanted):
    """As in Triton, in the interpreter as well, which would know what it holds."""
    a = random_values("float32", (16, 16), 5)
    out = device.empty((16, 16), np.float32)
    device.run(switched_kernel, (1,), device.array(a), out, wanted)
    cut = (a.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    exact, expected = a.astype(np.float64) @ a, cut.astype(np.float64) @ cut
    error = np.abs(device.numpy(out) - expected).max()
    assert error < 1e-5 < np.abs(exact - expected).max()
