# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Atomics: collisions within a tile and between programs, masks, old values, locks."""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.compare import assert_same
from harness.element_types import NUMPY_TYPES, exact_values, random_values


@tilewright.jit
def scatter_kernel(x_ptr, place_ptr, out_ptr, n, OP: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    target = out_ptr + tl.load(place_ptr + offsets, mask=mask, other=0)
    if OP == "add":
        tl.atomic_add(target, x, mask=mask)
    elif OP == "max":
        tl.atomic_max(target, x, mask=mask)
    elif OP == "min":
        tl.atomic_min(target, x, mask=mask)
    elif OP == "and":
        tl.atomic_and(target, x, mask=mask)
    elif OP == "or":
        tl.atomic_or(target, x, mask=mask)
    else:
        tl.static_assert(OP == "xor")
        tl.atomic_xor(target, x, mask=mask)


UFUNCS = {"add": np.add, "max": np.maximum, "min": np.minimum, "and": np.bitwise_and, "or": np.bitwise_or,
          "xor": np.bitwise_xor}  # fmt: skip

INTEGER_TYPES = ["int32", "uint32", "int64", "uint64"]
CASES = [(op, name) for op in UFUNCS for name in INTEGER_TYPES]
CASES += [("add", name) for name in ("float16", "bfloat16", "float32", "float64")]
CASES += [(op, name) for op in ("max", "min") for name in ("float16", "bfloat16", "float32", "float64")]


@pytest.mark.parametrize("op, name", CASES)
def test_scatter(device, op, name):
    """Many values on few places: every one must arrive."""
    x = exact_values(name, 1000) if op == "add" or name.startswith("float") else random_values(name, 1000)
    place = np.random.default_rng(1).integers(0, 37, 1000).astype(np.int32)
    start = exact_values(name, 37, seed=2)
    out = device.array(start)
    device.run(scatter_kernel, (8,), device.array(x), device.array(place), out, 1000, OP=op, BLOCK=128)
    expected = start.copy()
    with np.errstate(all="ignore"):
        for p, value in zip(place, x):
            expected[p] = UFUNCS[op](expected[p], value)
    assert_same(device.numpy(out), expected, signed_zeros=False)


@tilewright.jit
def rows_kernel(x_ptr, out_ptr, old_ptr, columns, stride, READS: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    row, column = tl.arange(0, ROWS)[:, None], tl.arange(0, WIDTH)[None, :]
    x = tl.load(x_ptr + (tl.program_id(0) * ROWS + row) * WIDTH + column)
    old = tl.atomic_add(out_ptr + row * stride + column, x, mask=column < columns)
    if READS:
        tl.store(old_ptr + row * WIDTH + column, old, mask=column < columns)


@pytest.mark.parametrize("columns, stride", [(64, 64), (48, 64), (41, 64), (64, 66), (64, 67), (64, 0)])
@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_sums_of_rows(device, name, columns, stride):
    """Neighbours that one instruction adds, where mask and alignment allow it; each program adds to the same rows."""
    rows, width, programs = 16, 64, 3
    x = np.random.default_rng(3).integers(-2, 3, (programs, rows, width)).astype(NUMPY_TYPES[name])
    start = np.random.default_rng(4).integers(-4, 5, rows * 67 + width).astype(NUMPY_TYPES[name])
    out, old = device.array(start), device.empty((rows, width), NUMPY_TYPES[name])
    shape = {"ROWS": rows, "WIDTH": width}
    device.run(rows_kernel, (programs,), device.array(x), out, old, columns, stride, READS=False, **shape)
    # The sums are small integers, so their order does not matter.
    expected = start.copy()
    places = np.arange(rows)[:, None] * stride + np.arange(columns)[None, :]
    for each in x[:, :, :columns]:
        np.add.at(expected, places, each)
    assert_same(device.numpy(out), expected, signed_zeros=False)
    if stride == 0:  # which row comes first is not said
        return
    device.run(rows_kernel, (1,), device.array(x), out, old, columns, stride, READS=True, **shape)
    assert_same(device.numpy(old)[:, :columns], expected[places], signed_zeros=False)
    expected[places] += x[0, :, :columns]
    assert_same(device.numpy(out), expected, signed_zeros=False)


@tilewright.jit
def ticket_kernel(counter_ptr, out_ptr, BLOCK: tl.constexpr):
    # A scalar atomic runs once per program; a tile's once per element.
    ticket = tl.atomic_add(counter_ptr, 1)
    tickets = tl.atomic_add(counter_ptr + 1 + tl.zeros((BLOCK,), tl.int32), 1)
    tl.store(out_ptr + tl.program_id(0) * (BLOCK + 1), ticket)
    tl.store(out_ptr + tl.program_id(0) * (BLOCK + 1) + 1 + tl.arange(0, BLOCK), tickets)


def test_old_values(device):
    """Each old value is handed out exactly once."""
    counter, out = device.array(np.zeros(2, np.int32)), device.empty((16, 33), np.int32)
    device.run(ticket_kernel, (16,), counter, out, BLOCK=32)
    result = device.numpy(out)
    assert sorted(result[:, 0].tolist()) == list(range(16))
    assert sorted(result[:, 1:].reshape(-1).tolist()) == list(range(16 * 32))
    assert device.numpy(counter).tolist() == [16, 512]


@tilewright.jit
def exchange_kernel(x_ptr, out_ptr, old_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    old = tl.atomic_xchg(out_ptr + offsets, tl.load(x_ptr + offsets), mask=offsets % 2 == 0)
    tl.store(old_ptr + offsets, old, mask=offsets % 2 == 0)


@pytest.mark.parametrize("name", ["int32", "int64", "float32"])
def test_exchange(device, name):
    x, start = exact_values(name, 64), exact_values(name, 64, seed=3)
    out, old = device.array(start), device.array(np.zeros(64, NUMPY_TYPES[name]))
    device.run(exchange_kernel, (1,), device.array(x), out, old, BLOCK=64)
    even = np.arange(64) % 2 == 0
    assert_same(device.numpy(out), np.where(even, x, start))
    assert_same(device.numpy(old), np.where(even, start, np.zeros_like(start)))


@tilewright.jit
def compare_and_swap_kernel(x_ptr, out_ptr, old_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    old = tl.atomic_cas(out_ptr + offsets, x, x + 100)
    tl.store(old_ptr + offsets, old)


@pytest.mark.parametrize("name", ["int32", "uint32", "int64"])
def test_compare_and_swap(device, name):
    x, start = exact_values(name, 64, low=0, high=2), exact_values(name, 64, seed=3, low=0, high=2)
    out, old = device.array(start), device.empty(64, NUMPY_TYPES[name])
    device.run(compare_and_swap_kernel, (1,), device.array(x), out, old, BLOCK=64)
    assert_same(device.numpy(out), np.where(x == start, x + 100, start).astype(start.dtype))
    assert_same(device.numpy(old), start)


@tilewright.jit
def relay_kernel(flag_ptr, out_ptr, FIRST: tl.constexpr):
    """Each program waits for the one before it."""
    turn = tl.program_id(0)
    there = tl.atomic_poll(flag_ptr, turn.to(tl.int64) + FIRST)
    before = tl.load(out_ptr + turn)
    tl.store(out_ptr + turn + 1, before * 2 + there.to(tl.int32))
    tl.debug_barrier()
    tl.atomic_xchg(flag_ptr, (turn.to(tl.int64) + FIRST + 1).to(flag_ptr.dtype.element_ty), sem="release")


@pytest.mark.parametrize("name, first", [("int32", 0), ("uint32", 7), ("int64", 2**40), ("uint64", 3)])
def test_poll(device, name, first):
    flag, out = device.array(np.array([first], NUMPY_TYPES[name])), device.array(np.zeros(9, np.int32))
    device.run(relay_kernel, (8,), flag, out, FIRST=first)
    assert_same(device.numpy(out), np.array([2**i - 1 for i in range(9)], np.int32))
    assert device.numpy(flag)[0] == first + 8


@tilewright.jit
def impatient_kernel(flag_ptr, out_ptr, timeout):
    tl.store(out_ptr, tl.atomic_poll(flag_ptr, 1, sem="relaxed", scope="cta", timeout_ns=timeout).to(tl.int32))
    tl.store(out_ptr + 1, tl.atomic_poll(flag_ptr, 5, timeout_ns=1000).to(tl.int32))


@pytest.mark.parametrize("name", ["int16", "int32", "uint64"])
def test_poll_gives_up(device, name):
    flag, out = device.array(np.array([5], NUMPY_TYPES[name])), device.empty(2, np.int32)
    device.run(impatient_kernel, (1,), flag, out, 2000)
    assert_same(device.numpy(out), np.array([0, 1], np.int32))


@tilewright.jit
def lock_kernel(x_ptr, total_ptr, lock_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + offsets)
    while tl.atomic_cas(lock_ptr, 0, 1, sem="acquire", scope="gpu") == 1:
        pass
    tl.store(total_ptr + offsets, tl.load(total_ptr + offsets) + x)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0, sem="release")


def test_lock(device):
    """Plain loads and stores under a lock, from more programs than there are processors."""
    x = exact_values("float32", (300, 64))
    total, lock = device.array(np.zeros(64, np.float32)), device.array(np.zeros(1, np.int32))
    device.run(lock_kernel, (300,), device.array(x), total, lock, BLOCK=64)
    assert_same(device.numpy(total), x.sum(axis=0))


@tilewright.jit
def histogram_kernel(x_ptr, out_ptr, n, SEM: tl.constexpr, SCOPE: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0)
    tl.atomic_add(out_ptr + x, 1, mask=mask, sem=SEM, scope=SCOPE)


@pytest.mark.parametrize("scope", ["gpu", "sys"])
@pytest.mark.parametrize("sem", ["relaxed", "acquire", "release", "acq_rel"])
def test_semantics(device, sem, scope):
    x = np.random.default_rng(0).integers(0, 16, 1000).astype(np.int32)
    out = device.array(np.zeros(16, np.int32))
    device.run(histogram_kernel, (4,), device.array(x), out, 1000, SEM=sem, SCOPE=scope, BLOCK=256)
    assert_same(device.numpy(out), np.bincount(x, minlength=16).astype(np.int32))
