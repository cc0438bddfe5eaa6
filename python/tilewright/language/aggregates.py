# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Records of the user's: several values of a kernel under one name.

    @tilewright.aggregate
    class Accumulator:
        total: tl.tensor
        count: tl.constexpr

        @tilewright.jit
        def add(self, x):
            return tl.aggregate_replace(self, total=self.total + x)

Fields are set by the constructor, which takes them in order where the class has none of its
own, and never change after it. Methods are jit functions, constexpr functions or plain ones.
Both evaluators take records apart and put them together by the two methods of
frontend/python/ValueTree.h, so that they may be carried by loops and returned.
"""

from __future__ import annotations

import builtins
import types
import typing

from ..annotations import class_annotations
from ..runtime.interface import is_kernel
from ._values import constexpr, tuple
from .core import builtin, tensor

_UNSET = object()


class _Method:
    """A jit function as a method: Python binds only plain functions."""

    def __init__(self, function):
        self.function = function

    def __get__(self, instance, owner=None):
        return self.function if instance is None else types.MethodType(self.function, instance)


def _as_field(value):
    """A value as a field holds it: what is known now as a constexpr."""
    if isinstance(value, (tensor, constexpr, _Aggregate)) or hasattr(type(value), "__tilewright_flatten__"):
        return value
    if isinstance(value, builtins.tuple):
        items = builtins.tuple(map(_as_field, value))
        return type(value)._make(items) if hasattr(value, "_fields") else tuple(items)
    return constexpr(value)


def _fits(value, annotation) -> bool:
    if annotation is tuple:
        return isinstance(value, builtins.tuple)
    try:
        return isinstance(value, annotation)
    except TypeError:
        return True  # an annotation that is no class is for the reader


class _Aggregate:
    """Base of all; `_fields_of` and `_defaults_of` are per class."""

    _fields_of: dict = {}
    _defaults_of: dict = {}

    def __new__(cls, *args, **kwargs):
        instance = super().__new__(cls)
        object.__setattr__(instance, "_is_complete", False)
        return instance

    def __init__(self, *args, **kwargs):
        name, names = type(self).__name__, list(self._fields_of)
        if len(args) > len(names):
            raise TypeError(f"{name}() takes {len(names)} fields but {len(args)} were given")
        for field, value in zip(names, args):
            if field in kwargs:
                raise TypeError(f"{name}() got multiple values for argument '{field}'")
            setattr(self, field, _as_field(value))
        for field in names[len(args) :]:
            value = kwargs.pop(field, self._defaults_of.get(field, _UNSET))
            if value is _UNSET:
                raise TypeError(f"{name}() missing required argument: '{field}'")
            setattr(self, field, _as_field(value))
        if kwargs:
            raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(kwargs))}'")

    def __setattr__(self, name, value):
        kind = type(self).__name__
        if name not in self._fields_of:
            raise AttributeError(f"{kind} has no attribute '{name}'")
        if self._is_complete:
            raise AttributeError(
                f"cannot assign to field '{name}' on immutable aggregate {kind}; tl.aggregate_replace makes a changed copy"
            )
        if not isinstance(value, (tensor, constexpr)) and self._fields_of[name] is constexpr:
            value = _as_field(value)
        if not _fits(value, self._fields_of[name]):
            raise TypeError(f"expected {self._fields_of[name]} for attribute '{name}', got {type(value)}")
        object.__setattr__(self, name, value)

    @property
    def type(self):
        """The class and the types of the fields."""
        return (type(self), [(name, getattr(getattr(self, name), "type", None)) for name in self._fields_of])

    def __tilewright_flatten__(self):
        return builtins.tuple(getattr(self, name) for name in self._fields_of)

    def __tilewright_unflatten__(self, values):
        copy = object.__new__(type(self))
        for name, value in zip(self._fields_of, values):
            object.__setattr__(copy, name, value)
        object.__setattr__(copy, "_is_complete", True)
        return copy

    def __tilewright_set__(self, name, value):
        """`self.name = value` in a constructor that is a jit function."""
        setattr(self, name, _as_field(value))

    def __repr__(self):
        fields = ", ".join(f"{name}={getattr(self, name, None)!r}" for name in self._fields_of)
        return f"{type(self).__name__}({fields})"


class _AggregateClass(type):
    """Calls the constructor, then looks whether it has set every field, and closes the record."""

    def __call__(cls, *args, **kwargs):
        instance = super().__call__(*args, **kwargs)
        for name in cls._fields_of:
            if not hasattr(instance, name):
                raise AttributeError(f"constructor for {cls.__name__} did not initialize attribute '{name}'")
        object.__setattr__(instance, "_is_complete", True)
        return instance


def _own_fields(cls):
    """Annotations of a class with texts looked up, and the defaults beside them."""
    annotations = class_annotations(cls)
    try:
        resolved = typing.get_type_hints(cls)
    except Exception:  # noqa: BLE001 - a name that is only known later; not checked then
        resolved = {}
    fields = {name: resolved.get(name, annotation) for name, annotation in annotations.items()}
    values = {name: vars(cls)[name] for name in fields if name in vars(cls)}
    defaults = {
        name: value
        for name, value in values.items()
        if isinstance(value, (tensor, constexpr, _Aggregate)) or not callable(value)
    }
    return fields, defaults


def aggregate(cls):
    """Decorator: the annotated class becomes a record of kernels."""
    fields, defaults, bases = {}, {}, []
    for base in cls.__bases__:
        if base is object:
            continue
        if not isinstance(base, _AggregateClass):
            raise TypeError(f"Aggregates can only inherit from other aggregates, {base.__name__} is none")
        bases.append(base)
    for base in reversed(bases):
        fields.update(base._fields_of)
        defaults.update(base._defaults_of)
    own_fields, own_defaults = _own_fields(cls)
    fields.update(own_fields)
    defaults.update(own_defaults)
    left_out = {
        "__dict__",
        "__weakref__",
        "__annotations__",
        "__annotate__",
        "__annotate_func__",
        "__annotations_cache__",
        *fields,
    }
    members = {name: member for name, member in vars(cls).items() if name not in left_out}
    namespace = {name: _Method(member) if is_kernel(member) else member for name, member in members.items()}
    functions = {name: _plain(member) for name, member in members.items() if _is_function(member)}
    namespace.update(
        _fields_of=fields, _defaults_of=defaults, __annotations__=dict(own_fields), __tilewright_members__=functions
    )
    return _AggregateClass(cls.__name__, builtins.tuple(bases) or (_Aggregate,), namespace)


def _is_function(member) -> bool:
    return is_kernel(_plain(member)) or isinstance(_plain(member), types.FunctionType)


def _plain(member):
    """The function in a static or class method."""
    return member.__func__ if isinstance(member, (staticmethod, classmethod)) else member


# Triton's name of it in `tl.core`.
_aggregate = aggregate


@builtin
def aggregate_replace(instance, **changes):
    """A copy of a record with some of its fields changed."""
    if not isinstance(instance, _Aggregate):
        raise TypeError(f"aggregate_replace() expects an aggregate instance, got {type(instance)}")
    for name in changes:
        if name not in instance._fields_of:
            raise TypeError(f"{type(instance).__name__} has no field '{name}'")
    values = {name: getattr(instance, name) for name in instance._fields_of}
    values.update({name: _as_field(value) for name, value in changes.items()})
    for name, value in values.items():
        if not _fits(value, instance._fields_of[name]):
            raise TypeError(f"expected {instance._fields_of[name]} for attribute '{name}', got {type(value)}")
    return instance.__tilewright_unflatten__(values.values())
