# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise functions of the language (`tl.math`); most are also names of `tl`.

The transcendental functions take float32 and float64 only, as the hardware does: cast other types first. As methods
they take float16 and bfloat16, too, as Triton's do, and round the result in float32 to that type.
"""

from __future__ import annotations

from .. import _core
from .basics import named
from .core import builtin, cast, clamp, float32, maximum, method, minimum, tensor

_language = _core.language

__all__ = [
    "abs",
    "ceil",
    "clamp",
    "cos",
    "div_rn",
    "erf",
    "exp",
    "exp2",
    "fdiv",
    "floor",
    "fma",
    "log",
    "log2",
    "max",
    "min",
    "rsqrt",
    "sin",
    "sqrt",
    "sqrt_rn",
    "umulhi",
]

# Names of older releases.
min, max = minimum, maximum


def _unary(name, documentation):
    """A function of one float operand; and a method, which also takes narrower ones."""
    native, shown = getattr(_language, name), "tl." + name

    def function(x):
        return native(x, shown[3:])

    def of_tensor(x):
        if x.dtype.is_fp16() or x.dtype.is_bf16():
            return cast(function(cast(x, float32)), x.dtype)
        return function(x)

    for form, types in ((of_tensor, "float16, bfloat16, float32 and float64"), (function, "float32 and float64")):
        named(form, __name__, name, f"{documentation} {types}.")
    setattr(tensor, name, builtin(of_tensor))
    return builtin(function)


exp = _unary("exp", "e to the power x.")
exp2 = _unary("exp2", "2 to the power x.")
log = _unary("log", "Natural logarithm.")
log2 = _unary("log2", "Logarithm to base 2.")
sin = _unary("sin", "Sine of x in radians.")
cos = _unary("cos", "Cosine of x in radians.")
sqrt = _unary("sqrt", "Square root; may be approximate in float32, see sqrt_rn.")
rsqrt = _unary("rsqrt", "Reciprocal of the square root.")
erf = _unary("erf", "Error function.")
floor = _unary("floor", "Largest whole number not above x.")
ceil = _unary("ceil", "Smallest whole number not below x.")


@method
@builtin
def sqrt_rn(x):
    """Square root rounded to nearest even; float32."""
    return _language.sqrt_rn(x)


@builtin
def div_rn(x, y):
    """x / y rounded to nearest even; float32."""
    return _language.div_rn(x, y)


@builtin
def fdiv(x, y, ieee_rounding=False):
    """x / y of floats without promotion; correctly rounded with `ieee_rounding`."""
    return _language.fdiv(x, y, ieee_rounding)


@builtin
def fma(x, y, z):
    """x * y + z with one rounding."""
    return _language.fma(x, y, z)


@builtin
def umulhi(x, y):
    """The upper half of the unsigned product of 32- or 64-bit integers."""
    return _language.umulhi(x, y)


@method
@builtin
def abs(x):
    """Absolute value; unsigned integers stay as they are."""
    return _language.abs(x)
