# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Questions of a tuner about the arguments of a launch: their device, their dtypes, and what of them is in a key."""

from __future__ import annotations

import sys

from .. import _core
from ..tools.tensor_descriptor import TensorDescriptor
from ..user_objects import attribute


def device_of(nargs, kwargs) -> int:
    """The device of the first argument that has one, else the current one."""
    for value in (*nargs.values(), *kwargs.values()):
        device = attribute(value, "device")
        index = attribute(device, "index", attribute(device, "id", device))
        if isinstance(index, int) and attribute(device, "type", "cuda") == "cuda":
            return index
    return _core.current_device()


# What has no dtype, and is asked on every launch.
_PLAIN = frozenset((int, float, bool, str, bytes, tuple, type(None)))
_SCALARS = _PLAIN - {tuple}
_dtype_texts: dict = {}  # of frameworks' dtype objects, which are few


def dtype_text(value):
    """The dtype of an argument as part of a key; None for what has none."""
    if type(value) in _PLAIN:
        return None
    if isinstance(value, TensorDescriptor):
        value = value.base
    dtype = attribute(value, "dtype")
    if dtype is None:
        return None
    try:
        return _dtype_texts[dtype]
    except KeyError:
        text = _dtype_texts[dtype] = str(dtype)
    except TypeError:  # not hashable
        text = str(dtype)
    return text


def key_value(value):
    """What an argument that `key` names adds to a key: itself, or of an array the dtype and the shape.

    Its elements say nothing about the time, and to read them would wait for the GPU. The array itself would be kept
    alive by the key, and each new one would be tuned for.
    """
    numpy = sys.modules.get("numpy")  # a scalar of it has a shape, too
    if type(value) in _SCALARS or (numpy is not None and isinstance(value, numpy.generic)):
        return value
    if type(value) in (tuple, list):
        return tuple(map(key_value, value))
    dtype, shape = dtype_text(value), attribute(value, "shape")
    if dtype is None or shape is None:
        return value
    return f"{dtype}[{', '.join(map(str, shape))}]"
