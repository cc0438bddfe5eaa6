# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Host arithmetic that kernels may also call on compile-time values."""

import functools
import types

from .. import errors
from .source import FunctionSource


def constexpr_function(fn):
    """Marks an ordinary Python function as callable from kernels on constexpr values.

    The function stays what it is on the host; the compiler calls it with the plain
    values of its constexpr arguments and takes the result as a constexpr.
    """
    fn.__tilewright_constexpr_function__ = True
    if isinstance(fn, types.FunctionType) and fn.__module__ != __name__:
        fn._unsafe_update_src = functools.partial(_compile_again, fn)
        try:
            _give_text(fn)
        except errors.SourceUnavailable:
            pass  # made by `exec`: the function works, nobody can copy its text
    return fn


def _give_text(fn):
    """The text as Triton's objects have it: torch copies it into the file of a kernel that calls the function."""
    fn.fn, fn.src = fn, FunctionSource(fn).src


def _compile_again(fn, text):
    """Makes the function mean `text` from now on, for its callers too."""
    space = {}
    # The code that is taken over keeps the names of globals, and looks them up where the function always did.
    exec(compile(text, fn.__code__.co_filename, "exec"), fn.__globals__, space)
    fn.__code__, fn.src = space[fn.__name__].__code__, text


class _MarkedFunctions(type):
    """Any function that `constexpr_function` has marked is an instance, but for those of this package."""

    def __instancecheck__(cls, value):
        if (
            not isinstance(value, types.FunctionType)
            or value.__module__ == __name__
            or not hasattr(value, "__tilewright_constexpr_function__")
        ):
            return False
        return True


class ConstexprFunction(metaclass=_MarkedFunctions):
    """Triton's class of such functions, for `isinstance` alone: here they stay functions."""


@constexpr_function
def cdiv(x, y):
    """The smallest integer not below x / y."""
    return (x + y - 1) // y


@constexpr_function
def next_power_of_2(n):
    """The smallest power of two not below n."""
    n = int(n)
    return 0 if n <= 0 else 1 << (n - 1).bit_length()
