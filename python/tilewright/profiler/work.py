# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bytes and operations of a launch, from the counts of the compiler (codegen/emit/WorkCount.h).

The compiler says what one program does between its loops and how often the loops run, as
expressions of integer arguments and of the program's place; here they get their values and are
summed over the grid. A count that depends on loaded values is unknown, and reported as unknown.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass, field

import numpy as np

# Grids with more programs are not gone through; none of their counts that depend on the place is known.
_MOST_PROGRAMS = 1 << 24


class _Unknown(Exception):
    """A value that only the running kernel knows."""


def _truncated(a, b):
    quotient = np.abs(a) // np.maximum(np.abs(b), 1)
    return np.where((a < 0) == (b < 0), quotient, -quotient)


_operations = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "div": _truncated,
    "rem": lambda a, b: a - _truncated(a, b) * b,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "select": np.where,
    "trips": lambda low, high, step: np.maximum(-((low - high) // np.maximum(step, 1)), 0),
}


class _Launch:
    """Values of expressions for one launch."""

    def __init__(self, values, grid):
        self.values, self.grid = values, grid

    @functools.cached_property
    def places(self):
        if self.programs > _MOST_PROGRAMS:
            raise _Unknown
        numbers = np.arange(self.programs, dtype=np.int64)
        x, y, _ = self.grid
        return numbers % x, numbers // x % y, numbers // (x * y)

    @property
    def programs(self):
        return self.grid[0] * self.grid[1] * self.grid[2]

    def value(self, expression):
        if expression is None:
            raise _Unknown
        if isinstance(expression, int):
            return np.int64(expression)
        name, *rest = expression
        if name == "parameter":
            if (number := self.values.get(rest[0])) is None:
                raise _Unknown
            return np.int64(number)
        if name == "program":
            return self.places[rest[0]]
        if name == "programs":
            return np.int64(self.grid[rest[0]])
        return np.asarray(_operations[name](*map(self.value, rest)), dtype=np.int64)

    def repeats(self, factors):
        """How often something runs in the whole grid."""
        product = np.asarray(functools.reduce(np.multiply, map(self.value, factors), np.int64(1)))
        return int(product.sum()) if product.ndim else int(product) * self.programs


@dataclass
class Amounts:
    """What a launch does; `unknown` holds the kinds of which only a part could be counted."""

    read: dict = field(default_factory=dict)  # parameter -> bytes asked for, every access counted
    written: dict = field(default_factory=dict)
    products: dict = field(default_factory=dict)  # type -> operations; a multiplication with an addition is two
    elements: dict = field(default_factory=dict)
    unknown: set = field(default_factory=set)  # of "bytes" and "operations"
    sizes: dict = field(default_factory=dict)  # parameter -> bytes of its array, where it tells them

    @property
    def requested_bytes(self):
        return None if "bytes" in self.unknown else sum(self.read.values()) + sum(self.written.values())

    @property
    def least_bytes(self):
        """What memory has to move at least: no more than each array has, as caches serve the rest."""
        if "bytes" in self.unknown:
            return None
        return sum(
            min(count, self.sizes.get(name, count)) for counts in (self.read, self.written) for name, count in counts.items()
        )

    @property
    def operations(self):
        return None if "operations" in self.unknown else sum(self.products.values()) + sum(self.elements.values())


_kinds = {"read": "read", "write": "written", "products": "products", "elements": "elements"}


def amounts_of(work, values, grid) -> Amounts:
    """The amounts of one launch: `work` is the compiler's text, `values` the numbers of its arguments by name.

    Of an array the number is its bytes; None is what has no number.
    """
    amounts = Amounts(sizes={name: number for name, number in values.items() if number is not None})
    launch = _Launch(values, grid)
    if work is None:
        amounts.unknown.update(("bytes", "operations"))
        return amounts
    for row in json.loads(work):
        kind = row["what"]
        try:
            total = row["amount"] * launch.repeats(row["times"])
        except _Unknown:
            amounts.unknown.add("bytes" if kind in ("read", "write") else "operations")
            continue
        counts = getattr(amounts, _kinds[kind])
        name = row.get("parameter", "") if kind in ("read", "write") else row["type"]
        counts[name] = counts.get(name, 0) + total
    return amounts


# Which peak products of a type have, by the names of _core.peak_rates.
_peaks = {
    "f16": "products16",
    "bf16": "products16",
    "tf32": "products_tf32",
    "f64": "products64",
    "i8": "products8",
    "f32": "elements32",
}


@dataclass
class Roof:
    """What a device does at best."""

    bytes_per_second: float
    rates: dict  # as of _core.peak_rates

    def least_seconds(self, amounts):
        """(seconds that the launch takes at least, "memory" or "compute"); None where that is not known."""
        if amounts.unknown or not self.bytes_per_second:
            return None
        compute = 0.0
        for type_name, count in amounts.products.items():
            rate = self.rates.get(_peaks.get(type_name, "products8" if type_name.startswith("f8") else ""), 0)
            if not rate:
                return None
            compute += count / rate
        for type_name, count in amounts.elements.items():
            if not (rate := self.rates["elements32"]):
                return None
            # Units for f64 outside of products do half of what those for its products do.
            compute += count / (self.rates["products64"] / 2 if type_name == "f64" and self.rates["products64"] else rate)
        memory = amounts.least_bytes / self.bytes_per_second
        return max((memory, "memory"), (compute, "compute"))
