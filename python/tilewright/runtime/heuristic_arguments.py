# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`@heuristics`: arguments that are computed from the others."""

from __future__ import annotations

import functools
import sys

from .. import _core
from ..user_objects import attribute
from .interface import KernelInterface
from .launch_method import LaunchableType

__all__ = ["Heuristics", "heuristics"]

_native_heuristic_launcher = _core.HeuristicDispatcher.__getitem__


def _follow_torch():
    """Lets torch.compile follow launches with heuristics, where torch is loaded.

    It follows Python, not native code, and finds the kernel below by way of `run`. Without torch a
    launch stays native altogether.
    """
    is_compiling = attribute(attribute(sys.modules.get("torch"), "compiler"), "is_compiling")
    if is_compiling is None or "__getitem__" in vars(Heuristics):
        return

    def __getitem__(self, grid):
        if is_compiling():
            # Where `run` is not ours, this subscript is not asked.
            return functools.partial(self._launch, grid=grid, warmup=False)
        return _native_heuristic_launcher(self, grid)

    Heuristics.__getitem__ = __getitem__


class Heuristics(_core.HeuristicDispatcher, KernelInterface, metaclass=LaunchableType):
    """A kernel some of whose arguments are computed from the others.

    The native base class calls the functions for `kernel[grid](...)`.
    """

    def __init__(self, fn, arg_names, values):
        if not isinstance(values, dict):
            raise TypeError(f"heuristics takes a dict of functions by parameter, not {type(values).__name__}")
        self.fn = fn
        self._has_inner = type(fn) is Heuristics
        self.values = values
        self.arg_names = arg_names
        _follow_torch()

    def __call__(self, *args, **kwargs):
        return self.fn(*args, **kwargs)  # inside a kernel; on the host it says what is missing

    def given_parameters(self):
        """Names of the parameters that a launch gets from here."""
        return set(self.values)

    def _with_values(self, args, kwargs):
        for name, function in self.values.items():
            # Later functions see what earlier ones found.
            kwargs[name] = function({**dict(zip(self.arg_names, args)), **kwargs})
        return kwargs

    def _launch(self, *args, **kwargs):
        """`run` for torch, which cannot follow its descriptor, nor ask for the type of a kernel."""
        launch = self.fn._launch if self._has_inner else self.fn.run
        return launch(*args, **self._with_values(args, kwargs))

    def run(self, *args, **kwargs):
        return self.fn.run(*args, **self._with_values(args, kwargs))

    def interpret(self, *args, grid, **kwargs):
        return self.fn.interpret(*args, grid=grid, **self._with_values(args, kwargs))

    def bind(self, *args, grid, **kwargs):
        """The launch with these arguments and the values of now, frozen (JITFunction.bind)."""
        return self.fn.bind(*args, grid=grid, **self._with_values(args, kwargs))


def heuristics(values):
    """Decorator: `values` maps parameters to functions of the bound arguments."""

    def decorate(fn):
        return Heuristics(fn, fn.arg_names, values)

    return decorate
