# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The names of AMD's device library. A kernel that calls one is refused by E0125."""

import functools

from .... import foreign
from ...core import builtin

_names = (
    "abs acos acosh asin asinh atan atan2 atanh ceil copysign cos cosh cyl_bessel_i0 cyl_bessel_i1 erf erfc erfcx "
    "erfinv exp exp2 expm1 fast_dividef fast_expf fast_tanhf floor fma fmod hypot ilogb isinf isnan j0 j1 ldexp "
    "lgamma llrint log log10 log1p log2 nearbyint nextafter pow round rsqrt signbit sin sinh sqrt tan tanh trunc y0 "
    "y1"
).split()


@functools.cache
def _refused(name):
    def function(*args, **kwargs):
        raise foreign.error(f"hip.libdevice.{name}", "AMD GPUs", f"use tilewright.language.extra.libdevice.{name}")

    function.__name__ = function.__qualname__ = name
    function.__module__ = __name__
    return builtin(function)


def __getattr__(name):
    if name not in _names:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return _refused(name)
