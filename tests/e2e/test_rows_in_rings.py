# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows that loops of products load and threads take from each other, as the factors of scaled products: they are
copied to rings beside the operands, of any type and spacing, and read from there after the product has started."""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.assemble import assemble_for
from harness.compare import assert_same
from harness.devices import Emulator
from harness.element_types import NUMPY_TYPES

M, N, K = 64, 64, 256
BLOCK = 64


@tilewright.jit
def scaled_product(a, b, rows, columns, out, K, row_step, row_spacing, column_repeats,
                   MASKED: tl.constexpr, OTHER: tl.constexpr, BLOCK: tl.constexpr, N: tl.constexpr):  # fmt: skip
    m, n, k = tl.arange(0, BLOCK), tl.arange(0, N), tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, N), tl.float32)
    for step in range(tl.cdiv(K, BLOCK)):
        x = tl.load(a + m[:, None] * K + step * BLOCK + k[None, :])
        y = tl.load(b + n[None, :] * K + step * BLOCK + k[:, None])
        if MASKED:
            row = tl.load(rows + step * row_step + m * row_spacing, mask=m < BLOCK - 16 * step, other=OTHER)
        else:
            row = tl.load(rows + step * row_step + m * row_spacing)
        column = tl.load(columns + step * N + n // column_repeats)
        total += tl.dot(x, y) * row[:, None] * column[None, :]
    tl.store(out + m[:, None] * N + n[None, :], total)


def factors(shape, seed, dtype):
    """Powers of two, so that products and sums are exact."""
    return np.exp2(np.random.default_rng(seed).integers(-1, 2, shape)).astype(dtype)


def check(device, name, spacing=1, repeats=1, masked=False, other=0.0, n=N, **options):
    rng = np.random.default_rng(0)
    steps = K // BLOCK
    a, b = (rng.integers(-2, 3, (size, K)).astype(np.float16) for size in (M, n))
    dtype = NUMPY_TYPES[name]
    rows, columns = factors((steps, M, spacing), 1, dtype), factors((steps, n), 2, dtype)
    out = device.array(np.full((M, n), 7, np.float32))
    device.run(
        scaled_product, (1,), device.array(a), device.array(b), device.array(rows), device.array(columns), out, K,
        M * spacing, spacing, repeats, MASKED=masked, OTHER=other, BLOCK=BLOCK, N=n, **options
    )  # fmt: skip
    expected = np.zeros((M, n), np.float32)
    for step in range(steps):
        part = slice(step * BLOCK, (step + 1) * BLOCK)
        row = rows[step, :, 0].astype(np.float32)
        if masked:
            row = np.where(np.arange(M) < BLOCK - 16 * step, row, np.float32(other))
        column = columns[step, np.arange(n) // repeats].astype(np.float32)
        expected += (a[:, part].astype(np.float32) @ b[:, part].astype(np.float32).T) * row[:, None] * column[None, :]
    assert_same(device.numpy(out), expected)


CASES = [
    {}, {"spacing": 3}, {"repeats": 16}, {"masked": True}, {"masked": True, "other": 2.0}, {"num_stages": 1},
    {"num_stages": 2}, {"num_stages": 4, "num_warps": 8}, {"n": 16}, {"n": 128, "spacing": 2, "num_warps": 8},
]  # fmt: skip


def case_name(case):
    return "-".join(f"{key}={value}" for key, value in case.items()) or "plain"


@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("case", CASES, ids=case_name)
def test_scaled_product(device, case, name):
    check(device, name, **case)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name", ["float32", "float16"])
@pytest.mark.parametrize("case", CASES, ids=case_name)
def test_scaled_product_in_the_emulator(case, name, target):
    check(Emulator(target), name, **case)


@pytest.mark.parametrize(
    "name, case, loads",
    [("float32", {}, 4), ("float32", {"spacing": 3, "repeats": 16}, 4), ("float16", {}, 4),
     ("float16", {"spacing": 3}, 4), ("float32", {"masked": True}, 4),
     ("float16", {"spacing": 3, "masked": True, "other": 2.0}, 4),
     # cp.async fills with zeros only.
     ("float32", {"masked": True, "other": 2.0}, 3)],
)  # fmt: skip
def test_rows_are_copied_with_the_operands(name, case, loads):
    x, row = np.empty((M, K), np.float16), np.empty(K, NUMPY_TYPES[name])
    spacing = case.get("spacing", 1)
    options = {
        "MASKED": case.get("masked", False), "OTHER": case.get("other", 0.0), "BLOCK": BLOCK, "N": N, "num_stages": 3
    }  # fmt: skip
    arguments = [x, x, row, row, np.empty((M, N), np.float32), K, M * spacing, spacing, case.get("repeats", 1)]
    compiled = assemble_for(scaled_product, "sm_90a", arguments, options)
    assert f"pipeline: applied, stages=3, slots=3, loads={loads}," in " ".join(compiled.remarks)
    loop = compiled.asm["ptx"].split("cp.async.wait_group 1;")[1].split("wgmma.wait_group")[0]
    # A row that stays a load is converted, with barriers of its own. The ring needs one, and no fence.
    assert (loop.count("bar.sync") == 1) == (loads == 4) and "fence.proxy" not in loop
    # Elements that do not follow each other go to the ring through registers.
    is_loaded = "spacing" in case or loads == 3
    assert ("ld.global" in loop) == is_loaded and ("st.shared" in loop) == is_loaded
