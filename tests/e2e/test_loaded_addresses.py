# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops whose tiles lie at addresses that other loads of the loop bring: pages, rows by index.

The address' load is an iteration ahead of the copy. Each form of copy is here, and loops that are
shorter than the pipeline; places are not in order, and an index past the table would lead outside.
"""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.devices import Emulator
from harness.element_types import exact_values

TARGETS = ["sm_80", "sm_90a"]
# Tiles that a loop goes through: none, fewer than stages, more. (One is a constant, and no loop.)
TRIPS = [0, 2, 5]


@tilewright.jit
def sum_kernel(x_ptr, place_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for step in tl.range(0, n, num_stages=3):
        total += tl.load(x_ptr + tl.load(place_ptr + step) * BLOCK + i)
    tl.store(out_ptr + i, total)


@tilewright.jit
def pages_kernel(a_ptr, b_ptr, page_ptr, out_ptr, pages, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, FORM: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    total = tl.zeros((M, N), tl.float32)
    if FORM == "descriptor":
        b_desc = tl.make_tensor_descriptor(b_ptr, [8 * K, N], [N, 1], [K, N])
    for step in range(0, pages):
        a = tl.load(a_ptr + m[:, None] * (pages * K) + step * K + k[None, :])
        if FORM == "rows":
            # A place for each row of the tile.
            place = tl.load(page_ptr + step + k * 0) * K + k
        else:
            place = tl.load(page_ptr + step) * K + k
        if FORM == "descriptor":
            b = b_desc.load([tl.load(page_ptr + step) * K, 0])
        else:
            b = tl.load(b_ptr + place[:, None] * N + n[None, :])
        if FORM == "computed":
            b = (b.to(tl.float32) + 1).to(tl.float16)
        total = tl.dot(a, b, total)
    tl.store(out_ptr + m[:, None] * N + n[None, :], total)


def remarks_of(seen):
    return " ".join(seen[-1].remarks)


@pytest.mark.parametrize("trips", TRIPS)
@pytest.mark.parametrize("target", TARGETS)
def test_sum_of_rows_by_index(target, trips):
    seen, x = [], exact_values("float32", (8, 256))
    places, out = np.array([6, 1, 7, 0, 3][:trips] + [1 << 20], np.int32), np.full(256, 9, np.float32)
    Emulator(target, inspect=seen.append).run(sum_kernel, (1,), x, places, out, trips, BLOCK=256)
    np.testing.assert_array_equal(out, x[places[:trips]].sum(axis=0))
    assert "pipeline: applied" in remarks_of(seen)


@pytest.mark.parametrize("trips", TRIPS)
@pytest.mark.parametrize("form", ["page", "rows", "computed", "descriptor"])
@pytest.mark.parametrize("target", TARGETS)
def test_product_of_pages(target, form, trips):
    m, n, k = 64, 32, 32
    a, b = exact_values("float16", (m, max(trips, 1) * k)), exact_values("float16", (8 * k, n), seed=1)
    pages, out = np.array([6, 1, 7, 0, 3][:trips] + [1 << 20], np.int32), np.full((m, n), 9, np.float32)
    seen = []
    Emulator(target, inspect=seen.append).run(
        pages_kernel,
        (1,),
        a.reshape(-1)[: m * trips * k] if trips else a,
        b,
        pages,
        out,
        trips,
        M=m,
        N=n,
        K=k,
        FORM=form,
        num_warps=4,
        num_stages=3,
    )
    a = a.reshape(m, -1)[:, : trips * k].astype(np.float64)
    rows = (b.reshape(8, k, n)[pages[:trips]].astype(np.float64) + (form == "computed")).reshape(-1, n)
    np.testing.assert_array_equal(out, a @ rows)
    assert "pipeline: applied" in remarks_of(seen) and "its address depends" not in remarks_of(seen)


@pytest.mark.parametrize("stages, slots", [(2, 2), (3, 2), (4, 3)])
def test_fewer_slots_where_the_pages_do_not_fit(stages, slots):
    """A load for an address counts as a stage where memory is short, as in Triton: 3 slots of 80 KiB are too many."""
    m, n, k, trips, seen = 64, 256, 128, 3, []
    a, b = exact_values("float16", (m, trips * k)), exact_values("float16", (8 * k, n), seed=1)
    pages, out = np.array([6, 1, 7, 1 << 20], np.int32), np.full((m, n), 9, np.float32)

    def run():
        Emulator("sm_90a", inspect=seen.append).run(
            pages_kernel, (1,), a, b, pages, out, trips, M=m, N=n, K=k, FORM="page", num_warps=8, num_stages=stages
        )

    if slots == 3:
        with pytest.raises(tilewright.OutOfResources, match="E0301"):
            run()
        return
    run()
    rows = b.reshape(8, k, n)[pages[:trips]].astype(np.float64).reshape(-1, n)
    np.testing.assert_array_equal(out, a.astype(np.float64) @ rows)
    assert f"stages={slots}, slots={slots}" in remarks_of(seen)


def test_no_ring_where_two_slots_do_not_fit():
    """A ring that no wgmma reads has a slot fewer where memory is short: two of 160 KiB are too many for two stages."""
    m, n, k, trips, seen = 64, 256, 256, 3, []
    a, b = exact_values("float16", (m, trips * k)), exact_values("float16", (8 * k, n), seed=1)
    pages, out = np.array([6, 1, 7, 1 << 20], np.int32), np.full((m, n), 9, np.float32)
    Emulator("sm_80", inspect=seen.append).run(
        pages_kernel, (1,), a, b, pages, out, trips, M=m, N=n, K=k, FORM="page", num_warps=8, num_stages=2
    )
    rows = b.reshape(8, k, n)[pages[:trips]].astype(np.float64).reshape(-1, n)
    np.testing.assert_array_equal(out, a.astype(np.float64) @ rows)
    assert "too little shared memory" in remarks_of(seen)
