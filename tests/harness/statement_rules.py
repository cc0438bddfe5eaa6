# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The names around the kernels of test_statement_rules.py: globals and callables of every kind, as source."""

NAMES = """
import collections, enum, functools, math
import numpy as np
import tilewright
import tilewright.language as tl
from tilewright.testing import assert_close

C = tl.constexpr
NUMBER, FLAG, TEXT, NOTHING = 5, True, "relu", None
TUPLE, EMPTY, LIST, DICT, ARRAY = (1, 2), (), [1, 2], {"a": 1}, np.zeros(4)
CONSTANT, CONSTANT_TUPLE = tl.constexpr(5), tl.constexpr((1, 2))
ANNOTATED: tl.constexpr = 5
TEXT_ANNOTATED: "tl.constexpr" = 5
CONSTANTS = (tl.constexpr(1), tl.constexpr(2))
DTYPE, CONFIG = tl.float32, tilewright.Config({})


class Color(enum.Enum):
    RED = 1


COLOR = Color.RED
Pair = collections.namedtuple("Pair", "a b")
PAIR = Pair(1, 2)


class Plain:
    CONSTANT = tl.constexpr(4)
    field = 1

    @tilewright.jit
    def kernel(a):
        return a + 1


OBJECT = Plain()


@tilewright.aggregate
class Record:
    total: tl.tensor
    count: tl.constexpr


@tilewright.jit
def helper(x, SIZE: tl.constexpr = 4):
    return x * SIZE


@tilewright.jit
def keyword_only(x, *, SIZE=2):
    return x * SIZE


@tilewright.jit
def positional(x, /, y):
    return x + y


@tilewright.jit
def rest(x, *more):
    return x + more[1]


@tilewright.jit
def apply(f: tl.constexpr, x):
    return f(x)


@tilewright.jit
def factorial(N: tl.constexpr):
    if N <= 1:
        return 1
    return N * factorial(N - 1)


@tilewright.jit
def endless(n):
    return endless(n - 1)


@tilewright.jit
def ping(n):
    return pong(n)


@tilewright.jit
def pong(n):
    return ping(n)


@tilewright.jit
def two_types(n):
    if n > 30:
        return 1.0
    return 1


@tilewright.constexpr_function
def double(x):
    return 2 * x


@tilewright.constexpr_function
def fails(x):
    raise ValueError("no")


def host(x):
    return x


CONSTANT_HOST = tl.constexpr(host)
PARTIAL = functools.partial(host, 1)
TUNED = tilewright.autotune(configs=[tilewright.Config({})], key=[])(helper)
"""
