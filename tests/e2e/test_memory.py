# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loads and stores: masks, tails, strides, alignment, hints, scalar and bool access."""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.compare import assert_same
from harness.element_types import ALL, FP8, LENGTHS, NUMPY_TYPES, exact_values, random_values


@tilewright.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask), mask=mask)


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("name", [*ALL, *FP8, "int1"])
def test_copy(device, name, n):
    """Bytes arrive unchanged, and those beyond the end stay as they were."""
    x = random_values(name, n)
    out = device.empty(n + 64, NUMPY_TYPES[name])
    before = device.empty(n + 64, NUMPY_TYPES[name])
    device.run(copy_kernel, (tilewright.cdiv(n, 256),), device.array(x), out, n, BLOCK=256)
    result = device.numpy(out)
    assert result[:n].tobytes() == x.tobytes()
    assert result[n:].tobytes() == device.numpy(before)[n:].tobytes()


@tilewright.jit
def other_kernel(x_ptr, out_ptr, n, OTHER: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n, other=OTHER))


@pytest.mark.parametrize(
    "name, other",
    [
        ("float32", -1.5),
        ("float16", float("-inf")),
        ("int32", -7),
        ("uint8", 255),
        ("bfloat16", 0),
        ("int64", 2**40),
        ("float64", 2.5),
    ],
)
def test_other(device, name, other):
    x = random_values(name, 100)
    out = device.empty(128, NUMPY_TYPES[name])
    device.run(other_kernel, (1,), device.array(x), out, 100, OTHER=other, BLOCK=128)
    rest = np.full(28, other).astype(NUMPY_TYPES[name])
    assert_same(device.numpy(out), np.concatenate([x, rest]))


@tilewright.jit
def other_tile_kernel(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    # Mask and other are tiles; every third element is read from x.
    offsets = tl.arange(0, BLOCK)
    y = tl.load(y_ptr + offsets)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets % 3 == 0, other=y))


@pytest.mark.parametrize("name", ["int8", "float16", "float32", "float64"])
def test_other_tile(device, name):
    x, y = random_values(name, 256), random_values(name, 256, seed=1)
    out = device.empty(256, NUMPY_TYPES[name])
    device.run(other_tile_kernel, (1,), device.array(x), device.array(y), out, BLOCK=256)
    assert_same(device.numpy(out), np.where(np.arange(256) % 3 == 0, x, y))


@tilewright.jit
def masked_store_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr, PERIOD: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets), mask=(offsets // PERIOD) % 2 == 0)


@pytest.mark.parametrize("period", [1, 2, 4, 8, 64])
@pytest.mark.parametrize("name", ["int8", "float16", "float32", "int64"])
def test_masked_store(device, name, period):
    """Masks that change within and between vectors."""
    x, start = random_values(name, 256), random_values(name, 256, seed=1)
    out = device.array(start)
    device.run(masked_store_kernel, (1,), device.array(x), out, BLOCK=256, PERIOD=period)
    assert_same(device.numpy(out), np.where((np.arange(256) // period) % 2 == 0, x, start))


@tilewright.jit
def strided_kernel(x_ptr, out_ptr, stride_m, stride_n, rows, columns, M: tl.constexpr, N: tl.constexpr):
    m = tl.program_id(0) * M + tl.arange(0, M)
    n = tl.arange(0, N)
    mask = (m[:, None] < rows) & (n[None, :] < columns)
    x = tl.load(x_ptr + m[:, None] * stride_m + n[None, :] * stride_n, mask=mask, other=0)
    tl.store(out_ptr + m[:, None] * columns + n[None, :], x, mask=mask)


@pytest.mark.parametrize("step_m, step_n", [(1, 1), (2, 1), (1, 2), (3, 5), (1, 16)])
@pytest.mark.parametrize("name", ["int8", "float16", "float32"])
def test_strides(device, name, step_m, step_n):
    rows, columns = 37, 29
    base = random_values(name, (rows * step_m, columns * step_n))
    out = device.empty((rows, columns), NUMPY_TYPES[name])
    device.run(strided_kernel, (3,), device.array(base), out, base.shape[1] * step_m, step_n, rows, columns, M=16, N=32)
    assert_same(device.numpy(out), np.ascontiguousarray(base[::step_m, ::step_n]))


def test_transposed_strides(device):
    base = random_values("float32", (29, 37))
    out = device.empty((37, 29), np.float32)
    device.run(strided_kernel, (3,), device.array(base), out, 1, 37, 37, 29, M=16, N=32)
    assert_same(device.numpy(out), np.ascontiguousarray(base.T))


@tilewright.jit
def reversed_kernel(x_ptr, out_ptr, n, stride, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + (n - 1) + offsets * stride, mask=mask), mask=mask)


@pytest.mark.parametrize("name", ["int8", "float16", "float32", "int64"])
def test_negative_stride(device, name):
    x = random_values(name, 1000)
    out = device.empty(1000, NUMPY_TYPES[name])
    device.run(reversed_kernel, (8,), device.array(x), out, 1000, -1, BLOCK=128)
    assert_same(device.numpy(out), x[::-1].copy())


@tilewright.jit
def zero_stride_kernel(x_ptr, out_ptr, stride, N: tl.constexpr):
    offsets = tl.arange(0, N)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets * stride))


def test_zero_stride(device):
    x = random_values("float32", 4)
    out = device.empty(64, np.float32)
    device.run(zero_stride_kernel, (1,), device.array(x), out, 0, N=64)
    assert_same(device.numpy(out), np.full(64, x[0]))


@tilewright.jit
def offset_kernel(x_ptr, out_ptr, start, n, BLOCK: tl.constexpr):
    # The pointer is aligned, the access is not: vectors must shrink.
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + start + offsets, tl.load(x_ptr + start + offsets, mask=mask), mask=mask)


@pytest.mark.parametrize("start", [0, 1, 2, 3, 4, 7, 8, 15, 16])
@pytest.mark.parametrize("name", ["int8", "float16", "float32", "float64"])
def test_unaligned_offset(device, name, start):
    x = random_values(name, 300)
    out = device.array(np.zeros_like(x))
    device.run(offset_kernel, (1,), device.array(x), out, start, 200, BLOCK=256)
    expected = np.zeros_like(x)
    expected[start : start + 200] = x[start : start + 200]
    assert_same(device.numpy(out), expected)


@tilewright.jit
def gather_kernel(x_ptr, index_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    index = tl.load(index_ptr + offsets, mask=mask, other=0)
    tl.store(out_ptr + offsets, tl.load(x_ptr + index, mask=mask), mask=mask)


@pytest.mark.parametrize("index_name", ["int32", "int64", "uint8"])
def test_gather(device, index_name):
    x = random_values("float32", 200)
    index = np.random.default_rng(0).integers(0, 200, 333).astype(NUMPY_TYPES[index_name])
    out = device.empty(333, np.float32)
    device.run(gather_kernel, (3,), device.array(x), device.array(index), out, 333, BLOCK=128)
    assert_same(device.numpy(out), x[index])


@tilewright.jit
def scalar_access_kernel(x_ptr, out_ptr):
    pid = tl.program_id(0)
    x = tl.load(x_ptr + pid)
    tl.static_assert(len(x.shape) == 0)
    if x > 0:
        tl.store(out_ptr + pid, x * 2)
    else:
        tl.store(out_ptr + pid, tl.load(x_ptr + pid, mask=x > 0, other=9))


@pytest.mark.parametrize("name", ["int8", "int32", "float32", "float64"])
def test_scalar_access(device, name):
    x = exact_values(name, 20)
    out = device.empty(20, NUMPY_TYPES[name])
    device.run(scalar_access_kernel, (20,), device.array(x), out)
    assert_same(device.numpy(out), np.where(x > 0, x * 2, np.array(9, x.dtype)))


@tilewright.jit
def bool_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    tl.static_assert(x.dtype == tl.int1)
    tl.store(out_ptr + offsets, ~x)


def test_bool_pointer(device):
    x = random_values("int1", 64)
    out = device.empty(64, np.bool_)
    device.run(bool_kernel, (1,), device.array(x), out, BLOCK=64)
    assert_same(device.numpy(out), ~x)


@tilewright.jit
def cache_kernel(
    x_ptr, out_ptr, LOAD: tl.constexpr, STORE: tl.constexpr, EVICTION: tl.constexpr, VOLATILE: tl.constexpr, BLOCK: tl.constexpr
):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, cache_modifier=LOAD, eviction_policy=EVICTION, volatile=VOLATILE)
    tl.store(out_ptr + offsets, x, cache_modifier=STORE, eviction_policy=EVICTION)


@pytest.mark.parametrize("load, store, eviction, volatile", [
    ("", "", "", False), (".ca", ".wb", "", False), (".cg", ".cg", "", False), (".cs", ".cs", "", False),
    (".cv", ".wt", "", False), ("", "", "evict_first", False), ("", "", "evict_last", False), ("", "", "", True),
])  # fmt: skip
@pytest.mark.parametrize("name", ["int8", "float32"])
def test_cache_hints(device, name, load, store, eviction, volatile):
    x = random_values(name, 512)
    out = device.empty(512, NUMPY_TYPES[name])
    device.run(
        cache_kernel, (1,), device.array(x), out, LOAD=load, STORE=store, EVICTION=eviction, VOLATILE=volatile, BLOCK=512
    )
    assert_same(device.numpy(out), x)


@tilewright.jit
def broadcast_store_kernel(out_ptr, value, M: tl.constexpr, N: tl.constexpr):
    pointers = out_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(pointers, value)
    # A row of values and a column of masks broadcast to the pointers.
    tl.store(pointers, tl.arange(0, N)[None, :], mask=tl.arange(0, M)[:, None] % 2 == 0)


def test_store_broadcasts(device):
    out = device.empty((8, 16), np.int32)
    device.run(broadcast_store_kernel, (1,), out, 77, M=8, N=16)
    expected = np.full((8, 16), 77, np.int32)
    expected[::2] = np.arange(16)
    assert_same(device.numpy(out), expected)


@tilewright.jit
def pointer_select_kernel(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    pointers = tl.where(offsets % 2 == 0, x_ptr + offsets, y_ptr + offsets)
    tl.store(out_ptr + offsets, tl.load(pointers))


def test_select_of_pointers(device):
    x, y = random_values("float32", 64), random_values("float32", 64, seed=1)
    out = device.empty(64, np.float32)
    device.run(pointer_select_kernel, (1,), device.array(x), device.array(y), out, BLOCK=64)
    assert_same(device.numpy(out), np.where(np.arange(64) % 2 == 0, x, y))


@tilewright.jit
def in_place_kernel(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    for start in range(0, n, BLOCK):
        mask = start + offsets < n
        x = tl.load(x_ptr + start + offsets, mask=mask)
        tl.store(x_ptr + start + offsets, x + 1, mask=mask)
        # What was stored is what the same program loads next.
        again = tl.load(x_ptr + start + offsets, mask=mask)
        tl.store(x_ptr + start + offsets, again * 2, mask=mask)


def test_in_place(device):
    x = exact_values("float32", 300)
    array = device.array(x)
    device.run(in_place_kernel, (1,), array, 300, BLOCK=128)
    assert_same(device.numpy(array), (x + 1) * 2)


@tilewright.jit
def exchange_through_memory_kernel(scratch_ptr, out_ptr, BLOCK: tl.constexpr):
    # Each element is read by another thread than the one that wrote it.
    offsets = tl.arange(0, BLOCK)
    tl.store(scratch_ptr + offsets, offsets * 3)
    tl.debug_barrier()
    tl.store(out_ptr + offsets, tl.load(scratch_ptr + (BLOCK - 1 - offsets)))


def test_barrier_orders_memory(device):
    scratch, out = device.empty(1024, np.int32), device.empty(1024, np.int32)
    device.run(exchange_through_memory_kernel, (1,), scratch, out, BLOCK=1024)
    assert_same(device.numpy(out), (np.arange(1023, -1, -1) * 3).astype(np.int32))
