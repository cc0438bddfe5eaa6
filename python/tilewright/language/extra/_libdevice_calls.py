# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes functions of the language from symbols of libdevice."""

from __future__ import annotations

from .. import basics, core
from ..core import builtin, unwrap
from ... import _core, errors

_language = _core.language


def named(name, documentation, function):
    """`function` as a function of the module libdevice."""
    return builtin(basics.named(function, f"{__package__}.libdevice", name, documentation))


def refuse(name, needed, value):
    raise errors.make(
        "E0120",
        message=f"libdevice.{name} needs {needed}, got {value.type}",
        help=f"cast it: x.to(tl.{'int32' if 'int' in needed else 'float32'})",
    )


def as_reals(name, args):
    """The operands in their common type, float32 or float64; numbers take that of the tensors.

    One of them must have such a type: narrower ones beside it are widened as arithmetic does,
    but nothing is widened where all are narrow, since that would hide what it costs.
    """
    args = tuple(map(unwrap, args))
    tensors = [x for x in args if isinstance(x, core.tensor)]
    for x in args:
        if not isinstance(x, core.tensor) and not hasattr(type(x), "__float__"):
            got = "None" if x is None else type(x).__name__
            raise errors.make(
                "E0120",
                message=f"libdevice.{name}: an operand must be a tensor or a number, got {got}",
                help="pass a value of the kernel or a Python number",
            )
    if tensors and not any(x.dtype.is_fp32() or x.dtype.is_fp64() for x in tensors):
        refuse(name, "fp32 or fp64", tensors[0])
    common = core.float64 if any(x.dtype.is_fp64() for x in tensors) else core.float32
    return tuple(core.cast(x, common) for x in args), common


def call_real(name, *args):
    """`name` in float32 or float64, as the operands are; their symbols differ by an f."""
    operands, common = as_reals(name, args)
    return _language.extern_call(f"__nv_{name}" + ("f" if common == core.float32 else ""), operands, common)


def real(name, documentation, arity=1):
    functions = {
        1: lambda x: call_real(name, x),
        2: lambda x, y: call_real(name, x, y),
        3: lambda x, y, z: call_real(name, x, y, z),
        4: lambda x, y, z, t: call_real(name, x, y, z, t),
    }
    return named(name, documentation + " float32 and float64.", functions[arity])


def power(name, documentation):
    """A function of two reals, or of a real and an integer: int32, which numbers and narrower types become."""

    def compute(x, y):
        exponent = core.to_tensor(y)
        if not exponent.dtype.is_int() or exponent.dtype.primitive_bitwidth > 32 or exponent.dtype == core.uint32:
            return call_real(name, x, y)
        (x,), common = as_reals(name, (x,))
        exponent = core.cast(exponent, core.int32)
        return _language.extern_call(f"__nv_{name}i" + ("f" if common == core.float32 else ""), (x, exponent), common)

    return named(name, documentation + " float32 and float64.", lambda x, y: compute(x, y))


def of_integers(name, documentation, arity, symbols):
    """`symbols` maps the type of the first operand to a symbol and the type of the result."""

    def compute(*args):
        first = core.to_tensor(args[0])
        entry = symbols.get(str(first.dtype))
        if entry is None:
            refuse(name, " or ".join(symbols) + " integers", first)
        symbol, result = entry
        operands = (first, *(core.cast(x, first.dtype) for x in args[1:]))
        return _language.extern_call("__nv_" + symbol, operands, result)

    functions = {1: lambda x: compute(x), 2: lambda x, y: compute(x, y), 3: lambda x, y, z: compute(x, y, z)}
    return named(name, documentation, functions[arity])


def counting(symbol):
    """By width only; the result is int32."""
    return {
        "int32": (symbol, core.int32),
        "uint32": (symbol, core.int32),
        "int64": (symbol + "ll", core.int32),
        "uint64": (symbol + "ll", core.int32),
    }


def by_sign(symbol):
    return {"int32": (symbol, core.int32), "uint32": ("u" + symbol, core.uint32)}
