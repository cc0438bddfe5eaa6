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
    fn.src = FunctionSource(fn).src
    # A function of its own, for programs that look for the innermost `fn`.
    fn.fn = types.FunctionType(fn.__code__, fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__)
    fn.fn.__kwdefaults__, fn.fn.__doc__, fn.fn.__module__ = fn.__kwdefaults__, fn.__doc__, fn.__module__


def _compile_again(fn, text):
    """Makes the function mean `text` from now on, for its callers too."""
    space = {}
    # The code that is taken over keeps the names of globals, and looks them up where the function always did.
    exec(compile(text, fn.__code__.co_filename, "exec"), fn.__globals__, space)
    for each in (fn, getattr(fn, "fn", fn)):
        each.__code__ = space[fn.__name__].__code__
    fn.src = text


class _MarkedFunctions(type):
    """Any function that `constexpr_function` has marked is an instance, but for those of this package."""

    def __instancecheck__(cls, value):
        return (
            isinstance(value, types.FunctionType)
            and value.__module__ != __name__
            and hasattr(value, "__tilewright_constexpr_function__")
        )


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
