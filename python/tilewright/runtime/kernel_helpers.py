# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a natively running kernel calls in place of Python's own meaning.

`closure` has the functions by the name that kernel_rewriter gives them. Those
on every line are C functions of `_core.kernel`; the rest is here.
"""

from __future__ import annotations

import builtins
import inspect
import operator
import types

from .. import _core, errors
from .. import language as tl
from ..user_objects import attribute, has_attribute
from ..frontend_rules import FORBIDDEN

_kernel = _core.kernel
_tensor = tl.tensor


def _is_tensor(value) -> bool:
    return type(value) is _tensor


def unwrap(value):
    """`constexpr(x)` as x."""
    return _kernel.unwrap(value)


def static(value, text):
    """A value that must be known at compile time; `text` is its expression."""
    value = unwrap(value)
    if _is_tensor(value) or (isinstance(value, tuple) and any(_is_tensor(item) for item in value)):
        raise errors.make("E0112", n=text)
    return value


def iterable(value, text):
    """What a comprehension runs over: a tuple, which may hold run-time values."""
    if _is_tensor(value):
        raise errors.make("E0112", n=text)
    return unwrap(value)


def unpack(value, pattern):
    """The value of `a, (b, c) = value`, checked against the form of the target."""
    value = _kernel.assign(value)
    if not isinstance(value, tuple):
        raise errors.make("E0116", message=f"cannot unpack {_kernel.describe(value)} into {len(pattern)} names",
                          help="only tuples are unpacked; use tl.split for the halves of a tile")
    if len(value) != len(pattern):
        raise errors.make("E0116", message=f"cannot unpack {len(value)} values into {len(pattern)} names",
                          help="give as many names as there are values")
    for item, part in zip(value, pattern):
        if part is not None:
            unpack(item, part)
    return value


tensor_attributes = {name for name in dir(tl.tensor) if not name.startswith("_")}


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


def type_of(thing):
    """`x.type`: of a number or a tuple that is known at compile time a constexpr_type."""
    if isinstance(thing, (bool, int, float, str, type(None))):
        return tl.constexpr_type(thing)
    if type(thing) is tuple and not any(map(_is_tensor, thing)):
        return tl.constexpr_type(thing)
    return thing.type


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


def not_a_kernel_function(text):
    raise errors.make("E0123", n=text)


def host_function(function, text):
    """A function of a module of the host, which computes with what is known at compile time only."""
    def call(*args, **kwargs):
        if any(map(_is_tensor, args)):
            not_a_kernel_function(text)
        return unwrap(function(*map(unwrap, args), **{name: static(value, name) for name, value in kwargs.items()}))

    return call


def not_constant(name):
    raise errors.make("E0103", g=name)


def inner_function(wrapper):
    """The jit function inside tuning and heuristics wrappers."""
    while not _is_jit_function(wrapper) and has_attribute(wrapper, "fn"):
        wrapper = wrapper.fn
    return wrapper


def kind_of_callee(callee) -> str:
    """How a kernel calls a callable that it found by a global name."""
    if callee is tl.constexpr:
        return "constexpr"
    if isinstance(callee, tl.constexpr):
        inner = callee.value
        return "static" if isinstance(inner, types.FunctionType) else kind_of_callee(inner)
    if attribute(callee, "__tilewright_constexpr_function__", False):
        return "static"
    if attribute(callee, "__tilewright_builtin__", False) or _is_jit_function(callee):
        return "value"
    if has_attribute(callee, "fn") and _is_jit_function(inner_function(callee)):
        return "wrapped"
    if isinstance(callee, type):
        if callee in (int, float, bool, str):
            return "static"
        is_record = issubclass(callee, tuple) or hasattr(callee, "__tilewright_flatten__") or _in_language(callee)
        return "value" if is_record or callee in (range, list, zip, enumerate, type) else "foreign"
    module = attribute(callee, "__module__")
    if module == "builtins":
        return "static" if callee in (round, any, all) else "value" if callee.__name__ in _allowed_builtins else "foreign"
    if module in ("math", "copy"):
        return "static"
    if _in_language(callee) or (module or "").split(".")[0] in _debuggers:
        return "value"
    owner = attribute(callee, "__self__")
    if owner is not None and not isinstance(owner, types.ModuleType):
        return "value"
    return "foreign" if callable(callee) else "value"


#: Builtin functions that a kernel may call, for computing or for looking.
_allowed_builtins = {
    "min", "max", "abs", "sum", "len", "isinstance", "getattr", "hasattr", "print", "breakpoint", "repr", "id",
    "locals", "globals", "vars", "dir", "input", "__import__",
}
#: Modules whose use inside a kernel is for looking, not for computing.
_debuggers = {"pdb", "ipdb", "pudb", "debugpy", "bdb", "IPython"}


# ---------------------------------------------------------------------------
# Names after branches and loops
# ---------------------------------------------------------------------------


class Hidden:
    """What a name holds that a compiled kernel would not have any more."""

    __slots__ = ("reason", )

    def __init__(self, reason):
        self.reason = reason

    def __repr__(self):
        return f"<not defined here: {self.reason}>"


def visible(value, name):
    if type(value) is Hidden:
        raise errors.make("E0104", n=name, near="", help=value.reason)
    return value


# ---------------------------------------------------------------------------
# Loops
# ---------------------------------------------------------------------------


_range_parameters = list(inspect.signature(tl.range).parameters)


class Range:
    """Python's `range` as a kernel reads it: run-time indices whatever the bounds."""

    __slots__ = ("start", "end", "step")

    def __iter__(self):
        """In a comprehension, where the compiler counts too."""
        return iter(builtins.range(*(static(bound, "bound of range()") for bound in (self.start, self.end, self.step))))

    def __init__(self, *bounds, **hints):
        # The hints of tl.range are taken, and ignored as Triton does.
        unexpected = [name for name in hints if name not in _range_parameters[3:]]
        if unexpected or not 1 <= len(bounds) <= 3:
            problem = (f"unexpected argument '{unexpected[0]}'" if unexpected else
                       f"{len(bounds)} positional arguments given, 3 taken" if bounds else "missing argument 'arg1'")
            raise errors.make("E0122", name="range", problem=problem, sig=f"range({', '.join(_range_parameters)})")
        self.start, self.end, self.step = ((0, bounds[0], 1) if len(bounds) == 1 else
                                           (*bounds, 1) if len(bounds) == 2 else bounds)


#: Iterations that tl.static_range may have: the compiler unrolls them.
_max_unrolled = 4096


def _check_bound(value):
    plain_int = isinstance(value, int) or (not _is_tensor(value) and has_attribute(value, "__index__"))
    if not plain_int and not (_is_tensor(value) and not value.shape and value.dtype.is_int()):
        described = "a float" if isinstance(value, float) else _kernel.describe(value)
        raise errors.make("E0120", message=f"range() takes integer scalars, not {described}",
                          help="cast the bound with .to(tl.int32)")


def _run_time_range(bounds):
    """Indices of the promoted type of the bounds, as run-time scalars."""
    for bound in bounds:
        _check_bound(bound)
    numbers = tuple(operator.index(bound) for bound in bounds)
    if numbers[2] == 0:
        raise errors.make("E0117", message="step of 'range' is zero",
                          help="use a step of at least 1, or a negative one to count down")
    if numbers[2] < 0 and _is_tensor(bounds[2]):
        # A compiled loop has no iteration then.
        raise errors.make("E0117", message=f"step of 'range' is {numbers[2]} at run time",
                          help="a loop that counts down needs a step that is known at compile time")
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


def counter_after(indices, before, value):
    """The counter after its loop: where that did not run, what it was before, in the counter's type."""
    number = _kernel.assign(before)
    if not _is_tensor(number) or number.shape or not number.dtype.is_int():
        return Hidden(f"it is {_kernel.describe(number)} before the loop that counts with it; use two names")
    return value if indices.numbers else number.to(indices.kind)


def is_run_time_range(callee) -> bool:
    """Whether calling `callee` gives a loop that is not unrolled."""
    return callee is tl.range or callee is builtins.range


def iterate(iterable):
    """What `for` runs over: tensors for run-time ranges, Python ints for static ones."""
    if isinstance(iterable, tl.range):
        # No meaning here, but the compiler's errors.
        for name in ("num_stages", "loop_unroll_factor"):
            _core.language.loop_hint(getattr(iterable, name), name)
    if isinstance(iterable, (Range, tl.range)):
        return _run_time_range([unwrap(b) for b in (iterable.start, iterable.end, iterable.step)])
    if isinstance(iterable, tl.static_range):
        numbers = builtins.range(iterable.start, iterable.end, iterable.step)
        if len(numbers) > _max_unrolled:
            raise errors.make("E0114", n=len(numbers), m=_max_unrolled)
        return iter(numbers)
    construct, alternative = FORBIDDEN["ForOverTuple"]
    raise errors.make("E0102", stmt=construct, alternative=alternative)


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


def _length(value):
    value = unwrap(value)
    return value.shape[0] if _is_tensor(value) else len(value)


def _absolute(value):
    value = unwrap(value)
    return tl.abs(value) if _is_tensor(value) else abs(value)


def _is_instance(value, classes):
    classes = classes if isinstance(classes, tuple) else (classes, )
    # Every compile-time value is a constexpr, wrapped or not.
    if tl.constexpr in classes and not _is_tensor(value) and not isinstance(value, tuple):
        return True
    return isinstance(unwrap(value), tuple(c for c in classes if c is not tl.constexpr))


def _sum(values, start=0):
    total = start
    for value in static(values, "argument of sum()"):
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
    **{name: getattr(_kernel, name) for name in (
        "assign", "truth_if", "truth_while", "truth_choice", "logical_not", "decides_and", "decides_or", "join_and",
        "join_or", "unwrap", "promote", "is_tensor", "check_branch", "check_loop")},
    "hidden": Hidden, "visible": visible,
    "static": static, "iterable": iterable, "unpack": unpack, "branch": branch, "value_of": value_of, "type_of": type_of,
    "is_same": is_same, "counter_after": counter_after, "is_not_same": is_not_same, "iterate": iterate,
    "device_assert": device_assert, "refused": refused, "not_a_kernel_function": not_a_kernel_function,
    "host_function": host_function, "not_constant": not_constant, "inner_function": inner_function,
    "make_tuple": tuple, "set_attribute": set_attribute,
    **{"builtin_" + name: f for name, f in builtins_of_the_language.items()},
}

# ---------------------------------------------------------------------------
# Names
# ---------------------------------------------------------------------------


def is_constexpr_object(value) -> bool:
    return isinstance(value, tl.constexpr)


def _is_jit_function(value) -> bool:
    return has_attribute(value, "parse", "params", "fn")


def _in_language(value) -> bool:
    module = attribute(value, "__module__")
    return isinstance(module, str) and module.split(".")[0] == "tilewright"


def _is_annotated_constexpr(name, jit_function) -> bool:
    """Whether the module says `name: tl.constexpr = ...`."""
    annotations = jit_function.__globals__.get("__annotations__")
    annotation = annotations.get(name) if isinstance(annotations, dict) else None
    return annotation is tl.constexpr or (isinstance(annotation, str) and "constexpr" in annotation)


def is_allowed_global(name, value, jit_function) -> bool:
    """Whether a kernel may read this global by a plain name (E0103 otherwise)."""
    from .. import knobs

    if value is None or isinstance(value, (tl.constexpr, types.ModuleType)) or callable(value):
        return True
    if isinstance(value, tuple) and value and all(is_allowed_global(name, v, jit_function) for v in value):
        return True
    if not isinstance(value, (bool, int, float, str)) and (_in_language(value) or _in_language(type(value))):
        return True
    return (_is_annotated_constexpr(name, jit_function) or _in_language(jit_function)
            or bool(knobs.compilation.allow_non_constexpr_globals))
