# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Descriptors that a kernel makes again and again, in its loops: their maps take turns in slots.

On sm_90a blocks go by TMA, elsewhere by pointers; what a kernel means is the same.
"""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.assemble import assemble_for
from harness.tensor_core_runs import multiply_segments, segments
from harness.element_types import exact_values, random_values, multiple_of_16_bytes

# Also on the CPU, from the PTX.
EMULATED = True

SOME_TYPES = ["int8", "uint16", "float16", "bfloat16", "int32", "float32", "float64", "float8e5", "int1"]


# ---------------------------------------------------------------------------
# Made again and again
# ---------------------------------------------------------------------------


@tilewright.jit
def shift_in_loop(x_ptr, out_ptr, M, N, COUNT, BM: tl.constexpr, BN: tl.constexpr):
    """Base and shape change in each iteration: triangles of tiles."""
    for i in range(COUNT):
        x = tl.make_tensor_descriptor(x_ptr + i * N, [M - i, N - i], [N, 1], [BM, BN])
        out = tl.make_tensor_descriptor(out_ptr + i * M * N, [M, N - i], [N, 1], [BM, BN])
        out.store([0, 0], x.load([0, 0]))
        out.store([BM, 0], x.load([BM, 0]))


@pytest.mark.parametrize("name", SOME_TYPES)
@pytest.mark.parametrize("count", [1, 2, 9])
def test_made_in_a_loop(device, name, count):
    x = random_values(name, (16, 64))
    out = device.array(np.zeros((count, 16, 64), x.dtype))
    device.run(shift_in_loop, (1,), device.array(x), out, 16, 64, count, BM=8, BN=64)
    expected = np.zeros((count, 16, 64), x.dtype)
    for i in range(count):
        expected[i, : 16 - i, : 64 - i] = x[i:, : 64 - i]
    np.testing.assert_array_equal(device.numpy(out).view(np.uint8), expected.view(np.uint8))


@tilewright.jit
def copy_all(x_ptr, out_ptr, table_ptr, COUNT, BM: tl.constexpr, BN: tl.constexpr):
    """Base and extents come from memory; arrays without rows are copied, too."""
    for i in range(COUNT):
        entry = table_ptr + i * 3
        start, m, n = tl.load(entry), tl.load(entry + 1), tl.load(entry + 2)
        x = tl.make_tensor_descriptor(x_ptr + start, [m, n], [n, 1], [BM, BN])
        out = tl.make_tensor_descriptor(out_ptr + start, [m, n], [n, 1], [BM, BN])
        for j in range(tl.program_id(0) * BN, n, tl.num_programs(0) * BN):
            out.store([0, j], x.load([0, j]))


@pytest.mark.parametrize("units", [2, 4, 8, 16])
@pytest.mark.parametrize("name", SOME_TYPES)
def test_arrays_in_turn(device, name, units):
    unit = multiple_of_16_bytes(name)
    sizes, start = [], 0
    for m, columns in ((9, 5), (0, 3), (1, 1), (16, 4), (0, 9), (3, 17), (16, 33)):
        sizes.append((start, m, columns * unit))
        start += m * columns * unit
    x = random_values(name, (start + 64 * unit,), 1)
    out = device.array(np.zeros(x.shape, x.dtype))
    device.run(
        copy_all, (2,), device.array(x), out, device.array(np.array(sizes, np.int32)), len(sizes), BM=16, BN=units * unit
    )
    expected = x.copy()
    expected[start:] = 0
    np.testing.assert_array_equal(device.numpy(out).view(np.uint8), expected.view(np.uint8))


@tilewright.jit
def combine_all(value_ptr, out_ptr, table_ptr, BM: tl.constexpr, BN: tl.constexpr):
    m, n = tl.load(table_ptr), tl.load(table_ptr + 1)
    out = tl.make_tensor_descriptor(out_ptr, [m, n], [32, 1], [BM, BN])
    value = tl.load(value_ptr + tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :])
    out.store([0, 0], value)
    out.atomic_add([0, 0], value)


@pytest.mark.parametrize("m,n", [(0, 32), (8, 0), (-1, 32), (0, 0)])
def test_nothing_is_stored_to_an_empty_array(device, m, n):
    out = device.array(np.ones((8, 32), np.float32))
    device.run(
        combine_all,
        (1,),
        device.array(exact_values("float32", (8, 32), 1)),
        out,
        device.array(np.array([m, n], np.int32)),
        BM=8,
        BN=32,
    )
    np.testing.assert_array_equal(device.numpy(out), 1)


@tilewright.jit
def load_nowhere(x_ptr, out_ptr, table_ptr, BM: tl.constexpr, BN: tl.constexpr):
    start, m, stride = tl.load(table_ptr), tl.load(table_ptr + 1), tl.load(table_ptr + 2)
    x = tl.make_tensor_descriptor(x_ptr + start, [m, stride], [stride, 1], [BM, BN])
    tl.store(out_ptr + tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :], x.load([0, 0]))


@pytest.mark.parametrize("stride", [64, 0, -64])
def test_empty_arrays_lie_nowhere(device, stride):
    """As frameworks have it, whose empty arrays are at address 0."""
    x, out = device.array(np.empty(16, np.float32)), device.empty((8, 32), np.float32)
    address = x.ctypes.data if isinstance(x, np.ndarray) else x.data_ptr()
    table = np.array([-(address // 4), 0, stride], np.int64)
    device.run(load_nowhere, (1,), x, out, device.array(table), BM=8, BN=32)
    np.testing.assert_array_equal(device.numpy(out), 0)


@pytest.mark.parametrize("stages", [1, 2, 3, 4])
@pytest.mark.parametrize("count", [1, 2, 5, 11])
def test_product_with_descriptors_of_each_iteration(device, count, stages):
    np.testing.assert_array_equal(*segments(device, count, stages=stages))


def test_such_a_loop_is_pipelined():
    arguments = (np.zeros((5, 80, 16), np.float16), np.zeros((5, 16, 32), np.float16), np.zeros((80, 32), np.float16),
                 80, 32, 16, 5, 64, 32, 32)  # fmt: skip
    compiled = assemble_for(multiply_segments, "sm_90a", arguments, {"num_warps": 4, "num_stages": 3})
    assert any("pipeline: applied" in remark and "TMA" in remark for remark in compiled.remarks), compiled.remarks
    # Those of the loop's body, of two prologues, and of the result.
    assert sum("tensor-map: applied" in remark for remark in compiled.remarks) == 2 * 3 + 1
    # Rings of three slots, so maps of four; the others have one.
    assert compiled.metadata.global_scratch_size == 128 * (2 * 4 + 2 * 2 + 1)


@tilewright.jit
def multiply_batches(
    a_ptr, b_ptr, c_ptr, BATCH, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, FLATTEN: tl.constexpr
):
    """Persistent: a descriptor per batch, whose loads start while the one before is in use."""
    for batch in tl.range(tl.program_id(0), BATCH, tl.num_programs(0), flatten=FLATTEN):
        a = tl.make_tensor_descriptor(a_ptr + batch * M * K, [M, K], [K, 1], [BM, BK])
        b = tl.make_tensor_descriptor(b_ptr + batch * K * N, [K, N], [N, 1], [BK, BN])
        c = tl.make_tensor_descriptor(c_ptr + batch * M * N, [M, N], [N, 1], [BM, BN])
        total = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            total = tl.dot(a.load([0, k]), b.load([k, 0]), total)
        c.store([0, 0], total.to(c.dtype))


@pytest.mark.parametrize("flatten", [False, True], ids=["nested", "flat"])
@pytest.mark.parametrize("batch,k,stages", [(1, 16, 3), (5, 48, 3), (7, 80, 2), (9, 16, 4)])
def test_persistent_product_of_batches(device, batch, k, stages, flatten):
    m, n = 48, 32
    a, b = exact_values("float16", (batch, m, k)), exact_values("float16", (batch, k, n), 1)
    out = device.array(np.zeros((batch, m, n), np.float16))
    device.run(
        multiply_batches,
        (2,),
        device.array(a),
        device.array(b),
        out,
        batch,
        m,
        n,
        k,
        BM=64,
        BN=32,
        BK=32,
        FLATTEN=flatten,
        num_warps=4,
        num_stages=stages,
    )
    expected = np.einsum("bmk,bkn->bmn", a.astype(np.float64), b.astype(np.float64))
    np.testing.assert_array_equal(device.numpy(out).astype(np.float64), expected)


def test_flattened_loop_copies_ahead_through_new_maps():
    arguments = (np.zeros((5, 48, 48), np.float16), np.zeros((5, 48, 32), np.float16),
                 np.zeros((5, 48, 32), np.float16), 5, 48, 32, 48, 64, 32, 32, True)  # fmt: skip
    compiled = assemble_for(multiply_batches, "sm_90a", arguments, {"num_warps": 4, "num_stages": 3})
    assert any("pipeline: applied" in remark and "TMA" in remark for remark in compiled.remarks), compiled.remarks


@tilewright.jit
def multiply_and_copy(
    a_ptr, b_ptr, copy_ptr, c_ptr, TILES, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, STAGES: tl.constexpr
):
    """Persistent: stores in the loop over tiles and in the one inside."""
    a = tl.make_tensor_descriptor(a_ptr, [TILES * BM, K], [K, 1], [BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, [K, BN], [BN, 1], [BK, BN])
    copy = tl.make_tensor_descriptor(copy_ptr, [TILES * BM, K], [K, 1], [BM, BK])
    c = tl.make_tensor_descriptor(c_ptr, [TILES * BM, BN], [BN, 1], [BM, BN])
    for tile in tl.range(tl.program_id(0), TILES, tl.num_programs(0), num_stages=STAGES):
        total = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            rows = a.load([tile * BM, k])
            copy.store([tile * BM, k], rows)
            total = tl.dot(rows, b.load([k, 0]), total)
        c.store([tile * BM, 0], total)


def multiply_and_copy_arguments(tiles, k):
    a, b = exact_values("float16", (tiles * 64, k)), exact_values("float16", (k, 128), 1)
    return a, b, np.zeros_like(a), np.zeros((tiles * 64, 128), np.float32), tiles, k, 64, 128, 32


@pytest.mark.parametrize("stages", [1, 3])
@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("tiles,k", [(1, 32), (5, 96)])
def test_stores_of_rounds_that_do_not_overlap(device, tiles, k, warps, stages):
    a, b, *rest = multiply_and_copy_arguments(tiles, k)
    copy, c = map(device.array, rest[:2])
    device.run(
        multiply_and_copy, (2,), device.array(a), device.array(b), copy, c, *rest[2:], stages, num_warps=warps, num_stages=3
    )
    np.testing.assert_array_equal(device.numpy(copy), a)
    np.testing.assert_array_equal(device.numpy(c), a.astype(np.float32) @ b.astype(np.float32))


def test_rounds_that_do_not_overlap_share_memory():
    """The tile that is stored last lies where the operands of the products were."""
    shared = [
        assemble_for(
            multiply_and_copy, "sm_90a", (*multiply_and_copy_arguments(5, 96), stages), {"num_warps": 4, "num_stages": 3}
        ).metadata.shared
        for stages in (1, 3)
    ]
    assert shared[1] - shared[0] >= 64 * 128 * 4, shared
