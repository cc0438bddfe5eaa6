# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Host arithmetic that kernels may also call on compile-time values."""

import types

from .source import FunctionSource


def constexpr_function(fn):
    """Marks an ordinary Python function as callable from kernels on constexpr values.

    The function stays what it is on the host; the compiler calls it with the plain
    values of its constexpr arguments and takes the result as a constexpr.
    """
    fn.__tilewright_constexpr_function__ = True
    return fn


class _MarkedFunctions(type):
    """Any function that `constexpr_function` has marked is an instance, but for those of this package."""

    def __instancecheck__(cls, value):
        if (
            not isinstance(value, types.FunctionType)
            or value.__module__ == __name__
            or not hasattr(value, "__tilewright_constexpr_function__")
        ):
            return False
        if not hasattr(value, "src"):
            # Who asks wants to copy the function: torch, into the file of a kernel that calls it.
            value.fn, value.src = value, FunctionSource(value).src
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
