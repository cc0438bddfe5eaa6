# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a natively running kernel calls in place of Python's own meaning.

`closure` has the functions by the name that kernel_rewriter gives them. Those
on every line are C functions of `_core.kernel`; the rest is here.
"""

from __future__ import annotations

import builtins
import types

from .. import _core, errors
from .. import language as tl

_kernel = _core.kernel
_tensor = tl.tensor


def _is_tensor(value) -> bool:
    return type(value) is _tensor


def unwrap(value):
    """`constexpr(x)` as x."""
    return _kernel.unwrap(value)


def _not_constexpr(what):
    return errors.make("E0112", n=what)


def constant(name, value):
    """`name: tl.constexpr = value`."""
    if _is_tensor(value):
        raise _not_constexpr(name)
    return unwrap(value)


def branch(result, condition):
    """The result of a ternary: run-time if its condition is."""
    return _kernel.assign(result) if _is_tensor(condition) else result


def value_of(thing):
    """`x.value`: a compile-time value is its own value."""
    if _is_tensor(thing) or not hasattr(thing, "value"):
        if isinstance(thing, (bool, int, float, str, type(None), tuple, tl.dtype)):
            return thing
        return thing.value  # the AttributeError of Python
    return thing.value


def is_same(lhs, rhs):
    lhs, rhs = unwrap(lhs), unwrap(rhs)
    return lhs is rhs or (isinstance(lhs, tl.dtype) and isinstance(rhs, tl.dtype) and lhs == rhs)


def is_not_same(lhs, rhs):
    return not is_same(lhs, rhs)


# ---------------------------------------------------------------------------
# Loops
# ---------------------------------------------------------------------------


class Range:
    """Python's `range` as a kernel reads it: run-time indices whatever the bounds."""

    __slots__ = ("start", "stop", "step")

    def __init__(self, *bounds):
        if not 1 <= len(bounds) <= 3:
            raise errors.make("E0122", name="range", problem=f"takes 1 to 3 arguments, got {len(bounds)}",
                              sig="range(start, stop, step)")
        bounds = tuple(unwrap(b) for b in bounds)
        self.start, self.stop, self.step = ((0, bounds[0], 1) if len(bounds) == 1 else
                                            (*bounds, 1) if len(bounds) == 2 else bounds)


def _number(value) -> int:
    return value if type(value) is int else value.__index__()


def _run_time_range(start, stop, step):
    """Indices of the promoted type of the bounds, as run-time scalars."""
    # The type rules live in the language: let it promote the three bounds.
    kind = (_kernel.assign(start) + _kernel.assign(stop) + _kernel.assign(step)).dtype
    bounds = (_number(start), _number(stop), _number(step))
    if bounds[2] == 0:
        raise errors.make("E0117", message="the step of a loop is 0", help="use a step that is not 0")
    make = _kernel.loop_index
    for number in builtins.range(*bounds):
        yield make(number, kind)


def iterate(iterable):
    """What `for` runs over: tensors for run-time ranges, Python ints for static ones."""
    if isinstance(iterable, tl.static_range):
        bounds = [unwrap(b) for b in (iterable.start, iterable.end, iterable.step)]
        for bound in bounds:
            if _is_tensor(bound):
                raise _not_constexpr("bound of tl.static_range")
        return iter(builtins.range(*bounds))
    if isinstance(iterable, tl.range):
        return _run_time_range(unwrap(iterable.start), unwrap(iterable.end), unwrap(iterable.step))
    if isinstance(iterable, Range):
        return _run_time_range(iterable.start, iterable.stop, iterable.step)
    iterable = unwrap(iterable)
    if isinstance(iterable, (tuple, list, zip, enumerate)):
        return iter(iterable)
    raise errors.make("E0120", message=f"cannot iterate over {type(iterable).__name__}",
                      help="use range, tl.range or tl.static_range")


# ---------------------------------------------------------------------------
# Builtins
# ---------------------------------------------------------------------------


def _extremum(name):
    plain, of_tiles = getattr(builtins, name), getattr(tl, name + "imum")

    def function(*values):
        values = tuple(unwrap(v) for v in values)
        if len(values) == 1 and isinstance(values[0], tuple):
            values = values[0]
        if not any(_is_tensor(v) for v in values):
            return plain(values)
        result = values[0]
        for value in values[1:]:
            result = of_tiles(result, value)
        return result

    function.__name__ = name
    return function


def _compile_time_only(function):
    name = function.__name__

    def wrapper(*values):
        values = tuple(unwrap(v) for v in values)
        if any(_is_tensor(v) for v in values):
            raise _not_constexpr(f"argument of {name}()")
        return function(*values)

    wrapper.__name__ = name
    return wrapper


def _length(value):
    value = unwrap(value)
    if _is_tensor(value):
        if not value.shape:
            raise errors.make("E0120", message="len() of a scalar", help="len() needs a tuple or a tile")
        return value.shape[0]
    return len(value)


def _absolute(value):
    value = unwrap(value)
    return tl.abs(value) if _is_tensor(value) else abs(value)


def _is_instance(value, classes):
    classes = classes if isinstance(classes, tuple) else (classes, )
    if tl.constexpr in classes and not _is_tensor(value):
        return True  # every compile-time value is one, wrapped or not
    return isinstance(unwrap(value), tuple(c for c in classes if c is not tl.constexpr))


builtins_of_the_language = {
    "range": Range,
    "min": _extremum("min"),
    "max": _extremum("max"),
    "int": _compile_time_only(int),
    "float": _compile_time_only(float),
    "bool": _compile_time_only(bool),
    "len": _length,
    "abs": _absolute,
    "isinstance": _is_instance,
}


def device_assert(condition, message=""):
    if _is_tensor(condition):
        tl.device_assert(condition, message)
    elif not unwrap(condition):
        # False at compile time still compiles and fails when it is reached.
        tl.device_assert(_kernel.assign(False), message)


closure = {
    "assign": _kernel.assign, "truth": _kernel.truth, "logical_not": _kernel.logical_not,
    "decides_and": _kernel.decides_and, "decides_or": _kernel.decides_or, "join_and": _kernel.join_and,
    "join_or": _kernel.join_or, "unwrap": unwrap, "constant": constant, "branch": branch, "value_of": value_of,
    "is_same": is_same, "is_not_same": is_not_same, "iterate": iterate, "device_assert": device_assert,
    "make_tuple": tuple, **{"builtin_" + name: f for name, f in builtins_of_the_language.items()},
}

# ---------------------------------------------------------------------------
# Names
# ---------------------------------------------------------------------------


def is_constexpr_object(value) -> bool:
    return isinstance(value, tl.constexpr)


def _is_jit_function(value) -> bool:
    return hasattr(value, "parse") and hasattr(value, "params") and hasattr(value, "fn")


def _in_language(value) -> bool:
    return (getattr(value, "__module__", None) or "").split(".")[0] == "tilewright"


def is_callable_in_kernels(function) -> bool:
    return (_in_language(function) or _is_jit_function(function)
            or getattr(function, "__tilewright_constexpr_function__", False)
            or getattr(function, "__tilewright_builtin__", False))


def is_allowed_global(name, value, jit_function) -> bool:
    """Whether a kernel may read this global by a plain name (E0103 otherwise)."""
    from .. import knobs

    if isinstance(value, (types.ModuleType, type, types.FunctionType, types.BuiltinFunctionType, types.MethodType)):
        return True  # what may be called is checked at the call
    if is_constexpr_object(value) or _is_jit_function(value) or _in_language(type(value)) or callable(value):
        return True
    if jit_function.__globals__.get("__name__", "").split(".")[0] == "tilewright":
        return True
    return bool(knobs.compilation.allow_non_constexpr_globals)
