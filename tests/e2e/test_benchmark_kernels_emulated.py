# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A few of test_benchmark_kernels.py on the emulator too.

So a machine without a GPU sees a wrong product, copy or wait in the machine code
of a pipelined kernel, not only that it can be assembled.
"""

import numpy as np
import pytest

from harness.benchmark_launches import DESCRIBED, attention_arrays, attention_reference, multiply, run_forward
from harness.compare import assert_near, assert_same

EMULATED = True


@pytest.mark.parametrize("form, constants", [("pointers", {}), *DESCRIBED], ids=str)
@pytest.mark.parametrize("k", [48, 192])
def test_product(device, k, form, constants):
    # Four tiles for two programs where they stay; fewer steps than stages, and more.
    actual, expected = multiply(device, "float16", 128, 128, k, (64, 64, 32, 4, 3), False, form, **constants)
    assert_same(actual, expected, signed_zeros=False)


@pytest.mark.parametrize("described", [False, True], ids=["pointers", "descriptors"])
def test_attention(device, described):
    arrays = attention_arrays(1, 256, 64)
    out, lse = run_forward(device, arrays, True, (64, 64, 4, 2), described)
    expected = attention_reference(*arrays, True)
    assert_near(out, expected[0], absolute=2e-3)
    assert_near(lse, expected[1], absolute=1e-4)


@pytest.mark.parametrize("described", [False, True], ids=["pointers", "descriptors"])
def test_attention_of_equal_scores_is_exact(device, described):
    arrays = attention_arrays(1, 256, 64, uniform=True)
    out, _ = run_forward(device, arrays, False, (64, 64, 4, 3), described)
    mean = arrays[2].astype(np.float64).mean(axis=1, keepdims=True)
    assert_same(out, np.broadcast_to(mean, out.shape).astype(np.float16), signed_zeros=False)
