# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compile-time values and the small classes of the language."""

from __future__ import annotations

import builtins
import enum
import operator

from .. import _core, errors

_tensor = _core.language.tensor


def unwrap(value):
    """`constexpr(x)` as x; every other object as it is."""
    while isinstance(value, constexpr):
        value = value.value
    return value


def unwrap_all(values):
    """A tuple of plain values from a tuple, a list or one value."""
    values = unwrap(values)
    if isinstance(values, (builtins.tuple, list)):
        return builtins.tuple(unwrap(v) for v in values)
    return (values,)


def shape_argument(shape):
    """f(4, 8) and f((4, 8)) alike: the ints of a variadic shape."""
    if len(shape) == 1:
        return unwrap_all(shape[0])
    return builtins.tuple(unwrap(s) for s in shape)


class constexpr:
    """A value known at compile time.

    As an annotation it marks a parameter or a local as such; as an object it wraps
    a value so that a kernel may read it from a global. Operators give constexprs,
    or tensors where a tensor takes part.
    """

    # `_kernels`: weak references to the kernels that have the value in their code.
    __slots__ = ("value", "_kernels")

    def __init__(self, value):
        _set_value(self, unwrap(value))

    def __setattr__(self, name, value):
        before = getattr(self, "value", None)
        object.__setattr__(self, name, value)
        if name == "value":
            for reference in getattr(self, "_kernels", ()):
                kernel = reference()
                if kernel is not None:
                    kernel._constant_changed(self, before)

    @property
    def type(self):
        return constexpr_type(self.value)

    def __repr__(self):
        return f"constexpr[{self.value}]"

    def __hash__(self):
        return hash(self.value)

    def __bool__(self):
        return bool(self.value)

    def __int__(self):
        return int(self.value)

    def __float__(self):
        return float(self.value)

    def __index__(self):
        return operator.index(self.value)

    def __len__(self):
        return len(self.value)

    def __iter__(self):
        return iter(self.value)

    def __getitem__(self, key):
        return _wrap(self.value[unwrap(key)])

    def __call__(self, *args, **kwargs):
        result = self.value(*(unwrap(a) for a in args), **{k: unwrap(v) for k, v in kwargs.items()})
        return _wrap(result)

    def logical_and(self, other):
        return _wrap(self.value and unwrap(other))

    def logical_or(self, other):
        return _wrap(self.value or unwrap(other))

    def __not__(self):
        return constexpr(not self.value)

    def __neg__(self):
        return _wrap(-self.value)

    def __pos__(self):
        return _wrap(+self.value)

    def __invert__(self):
        return _wrap(~self.value)

    def __abs__(self):
        return _wrap(builtins.abs(self.value))

    def __reduce__(self):
        return (constexpr, (self.value,))


_set_value = constexpr.value.__set__


def _wrap(value):
    return value if isinstance(value, _tensor) else constexpr(value)


def _attach_operators():
    """Forward and reflected operators, in one form for all."""

    def forward(function):
        return lambda self, other: _wrap(function(self.value, unwrap(other)))

    def reflected(function):
        return lambda self, other: _wrap(function(unwrap(other), self.value))

    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and_", "or_", "xor"):
        function, slot = getattr(operator, name), name.rstrip("_")
        setattr(constexpr, f"__{slot}__", forward(function))
        setattr(constexpr, f"__r{slot}__", reflected(function))
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        setattr(constexpr, f"__{name}__", forward(getattr(operator, name)))


_attach_operators()
_core.language.register_constexpr(constexpr)


class constexpr_type:
    """The type of a constexpr: its value."""

    def __init__(self, value):
        self.value = unwrap(value)

    def __eq__(self, other):
        return isinstance(other, constexpr_type) and self.value == other.value

    def __hash__(self):
        return hash((constexpr_type, self.value))

    def __repr__(self):
        return f"constexpr_type[{self.value}]"

    def mangle(self):
        return f"c{self.value}"


class const:
    """Annotation of a pointer parameter that is only read."""


class tuple(builtins.tuple):
    """A tuple inside a kernel; indices and bounds may be constexpr."""

    def __new__(cls, args=(), type=None):
        return super().__new__(cls, args)

    @property
    def values(self):
        return list(self)

    def __getitem__(self, key):
        key = unwrap(key)
        if isinstance(key, builtins.slice):
            return tuple(super().__getitem__(builtins.slice(*map(unwrap, (key.start, key.stop, key.step)))))
        return super().__getitem__(key)

    def __add__(self, other):
        return tuple(super().__add__(builtins.tuple(other)))

    def __mul__(self, count):
        return tuple(super().__mul__(unwrap(count)))


class tuple_type:
    """The type of a tuple: the types of its elements."""

    def __init__(self, types, fields=None):
        self.types, self.fields = list(types), fields

    def __eq__(self, other):
        return isinstance(other, tuple_type) and self.types == other.types and self.fields == other.fields

    def __hash__(self):
        return hash(builtins.tuple(self.types))

    def __getitem__(self, index):
        return self.types[index]

    def __iter__(self):
        return iter(self.types)

    def __repr__(self):
        return f"[{','.join(map(str, self.types))}]"


def type_of(thing):
    """`x.type`: of what is known at compile time a constexpr_type, of another tuple a tuple_type."""
    if isinstance(thing, (bool, int, float, str, type(None))):
        return constexpr_type(thing)
    if not isinstance(thing, builtins.tuple) or hasattr(thing, "type"):
        return thing.type
    types = [type_of(item) for item in thing]
    if all(isinstance(item, constexpr_type) for item in types):
        return constexpr_type(thing)
    return tuple_type(types, getattr(thing, "_fields", None))


class slice:
    """What `a:b:c` in a subscript makes."""

    def __init__(self, start, stop=None, step=None):
        self.start, self.stop, self.step = unwrap(start), unwrap(stop), unwrap(step)


class slice_type:
    """The type of a slice."""


class PropagateNan(enum.IntEnum):
    """What minimum and maximum do with NaN: NONE gives the other operand, ALL gives NaN."""

    NONE = 0
    ALL = 0xFFFF


class range:
    """A loop with hints for the compiler; without hints it is Python's `range`.

    `num_stages` asks for that many iterations in flight, `flatten` makes one loop of
    a nest of two, `disable_licm` keeps loop-invariant code inside. `loop_unroll_factor`,
    `warp_specialize` and `disallow_acc_multi_buffer` are taken from kernels that were
    written for Triton. They change nothing, which a remark says (TILEWRIGHT_REMARKS=1).
    """

    def __init__(
        self,
        arg1,
        arg2=None,
        step=None,
        num_stages=None,
        loop_unroll_factor=None,
        disallow_acc_multi_buffer=False,
        flatten=False,
        warp_specialize=False,
        disable_licm=False,
    ):
        self.step = 1 if step is None else step
        if arg2 is None:
            self.start, self.end = 0, arg1
        else:
            self.start, self.end = arg1, arg2
        self.num_stages = unwrap(num_stages)
        self.loop_unroll_factor = unwrap(loop_unroll_factor)
        self.disallow_acc_multi_buffer = unwrap(disallow_acc_multi_buffer)
        self.flatten = unwrap(flatten)
        self.warp_specialize = unwrap(warp_specialize)
        self.disable_licm = unwrap(disable_licm)

    def __iter__(self):
        """Run-time scalars, as a native loop in the interpreter needs them."""
        if not _core.language.in_kernel():
            raise errors.make(
                "E0117",
                message="tl.range was used outside a kernel",
                help="call it inside a function decorated with @tilewright.jit",
            )
        bounds = [unwrap(b) for b in (self.start, self.end, self.step)]
        # One run-time value of the bounds' common type; its zero carries the type.
        typed = None
        for bound in bounds:
            zero = _core.language.to_tensor(bound) & 0
            typed = zero if typed is None else typed + zero
        for i in builtins.range(*(operator.index(b) for b in bounds)):
            yield typed + i


class static_range:
    """A loop that is unrolled while compiling; the variable is constexpr."""

    def __init__(self, arg1, arg2=None, step=None):
        self.step = 1 if step is None else unwrap(step)
        if arg2 is None:
            self.start, self.end = 0, unwrap(arg1)
        else:
            self.start, self.end = unwrap(arg1), unwrap(arg2)
        for name, bound in (("start", self.start), ("end", self.end), ("step", self.step)):
            if isinstance(bound, _tensor):
                raise errors.make("E0112", n=f"{name} of tl.static_range")

    def __iter__(self):
        return iter(builtins.range(self.start, self.end, self.step))
