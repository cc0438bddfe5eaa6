# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by scripts/generate_stubs.py: do not edit; `make stubs` writes it again.
"""libdevice by name (`tl.extra.libdevice`)."""

from typing import Any

from .. import core as core
from .. import math as math
from ... import errors as errors
from .._values import _Tile
from .._values import unwrap as unwrap
from ..basics import builtin as builtin
from ..core import where as where
from ..math import abs as abs
from ..math import abs as fabs
from ..math import ceil as ceil
from ..math import cos as cos
from ..math import erf as erf
from ..math import exp as exp
from ..math import exp as fast_expf
from ..math import exp2 as exp2
from ..math import floor as floor
from ..math import fma as fma
from ..math import fma as fma_rn
from ..math import log as log
from ..math import log2 as log2
from ..math import rsqrt as rsqrt
from ..math import sin as sin
from ..math import sqrt as sqrt


def rsqrt_rn(x: Any) -> _Tile:
    """1 / sqrt(x), rounded to nearest even; float32."""


def tanh(x: Any) -> _Tile:
    """Hyperbolic tangent; float32 and float64."""


def fast_tanhf(x: Any) -> _Tile:
    """Hyperbolic tangent; float32 and float64."""


def fast_dividef(x: Any, y: Any) -> _Tile:
    """x / y."""


def div_rn(x: Any, y: Any) -> _Tile:
    """x / y, rounded to nearest even; float32 and float64."""


def rcp_rn(x: Any) -> _Tile:
    """1 / x, rounded to nearest even; float32 and float64."""


def sqrt_rn(x: Any) -> _Tile:
    """Square root, rounded to nearest even; float32 and float64."""


def fmod(x: Any, y: Any) -> _Tile:
    """Remainder with the sign of x."""


def fast_sinf(x: Any) -> _Tile:
    """Sine of x; the error grows with |x|. float32."""


def fast_cosf(x: Any) -> _Tile:
    """Cosine of x; the error grows with |x|. float32."""


def fast_tanf(x: Any) -> _Tile:
    """Tangent of x; the error grows with |x|. float32."""


def fast_log2f(x: Any) -> _Tile:
    """Logarithm to base 2; near 1 the error is absolute. float32."""


def fast_logf(x: Any) -> _Tile:
    """Natural logarithm. float32."""


def fast_log10f(x: Any) -> _Tile:
    """Logarithm to base 10. float32."""


def fast_exp10f(x: Any) -> _Tile:
    """10 to the power x. float32."""


def fast_powf(x: Any, y: Any) -> _Tile:
    """x to the power y, for x >= 0. float32."""


def float_as_int(x: Any) -> _Tile:
    """The bits of x read as int32."""


def float_as_uint(x: Any) -> _Tile:
    """The bits of x read as uint32."""


def int_as_float(x: Any) -> _Tile:
    """The bits of x read as float32."""


def uint_as_float(x: Any) -> _Tile:
    """The bits of x read as float32."""


def double_as_longlong(x: Any) -> _Tile:
    """The bits of x read as int64."""


def longlong_as_double(x: Any) -> _Tile:
    """The bits of x read as float64."""


def signbit(x: Any) -> _Tile:
    """1 where the sign bit is set, as int32."""


def copysign(x: Any, y: Any) -> _Tile:
    """The magnitude of x with the sign of y."""


def isnan(x: Any) -> _Tile:
    """1 where x is NaN, as int32."""


def isinf(x: Any) -> _Tile:
    """1 where x is infinite, as int32."""


def finitef(x: Any) -> _Tile:
    """1 where x is neither infinite nor NaN, as int32."""


def isfinited(x: Any) -> _Tile:
    """1 where x is neither infinite nor NaN, as int32."""


def trunc(x: Any) -> _Tile:
    """x without its fraction; float32 and float64."""


def round(x: Any) -> _Tile:
    """The nearest whole number; halves away from zero; float32 and float64."""


def rint(x: Any) -> _Tile:
    """The nearest whole number; halves to even; float32 and float64."""


def nearbyint(x: Any) -> _Tile:
    """The nearest whole number; halves to even; float32 and float64."""


def llrint(x: Any) -> _Tile:
    """rint(x) as int64."""


def llround(x: Any) -> _Tile:
    """round(x) as int64."""


def log10(x: Any) -> _Tile:
    """Logarithm to base 10. float32 and float64."""


def log1p(x: Any) -> _Tile:
    """log(1 + x). float32 and float64."""


def exp10(x: Any) -> _Tile:
    """10 to the power x. float32 and float64."""


def expm1(x: Any) -> _Tile:
    """exp(x) - 1. float32 and float64."""


def pow(x: Any, y: Any) -> _Tile:
    """x to the power y, with C's special cases; by multiplying where y is an integer. float32 and float64."""


def sinh(x: Any) -> _Tile:
    """Hyperbolic sine. float32 and float64."""


def cosh(x: Any) -> _Tile:
    """Hyperbolic cosine. float32 and float64."""


def tan(x: Any) -> _Tile:
    """Tangent of x in radians. float32 and float64."""


def acos(x: Any) -> _Tile:
    """Inverse cosine. float32 and float64."""


def asin(x: Any) -> _Tile:
    """Inverse sine. float32 and float64."""


def atan(x: Any) -> _Tile:
    """Inverse tangent. float32 and float64."""


def atan2(x: Any, y: Any) -> _Tile:
    """The angle of the point (y, x), given as atan2(y, x). float32 and float64."""


def acosh(x: Any) -> _Tile:
    """Inverse hyperbolic cosine. float32 and float64."""


def asinh(x: Any) -> _Tile:
    """Inverse hyperbolic sine. float32 and float64."""


def atanh(x: Any) -> _Tile:
    """Inverse hyperbolic tangent. float32 and float64."""


def sinpi(x: Any) -> _Tile:
    """sin(pi x). float32 and float64."""


def cospi(x: Any) -> _Tile:
    """cos(pi x). float32 and float64."""


def cbrt(x: Any) -> _Tile:
    """Cube root. float32 and float64."""


def rcbrt(x: Any) -> _Tile:
    """1 / cbrt(x). float32 and float64."""


def hypot(x: Any, y: Any) -> _Tile:
    """sqrt(x^2 + y^2) without overflow inside. float32 and float64."""


def rhypot(x: Any, y: Any) -> _Tile:
    """1 / hypot(x, y). float32 and float64."""


def norm3d(x: Any, y: Any, z: Any) -> _Tile:
    """The length of a vector of three. float32 and float64."""


def rnorm3d(x: Any, y: Any, z: Any) -> _Tile:
    """1 / norm3d(x, y, z). float32 and float64."""


def norm4d(x: Any, y: Any, z: Any, t: Any) -> _Tile:
    """The length of a vector of four. float32 and float64."""


def rnorm4d(x: Any, y: Any, z: Any, t: Any) -> _Tile:
    """1 / norm4d(x, y, z, t). float32 and float64."""


def erfc(x: Any) -> _Tile:
    """1 - erf(x). float32 and float64."""


def erfcx(x: Any) -> _Tile:
    """exp(x^2) erfc(x). float32 and float64."""


def erfinv(x: Any) -> _Tile:
    """Inverse of erf. float32 and float64."""


def erfcinv(x: Any) -> _Tile:
    """Inverse of erfc. float32 and float64."""


def normcdf(x: Any) -> _Tile:
    """The normal distribution's cumulative probability. float32 and float64."""


def normcdfinv(x: Any) -> _Tile:
    """Inverse of normcdf. float32 and float64."""


def lgamma(x: Any) -> _Tile:
    """Logarithm of the magnitude of the gamma function. float32 and float64."""


def tgamma(x: Any) -> _Tile:
    """The gamma function. float32 and float64."""


def j0(x: Any) -> _Tile:
    """Bessel function of the first kind, order 0. float32 and float64."""


def j1(x: Any) -> _Tile:
    """Bessel function of the first kind, order 1. float32 and float64."""


def y0(x: Any) -> _Tile:
    """Bessel function of the second kind, order 0. float32 and float64."""


def y1(x: Any) -> _Tile:
    """Bessel function of the second kind, order 1. float32 and float64."""


def cyl_bessel_i0(x: Any) -> _Tile:
    """Modified Bessel function of the first kind, order 0. float32 and float64."""


def cyl_bessel_i1(x: Any) -> _Tile:
    """Modified Bessel function of the first kind, order 1. float32 and float64."""


def logb(x: Any) -> _Tile:
    """The exponent of x as a float. float32 and float64."""


def fdim(x: Any, y: Any) -> _Tile:
    """x - y where that is positive, else 0. float32 and float64."""


def remainder(x: Any, y: Any) -> _Tile:
    """x - n y for the whole number n nearest to x / y. float32 and float64."""


def nextafter(x: Any, y: Any) -> _Tile:
    """The number next to x toward y. float32 and float64."""


def saturatef(x: Any) -> _Tile:
    """x limited to [0, 1]; NaN gives 0. float32."""


def ilogb(x: Any) -> _Tile:
    """The exponent of x as int32."""


def ldexp(x: Any, n: Any) -> _Tile:
    """x 2^n. float32 and float64."""


def scalbn(x: Any, n: Any) -> _Tile:
    """x 2^n. float32 and float64."""


def jn(n: Any, x: Any) -> _Tile:
    """Bessel function of the first kind, order n. float32 and float64."""


def yn(n: Any, x: Any) -> _Tile:
    """Bessel function of the second kind, order n. float32 and float64."""


def clz(x: Any) -> _Tile:
    """Number of leading zero bits, as int32."""


def popc(x: Any) -> _Tile:
    """Number of bits that are set, as int32."""


def ffs(x: Any) -> _Tile:
    """Position of the lowest bit that is set, from 1; 0 for none. int32."""


def brev(x: Any) -> _Tile:
    """The bits in reverse order."""


def byte_perm(x: Any, y: Any, z: Any) -> _Tile:
    """Four of the eight bytes of x and y, picked by the nibbles of z."""


def mul24(x: Any, y: Any) -> _Tile:
    """Product of the lower 24 bits, its lower 32 bits."""


def mulhi(x: Any, y: Any) -> _Tile:
    """Upper half of the product; signed of signed integers, unlike tl.umulhi."""


def sad(x: Any, y: Any, z: Any) -> _Tile:
    """|x - y| + z."""


def hadd(x: Any, y: Any) -> _Tile:
    """(x + y) >> 1 without overflow inside."""


def rhadd(x: Any, y: Any) -> _Tile:
    """(x + y + 1) >> 1 without overflow inside."""


def rcp64h(x: Any) -> _Tile:
    """1 / x from the upper half of a float64, to about 20 bits; the lower half is zero."""


def double2loint(x: Any) -> _Tile:
    """float64 as int32."""


def double2hiint(x: Any) -> _Tile:
    """float64 as int32."""


def hiloint2double(high: Any, low: Any) -> _Tile:
    """The float64 of two int32, its upper and lower halves."""


def add_rn(x: Any, y: Any) -> _Tile:
    """add rounded to nearest even. float32 and float64."""


def sub_rn(x: Any, y: Any) -> _Tile:
    """sub rounded to nearest even. float32 and float64."""


def mul_rn(x: Any, y: Any) -> _Tile:
    """mul rounded to nearest even. float32 and float64."""


def double2float_rn(x: Any) -> _Tile:
    """float64 as float32."""


def double2int_rn(x: Any) -> _Tile:
    """float64 as int32."""


def double2uint_rn(x: Any) -> _Tile:
    """float64 as uint32."""


def double2ll_rn(x: Any) -> _Tile:
    """float64 as int64."""


def double2ull_rn(x: Any) -> _Tile:
    """float64 as uint64."""


def float2int_rn(x: Any) -> _Tile:
    """float32 as int32."""


def float2uint_rn(x: Any) -> _Tile:
    """float32 as uint32."""


def float2ll_rn(x: Any) -> _Tile:
    """float32 as int64."""


def float2ull_rn(x: Any) -> _Tile:
    """float32 as uint64."""


def int2double_rn(x: Any) -> _Tile:
    """int32 as float64."""


def int2float_rn(x: Any) -> _Tile:
    """int32 as float32."""


def uint2double_rn(x: Any) -> _Tile:
    """uint32 as float64."""


def uint2float_rn(x: Any) -> _Tile:
    """uint32 as float32."""


def ll2double_rn(x: Any) -> _Tile:
    """int64 as float64."""


def ll2float_rn(x: Any) -> _Tile:
    """int64 as float32."""


def ull2double_rn(x: Any) -> _Tile:
    """uint64 as float64."""


def ull2float_rn(x: Any) -> _Tile:
    """uint64 as float32."""


def add_rz(x: Any, y: Any) -> _Tile:
    """add rounded toward zero. float32 and float64."""


def sub_rz(x: Any, y: Any) -> _Tile:
    """sub rounded toward zero. float32 and float64."""


def mul_rz(x: Any, y: Any) -> _Tile:
    """mul rounded toward zero. float32 and float64."""


def div_rz(x: Any, y: Any) -> _Tile:
    """div rounded toward zero. float32 and float64."""


def rcp_rz(x: Any) -> _Tile:
    """rcp rounded toward zero. float32 and float64."""


def sqrt_rz(x: Any) -> _Tile:
    """sqrt rounded toward zero. float32 and float64."""


def fma_rz(x: Any, y: Any, z: Any) -> _Tile:
    """fma rounded toward zero. float32 and float64."""


def double2float_rz(x: Any) -> _Tile:
    """float64 as float32."""


def double2int_rz(x: Any) -> _Tile:
    """float64 as int32."""


def double2uint_rz(x: Any) -> _Tile:
    """float64 as uint32."""


def double2ll_rz(x: Any) -> _Tile:
    """float64 as int64."""


def double2ull_rz(x: Any) -> _Tile:
    """float64 as uint64."""


def float2int_rz(x: Any) -> _Tile:
    """float32 as int32."""


def float2uint_rz(x: Any) -> _Tile:
    """float32 as uint32."""


def float2ll_rz(x: Any) -> _Tile:
    """float32 as int64."""


def float2ull_rz(x: Any) -> _Tile:
    """float32 as uint64."""


def int2float_rz(x: Any) -> _Tile:
    """int32 as float32."""


def uint2float_rz(x: Any) -> _Tile:
    """uint32 as float32."""


def ll2double_rz(x: Any) -> _Tile:
    """int64 as float64."""


def ll2float_rz(x: Any) -> _Tile:
    """int64 as float32."""


def ull2double_rz(x: Any) -> _Tile:
    """uint64 as float64."""


def ull2float_rz(x: Any) -> _Tile:
    """uint64 as float32."""


def add_rd(x: Any, y: Any) -> _Tile:
    """add rounded down. float32 and float64."""


def sub_rd(x: Any, y: Any) -> _Tile:
    """sub rounded down. float32 and float64."""


def mul_rd(x: Any, y: Any) -> _Tile:
    """mul rounded down. float32 and float64."""


def div_rd(x: Any, y: Any) -> _Tile:
    """div rounded down. float32 and float64."""


def rcp_rd(x: Any) -> _Tile:
    """rcp rounded down. float32 and float64."""


def sqrt_rd(x: Any) -> _Tile:
    """sqrt rounded down. float32 and float64."""


def fma_rd(x: Any, y: Any, z: Any) -> _Tile:
    """fma rounded down. float32 and float64."""


def double2float_rd(x: Any) -> _Tile:
    """float64 as float32."""


def double2int_rd(x: Any) -> _Tile:
    """float64 as int32."""


def double2uint_rd(x: Any) -> _Tile:
    """float64 as uint32."""


def double2ll_rd(x: Any) -> _Tile:
    """float64 as int64."""


def double2ull_rd(x: Any) -> _Tile:
    """float64 as uint64."""


def float2int_rd(x: Any) -> _Tile:
    """float32 as int32."""


def float2uint_rd(x: Any) -> _Tile:
    """float32 as uint32."""


def float2ll_rd(x: Any) -> _Tile:
    """float32 as int64."""


def float2ull_rd(x: Any) -> _Tile:
    """float32 as uint64."""


def int2float_rd(x: Any) -> _Tile:
    """int32 as float32."""


def uint2float_rd(x: Any) -> _Tile:
    """uint32 as float32."""


def ll2double_rd(x: Any) -> _Tile:
    """int64 as float64."""


def ll2float_rd(x: Any) -> _Tile:
    """int64 as float32."""


def ull2double_rd(x: Any) -> _Tile:
    """uint64 as float64."""


def ull2float_rd(x: Any) -> _Tile:
    """uint64 as float32."""


def add_ru(x: Any, y: Any) -> _Tile:
    """add rounded up. float32 and float64."""


def sub_ru(x: Any, y: Any) -> _Tile:
    """sub rounded up. float32 and float64."""


def mul_ru(x: Any, y: Any) -> _Tile:
    """mul rounded up. float32 and float64."""


def div_ru(x: Any, y: Any) -> _Tile:
    """div rounded up. float32 and float64."""


def rcp_ru(x: Any) -> _Tile:
    """rcp rounded up. float32 and float64."""


def sqrt_ru(x: Any) -> _Tile:
    """sqrt rounded up. float32 and float64."""


def fma_ru(x: Any, y: Any, z: Any) -> _Tile:
    """fma rounded up. float32 and float64."""


def double2float_ru(x: Any) -> _Tile:
    """float64 as float32."""


def double2int_ru(x: Any) -> _Tile:
    """float64 as int32."""


def double2uint_ru(x: Any) -> _Tile:
    """float64 as uint32."""


def double2ll_ru(x: Any) -> _Tile:
    """float64 as int64."""


def double2ull_ru(x: Any) -> _Tile:
    """float64 as uint64."""


def float2int_ru(x: Any) -> _Tile:
    """float32 as int32."""


def float2uint_ru(x: Any) -> _Tile:
    """float32 as uint32."""


def float2ll_ru(x: Any) -> _Tile:
    """float32 as int64."""


def float2ull_ru(x: Any) -> _Tile:
    """float32 as uint64."""


def int2float_ru(x: Any) -> _Tile:
    """int32 as float32."""


def uint2float_ru(x: Any) -> _Tile:
    """uint32 as float32."""


def ll2double_ru(x: Any) -> _Tile:
    """int64 as float64."""


def ll2float_ru(x: Any) -> _Tile:
    """int64 as float32."""


def ull2double_ru(x: Any) -> _Tile:
    """uint64 as float64."""


def ull2float_ru(x: Any) -> _Tile:
    """uint64 as float32."""
