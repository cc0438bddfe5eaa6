# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The setting of one launch: its arguments, arrays and grid as they are."""

from __future__ import annotations

import numpy as np

from ..runtime import kernel_helpers
from ..runtime.host_arrays import read_array, size_of
from ..runtime.interface import is_kernel
from ..runtime.interpreter import grid_sizes
from ..tools.tensor_descriptor import TensorDescriptor
from ..user_objects import attribute
from .setting import Array, Setting
from .terms import FALSE, TRUE, Atoms, Poly

__all__ = ["setting_of_launch"]


class _Reader:
    """Goes through the arguments as the compiler would see them."""

    def __init__(self):
        self.constants, self.leaves, self.arrays = {}, [], []

    def parameter(self, param, value):
        """The entry of a parameter in the signature; "constexpr" for a constant."""
        value = kernel_helpers.unwrap(value)
        if param.is_constexpr:
            self.constants[param.name] = value
            return "constexpr"
        return self._entry(param, param.name, value, not param.do_not_specialize)

    def _entry(self, param, name, value, specialize):
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or is_kernel(value):
            self.constants[name] = value
            return "constexpr"
        if isinstance(value, (bool, int, float)):
            return self._scalar(param, name, value, specialize)
        if isinstance(value, (tuple, list)):
            parts = [self._entry(param, f"{name}[{i}]", kernel_helpers.unwrap(v), True) for i, v in enumerate(value)]
            return type(value)._make(parts) if hasattr(value, "_fields") else tuple(parts)
        if isinstance(value, TensorDescriptor):
            return self._descriptor(name, value)
        array = read_array(name, value)
        if array is None:
            return self._scalar(param, name, attribute(value, "__index__")(), specialize)
        if param.annotation_type.startswith("*"):
            array = array._replace(dtype=param.annotation_type.lstrip("*k") or array.dtype)
        self._array(name, array)
        return "*" + array.dtype

    def _array(self, name, array):
        self.arrays.append((name, array))
        self.leaves.append(name)

    def _descriptor(self, name, value):
        array = read_array(name, value.base)
        self._array(name, array)
        self.leaves += [Poly.of(number) for number in (*value.shape, *value.strides)]
        block = ",".join(map(str, value.block_shape))
        return f"tensordesc<{array.dtype}[{block}]>"

    def _scalar(self, param, name, value, specialize):
        kind = param.annotation_type
        if isinstance(value, bool):
            kind = kind or "i1"
        elif isinstance(value, float):
            kind = kind or "fp32"
        elif not kind:
            if specialize and value == 1:
                self.constants[name] = 1
                return "constexpr"
            kind = "i32" if -(2**31) <= value < 2**31 else "i64" if value < 2**63 else "u64"
        if "fp" in kind or "bf" in kind:
            self.leaves.append(None)
        elif kind == "i1":
            self.leaves.append(TRUE if value else FALSE)
        else:
            bits = int(kind[1:])
            value &= (1 << bits) - 1
            self.leaves.append(Poly.of(value - (1 << bits) if value >> (bits - 1) else value))
        return kind


def _regions(arrays):
    """For each array the lowest address of those that overlap it, directly or through others."""
    spans = sorted((array.span(), name) for name, array in arrays)
    regions, start, end = {}, None, None
    for (low, high), name in spans:
        if start is None or low >= end:
            start, end = low, high
        end = max(end, high)
        regions[name] = start
    return regions


def setting_of_launch(kernel, grid, bound, options=None):
    """The setting of `kernel[grid](...)`; `bound` maps every parameter to its value."""
    reader = _Reader()
    entries = {param.name: reader.parameter(param, bound[param.name]) for param in kernel.params}
    signature = {name: entry for name, entry in entries.items() if entry != "constexpr"}
    regions = _regions(reader.arrays)
    arrays = {}
    for name, array in reader.arrays:
        low, high = (end - array.address for end in array.span())
        base = array.address - regions[name]
        arrays[name] = Array(name, Poly.of(low), Poly.of(high), size_of(array.dtype), regions[name], Poly.of(base))
    sizes = tuple(Poly.of(size) for size in grid_sizes(grid, bound))
    return Setting(
        kernel,
        signature,
        reader.constants,
        Atoms(),
        reader.leaves,
        arrays,
        sizes,
        options={k: v for k, v in (options or {}).items() if k != "check"},
    )
