# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory of a launch's arrays as NumPy arrays of their codes, and the numbers that codes stand for."""

from __future__ import annotations

import ctypes

import numpy as np

from ..scalar_types import numpy_type, size_of

#: Codes of an element by its size; integers and float32 and wider are their own codes.
_CODES = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def contents(array, address):
    """The elements of a HostArray whose element [0, ..., 0] lies at `address`: a view, as codes."""
    code = np.dtype(_CODES[size_of(array.dtype)])
    low, high = array.span()
    if low == high:
        return np.empty(array.shape, code)
    start = address + low - array.address
    memory = np.frombuffer((ctypes.c_uint8 * (high - low)).from_address(start), np.uint8)
    return np.ndarray(array.shape, code, memory, offset=array.address - low, strides=array.strides)


def decoded(codes, dtype):
    """Codes as numbers: floats of 16 bits and fewer as float32, booleans as booleans."""
    if dtype == "i1":
        return codes != 0
    values = np.ascontiguousarray(codes).view(numpy_type(dtype))
    return values.astype(np.float32) if values.dtype.kind in "fV" and size_of(dtype) <= 2 else values
