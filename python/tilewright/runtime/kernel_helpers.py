# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that an interpreted kernel calls where Python's own meaning would be another one.

`closure` has the functions by the name that kernel_rewriter gives them. Those
on every line are C functions of `_core.kernel`; the rest is here.
"""

from __future__ import annotations

import builtins
import operator

from .. import _core, errors
from .. import language as tl
from ..frontend_rules import FORBIDDEN
from ..language._values import type_of
from ..language.basics import function_of_a_library
from .interface import is_kernel, kernel_inside

_kernel = _core.kernel
_tensor = tl.tensor


def _is_tensor(value) -> bool:
    return type(value) is _tensor


def unwrap(value):
    """`constexpr(x)` as x."""
    return _kernel.unwrap(value)


tensor_attributes = {name for name in dir(tl.tensor) if not name.startswith("_")}


def branch(result, condition):
    """The result of a ternary: run-time if its condition is."""
    return _kernel.assign(result) if _is_tensor(condition) else result


def value_of(thing):
    """`x.value`: a compile-time value is its own value."""
    return thing.value if hasattr(thing, "value") else thing


def set_attribute(owner, name, value):
    """`self.x = value` in the constructor of a record, which checks it; of nothing else."""
    if not hasattr(type(owner), "__tilewright_set__"):
        construct, alternative = FORBIDDEN["AttributeTarget"]
        raise errors.make("E0102", stmt=construct, alternative=alternative)
    owner.__tilewright_set__(name, unwrap(value))


def is_same(lhs, rhs):
    lhs, rhs = unwrap(lhs), unwrap(rhs)
    return lhs is rhs or (isinstance(lhs, tl.dtype) and isinstance(rhs, tl.dtype) and lhs == rhs)


def is_not_same(lhs, rhs):
    return not is_same(lhs, rhs)


# ---------------------------------------------------------------------------
# Calls
# ---------------------------------------------------------------------------


def refused(key):
    construct, alternative = FORBIDDEN[key]
    raise errors.make("E0102", stmt=construct, alternative=alternative)


def kind_of_callee(callee) -> str:
    """How a kernel calls a callable that it found by a global name: frontend/python/LanguageNames.h knows."""
    kind = _kernel.kind_of_callee(callee)
    return "wrapped" if kind == "kernel" and not is_kernel(callee) else kind


# ---------------------------------------------------------------------------
# Loops
# ---------------------------------------------------------------------------


class Range:
    """Python's `range` as a kernel reads it: run-time indices whatever the bounds."""

    __slots__ = ("start", "end", "step")

    def __iter__(self):
        """Outside of `for`, where the compiler counts too."""
        return iter(builtins.range(*map(unwrap, (self.start, self.end, self.step))))

    def __init__(self, *bounds, **hints):
        # The hints of tl.range are taken, and ignored as Triton does.
        names = ("arg1", "arg2", "step")
        given = dict(zip(names, bounds), **{name: hints[name] for name in names if name in hints})
        first, second, step = (given.get(name) for name in names)
        self.start, self.end = (0, first) if second is None else (first, second)
        self.step = 1 if step is None else step


def _run_time_range(bounds):
    """Indices of the promoted type of the bounds, as run-time scalars."""
    numbers = tuple(operator.index(bound) for bound in bounds)
    if numbers[2] <= 0 and _is_tensor(bounds[2]):
        # A compiled loop has no iteration then, or no end.
        raise errors.make(
            "E0117",
            message=f"step of 'range' is {numbers[2] or 'zero'} at run time",
            help="a loop that counts down needs a step that is known at compile time",
        )
    # The type rules live in the language: let it promote the three bounds.
    start, stop, step = map(_kernel.assign, bounds)
    kind = (start + stop + step).dtype
    return _Indices(kind, builtins.range(*numbers))


class _Indices:
    """What a run-time loop counts through."""

    def __init__(self, kind, numbers):
        self.kind, self.numbers = kind, numbers

    def __iter__(self):
        make, kind = _kernel.loop_index, self.kind
        return (make(number, kind) for number in self.numbers)


#: A counter before its first loop.
unset = type("unset", (), {"__repr__": lambda self: "<not assigned>"})()


def counter_after(indices, before, value):
    """The counter after its loop: where that did not run, what it was before, in the counter's type."""
    if indices.numbers:
        return value
    if before is unset:
        return _kernel.loop_index(indices.numbers.start, indices.kind)
    number = _kernel.assign(before)
    is_integer = _is_tensor(number) and not number.shape and number.dtype.is_int()
    return number.to(indices.kind) if is_integer else before


def is_run_time_range(callee) -> bool:
    """Whether calling `callee` gives a loop that is not unrolled."""
    return callee is tl.range or callee is builtins.range


def iterate(iterable):
    """What `for` runs over: tensors for run-time ranges, Python ints for static ones."""
    if isinstance(iterable, (Range, tl.range)):
        return _run_time_range([unwrap(b) for b in (iterable.start, iterable.end, iterable.step)])
    if isinstance(iterable, tl.static_range):
        return iter(builtins.range(iterable.start, iterable.end, iterable.step))
    return refused("ForOverTile" if isinstance(iterable, tl.tensor) else "ForOverTuple")


# ---------------------------------------------------------------------------
# Builtins
# ---------------------------------------------------------------------------


def _extremum(name):
    plain, of_tiles = getattr(builtins, name), getattr(tl, name + "imum")

    def function(*values, **options):
        values = tuple(unwrap(v) for v in values)
        if len(values) == 1 and isinstance(values[0], tuple):
            values = values[0]
        if not any(_is_tensor(v) for v in values):
            return plain(values, **options)
        result = values[0]
        for value in values[1:]:
            result = of_tiles(result, value)
        return result

    function.__name__ = name
    return function


def _length(value):
    value = unwrap(value)
    return value.shape[0] if _is_tensor(value) else len(value)


def _absolute(value):
    value = unwrap(value)
    return tl.abs(value) if _is_tensor(value) else abs(value)


def _is_instance(value, classes):
    classes = classes if isinstance(classes, tuple) else (classes,)
    # Every compile-time value is a constexpr, wrapped or not.
    if tl.constexpr in classes and not _is_tensor(value) and not isinstance(value, tuple):
        return True
    return isinstance(unwrap(value), tuple(c for c in classes if c is not tl.constexpr))


def _sum(values, start=0):
    total = start
    for value in unwrap(values):
        total = total + value
    return total


builtins_of_the_language = {
    "range": Range,
    "min": _extremum("min"),
    "max": _extremum("max"),
    "len": _length,
    "abs": _absolute,
    "isinstance": _is_instance,
    "sum": _sum,
    "list": tuple,
    "zip": lambda *values: tuple(zip(*values)),
    "enumerate": lambda values, start=0: tuple(enumerate(values, start)),
}


def device_assert(condition, message=""):
    if _is_tensor(condition):
        tl.device_assert(condition, message)
    elif not unwrap(condition):
        # False at compile time still compiles and fails when it is reached.
        tl.device_assert(_kernel.assign(False), message)


closure = {
    **{
        name: getattr(_kernel, name)
        for name in (
            "assign",
            "truth_if",
            "truth_while",
            "truth_choice",
            "logical_not",
            "decides_and",
            "decides_or",
            "join_and",
            "join_or",
            "unwrap",
            "promote",
            "is_tensor",
            "unpack",
        )
    },
    "stop": None,
    "unset": unset,
    "branch": branch,
    "value_of": value_of,
    "type_of": type_of,
    "is_same": is_same,
    "counter_after": counter_after,
    "is_not_same": is_not_same,
    "iterate": iterate,
    "device_assert": device_assert,
    "refused": refused,
    "inner_function": kernel_inside,
    "function_of_a_library": function_of_a_library,
    "make_tuple": tuple,
    "set_attribute": set_attribute,
    **{"builtin_" + name: f for name, f in builtins_of_the_language.items()},
}

# ---------------------------------------------------------------------------
# Names
# ---------------------------------------------------------------------------


def is_constexpr_object(value) -> bool:
    return isinstance(value, tl.constexpr)
