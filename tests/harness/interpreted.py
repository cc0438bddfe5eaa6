# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of the interpreter alone, and the arrays of integers that they write."""

import numpy as np

import tilewright
from tilewright import knobs


def interpreted(function):
    """As @tilewright.jit under TILEWRIGHT_INTERPRET=1."""
    with knobs.runtime.scope():
        knobs.runtime.interpret = True
        return tilewright.jit(function)


def run(kernel, *args, grid=(1,), **kwargs):
    kernel[grid](*args, **kwargs)


def scalars(count=8, dtype=np.int64):
    return np.full(count, -1, dtype)
