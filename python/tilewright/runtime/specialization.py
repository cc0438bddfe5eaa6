# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The classification of one argument by a launch, as a function that libraries call.

Launches themselves classify their arguments in C++ (docs/launch.md has the table); torch
asks for the same facts when it looks at a kernel without launching it.
"""

from __future__ import annotations

from ..scalar_types import short_type


def _integer(value, specialize_value):
    if value == 1 and specialize_value:
        return "constexpr", 1
    kind = "i32" if -(2**31) <= value < 2**31 else "i64" if -(2**63) <= value < 2**63 else "u64"
    return kind, "D" if value % 16 == 0 and specialize_value else ""


def native_specialize_impl(backend, argument, is_const, specialize_value, align):
    """(type, key): "D" as the key means divisible by 16, of an address as of a number."""
    if argument is None:
        return "constexpr", None
    if isinstance(argument, bool):
        return "u1", None
    if isinstance(argument, int):
        kind, key = _integer(argument, specialize_value)
        return kind, key if align or not isinstance(key, str) else ""
    if isinstance(argument, float):
        return "fp32", None
    if isinstance(argument, (tuple, list)):
        entries = [native_specialize_impl(backend, item, is_const, specialize_value, align) for item in argument]
        make = type(argument) if hasattr(argument, "_fields") else lambda *items: tuple(items)
        return make(*(entry[0] for entry in entries)), make(*(entry[1] for entry in entries))
    base = getattr(argument, "base", None)
    if base is not None and hasattr(argument, "block_shape"):
        block = ",".join(str(extent) for extent in argument.block_shape)
        return f"tensordesc<{short_type('descriptor', base.dtype)}[{block}]>", None
    if hasattr(argument, "data_ptr"):
        aligned = align and argument.data_ptr() % 16 == 0
        return ("*k" if is_const else "*") + short_type("tensor", argument.dtype), "D" if aligned else ""
    return "constexpr", argument
