# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arguments and constants of a saved launch as JSON, and back.

Each value is an object with one entry that names its kind: {"value": 3}, {"array": 0},
{"tuple": [...]}, {"constexpr": {...}}, {"dtype": "fp16"}, {"function": 1}, ...
"""

from __future__ import annotations

import importlib
import math
import types
from dataclasses import dataclass

import numpy as np

from .. import errors, language
from ..runtime.host_arrays import HostArray, read_array, size_of
from ..runtime.jit import JITFunction
from ..runtime.mathematics import ConstexprFunction
from ..tools.tensor_descriptor import TensorDescriptor

_PLAIN = (bool, int, float, str, type(None))
#: Modules whose names a kernel may use, and which are there wherever a launch is run again.
_KNOWN_MODULES = ("tilewright", "math")


def is_known_module(name: str) -> bool:
    return name.split(".")[0] in _KNOWN_MODULES


class ValueWriter:
    """Makes JSON of values; collects the arrays and functions that they name."""

    def __init__(self, kernel, snapshot):
        self.kernel, self.snapshot = kernel, snapshot
        self.arrays: list = []
        self.functions: list = []  # in the order of their numbers

    def refuse(self, name, value):
        return errors.make("E0706", name=self.kernel, reason=f"'{name}' is of type {type(value).__name__}")

    def encode(self, name, value):
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, language.constexpr):
            return {"constexpr": self.encode(name, value.value)}
        if isinstance(value, float) and not math.isfinite(value):
            return {"float": repr(value)}
        if isinstance(value, _PLAIN):
            return {"value": value}
        if isinstance(value, (tuple, list)):
            kind = "list" if isinstance(value, list) else "tuple"
            encoded = {kind: [self.encode(f"{name}[{i}]", item) for i, item in enumerate(value)]}
            return {**encoded, "fields": list(value._fields)} if hasattr(value, "_fields") else encoded
        if isinstance(value, dict):
            return {"dict": {key: self.encode(f"{name}[{key!r}]", item) for key, item in value.items()}}
        if isinstance(value, language.dtype):
            return {"dtype": value.short_name}
        if isinstance(value, (JITFunction, ConstexprFunction)):
            return {"function": self.function(value)}
        if isinstance(value, TensorDescriptor):
            return {
                "descriptor": {
                    "base": self.encode(name, value.base),
                    "shape": [int(v) for v in value.shape],
                    "strides": [int(v) for v in value.strides],
                    "block_shape": [int(v) for v in value.block_shape],
                    "padding": value.padding,
                }
            }
        return self._named(name, value) or self._array(name, value)

    def function(self, function) -> int:
        """The number of a jit function, or of one that `constexpr_function` has marked."""
        for number, known in enumerate(self.functions):
            if known is function:
                return number
        self.functions.append(function)
        return len(self.functions) - 1

    def _named(self, name, value):
        """A module that is always there, or something of one."""
        if isinstance(value, types.ModuleType):
            if is_known_module(value.__name__):
                return {"module": value.__name__}
            raise self.refuse(name, value)
        module, qualified = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
        if isinstance(module, str) and isinstance(qualified, str) and is_known_module(module):
            return {"attribute": [str(module), qualified]}
        return None

    def _array(self, name, value):
        array = read_array(name, value)
        if array is None or self.snapshot is None:
            raise self.refuse(name, value)
        memory, offset = self.snapshot.place(array)
        self.arrays.append(
            {
                "name": name,
                "memory": memory,
                "offset": offset,
                "dtype": array.dtype,
                "shape": list(array.shape),
                "strides": list(array.strides),
                "writable": array.writable,
            }
        )
        return {"array": len(self.arrays) - 1}


@dataclass
class SavedArray:
    """An array in a range of memory: `offset` is that of its element [0, ..., 0]; strides are in bytes."""

    name: str
    memory: int
    offset: int
    dtype: str
    shape: tuple
    strides: tuple
    writable: bool

    @classmethod
    def of(cls, record, memory, check=False):
        array = cls(
            record["name"],
            record["memory"],
            record["offset"],
            record["dtype"],
            tuple(record["shape"]),
            tuple(record["strides"]),
            record["writable"],
        )
        if check:
            low, high = array.host(0).span()
            inside = 0 <= array.memory < len(memory) and 0 <= low <= high <= memory[array.memory].nbytes
            if not inside or len(array.shape) != len(array.strides) or size_of(array.dtype) not in (1, 2, 4, 8):
                raise ValueError(f"array '{array.name}' lies outside of its memory")
        return array

    def host(self, base) -> HostArray:
        """The array in a copy of its range that begins at address `base`."""
        return HostArray(base + self.offset, self.dtype, self.shape, self.strides, self.writable)


class ValueReader:
    """Makes values of JSON; `arrays` and `functions` are what its numbers mean."""

    def __init__(self, arrays, functions):
        self.arrays, self.functions = arrays, functions

    def decode(self, record):
        kind = next(iter(record))
        return getattr(self, "_" + kind)(record[kind], record)

    def _value(self, value, _):
        return value

    def _float(self, text, _):
        return float(text)

    def _constexpr(self, inner, _):
        return language.constexpr(self.decode(inner))

    def _list(self, items, _):
        return [self.decode(item) for item in items]

    def _tuple(self, items, record):
        values = [self.decode(item) for item in items]
        if "fields" in record:
            from collections import namedtuple

            return namedtuple("saved", record["fields"])(*values)
        return tuple(values)

    def _dict(self, items, _):
        return {key: self.decode(item) for key, item in items.items()}

    def _dtype(self, name, _):
        return language.dtype(name)

    def _function(self, number, _):
        return self.functions[number]

    def _array(self, number, _):
        return self.arrays[number]

    def _module(self, name, _):
        if not is_known_module(name):
            raise ValueError(f"module {name}")
        return importlib.import_module(name)

    def _attribute(self, place, _):
        value = self._module(place[0], None)
        for part in place[1].split("."):
            value = getattr(value, part)
        return value

    def _namespace(self, items, _):
        return types.SimpleNamespace(**self._dict(items, None))

    def _descriptor(self, parts, _):
        return TensorDescriptor(
            self.decode(parts["base"]), parts["shape"], parts["strides"], parts["block_shape"], parts["padding"]
        )
