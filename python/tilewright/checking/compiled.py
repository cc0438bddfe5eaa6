# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The compiled side of a checked launch: the same kernel on the GPU."""

from __future__ import annotations

import sys

from .. import _core


def has_gpu() -> bool:
    return _core.driver_available()


def call_of(jit_function, bound):
    """(positional, keyword) arguments that give each parameter the value it has in `bound`."""
    positional, keywords = [], {}
    for param in jit_function.params:
        value, kind = bound[param.name], param._param.kind
        if kind is param._param.VAR_POSITIONAL:
            positional.extend(value)
        elif kind is param._param.KEYWORD_ONLY:
            keywords[param.name] = value
        else:
            positional.append(value)
    return positional, keywords


def run_compiled(jit_function, sizes, bound, options):
    """Launches the compiled kernel as the program would have; returns it."""
    positional, keywords = call_of(jit_function, bound)
    return jit_function.compiled_form()[tuple(sizes)](*positional, **keywords, **(options or {}))


def is_capturing() -> bool:
    """Whether the framework records a graph, during which nothing can be copied to the host."""
    torch = sys.modules.get("torch")
    if torch is None or not has_gpu() or not torch.cuda.is_initialized():
        return False
    return torch.cuda.is_current_stream_capturing()


class CheckedKernel:
    """What a checked launch returns: the compiled kernel, made when somebody asks it for something."""

    def __init__(self, jit_function, bound, options):
        self._made = lambda: _warm(jit_function, bound, options)
        self._kernel = None

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if self._kernel is None:
            self._kernel, self._made = self._made(), None
        return getattr(self._kernel, name)


def _warm(jit_function, bound, options):
    positional, keywords = call_of(jit_function, bound)
    return jit_function.compiled_form()._warm(tuple(positional), {**keywords, **(options or {})}, has_gpu())
