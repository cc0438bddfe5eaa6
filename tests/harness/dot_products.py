# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Types, launch options and the bound on errors of products by tl.dot."""

import ml_dtypes
import numpy as np
import pytest

from harness.compare import describe
from harness.devices import Assemble
from harness.element_types import NUMPY_TYPES

# Operand types with the type of the result.
RESULTS = {"int8": "int32", "float16": "float32", "bfloat16": "float32", "float32": "float32", "float64": "float64",
           "float8e4nv": "float32", "float8e5": "float32"}  # fmt: skip

WARPS, STAGES = [1, 2, 4, 8, 16], [1, 2, 3, 4, 5]


def assert_product(actual, a, b, acc=0.0, relative=0.0):
    """Near a @ b + acc: `relative` of each product, and f32 sums in any order."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    exact = a @ b + acc
    magnitude = np.abs(a) @ np.abs(b) + np.abs(acc)
    epsilon = float(ml_dtypes.finfo(actual.dtype).eps)
    sums = np.float64(np.finfo(np.float32).eps) if actual.dtype != np.float64 else epsilon
    bound = (relative + sums * (a.shape[-1] + 1)) * magnitude + epsilon * np.abs(exact)
    wrong = ~(np.abs(actual.astype(np.float64) - exact) <= bound)
    assert not wrong.any(), describe(actual, exact, wrong)


def exact_product(a, b, result):
    return (a.astype(np.float64) @ b.astype(np.float64)).astype(NUMPY_TYPES[result])


def with_products(device, name):
    """`device` without the GPUs that do not multiply `name` (E0109: tests/diag/test_dot_errors.py)."""
    if name != "float8e4nv":
        return device
    if isinstance(device, Assemble):
        return Assemble([target for target in device.targets if target != "sm_80"])
    if getattr(device, "target", "") == "sm_80":
        pytest.skip("sm_80 has no fp8 units")
    return device
