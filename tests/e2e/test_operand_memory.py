# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products in flight keep their operands in shared memory, but no block of threads out of a multiprocessor for it."""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.assemble import SHARED_LIMIT, assemble_for
from harness.compare import assert_same
from harness.devices import Emulator

ROWS = 64


@tilewright.jit
def two_sides(x, y, left, right, both, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """The last two products need as much memory as two thirds of all; the second one could start with the first."""
    i, j = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    place = i[:, None] * COLUMNS + j[None, :]
    a = tl.load(x + place).to(tl.float32)
    b = tl.load(y + place).to(tl.float32)
    weights = tl.dot(a, tl.trans(b)) + 1.0
    of_left = tl.dot(weights, b)
    of_right = tl.dot(tl.trans(weights), a)
    doubled = tl.dot(b, tl.trans(a)) * 2.0
    of_both = tl.dot(doubled, a + b)
    tl.store(left + place, of_left.to(tl.float16))
    tl.store(right + place, of_right.to(tl.float16))
    tl.store(both + place, of_both.to(tl.float16))


def check_two_sides(device, columns, **options):
    rng = np.random.default_rng(columns)
    x, y = (rng.integers(-1, 2, (ROWS, columns)).astype(np.float16) for _ in range(2))
    outputs = [device.array(np.zeros((ROWS, columns), np.float16)) for _ in range(3)]
    device.run(two_sides, (1,), device.array(x), device.array(y), *outputs, ROWS=ROWS, COLUMNS=columns, **options)
    a, b = x.astype(np.float64), y.astype(np.float64)
    weights = a @ b.T + 1
    for out, expected in zip(outputs, (weights @ b, weights.T @ a, 2 * (b @ a.T) @ (a + b))):
        assert np.abs(expected).max() < 2048  # all are exact
        assert_same(device.numpy(out), expected.astype(np.float16))


COLUMNS = [32, 64, 128]


@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize("num_warps", [4, 8])
def test_two_sides(device, columns, num_warps):
    check_two_sides(device, columns, num_warps=num_warps)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("columns", COLUMNS)
def test_two_sides_in_the_emulator(columns, target):
    check_two_sides(Emulator(target), columns, num_warps=4)


def test_two_blocks_fit():
    x = np.empty((ROWS, 128), np.float16)
    compiled = assemble_for(two_sides, "sm_90a", [x] * 5, {"ROWS": ROWS, "COLUMNS": 128, "num_warps": 4})
    # The second block of a multiprocessor needs a kilobyte of the system's.
    assert 2 * compiled.metadata.shared <= SHARED_LIMIT["sm_90a"]
