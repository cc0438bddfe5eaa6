# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""libdevice by name (`tl.extra.libdevice`).

Names with an equal in the language map to it, others are composed where that is
exact, and the rest call NVIDIA's libdevice, which must be installed to compile them;
the interpreter has functions of its own for them.
"""

from __future__ import annotations

import itertools

from . import _libdevice_calls as _calls
from .. import core, math
from ..core import builtin, unwrap, where
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
fma_rn = math.fma

# It is the special function unit's already.
fast_expf = math.exp


@builtin
def rsqrt_rn(x):
    """1 / sqrt(x), rounded to nearest even; float32."""
    x = core.to_tensor(x)
    if not x.dtype.is_fp32():
        _calls.refuse("rsqrt_rn", "fp32", x)
    return _language.extern_call("__nv_frsqrt_rn", (x,), core.float32)


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
def div_rn(x, y):
    """x / y, rounded to nearest even; float32 and float64."""
    (x, y), common = _calls.as_reals("div_rn", (x, y))
    return x / y if common.is_fp64() else math.div_rn(x, y)


@builtin
def rcp_rn(x):
    """1 / x, rounded to nearest even; float32 and float64."""
    (x, one), common = _calls.as_reals("rcp_rn", (x, 1.0))
    return one / x if common.is_fp64() else math.div_rn(one, x)


@builtin
def sqrt_rn(x):
    """Square root, rounded to nearest even; float32 and float64."""
    (x,), common = _calls.as_reals("sqrt_rn", (x,))
    return math.sqrt(x) if common.is_fp64() else math.sqrt_rn(x)


@builtin
def fmod(x, y):
    """Remainder with the sign of x."""
    return core.to_tensor(x) % y


# -- fast forms, of few instructions: their error is bounded absolutely, or grows with x ---


def _float32(name, *args):
    """The operands as float32; nothing is made narrower."""
    operands, common = _calls.as_reals(name, args)
    if common != core.float32:
        _calls.refuse(name, "fp32", next(x for x in operands if x.dtype == common))
    return operands


def _instruction(name, instruction, exact, documentation):
    """One instruction of the special function unit; the interpreter computes the exact value."""

    def function(x):
        (x,) = _float32(name, x)
        if not _language.is_compiling():
            return exact(x)
        return core.inline_asm_elementwise(f"{instruction} $0, $1;", "=f,f", (x,), core.float32, True, 1)

    return _calls.named(name, documentation + " float32.", function)


def _fast(name, documentation, formula, arity=1):
    functions = {1: lambda x: formula(*_float32(name, x)), 2: lambda x, y: formula(*_float32(name, x, y))}
    return _calls.named(name, documentation + " float32.", functions[arity])


fast_sinf = _instruction("fast_sinf", "sin.approx.f32", math.sin, "Sine of x; the error grows with |x|.")
fast_cosf = _instruction("fast_cosf", "cos.approx.f32", math.cos, "Cosine of x; the error grows with |x|.")
fast_tanf = _fast("fast_tanf", "Tangent of x; the error grows with |x|.", lambda x: fast_sinf(x) / fast_cosf(x))
fast_log2f = _instruction("fast_log2f", "lg2.approx.f32", math.log2, "Logarithm to base 2; near 1 the error is absolute.")
fast_logf = _fast("fast_logf", "Natural logarithm.", lambda x: fast_log2f(x) * 0.69314718055994530942)
fast_log10f = _fast("fast_log10f", "Logarithm to base 10.", lambda x: fast_log2f(x) * 0.30102999566398119521)
fast_exp10f = _fast("fast_exp10f", "10 to the power x.", lambda x: math.exp2(x * 3.32192809488736234787))
fast_powf = _fast("fast_powf", "x to the power y, for x >= 0.", lambda x, y: math.exp2(y * fast_log2f(x)), 2)

# -- bits -------------------------------------------------------------------


def _reinterpret(name, dtype_name):

    def function(x):
        return core.cast(x, getattr(core, dtype_name), bitcast=True)

    return _calls.named(name, f"The bits of x read as {dtype_name}.", function)


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
    """x without its fraction; float32 and float64."""
    return _language.trunc(x, "extra.libdevice.trunc")


@builtin
def round(x):
    """The nearest whole number; halves away from zero; float32 and float64."""
    return _language.round(x, "extra.libdevice.round")


@builtin
def rint(x):
    """The nearest whole number; halves to even; float32 and float64."""
    return _language.rint(x, "extra.libdevice.rint")


nearbyint = rint


@builtin
def llrint(x):
    """rint(x) as int64."""
    return rint(x).to(core.int64)


@builtin
def llround(x):
    """round(x) as int64."""
    return round(x).to(core.int64)


# -- functions of reals -----------------------------------------------------

log10 = _calls.real("log10", "Logarithm to base 10.")
log1p = _calls.real("log1p", "log(1 + x).")
exp10 = _calls.real("exp10", "10 to the power x.")
expm1 = _calls.real("expm1", "exp(x) - 1.")
pow = _calls.power("pow", "x to the power y, with C's special cases; by multiplying where y is an integer.")
sinh = _calls.real("sinh", "Hyperbolic sine.")
cosh = _calls.real("cosh", "Hyperbolic cosine.")
tan = _calls.real("tan", "Tangent of x in radians.")
acos = _calls.real("acos", "Inverse cosine.")
asin = _calls.real("asin", "Inverse sine.")
atan = _calls.real("atan", "Inverse tangent.")
atan2 = _calls.real("atan2", "The angle of the point (y, x), given as atan2(y, x).", 2)
acosh = _calls.real("acosh", "Inverse hyperbolic cosine.")
asinh = _calls.real("asinh", "Inverse hyperbolic sine.")
atanh = _calls.real("atanh", "Inverse hyperbolic tangent.")
sinpi = _calls.real("sinpi", "sin(pi x).")
cospi = _calls.real("cospi", "cos(pi x).")
cbrt = _calls.real("cbrt", "Cube root.")
rcbrt = _calls.real("rcbrt", "1 / cbrt(x).")
hypot = _calls.real("hypot", "sqrt(x^2 + y^2) without overflow inside.", 2)
rhypot = _calls.real("rhypot", "1 / hypot(x, y).", 2)
norm3d = _calls.real("norm3d", "The length of a vector of three.", 3)
rnorm3d = _calls.real("rnorm3d", "1 / norm3d(x, y, z).", 3)
norm4d = _calls.real("norm4d", "The length of a vector of four.", 4)
rnorm4d = _calls.real("rnorm4d", "1 / norm4d(x, y, z, t).", 4)
erfc = _calls.real("erfc", "1 - erf(x).")
erfcx = _calls.real("erfcx", "exp(x^2) erfc(x).")
erfinv = _calls.real("erfinv", "Inverse of erf.")
erfcinv = _calls.real("erfcinv", "Inverse of erfc.")
normcdf = _calls.real("normcdf", "The normal distribution's cumulative probability.")
normcdfinv = _calls.real("normcdfinv", "Inverse of normcdf.")
lgamma = _calls.real("lgamma", "Logarithm of the magnitude of the gamma function.")
tgamma = _calls.real("tgamma", "The gamma function.")
j0 = _calls.real("j0", "Bessel function of the first kind, order 0.")
j1 = _calls.real("j1", "Bessel function of the first kind, order 1.")
y0 = _calls.real("y0", "Bessel function of the second kind, order 0.")
y1 = _calls.real("y1", "Bessel function of the second kind, order 1.")
cyl_bessel_i0 = _calls.real("cyl_bessel_i0", "Modified Bessel function of the first kind, order 0.")
cyl_bessel_i1 = _calls.real("cyl_bessel_i1", "Modified Bessel function of the first kind, order 1.")
logb = _calls.real("logb", "The exponent of x as a float.")
fdim = _calls.real("fdim", "x - y where that is positive, else 0.", 2)
remainder = _calls.real("remainder", "x - n y for the whole number n nearest to x / y.", 2)
nextafter = _calls.real("nextafter", "The number next to x toward y.", 2)


@builtin
def saturatef(x):
    """x limited to [0, 1]; NaN gives 0. float32."""
    x = core.to_tensor(x)
    if not x.dtype.is_fp32():
        _calls.refuse("saturatef", "fp32", x)
    return _language.extern_call("__nv_saturatef", (x,), core.float32)


@builtin
def ilogb(x):
    """The exponent of x as int32."""
    (x,), common = _calls.as_reals("ilogb", (x,))
    return _language.extern_call("__nv_ilogbf" if common == core.float32 else "__nv_ilogb", (x,), core.int32)


def _with_integer(name, documentation, integer_first):
    """A function of a real and an int32, in either order."""

    def compute(real, integer):
        (real,), common = _calls.as_reals(name, (real,))
        integer = core.cast(integer, core.int32)
        operands = (integer, real) if integer_first else (real, integer)
        return _language.extern_call(f"__nv_{name}" + ("f" if common == core.float32 else ""), operands, common)

    if integer_first:
        return _calls.named(name, documentation + " float32 and float64.", lambda n, x: compute(x, n))
    return _calls.named(name, documentation + " float32 and float64.", lambda x, n: compute(x, n))


ldexp = _with_integer("ldexp", "x 2^n.", False)
scalbn = _with_integer("scalbn", "x 2^n.", False)
jn = _with_integer("jn", "Bessel function of the first kind, order n.", True)
yn = _with_integer("yn", "Bessel function of the second kind, order n.", True)

# -- integers ---------------------------------------------------------------


clz = _calls.of_integers("clz", "Number of leading zero bits, as int32.", 1, _calls.counting("clz"))
popc = _calls.of_integers("popc", "Number of bits that are set, as int32.", 1, _calls.counting("popc"))
ffs = _calls.of_integers("ffs", "Position of the lowest bit that is set, from 1; 0 for none. int32.", 1, _calls.counting("ffs"))
brev = _calls.of_integers(
    "brev",
    "The bits in reverse order.",
    1,
    {
        "int32": ("brev", core.int32),
        "uint32": ("brev", core.uint32),
        "int64": ("brevll", core.int64),
        "uint64": ("brevll", core.uint64),
    },
)
byte_perm = _calls.of_integers(
    "byte_perm",
    "Four of the eight bytes of x and y, picked by the nibbles of z.",
    3,
    {"int32": ("byte_perm", core.int32), "uint32": ("byte_perm", core.uint32)},
)
mul24 = _calls.of_integers(
    "mul24",
    "Product of the lower 24 bits, its lower 32 bits.",
    2,
    {"int32": ("mul24", core.int32), "uint32": ("umul24", core.uint32)},
)
mulhi = _calls.of_integers(
    "mulhi",
    "Upper half of the product; signed of signed integers, unlike tl.umulhi.",
    2,
    {
        "int32": ("mulhi", core.int32),
        "uint32": ("umulhi", core.uint32),
        "int64": ("mul64hi", core.int64),
        "uint64": ("umul64hi", core.uint64),
    },
)
sad = _calls.of_integers("sad", "|x - y| + z.", 3, _calls.by_sign("sad"))
hadd = _calls.of_integers("hadd", "(x + y) >> 1 without overflow inside.", 2, _calls.by_sign("hadd"))
rhadd = _calls.of_integers(
    "rhadd", "(x + y + 1) >> 1 without overflow inside.", 2, {"int32": ("rhadd", core.int32), "uint32": ("urhadd", core.uint32)}
)

# -- rounding modes and conversions -----------------------------------------

_MODES = {"rn": "to nearest even", "rz": "toward zero", "rd": "down", "ru": "up"}
_KINDS = {"double": "float64", "float": "float32", "int": "int32", "uint": "uint32", "ll": "int64", "ull": "uint64"}


def _rounded(op, mode, arity):
    name = f"{op}_{mode}"

    def compute(*args):
        operands, common = _calls.as_reals(name, args)
        single = f"fmaf_{mode}" if op == "fma" else f"f{name}"
        double = name if op == "fma" else f"d{name}"
        return _language.extern_call("__nv_" + (single if common == core.float32 else double), operands, common)

    functions = {1: lambda x: compute(x), 2: lambda x, y: compute(x, y), 3: lambda x, y, z: compute(x, y, z)}
    return _calls.named(name, f"{op} rounded {_MODES[mode]}. float32 and float64.", functions[arity])


def _converted(name, source, target):
    from_type, to_type = getattr(core, source), getattr(core, target)

    def function(x):
        x = core.to_tensor(x)
        if x.dtype != from_type:
            raise errors.make(
                "E0120", message=f"libdevice.{name} needs {from_type}, got {x.type}", help=f"cast it: x.to(tl.{source})"
            )
        return _language.extern_call("__nv_" + name, (x,), to_type)

    return _calls.named(name, f"{source} as {target}.", function)


@builtin
def rcp64h(x):
    """1 / x from the upper half of a float64, to about 20 bits; the lower half is zero."""
    x = core.to_tensor(x)
    if not x.dtype.is_fp64():
        raise errors.make("E0120", message=f"libdevice.rcp64h needs fp64, got {x.type}", help="cast it: x.to(tl.float64)")
    return _language.extern_call("__nv_rcp64h", (x,), core.float64)


double2loint = _converted("double2loint", "float64", "int32")
double2hiint = _converted("double2hiint", "float64", "int32")


@builtin
def hiloint2double(high, low):
    """The float64 of two int32, its upper and lower halves."""
    return _language.extern_call("__nv_hiloint2double", (core.cast(high, core.int32), core.cast(low, core.int32)), core.float64)


def _define():
    """The names that differ by a rounding mode only."""
    names = globals()
    for mode in _MODES:
        for op, arity in {"add": 2, "sub": 2, "mul": 2, "div": 2, "rcp": 1, "sqrt": 1, "fma": 3}.items():
            # Rounding to nearest is what some names of the language do anyway.
            names.setdefault(f"{op}_{mode}", _rounded(op, mode, arity))
        for source, target in itertools.product(_KINDS, repeat=2):
            is_real = source in ("double", "float"), target in ("double", "float")
            # Between floats only narrowing rounds; 32-bit integers fit float64.
            exists = source == "double" if all(is_real) and source != target else is_real[0] != is_real[1]
            if exists and (mode == "rn" or (source, target) not in (("int", "double"), ("uint", "double"))):
                name = f"{source}2{target}_{mode}"
                names[name] = _converted(name, _KINDS[source], _KINDS[target])


_define()
