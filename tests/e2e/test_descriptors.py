# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Host-side tensor descriptors: blocks in every type, rank and width, with edges.

On sm_90 blocks go by TMA, elsewhere by pointers; what a kernel means is the same.
"""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.types import ALL, FLOATS, FP8, NUMPY_TYPES, exact_values, random_values


# Also on the CPU, from the PTX.
EMULATED = True


def size_of(name):
    return np.dtype(NUMPY_TYPES[name]).itemsize


def rows(name, count, columns, seed=0):
    """An array whose rows are a multiple of 16 bytes, cut so that blocks overlap its end."""
    return random_values(name, (count, columns), seed)


@tilewright.jit
def copy1(x, out):
    i = tl.program_id(0) * x.block_shape[0]
    out.store([i], x.load([i]))


@tilewright.jit
def copy2(x, out):
    i, j = tl.program_id(0) * x.block_shape[0], tl.program_id(1) * x.block_shape[1]
    out.store([i, j], x.load([i, j]))


@tilewright.jit
def copy3(x, out):
    i, j = tl.program_id(0) * x.block_shape[0], tl.program_id(1) * x.block_shape[1]
    k = tl.program_id(2) * x.block_shape[2]
    out.store([i, j, k], x.load([i, j, k]))


@tilewright.jit
def copy4(x, out):
    i, j = tl.program_id(0) * x.block_shape[1], tl.program_id(1) * x.block_shape[2]
    k = tl.program_id(2) * x.block_shape[3]
    for a in range(x.shape[0]):
        out.store([a, i, j, k], x.load([a, i, j, k]))


@tilewright.jit
def copy5(x, out):
    i, j = tl.program_id(0) * x.block_shape[2], tl.program_id(1) * x.block_shape[3]
    k = tl.program_id(2) * x.block_shape[4]
    for a in range(x.shape[0]):
        for b in range(x.shape[1]):
            out.store([a, b, i, j, k], x.load([a, b, i, j, k]))


@pytest.mark.parametrize("name", ALL + FP8)
@pytest.mark.parametrize("row_bytes", [16, 32, 64, 128, 256, 512])
def test_copy_of_every_type_and_width(device, name, row_bytes):
    columns = row_bytes // size_of(name)
    x = rows(name, 21, columns * 2 + 16 // size_of(name))
    out = device.empty(x.shape, x.dtype)
    block = (8, columns)
    grid = (3, 3)
    device.run(copy2, grid, device.descriptor(device.array(x), block), device.descriptor(out, block))
    np.testing.assert_array_equal(device.numpy(out).view(np.uint8), x.view(np.uint8))


@pytest.mark.parametrize("shape,block,kernel", [
    ((1000, ), (256, ), copy1),
    ((1000, ), (16, ), copy1),
    ((700, 40), (512, 8), copy2),  # more rows than one box
    ((3, 20, 72), (2, 8, 64), copy3),
    ((3, 20, 72), (1, 4, 32), copy3),
    ((2, 5, 20, 40), (1, 2, 8, 32), copy4),
    ((2, 3, 5, 6, 40), (1, 1, 2, 4, 16), copy5),
    ((2, 3, 5, 6, 136), (2, 1, 2, 4, 64), copy5),
])
def test_copy_of_every_rank(device, shape, block, kernel):
    x = random_values("float32", shape)
    out = device.empty(shape, np.float32)
    grid = tuple(-(-n // b) for n, b in zip(shape[-3:], block[-3:]))
    device.run(kernel, grid, device.descriptor(device.array(x), block), device.descriptor(out, block))
    np.testing.assert_array_equal(device.numpy(out), x)


@tilewright.jit
def load_outside(x, out_ptr, i, j, M: tl.constexpr, N: tl.constexpr):
    offsets = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out_ptr + offsets, x.load([i, j]))


@pytest.mark.parametrize("name", FLOATS + FP8)
@pytest.mark.parametrize("padding", ["zero", "nan"])
@pytest.mark.parametrize("i,j", [(0, 0), (-3, -5), (13, 25), (100, 0), (-100, -100)])
def test_padding(device, name, padding, i, j):
    x = exact_values(name, (16, 32), low=1)
    if type(device).__name__ == "Gpu" and j * x.dtype.itemsize % 16:
        pytest.skip("the hardware takes innermost coordinates in multiples of 16 bytes only (illegal instruction)")
    out = device.empty((8, 16), x.dtype)
    device.run(load_outside, (1, ), device.descriptor(device.array(x), (8, 16), padding), out, i, j, M=8, N=16)
    result = device.numpy(out).astype(np.float64)
    for row in range(8):
        for column in range(16):
            inside = 0 <= i + row < 16 and 0 <= j + column < 32
            if inside:
                assert result[row, column] == float(x[i + row, j + column])
            else:
                assert np.isnan(result[row, column]) if padding == "nan" else result[row, column] == 0


@tilewright.jit
def combine(x_ptr, out, i, j, M: tl.constexpr, N: tl.constexpr, OP: tl.constexpr):
    offsets = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    value = tl.load(x_ptr + offsets)
    if OP == "add":
        out.atomic_add([i, j], value)
    elif OP == "min":
        out.atomic_min([i, j], value)
    elif OP == "max":
        out.atomic_max([i, j], value)
    elif OP == "and":
        out.atomic_and([i, j], value)
    elif OP == "or":
        out.atomic_or([i, j], value)
    else:
        out.atomic_xor([i, j], value)


COMBINE = {"add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
           "xor": np.bitwise_xor}


@pytest.mark.parametrize("name,op", [
    ("float16", "add"), ("bfloat16", "add"), ("float32", "add"), ("float64", "add"), ("int64", "add"),
    *((name, op) for name in ("int32", "uint32") for op in COMBINE),
    ("float32", "max"), ("uint64", "min"), ("int64", "xor"),
])
def test_reductions(device, name, op):
    old, value = exact_values(name, (20, 64), 1), exact_values(name, (16, 32), 2)
    if op in ("and", "or", "xor", "min", "max") and not name.startswith("float"):
        old, value = random_values(name, old.shape, 3), random_values(name, value.shape, 4)
    expected = old.copy()
    expected[12:, 40:] = COMBINE[op](old[12:, 40:], value[:8, :24])
    out = device.array(old)
    device.run(combine, (1, ), device.array(value), device.descriptor(out, (16, 32)), 12, 40, M=16, N=32, OP=op)
    np.testing.assert_array_equal(device.numpy(out), expected)


@tilewright.jit
def sum_of_rows(x, y, out, N):
    total = tl.zeros([x.block_shape[0], x.block_shape[1]], tl.float32)
    i = tl.program_id(0) * x.block_shape[0]
    for j in range(0, N, x.block_shape[1]):
        total += x.load([i, j]) * y.load([i, j])
    out.store([i], tl.sum(total, 1))


@pytest.mark.parametrize("columns", [4, 32, 100, 256])
def test_loop_over_blocks(device, columns):
    x, y = exact_values("float32", (50, columns), 1), exact_values("float32", (50, columns), 2)
    out = device.empty((50, ), np.float32)
    device.run(sum_of_rows, (4, ), device.descriptor(device.array(x), (16, 32)),
               device.descriptor(device.array(y), (16, 32)), device.descriptor(out, (16, )), columns)
    np.testing.assert_array_equal(device.numpy(out), (x * y).sum(1))


@tilewright.jit
def several_stores_per_iteration(x, out, steps):
    for i in range(steps):
        block = x.load([i * 8, 0])
        if i % 2 == 0:
            out.store([i * 8, 0], block + 1)
            out.store([i * 8, 32], block + 2)
            out.store([i * 8, 64], block + 3)


def test_stores_of_a_loop_overlap(device):
    x = exact_values("float32", (64, 32))
    out = device.array(np.zeros((64, 96), np.float32))
    device.run(several_stores_per_iteration, (1, ), device.descriptor(device.array(x), (8, 32)),
               device.descriptor(out, (8, 32)), 8)
    expected = np.zeros((64, 96), np.float32)
    for i in range(0, 64, 16):
        expected[i:i + 8] = np.concatenate([x[i:i + 8] + k for k in (1, 2, 3)], 1)
    np.testing.assert_array_equal(device.numpy(out), expected)


@tilewright.jit
def in_place(x, steps):
    for step in range(steps):
        block = x.load([0, 0])
        x.store([0, 0], block + 1)
        x.store([8, 0], x.load([0, 0]) * 2)


def test_stores_are_seen_by_later_loads(device):
    x = exact_values("int32", (16, 32))
    out = device.array(x)
    device.run(in_place, (1, ), device.descriptor(out, (8, 32)), 5)
    np.testing.assert_array_equal(device.numpy(out), np.concatenate([x[:8] + 5, (x[:8] + 5) * 2]))


@tilewright.jit
def gather_scatter(x, out, rows_ptr, N: tl.constexpr):
    rows = tl.load(rows_ptr + tl.arange(0, N))
    out.scatter(x.gather(rows, 8), rows, 8)


def test_gather_and_scatter(device):
    x = random_values("float32", (32, 64))
    chosen = np.random.default_rng(1).permutation(32)[:16].astype(np.int32)
    out = device.array(np.zeros_like(x))
    device.run(gather_scatter, (1, ), device.descriptor(device.array(x), (1, 32)), device.descriptor(out, (1, 32)),
               device.array(chosen), N=16)
    expected = np.zeros_like(x)
    expected[chosen, 8:40] = x[chosen, 8:40]
    np.testing.assert_array_equal(device.numpy(out), expected)


@tilewright.jit
def facts(x, out_ptr):
    tl.static_assert(x.dtype == tl.float16)
    tl.static_assert(len(x.block_shape) == 2)
    tl.store(out_ptr, x.shape[0])
    tl.store(out_ptr + 1, x.shape[1])
    tl.store(out_ptr + 2, x.strides[0])
    tl.store(out_ptr + 3, x.strides[1])
    # Mixed with pointers to the same array.
    tl.store(out_ptr + 4, tl.load(x.base + x.strides[0]).to(tl.int32))


def test_fields(device):
    x = exact_values("float16", (9, 24))
    out = device.empty((5, ), np.int32)
    device.run(facts, (1, ), device.descriptor(device.array(x), (8, 8)), out)
    np.testing.assert_array_equal(device.numpy(out), [9, 24, 24, 1, int(x[1, 0])])


@tilewright.jit
def transposed_sum(x, out):
    a, b = x.load([0, 0]), x.load([16, 0])
    out.store([0, 0], tl.trans(a + b))
    out.store([0, 16], tl.trans(a - b))


def test_several_blocks_at_once(device):
    x = exact_values("float16", (32, 64))
    out = device.empty((64, 32), np.float16)
    device.run(transposed_sum, (1, ), device.descriptor(device.array(x), (16, 64)), device.descriptor(out, (64, 16)))
    np.testing.assert_array_equal(device.numpy(out), np.concatenate([(x[:16] + x[16:]).T, (x[:16] - x[16:]).T], 1))


def test_machine_code_uses_tma():
    source = tilewright.compiler.ASTSource(
        sum_of_rows, {"x": "tensordesc<fp32[16,32]>", "y": "tensordesc<fp32[16,32]>", "out": "tensordesc<fp32[16]>",
                      "N": "i32"})
    kernel = tilewright.compile(source, "sm_90a")
    assert kernel.metadata.tensor_maps == [True, True, True]
    assert "cp.async.bulk.tensor.2d.shared::cluster.global" in kernel.asm["ptx"]
    assert "cp.async.bulk.tensor.1d.global.shared::cta" in kernel.asm["ptx"]
    assert kernel.metadata.written_args == ["out"]
    older = tilewright.compile(source, "sm_80")
    assert older.metadata.tensor_maps == [False, False, False] and "cp.async.bulk" not in older.asm["ptx"]


@pytest.mark.parametrize("kind", [
    "tensordesc<i1[8,32]>",  # no type of TMA
    "tensordesc<fp8e5[8,32],nan>",  # no NaN of it in TMA
    "tensordesc<fp32[65536]>",  # 512 boxes
])
def test_blocks_that_tma_does_not_suit_are_pointers(kind):

    @tilewright.jit
    def first(x, out_ptr):
        block = x.load([0] * len(x.block_shape))
        tl.store(out_ptr, tl.sum(block.to(tl.float32)))

    source = tilewright.compiler.ASTSource(first, {"x": kind, "out_ptr": "*fp32"})
    kernel = tilewright.compile(source, "sm_90a")
    assert kernel.metadata.tensor_maps == [False] and "cp.async.bulk" not in kernel.asm["ptx"]
