# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pipelined, flattened and chained loops of the benchmarks' kernels, on the emulator.

The question is how many times a loop runs that the compiler has unrolled into
prologue, body and epilogue: not at all, less often than there are stages, as
often, more often. The emulator refuses a copy or product that nobody waits for and
shared memory that is overwritten while it is read, whatever the result.
"""

import math

import numpy as np
import pytest

from harness.compare import assert_near, assert_same
from harness.devices import Emulator
from harness.tensor_core_runs import attend, multiply

TRIPS = [0, 1, 2, 3, 5]


@pytest.mark.parametrize("trips", TRIPS)
@pytest.mark.parametrize("tile", [(64, 32, 32, 4, 3), (64, 32, 32, 4, 4)], ids=str)
@pytest.mark.parametrize("target, form", [("sm_80", "pointers"), ("sm_90a", "pointers"), ("sm_90a", "descriptors")])
def test_product(target, form, tile, trips):
    actual, expected = multiply(Emulator(target), form, 64, 32, trips, tile)
    assert_same(actual, expected, signed_zeros=False)


# Two programs for five tiles: the last iterations of one program are fewer.
@pytest.mark.parametrize("trips", [0, 1, 2, 4])
@pytest.mark.parametrize("flatten", [False, True], ids=["nested", "flat"])
@pytest.mark.parametrize("split", [False, True], ids=["whole", "halves"])
def test_persistent_product(flatten, split, trips):
    actual, expected = multiply(Emulator("sm_90a"), "persistent", 5 * 64, 32, trips, (64, 32, 32, 4, 3), programs=2,
                                FLATTEN=flatten, SPLIT_C=split)
    assert_same(actual, expected, signed_zeros=False)


# Under the causal mask the first rows' loop over whole blocks does not run at all.
@pytest.mark.parametrize("length", [64, 128, 192])
@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
@pytest.mark.parametrize("target, described", [("sm_80", False), ("sm_90a", False), ("sm_90a", True)])
def test_attention(target, described, causal, length):
    q, k, v, out, lse = attend(Emulator(target), length, 32, causal, described, (64, 64, 4, 3))
    scores = q.astype(np.float64) @ k.T.astype(np.float64) / math.sqrt(32)
    if causal:
        scores = np.where(np.tril(np.ones(scores.shape, bool)), scores, -np.inf)
    weights = np.exp2((scores - scores.max(axis=1, keepdims=True)) / math.log(2))
    total = weights.sum(axis=1)
    assert_near(out, weights / total[:, None] @ v.astype(np.float64), absolute=2e-3)
    assert_near(lse, scores.max(axis=1) / math.log(2) + np.log2(total), absolute=1e-4)
