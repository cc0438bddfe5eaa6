# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Triton's path to small helpers that libraries import."""

from __future__ import annotations

import warnings

from . import errors
from .scalar_types import BITS, last_part, type_canonicalisation_dict

TRITON_MAX_TENSOR_NUMEL = 1 << 20
BITWIDTH_DICT = {**BITS, "u1": 1}


def get_primitive_bitwidth(dtype: str) -> int:
    """Bits of an element, by the short name of its type."""
    return BITWIDTH_DICT[dtype]


def canonicalize_dtype(dtype) -> str:
    """The short name of an element type: `torch.float16` and "float16" are "fp16"."""
    text = last_part(str(dtype).strip().strip("'\""))
    return type_canonicalisation_dict.get(text, text)


def canonicalize_ptr_dtype(dtype, is_const) -> str:
    """As canonicalize_dtype, for a pointer to such elements."""
    return ("*k" if is_const else "*") + canonicalize_dtype(dtype)


def is_power_of_two(number) -> bool:
    return number > 0 and number & (number - 1) == 0


def validate_block_shape(shape) -> int:
    """The number of elements of a tile; TypeError or ValueError where there can be no such tile."""
    elements = 1
    for position, extent in enumerate(shape):
        if not isinstance(extent, int):
            raise TypeError(f"Shape element {position} must have type `constexpr[int]`, got `constexpr[{type(extent)}]`")
        if not is_power_of_two(extent):
            raise ValueError(f"Shape element {position} must be a power of 2, got {extent}")
        elements *= extent
    if elements > TRITON_MAX_TENSOR_NUMEL:
        raise ValueError(str(errors.make("E0107", n=elements, m=TRITON_MAX_TENSOR_NUMEL)))
    return elements


def is_namedtuple(value) -> bool:
    return isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields")


def is_iterable(value) -> bool:
    return isinstance(value, (list, tuple))


_said = set()


def warn_once(message, category=UserWarning, stacklevel=2):
    """Warns of a text the first time."""
    if message not in _said:
        _said.add(message)
        warnings.warn(message, category, stacklevel=stacklevel + 1)


def get_iterable_path(value, path):
    """The element of nested tuples and lists at a path of positions."""
    for position in path:
        value = value[position]
    return value


def find_paths_if(value, accepts):
    """Paths of positions to all elements of nested tuples and lists that `accepts(path, element)` accepts."""
    found = []

    def visit(path, element):
        if is_iterable(element):
            for position, item in enumerate(element):
                visit((*path, position), item)
        elif accepts(path, element):
            found.append(path)

    for position, item in enumerate(value if is_iterable(value) else [value]):
        visit((position,), item)
    return found
