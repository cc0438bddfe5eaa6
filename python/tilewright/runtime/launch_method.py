# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`run` of kernels and tuners, where programs put one of their own.

In Triton `kernel[grid](...)` calls `kernel.run`, and libraries replace it: in a
subclass, in the class for all kernels, or in one object. Here the subscript is native
and knows no `run`. So a class learns of a replacement when it is made, and only then
gets a subscript in Python; without one nothing is asked at a launch.
"""

from __future__ import annotations

import types
import typing

_listeners: list = []  # called after each replacement: launches that went past `run` are looked at again


def on_replacement(listener):
    _listeners.append(listener)


def _subscript(self, grid):
    return lambda *args, **kwargs: self.run(*args, grid=grid, warmup=False, **kwargs)


def launches_by_run(kernel) -> bool:
    """Whether the subscript of this object goes through a `run` that is not ours."""
    return type(kernel).__getitem__ is _subscript


class _Run:
    """`run` as a class has it: the method, until one object gets another."""

    def __init__(self, function):
        self.function = function

    def __get__(self, owner, kind=None):
        if owner is None:
            return self.function
        return owner.__dict__.get("run") or types.MethodType(self.function, owner)

    def __set__(self, owner, value):
        owner.__dict__["run"] = value
        if not launches_by_run(owner):
            kind = type(owner)
            owner.__class__ = type(kind)(
                kind.__name__, (kind,), {"__getitem__": _subscript, "__module__": kind.__module__, "_is_of_one_object": True}
            )
        _tell()

    def __delete__(self, owner):
        if "run" not in owner.__dict__:
            raise AttributeError("run")
        del owner.__dict__["run"]
        if type(owner).__dict__.get("_is_of_one_object"):
            owner.__class__ = type(owner).__base__
        _tell()


def _tell():
    for listener in _listeners:
        listener()


class LaunchableType(type(typing.Protocol)):
    """The class of JITFunction, Autotuner and Heuristics, which sees that a `run` is put into one of them.

    It derives from the class of protocols, and so from that of abstract classes: programs join one of ours with one
    of those, and Python asks for a class that serves both.
    """

    def __init__(cls, name, bases, namespace):
        super().__init__(name, bases, namespace)
        if not any(isinstance(base, LaunchableType) for base in bases):
            cls._own_run = namespace["run"]
        if "__getitem__" in namespace:
            return
        if "run" in namespace:
            cls.run = namespace["run"]
        elif cls._has_run_of_another():
            cls._launch_by_run()

    def __setattr__(cls, name, value):
        if name != "run":
            super().__setattr__(name, value)
            return
        if isinstance(value, _Run):  # what a test took from the class's dictionary, and puts back
            value = value.function
        is_ours = value is cls._own_run
        super().__setattr__(name, _Run(value) if is_ours else value)
        if is_ours:
            cls._launch_natively()
        else:
            cls._launch_by_run()
        _tell()

    def __delattr__(cls, name):
        super().__delattr__(name)
        if name == "run":
            cls._launch_natively()
            _tell()

    def _has_run_of_another(cls) -> bool:
        """Whether `run` comes from a base class that is none of ours, and no subscript with it."""
        for kind in cls.__mro__:
            if "__getitem__" in vars(kind):
                return False
            if "run" in vars(kind):
                return not isinstance(kind, LaunchableType)
        return False

    def _launch_by_run(cls):
        if cls.__dict__.get("__getitem__") is not _subscript:
            cls._subscript_before = cls.__dict__.get("__getitem__")
            cls.__getitem__ = _subscript

    def _launch_natively(cls):
        if cls.__dict__.get("__getitem__") is not _subscript:
            return
        if cls._subscript_before is None:
            del cls.__getitem__
        else:
            cls.__getitem__ = cls._subscript_before
