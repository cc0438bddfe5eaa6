# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""libdevice by name (`tl.extra.libdevice`).

Names with an equal in the language map to it, others are composed where that is
exact, and the rest raise E0120 when called.
"""

from __future__ import annotations

from .. import core, math
from ..core import builtin, not_implemented, where
from ... import _core, errors

_language = _core.language

# -- the same function under another name -----------------------------------

abs = math.abs
fabs = math.abs
ceil = math.ceil
cos = math.cos
erf = math.erf
exp = math.exp
exp2 = math.exp2
floor = math.floor
fma = math.fma
log = math.log
log2 = math.log2
rsqrt = math.rsqrt
sin = math.sin
sqrt = math.sqrt
sqrt_rn = math.sqrt_rn
div_rn = math.div_rn
mulhi = math.umulhi
fma_rn = math.fma

# The approximate forms are allowed to be better than their name.
fast_expf = math.exp
fast_logf = math.log
fast_log2f = math.log2
fast_sinf = math.sin
fast_cosf = math.cos


@builtin
def tanh(x):
    """Hyperbolic tangent; float32 and float64."""
    return _language.tanh(x, "extra.libdevice.tanh")


fast_tanhf = tanh


@builtin
def fast_dividef(x, y):
    """x / y."""
    return core.to_tensor(x) / y


@builtin
def fast_tanf(x):
    """sin(x) / cos(x)."""
    return math.sin(x) / math.cos(x)


@builtin
def rcp_rn(x):
    """1 / x, rounded to nearest even."""
    return math.div_rn(1.0, x)


@builtin
def fmod(x, y):
    """Remainder with the sign of x."""
    return core.to_tensor(x) % y


# -- float32 by way of float64 ----------------------------------------------
#
# float64 has bits to spare: the composed formula loses fewer than the rounding
# to float32 does. float64 itself would need functions of its own.


def _wide(name, x):
    """float32 as float64; other types are refused by the function's name."""
    x = core.to_tensor(x)
    if not x.dtype.is_fp32():
        raise errors.make("E0120", message=f"libdevice.{name} needs fp32, got {x.type}",
                          help="cast it: x.to(tl.float32)")
    return x.to(core.float64)


def _composed(name, documentation, formula, tiny=None):
    """formula(x) in float64; below |x| = `tiny` the function is x to all bits of float32."""

    def function(x):
        wide = _wide(name, x)
        result = formula(wide)
        if tiny is not None:
            result = where(math.abs(wide) < tiny, wide, result)
        return result.to(core.float32)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = documentation + " float32."
    return builtin(function)


log10 = _composed("log10", "Logarithm to base 10.", lambda x: math.log2(x) * 0.30102999566398119521)
log1p = _composed("log1p", "log(1 + x).", lambda x: math.log(1.0 + x), tiny=2.0**-28)
exp10 = _composed("exp10", "10 to the power x.", lambda x: math.exp2(x * 3.32192809488736234787))
expm1 = _composed("expm1", "exp(x) - 1.", lambda x: math.exp(x) - 1.0, tiny=2.0**-28)
sinh = _composed("sinh", "Hyperbolic sine.", lambda x: 0.5 * (math.exp(x) - math.exp(-x)), tiny=2.0**-14)
cosh = _composed("cosh", "Hyperbolic cosine.", lambda x: 0.5 * (math.exp(x) + math.exp(-x)))
tan = _composed("tan", "Tangent of x in radians.", lambda x: math.sin(x) / math.cos(x))
fast_exp10f, fast_log10f = exp10, log10


@builtin
def pow(x, y):
    """x to the power y, with C's special cases. float32."""
    x, y = core.broadcast(core.to_tensor(x), core.to_tensor(y))
    base, exponent = _wide("pow", x), _wide("pow", y.to(core.float32) if y.dtype.is_int() else y)
    magnitude = math.exp2(exponent * math.log2(math.abs(base)))
    half = 0.5 * exponent
    is_whole = math.floor(exponent) == exponent
    is_odd = is_whole & (math.floor(half) != half)
    # A negative number has a real power for whole exponents only; -inf has one anyway.
    has_none = (math.abs(base) < float("inf")) & ~is_whole
    result = where(base < 0, where(has_none, float("nan"), where(is_odd, -magnitude, magnitude)), magnitude)
    # -0 to an odd power keeps its sign; infinities count as even whole numbers.
    result = where((base == 0) & is_odd, copysign(magnitude, base), result)
    result = where(math.abs(exponent) == float("inf"), where(math.abs(base) == 1, 1.0, magnitude), result)
    # x^0 and 1^y are 1 even with NaN.
    return where((exponent == 0) | (base == 1), 1.0, result).to(core.float32)


fast_powf = pow

# -- bits -------------------------------------------------------------------


def _reinterpret(name, dtype_name):

    def function(x):
        return core.cast(x, getattr(core, dtype_name), bitcast=True)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The bits of x read as {dtype_name}."
    return builtin(function)


float_as_int = _reinterpret("float_as_int", "int32")
float_as_uint = _reinterpret("float_as_uint", "uint32")
int_as_float = _reinterpret("int_as_float", "float32")
uint_as_float = _reinterpret("uint_as_float", "float32")
double_as_longlong = _reinterpret("double_as_longlong", "int64")
longlong_as_double = _reinterpret("longlong_as_double", "float64")


def _as_bits(x):
    return core.cast(x, core.get_int_dtype(x.dtype.primitive_bitwidth, True), bitcast=True)


@builtin
def signbit(x):
    """1 where the sign bit is set, as int32."""
    return (_as_bits(x) < 0).to(core.int32)


@builtin
def copysign(x, y):
    """The magnitude of x with the sign of y."""
    return where(_as_bits(y) < 0, -math.abs(x), math.abs(x))


@builtin
def isnan(x):
    """1 where x is NaN, as int32."""
    return (x != x).to(core.int32)


@builtin
def isinf(x):
    """1 where x is infinite, as int32."""
    return (math.abs(x) == float("inf")).to(core.int32)


@builtin
def finitef(x):
    """1 where x is neither infinite nor NaN, as int32."""
    return (math.abs(x) < float("inf")).to(core.int32)


isfinited = finitef

# -- rounding to whole numbers ----------------------------------------------


@builtin
def trunc(x):
    """x without its fraction."""
    return copysign(math.floor(math.abs(x)), x)


@builtin
def round(x):
    """The nearest whole number; halves away from zero."""
    magnitude = math.abs(x)
    whole = math.floor(magnitude)
    # Adding 0.5 first would round up the largest number below 0.5.
    return copysign(where(magnitude - whole >= 0.5, whole + 1.0, whole), x)


@builtin
def rint(x):
    """The nearest whole number; halves to even."""
    magnitude = math.abs(x)
    whole = math.floor(magnitude)
    fraction = magnitude - whole
    is_odd = whole - 2.0 * math.floor(whole * 0.5) == 1.0
    up = (fraction > 0.5) | ((fraction == 0.5) & is_odd)
    return copysign(where(up, whole + 1.0, whole), x)


nearbyint = rint


@builtin
def llrint(x):
    """rint(x) as int64."""
    return rint(x).to(core.int64)


@builtin
def llround(x):
    """round(x) as int64."""
    return round(x).to(core.int64)


_modes = ("rn", "rz", "rd", "ru")
_known = {
    *("clz popc byte_perm mul24 brev sad rcp64h saturatef hiloint2double "
      "double2loint double2hiint hadd rhadd ffs nextafter sinpi cospi asin acos atan atan2 asinh acosh "
      "atanh logb ilogb hypot rhypot norm3d rnorm3d norm4d rnorm4d cbrt rcbrt j0 j1 jn y0 "
      "y1 yn cyl_bessel_i0 cyl_bessel_i1 erfc erfcx erfinv erfcinv normcdf normcdfinv lgamma tgamma ldexp scalbn "
      "remainder fdim").split(),
    *(f"{op}_{mode}" for op in ("fma", "add", "mul", "sub", "div", "rcp", "sqrt", "rsqrt") for mode in _modes),
    *(f"{a}2{b}_{mode}" for a in ("double", "float") for b in ("float", "int", "uint", "ll", "ull") if a != b
      for mode in _modes),
    *(f"{a}2{b}_{mode}" for a in ("int", "uint", "ll", "ull") for b in ("double", "float") for mode in _modes),
}


def __getattr__(name):
    if name not in _known:
        raise AttributeError(f"libdevice has no function '{name}'")

    def missing(*args, **kwargs):
        raise not_implemented(f"libdevice.{name}")

    missing.__name__ = missing.__qualname__ = name
    return builtin(missing)
