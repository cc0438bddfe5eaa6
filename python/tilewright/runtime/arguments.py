# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Questions of a launch about arrays, beyond their address and type."""

from __future__ import annotations

import math
from typing import Optional

from ..user_objects import attribute, has_attribute

__all__ = ["elements_spanned", "extent_in_bytes"]


def elements_spanned(value) -> int:
    """Elements from the first to the last one of an array, both included; 0 for anything else."""
    shape, stride = attribute(value, "shape"), attribute(value, "stride")
    if shape is None or not has_attribute(value, "dtype"):
        return 0
    if callable(stride):
        strides = stride()
    else:
        # Contiguous without strides; those of NumPy's kind are in bytes.
        bytes_apart = attribute(value, "strides")
        if bytes_apart is None:
            return math.prod(shape)
        strides = [step // value.dtype.itemsize for step in bytes_apart]
    return 0 if 0 in tuple(shape) else 1 + sum((size - 1) * abs(step) for size, step in zip(shape, strides))


def extent_in_bytes(value) -> Optional[int]:
    """Bytes from the address of an array to its end; None where the object does not tell.

    An array with a negative stride reaches below its address, so that it is unknown, too.
    """
    try:
        strides = value.stride() if callable(getattr(value, "stride", None)) else getattr(value, "strides", None)
        if strides is not None and any(step < 0 for step in strides):
            return None
        size = getattr(value, "element_size", None)
        size = size() if callable(size) else value.dtype.itemsize
        count = elements_spanned(value)
        return count * size if count or 0 in tuple(value.shape) else None
    # The object is the user's: it may raise anything, and then does not tell.
    except Exception:
        return None
