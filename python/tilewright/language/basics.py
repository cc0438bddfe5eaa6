# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The types of the language, and the marks on functions that kernels may call."""

from __future__ import annotations

import builtins
import enum
import functools
import linecache

from .. import _core, errors
from ..annotations import signature
from ..lazy_names import at
from ._values import constexpr, unwrap

_language = _core.language

tensor = _language.tensor
dtype = _language.dtype
pointer_type = _language.pointer_type
block_type = _language.block_type

void = _language.void
int1, int8, int16 = _language.int1, _language.int8, _language.int16
int32, int64 = _language.int32, _language.int64
uint8, uint16 = _language.uint8, _language.uint16
uint32, uint64 = _language.uint32, _language.uint64
float8e5, float8e4nv, float8e4b15 = _language.float8e5, _language.float8e4nv, _language.float8e4b15
float8e4b8, float8e5b16 = _language.float8e4b8, _language.float8e5b16
float16, bfloat16 = _language.float16, _language.bfloat16
float32, float64 = _language.float32, _language.float64
pi32_t = pointer_type(int32)


class _Signedness(enum.Enum):
    SIGNED = 0
    UNSIGNED = 1


class _Kind(enum.Enum):
    BOOLEAN = 0
    INTEGRAL = 1
    FLOATING = 2


def _signedness(self):
    """Of an integer type; int1 counts as unsigned."""
    return _Signedness.SIGNED if self.is_int_signed() else _Signedness.UNSIGNED


def _kind(self):
    """The rank of a type in promotion."""
    if self.is_bool():
        return _Kind.BOOLEAN
    return _Kind.FLOATING if self.is_floating() else _Kind.INTEGRAL


dtype.SIGNEDNESS, dtype.KIND = _Signedness, _Kind
dtype.__doc__ = "The type of an element, such as tl.float32; kernels convert by x.to(dtype)."
pointer_type.__doc__ = "The type of a pointer: `element_ty` is what it points to."
block_type.__doc__ = "The type of a tile: `element_ty` and `shape`."
# Names of types by family, as Triton lists them.
dtype.SINT_TYPES = ["int8", "int16", "int32", "int64"]
dtype.UINT_TYPES = ["int1", "uint8", "uint16", "uint32", "uint64"]
dtype.FP_TYPES = ["fp8e4b15", "fp8e4nv", "fp8e4b8", "fp8e5", "fp8e5b16", "fp16", "bf16", "fp32", "fp64"]
dtype.STANDARD_FP_TYPES = ["fp16", "bf16", "fp32", "fp64"]
dtype.OTHER_TYPES = ["void"]
dtype.is_dtype = staticmethod(lambda name: name in (*dtype.SINT_TYPES, *dtype.UINT_TYPES, *dtype.FP_TYPES, *dtype.OTHER_TYPES))
dtype.int_signedness, dtype.kind = property(_signedness), _kind


TRITON_MAX_TENSOR_NUMEL = 1 << 20
TRITON_BUILTIN = "__tilewright_builtin__"
# The default of parameters that are 0 as a compile-time value.
CONSTEXPR_0 = constexpr(0)

_unwrap_if_constexpr = unwrap


def _unwrap_shape(shape):
    """The ints of a shape whose extents may be constexpr."""
    return [unwrap(extent) for extent in unwrap(shape)]


def _unwrap_iterable(values):
    """f(4, 8) and f((4, 8)) alike: the values."""
    return values[0] if len(values) == 1 and isinstance(unwrap(values[0]), (builtins.tuple, list)) else values


# What Triton passes to its own functions besides their arguments, by the names of its releases. Functions of other
# libraries hand it on, where it means nothing here, and call methods of the first.
_COMPILER_ARGUMENTS = {"_semantic": "language.semantic:SEMANTIC", "_builder": "language.semantic:BUILDER", "_generator": None}


def _own(inner):
    """A function of the package, which takes no notice of those arguments."""

    @functools.wraps(inner)
    def call(*args, _semantic=None, _builder=None, _generator=None, **kwargs):
        try:
            return inner(*args, **kwargs)
        except AttributeError as error:
            better = _no_tensor(inner, args, kwargs, error)
            if better is None:
                raise
            raise better from None

    return call


def _no_tensor(function, args, kwargs, error):
    """The E0120 of an argument that has no shape and no type because it is no tensor; None where that is not it."""
    obj = getattr(error, "obj", None)
    if error.name not in ("dtype", "shape", "numel", "type"):
        return None
    names = (*zip(function.__code__.co_varnames, args), *kwargs.items())
    name = next((name for name, value in names if unwrap(value) is obj), None)
    if name is None:
        return None
    got = "None" if obj is None else "tuple" if isinstance(obj, builtins.tuple) else type(obj).__name__
    return errors.make(
        "E0120",
        message=f"tl.{function.__name__}: {name} must be a tensor, got {got}",
        help="pass a value of the kernel, or tl.full(shape, value, dtype)",
    )


_CODE_OF_OWN_CALLS = _own(lambda: None).__code__


def _of_a_library(inner):
    parameters = signature(inner).parameters
    asked = {name: home for name, home in _COMPILER_ARGUMENTS.items() if name in parameters}

    @functools.wraps(inner)
    def call(*args, **kwargs):
        given = {name: home and at(home) for name, home in asked.items()}
        named = {name: value if name in _COMPILER_ARGUMENTS else _as_constexpr(value) for name, value in kwargs.items()}
        return inner(*map(_as_constexpr, args), **{**given, **named})

    return call


def function_of_a_library(fn):
    """What kernels call for a function that a library itself has marked, by attribute, as Triton marks its own."""
    form = vars(fn).get("__tilewright_form__")
    if form is None:
        form = fn.__tilewright_form__ = _of_a_library(fn)
    return form


def builtin(fn):
    """Marks a Python function that kernels may call: it runs while they are evaluated.

    The package's own take constants as they are, and take no notice of `_semantic`, which functions
    of other libraries pass on. Those get constants as `constexpr` objects, which they may test for.
    """
    is_own = str(getattr(fn, "__module__", "")).split(".")[0] == "tilewright"
    fn = _own(fn) if is_own else _of_a_library(fn)
    fn.__tilewright_builtin__ = True
    return fn


def named(function, module, name, documentation):
    """Makes of a function that another one returns the function `name` of a module, for `builtin` or as a method.

    It gets a text of its own, a definition with its parameters: libraries that read the source of what a kernel calls
    look for that, and in the place where it was made there is none of this name.
    """
    code = function.__code__
    path = f"<{module}.{name}>"
    text = f'def {name}({", ".join(code.co_varnames[: code.co_argcount])}):\n    """{documentation}"""\n'
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    function.__code__ = code.replace(co_filename=path, co_firstlineno=1)
    function.__name__ = function.__qualname__ = name
    function.__module__, function.__doc__ = module, documentation
    return function


def is_of_call(traceback) -> bool:
    """Whether an exception came of a call of the language's function itself, as its arguments do not fit."""
    return traceback is None or (traceback.tb_next is None and traceback.tb_frame.f_code is _CODE_OF_OWN_CALLS)


def _as_constexpr(value):
    return constexpr(value) if value is None or type(value) in (bool, int, float, str) else value


# Triton's decorator of functions that call extern_elementwise.
extern = builtin


def is_builtin(fn):
    return getattr(fn, "__tilewright_builtin__", False)


def must_use_result(x, s=True):
    """Marks a builtin: calling it as a bare statement is an error, `s` may be its text."""
    if isinstance(x, str):
        return lambda fn: must_use_result(fn, x)
    x._must_use_result = s
    return x


def method(fn):
    """Also makes the function a method of tensors."""
    setattr(tensor, fn.__name__, fn)
    return fn


def _axis(axis):
    return unwrap(axis)


def get_int_dtype(bitwidth, signed):
    """The integer type of a width and signedness."""
    bitwidth, signed = unwrap(bitwidth), unwrap(signed)
    table = {1: (int1, int1), 8: (uint8, int8), 16: (uint16, int16), 32: (uint32, int32), 64: (uint64, int64)}
    if bitwidth not in table:
        raise errors.make("E0120", message=f"there is no integer type of {bitwidth} bits", help="use 1, 8, 16, 32 or 64")
    return table[bitwidth][bool(signed)]


get_int_dtype.__tilewright_builtin__ = True
