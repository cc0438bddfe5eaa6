# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launchable objects, and the one protocol for the kernel inside them.

The class of a kernel declares itself by `__tilewright_kernel__`. Each wrapper around a kernel (a tuner,
heuristics, a library's own) holds the next object as `fn`; wrappers may be nested in any order and
depth. The front end uses the same two facts (frontend/python/LanguageNames.h).
"""

from __future__ import annotations

import functools
import types
from typing import Generic, TypeVar

from ..user_objects import attribute
from .tensors import MockTensor

T = TypeVar("T")

# Objects that answer to every name (mocks, torch.ops) would never come to an end.
_MOST_WRAPPERS = 32
_NO_WRAPPERS = (types.FunctionType, type, types.ModuleType)


class KernelInterface(Generic[T]):
    """Anything that can be launched: subclasses provide `run(*args, grid, warmup, **kwargs)`.

    One that stands around another launchable object, as a tuner does, holds that as `fn`.
    """

    run: T

    def warmup(self, *args, grid, **kwargs):
        """Compiles without launching; dtypes may stand for tensors."""
        return self.run(
            *(MockTensor.wrap_dtype(a) for a in args),
            grid=grid,
            warmup=True,
            **{k: MockTensor.wrap_dtype(v) for k, v in kwargs.items()},
        )

    def bind(self, *args, grid, **kwargs):
        """A function that launches with these arguments. Here everything is still decided by
        each call; plain kernels freeze it (JITFunction.bind)."""
        return functools.partial(self[grid], *args, **kwargs)

    def __getitem__(self, grid) -> T:
        return lambda *args, **kwargs: self.run(*args, grid=grid, warmup=False, **kwargs)


def compiled_by(name):
    """A property of a kernel that is part of how it is compiled: once it is set, launches and warm-ups look again."""
    place = "_" + name

    def change(kernel, value):
        kernel.__dict__[place] = value
        kernel.__dict__.pop("_compiled_form", None)
        kernel._clear_table()

    return property(lambda kernel: kernel.__dict__.get(place), change)


def is_kernel(value) -> bool:
    """Whether a value is a kernel itself: a function that `@jit` has made, or what stands for one."""
    return getattr(type(value), "__tilewright_kernel__", False)


def _bottom_of(thing):
    """What lies inside all wrappers: a kernel, a Python function, or the first object that holds no other."""
    for _ in range(_MOST_WRAPPERS):
        if getattr(type(thing), "__tilewright_kernel__", False) or isinstance(thing, _NO_WRAPPERS):
            return thing
        inner = attribute(thing, "fn")
        if inner is None:
            return thing
        thing = inner
    return None


def kernel_inside(thing):
    """The kernel inside tuners, heuristics and others' wrappers, or None."""
    bottom = _bottom_of(thing)
    return bottom if is_kernel(bottom) else None


def function_inside(thing):
    """The Python function inside all wrappers and the kernel."""
    bottom = _bottom_of(thing)
    return bottom.fn if is_kernel(bottom) else bottom
