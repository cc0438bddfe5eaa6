# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What counts as order between programs, and what is left alone; mistakes are planted in tests/planted/races_*.py."""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from tilewright import errors, knobs


def zeros(n, dtype=np.int32):
    return np.zeros(n, dtype)


@pytest.fixture(params=["", "reverse", "1", "2"], ids=["in-order", "reverse", "seed-1", "seed-2"])
def order(request):
    with knobs.runtime.scope():
        knobs.runtime.order = request.param
        yield request.param


@tilewright.jit
def same_value(out, done):
    tl.store(out, 7)
    tl.store(out + 1 + tl.program_id(0), tl.load(out))
    tl.store(done, True)


def test_equal_values_are_no_race():
    same_value[(8,)](zeros(9), zeros(1, np.bool_))


@tilewright.jit
def halves(out):
    # Two programs write the halves of each element.
    p = tl.program_id(0)
    i = tl.arange(0, 16)
    tl.store(out.to(tl.pointer_type(tl.int16)) + 2 * i + p, (i + 1).to(tl.int16))


@tilewright.jit
def whole_and_half(out):
    p = tl.program_id(0)
    if p == 0:
        tl.store(out + 3, 7)
    else:
        tl.store(out.to(tl.pointer_type(tl.int16)) + 7, tl.full((), 1, tl.int16))


def test_accesses_of_other_sizes():
    out = zeros(16)
    halves[(2,)](out)
    assert out.tolist() == [(i + 1) * 65537 for i in range(16)]
    with pytest.raises(errors.DataRace, match=r"write 'out'\[3\]"):
        whole_and_half[(2,)](zeros(16))


@tilewright.jit
def two_views(a, b):
    tl.store(a + tl.program_id(0), tl.program_id(0) + 1)
    tl.store(b + tl.program_id(0), tl.program_id(0) + 1)


def test_views_of_one_array():
    x = zeros(16)
    two_views[(4,)](x[:8], x[8:])
    with pytest.raises(errors.DataRace, match=r"programs \(0,0,0\) and \(1,0,0\) write 'a'\[1\]"):
        two_views[(4,)](x[:8], x[1:])


@tilewright.jit
def transposed(x, out, N: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)[:, None]
    j = tl.program_id(1) * B + tl.arange(0, B)[None, :]
    tl.store(out + j * N + i, tl.load(x + i * N + j))


def test_tiles_of_rows_and_columns(order):
    x = np.arange(48 * 48, dtype=np.float32).reshape(48, 48)
    out = np.zeros_like(x)
    transposed[(3, 3)](x, out, 48, B=16)
    assert (out == x.T).all()


@tilewright.jit
def last_one_sums(x, partial, count, out, COUNT: tl.constexpr, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    tl.store(partial + p, tl.sum(tl.load(x + p * BLOCK + tl.arange(0, BLOCK))))
    tl.debug_barrier()
    if tl.atomic_add(count, 1) == COUNT - 1:
        tl.store(out, tl.sum(tl.load(partial + tl.arange(0, COUNT))))
        tl.store(count, 0)  # for the next launch


def test_the_last_program_sums(order):
    x, partial, count, out = np.arange(1024, dtype=np.int32), zeros(64), zeros(1), zeros(1)
    for _ in range(2):
        last_one_sums[(64,)](x, partial, count, out, COUNT=64, BLOCK=16)
        assert out[0] == x.sum() and count[0] == 0


@tilewright.jit
def handed_on(data, flags, out):
    # The order goes through programs that do not touch the data.
    p = tl.program_id(0)
    if p == 0:
        tl.store(data, 42)
    else:
        while tl.load(flags + p - 1, volatile=True) == 0:
            pass
    if p == 4:
        tl.store(out, tl.load(data))
    tl.atomic_xchg(flags + p, 1, sem="release")


def test_order_is_handed_on(order):
    out = zeros(1)
    handed_on[(5,)](zeros(1), zeros(5), out)
    assert out[0] == 42


@tilewright.jit
def by_modifiers(data, flags, out):
    # A store with .wt and a load with .cv: what kernels use where they have no atomics.
    p = tl.program_id(0)
    if p > 0:
        while tl.load(flags + p - 1, cache_modifier=".cv") == 0:
            pass
    tl.store(data, tl.load(data) + p)
    tl.store(out + p, tl.load(data))
    tl.debug_barrier()
    tl.store(flags + p, 1, cache_modifier=".wt")


def test_write_through_and_volatile(order):
    out = zeros(6)
    by_modifiers[(6,)](zeros(1), zeros(6), out)
    assert out.tolist() == np.cumsum(np.arange(6)).tolist()


@tilewright.jit
def scattered_counts(x, bins, BLOCK: tl.constexpr):
    tl.atomic_add(bins + tl.load(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)), 1)


def test_histograms(order):
    x, bins = np.random.default_rng(0).integers(0, 50, 4096).astype(np.int32), zeros(50)
    scattered_counts[(16,)](x, bins, BLOCK=256)
    assert (bins == np.bincount(x, minlength=50)).all()


@tilewright.jit
def stream_k(x, partial, locks, out, COUNT: tl.constexpr, BLOCK: tl.constexpr):
    # Pairs of programs share an output: the second stores its part, the first waits for it.
    p = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    mine = tl.load(x + p * BLOCK + i) * 2
    if p % 2 == 1:
        tl.store(partial + p * BLOCK + i, mine)
        tl.debug_barrier()
        tl.atomic_xchg(locks + p, 1)
    else:
        while tl.atomic_cas(locks + p + 1, 1, 1) != 1:
            pass
        tl.store(out + p // 2 * BLOCK + i, mine + tl.load(partial + (p + 1) * BLOCK + i))


def test_stream_k(order):
    x, out = np.arange(256, dtype=np.float32).reshape(8, 32), zeros((4, 32), np.float32)
    stream_k[(8,)](x, np.zeros_like(x), zeros(8), out, COUNT=8, BLOCK=32)
    assert (out == 2 * (x[0::2] + x[1::2])).all()


@tilewright.jit
def in_place(x, y, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + offsets, tl.load(x + offsets) + 1)


def test_in_place_through_two_arguments():
    x = zeros(64)
    in_place[(4,)](x, x, BLOCK=16)
    assert (x == 1).all()


@tilewright.jit
def broadcast_store(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i // 2, tl.load(x + i // 2))
    tl.store(out + i * 0, 5, mask=i < 7)
    tl.store(out + i * 0, i, mask=i == 9)


def test_equal_lanes_of_one_store():
    broadcast_store[(1,)](np.arange(32, dtype=np.int32), zeros(32), B=32)


def test_a_report_names_both_places():
    with pytest.raises(errors.DataRace) as info:
        two_views[(2,)]((x := zeros(4))[:3], x[1:])
    error = info.value
    assert error.code == "E0408" and "tl.store(a + tl.program_id(0)" in error.frames[0].source_line
    assert any(
        "program (0,0,0) writes it at test_interpreter_races.py:" in note and "tl.store(b +" in note for note in error.notes
    ), error.notes


def test_checks_can_be_left_out():
    with knobs.runtime.scope():
        knobs.runtime.check = "-races"
        two_views[(4,)]((x := zeros(16))[:8], x[1:])
