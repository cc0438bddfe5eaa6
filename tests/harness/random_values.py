# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What random kernels know of their values, so that every evaluation order gives the same bits.

A value has a range and a grain: it is a multiple of that power of two. While range over grain
fits the mantissa, sums and products are exact in any order and with or without fused
operations. A float without a range is any float; it is rounded by at most one operation at
a time, in kernels that are compiled without fusion. Integers without a range wrap.
"""

import dataclasses

import numpy as np

from harness import reference
from harness.element_types import FP8, NUMPY_TYPES, bits, is_float, is_unsigned

MANTISSA = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53, "float8e4nv": 4, "float8e5": 3}
# How often an array has each type.
TYPE_WEIGHTS = {"float32": 8, "float16": 7, "bfloat16": 4, "int32": 8, "int64": 3, "int8": 3, "uint8": 3, "int16": 3,
                "uint16": 2, "uint32": 2, "uint64": 1, "float64": 1, "float8e4nv": 2, "float8e5": 1, "int1": 1}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Value:
    text: str
    dtype: str
    shape: tuple = ()
    low: float | None = None
    high: float | None = None
    grain: int = 0
    # A float of any value that is neither infinite nor NaN.
    is_clean: bool = False

    @property
    def is_float(self):
        return is_float(self.dtype)

    @property
    def has_range(self):
        return self.low is not None

    @property
    def size(self):
        return int(np.prod(self.shape)) if self.shape else 1

    @property
    def bound(self):
        return max(abs(self.low), abs(self.high))

    def named(self, text):
        return dataclasses.replace(self, text=text)

    def shaped(self, text, shape):
        return dataclasses.replace(self, text=text, shape=tuple(shape))


def fits(dtype, low, high, grain=0):
    """Whether a type holds every multiple of 2**grain in the range."""
    if is_float(dtype):
        return max(abs(low), abs(high)) * 2.0**-grain <= 2 ** MANTISSA[dtype] and grain >= -8
    if dtype == "int1":
        return low >= 0 and high <= 1
    info = np.iinfo(NUMPY_TYPES[dtype])
    return info.min <= low and high <= info.max and grain >= 0


def of_type(text, dtype, shape, low, high, grain=0):
    """A value of a range, or one without where an integer wraps; None where a float would be rounded."""
    if fits(dtype, low, high, grain):
        return Value(text, dtype, shape, low, high, grain)
    return None if is_float(dtype) else Value(text, dtype, shape)


def broadcast_shape(*shapes):
    rank = max(len(shape) for shape in shapes)
    return tuple(np.broadcast_shapes(*[(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]))


def converts_exactly(value, dtype):
    if value.dtype == dtype:
        return True
    if value.is_float and value.dtype in FP8:
        return value.has_range and fits(dtype, value.low, value.high, value.grain)
    if not value.has_range:
        return (
            value.is_float
            and is_float(dtype)
            and MANTISSA[dtype] > MANTISSA[value.dtype]
            and dtype not in FP8
            and {value.dtype, dtype} != {"bfloat16", "float16"}
        ) or (not value.is_float and not is_float(dtype))
    return fits(dtype, value.low, value.high, value.grain) or not is_float(dtype)


def arithmetic(op, a, b, may_round):
    """`a op b` for add, sub and mul, or None where the result would depend on the order of rounding."""
    sign = {"add": "+", "sub": "-", "mul": "*"}[op]
    common, text = reference.promote(a.dtype, b.dtype), f"({a.text} {sign} {b.text})"
    shape = broadcast_shape(a.shape, b.shape)
    if common in FP8 or common == "int1" or {a.dtype, b.dtype} & set(FP8) and not (a.is_float and b.is_float):
        return None
    if not (converts_exactly(a, common) and converts_exactly(b, common)):
        return None
    if not (a.has_range and b.has_range):
        return Value(text, common, shape) if not is_float(common) or may_round else None
    if not is_float(common) and not (fits(common, a.low, a.high) and fits(common, b.low, b.high)):
        return Value(text, common, shape)
    corners = {"add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y}[op]
    ends = [corners(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    grain = a.grain + b.grain if op == "mul" else min(a.grain, b.grain)
    return of_type(text, common, shape, min(ends), max(ends), grain)


def chosen(text, condition_shape, a, b):
    """One of two values, by elements."""
    common = reference.promote(a.dtype, b.dtype)
    shape = broadcast_shape(condition_shape, a.shape, b.shape)
    if not (converts_exactly(a, common) and converts_exactly(b, common)) or (common in FP8 and a.dtype != b.dtype):
        return None
    if {a.dtype, b.dtype} & set(FP8) and a.dtype != b.dtype and not (a.is_float and b.is_float):
        return None
    if a.has_range and b.has_range and fits(common, min(a.low, b.low), max(a.high, b.high), min(a.grain, b.grain)):
        return Value(text, common, shape, min(a.low, b.low), max(a.high, b.high), min(a.grain, b.grain))
    is_clean = all(part.is_clean or part.has_range for part in (a, b))
    return Value(text, common, shape, is_clean=is_clean and is_float(common))


def extreme(name, a, b):
    """tl.minimum or tl.maximum."""
    value = chosen(f"tl.{name}({a.text}, {b.text})", (), a, b)
    if value is None or value.dtype in FP8 or value.dtype == "int1":
        return None
    if value.dtype == "bfloat16":
        return dataclasses.replace(value, dtype="float32")
    return value


def cast(value, dtype):
    """`value.to(dtype)`, or None where that is not defined or not told alike by all."""
    text, shape = f"{value.text}.to(tl.{dtype})", value.shape
    if value.dtype == dtype:
        return value.named(text)
    if dtype == "int1":
        return Value(text, dtype, shape, 0, 1)
    if value.has_range:
        low, high, grain = value.low, value.high, value.grain
        if value.is_float and not is_float(dtype):
            if not fits(dtype, int(low), int(high)):
                return None
            return Value(text, dtype, shape, int(low), int(high))
        if fits(dtype, low, high, grain):
            return Value(text, dtype, shape, low, high, grain)
        if not is_float(dtype):
            return Value(text, dtype, shape)
        # Rounded or saturated: no multiple of the grain any more.
        return Value(text, dtype, shape, is_clean=dtype in FP8) if value.is_float or dtype in ("float32", "float64") else None
    if not value.is_float:
        return (
            Value(text, dtype, shape, is_clean=True)
            if dtype in ("float32", "float64")
            else (Value(text, dtype, shape) if not is_float(dtype) else None)
        )
    if not is_float(dtype):
        return None
    if bits(dtype) <= 16 and bits(value.dtype) == 64:
        return None
    keeps = is_float(dtype) and converts_exactly(value, dtype)
    return Value(text, dtype, shape, is_clean=value.is_clean and keeps)


def literal_like(value, number):
    """A number beside a value, which takes its type."""
    return Value(repr(number), value.dtype, (), number, number, -1 if number % 1 else 0)


def within(value, low, high, dtype):
    """The value brought into a range of whole numbers, and cast; None where that cannot be."""
    if value.dtype == "int1" or value.dtype in FP8:
        value = cast(value, "int32" if value.dtype == "int1" else "float32")
    if value.has_range and value.low >= low and value.high <= high and value.grain == 0:
        return cast(value, dtype)
    if value.is_float:
        if value.dtype in ("bfloat16", "float16") or not value.has_range:
            value = cast(value, "float64" if value.dtype == "float64" else "float32")
        ends = f"tl.minimum(tl.maximum({value.text}, {low}.0), {high}.0)"
        grain = value.grain if value.has_range else None
        if grain != 0:
            ends = f"tl.floor({ends})"
        return cast(Value(ends, value.dtype, value.shape, low, high), dtype)
    width = high - low + 1
    if is_unsigned(value.dtype):
        if low > 0 or not 0 <= high <= 127:
            return None
        return cast(Value(f"({value.text} % {high + 1})", value.dtype, value.shape, 0, high), dtype)
    if low >= 0:
        if width & (width - 1) or width > 128 or low:
            return (
                cast(
                    Value(f"(tl.abs(({value.text} % {min(high, 100) + 1})))", value.dtype, value.shape, 0, min(high, 100)),
                    dtype,
                )
                if low == 0
                else None
            )
        return cast(Value(f"({value.text} & {high})", value.dtype, value.shape, 0, high), dtype)
    limit = int(min(-low, high, 100))
    if limit < 0:
        return None
    return cast(Value(f"({value.text} % {limit + 1})", value.dtype, value.shape, -limit, limit), dtype)
