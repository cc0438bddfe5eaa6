# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by scripts/generate_stubs.py: do not edit; `make stubs` writes it again.
"""Elementwise functions of the language (`tl.math`); most are also names of `tl`."""

from typing import Any

from ._known_to_the_compiler import float32 as float32  # type: ignore
from . import core as core
from ._values import _Tile
from .basics import builtin as builtin
from .basics import method as method
from .basics import named as named
from .core import cast as cast
from .core import clamp as clamp
from .core import maximum as max
from .core import maximum as maximum
from .core import minimum as min
from .core import minimum as minimum
from .core import tensor as tensor


def exp(x: Any) -> _Tile:
    """e to the power x. float32 and float64."""


def exp2(x: Any) -> _Tile:
    """2 to the power x. float32 and float64."""


def log(x: Any) -> _Tile:
    """Natural logarithm. float32 and float64."""


def log2(x: Any) -> _Tile:
    """Logarithm to base 2. float32 and float64."""


def sin(x: Any) -> _Tile:
    """Sine of x in radians. float32 and float64."""


def cos(x: Any) -> _Tile:
    """Cosine of x in radians. float32 and float64."""


def sqrt(x: Any) -> _Tile:
    """Square root; may be approximate in float32, see sqrt_rn. float32 and float64."""


def rsqrt(x: Any) -> _Tile:
    """Reciprocal of the square root. float32 and float64."""


def erf(x: Any) -> _Tile:
    """Error function. float32 and float64."""


def floor(x: Any) -> _Tile:
    """Largest whole number not above x. float32 and float64."""


def ceil(x: Any) -> _Tile:
    """Smallest whole number not below x. float32 and float64."""


def sqrt_rn(x: Any) -> _Tile:
    """Square root rounded to nearest even; float32."""


def div_rn(x: Any, y: Any) -> _Tile:
    """x / y rounded to nearest even; float32."""


def fdiv(x: Any, y: Any, ieee_rounding: bool = False) -> _Tile:
    """x / y of floats without promotion; correctly rounded with `ieee_rounding`."""


def fma(x: Any, y: Any, z: Any) -> _Tile:
    """x * y + z with one rounding."""


def umulhi(x: Any, y: Any) -> _Tile:
    """The upper half of the unsigned product of 32- or 64-bit integers."""


def abs(x: Any) -> _Tile:
    """Absolute value; unsigned integers stay as they are."""

__all__ = [
    "abs", "ceil", "clamp", "cos", "div_rn", "erf", "exp", "exp2", "fdiv", "floor", "fma", "log", "log2", "max",
    "min", "rsqrt", "sin", "sqrt", "sqrt_rn", "umulhi",
]
