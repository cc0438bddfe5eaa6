# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the language means, in NumPy, written from its description and not from our code.

`promote` is the table of binary promotion between run-time operands; `binary` and
`unary` compute an operation in the promoted type.
"""

import ml_dtypes
import numpy as np

from harness.element_types import FP8, NUMPY_TYPES, bits, is_float, is_unsigned

ARITHMETIC = ["add", "sub", "mul", "truediv", "floordiv", "mod"]
BITWISE = ["and", "or", "xor", "shl", "shr"]
COMPARISONS = ["lt", "le", "gt", "ge", "eq", "ne"]


def promote(left: str, right: str, divides: bool = False) -> str:
    """The common type of two run-time operands; `divides` for / % and //."""
    pair = {left, right}
    floats = {name for name in pair if is_float(name)}
    if "float64" in pair:
        return "float64"
    if floats and (divides or "float32" in pair):
        return "float32"
    if "float16" in pair:
        return "float16"
    if "bfloat16" in pair:
        return "bfloat16" if left == right else "float32"
    if floats:  # fp8
        return left if left == right else "float16"
    if bits(left) != bits(right):
        return left if bits(left) > bits(right) else right
    return left if is_unsigned(left) else right


def result_type(op: str, left: str, right: str) -> str:
    """The element type of the result of a binary operation."""
    if op in COMPARISONS:
        return "int1"
    common = promote(left, right, divides=op in ("truediv", "floordiv", "mod"))
    if op == "truediv" and not is_float(common):
        return "float32"
    if op in ("minimum", "maximum") and common == "bfloat16":
        return "float32"
    return common


def binary(op: str, left, right, left_name: str, right_name: str) -> np.ndarray:
    """`left op right` on arrays of the named types."""
    common = promote(left_name, right_name, divides=op in ("truediv", "floordiv", "mod"))
    if op in ("minimum", "maximum") and common == "bfloat16":
        common = "float32"
    if op == "truediv" and not is_float(common):
        common = "float32"
    dtype = NUMPY_TYPES[common]
    a, b = left.astype(dtype), right.astype(dtype)
    with np.errstate(all="ignore"):
        match op:
            case "add":
                # int1 wraps: one bit.
                return a ^ b if common == "int1" else a + b
            case "sub":
                return a - b
            case "mul":
                return a * b
            case "truediv":
                return a / b
            case "floordiv":
                # Truncates towards zero: away from NumPy's floor where the signs differ.
                quotient = a // b
                inexact = (a - quotient * b) != 0
                return quotient + (inexact & ((a < 0) != (b < 0))).astype(dtype)
            case "mod":
                return np.fmod(a, b)
            case "and":
                return a & b
            case "or":
                return a | b
            case "xor":
                return a ^ b
            case "shl":
                return np.left_shift(a, b)
            case "shr":
                return np.right_shift(a, b)
            case "lt":
                return a < b
            case "le":
                return a <= b
            case "gt":
                return a > b
            case "ge":
                return a >= b
            case "eq":
                return a == b
            case "ne":
                return a != b
            case "minimum":
                return np.fmin(a, b)
            case "maximum":
                return np.fmax(a, b)
    raise KeyError(op)


def erf(x: np.ndarray) -> np.ndarray:
    import math

    return np.vectorize(math.erf, otypes=[np.float64])(x)


UNARY = {
    "neg": lambda x: -x,
    "abs": np.abs,
    "floor": np.floor,
    "ceil": np.ceil,
    "exp": np.exp,
    "exp2": np.exp2,
    "log": np.log,
    "log2": np.log2,
    "sin": np.sin,
    "cos": np.cos,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "erf": erf,
}


def round_to(values: np.ndarray, name: str) -> np.ndarray:
    """Float values rounded once to a type; fp8 saturates, infinities too, as the hardware's conversion."""
    dtype = NUMPY_TYPES[name]
    with np.errstate(all="ignore"):
        if name in FP8:
            largest = float(ml_dtypes.finfo(dtype).max)
            return np.clip(values.astype(np.float64), -largest, largest).astype(dtype)  # keeps NaN
        return values.astype(dtype)
