# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Host arithmetic that kernels may also call on compile-time values."""


def constexpr_function(fn):
    """Marks an ordinary Python function as callable from kernels on constexpr values.

    The function stays what it is on the host; the compiler calls it with the plain
    values of its constexpr arguments and takes the result as a constexpr.
    """
    fn.__tilewright_constexpr_function__ = True
    return fn


@constexpr_function
def cdiv(x, y):
    """The smallest integer not below x / y."""
    return (x + y - 1) // y


@constexpr_function
def next_power_of_2(n):
    """The smallest power of two not below n."""
    n = int(n)
    return 0 if n <= 0 else 1 << (n - 1).bit_length()
