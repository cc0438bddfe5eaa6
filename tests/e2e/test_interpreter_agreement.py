# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One mistake, two evaluators, one error: code, first line, help and places.

Each kernel runs in the interpreter and is compiled; both must refuse it alike.
"""

import ast
import sys

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.assemble import assemble_for
from harness.loop_names import changed_in_a_branch, growing_accumulator, made_in_a_loop, one_branch_only, widening_while
from tilewright import errors

LIMIT = 5


def host_function(x):
    return x


@tilewright.constexpr_function
def double(x):
    return 2 * x


@tilewright.jit
def helper(x, SIZE: tl.constexpr = 4):
    return x * SIZE


@tilewright.jit
def endless(n):
    return endless(n - 1)


@tilewright.jit
def deep(x):
    return helper(x) + tl.zeros((3,), tl.int32)


@tilewright.jit
def bad_in_a_helper(out, n):
    tl.store(out, deep(n))


@tilewright.jit
def assigned_shape(out, n):
    size = 4
    tl.store(out + tl.arange(0, size), 0)


@tilewright.jit
def loop_over_tuple(out, n):
    for i in (1, 2):
        tl.store(out, i)


@tilewright.jit
def long_unroll(out, n):
    for i in tl.static_range(20000):
        tl.store(out, i)


@tilewright.jit
def float_bound(out, n):
    for i in range(n * 0.5):
        tl.store(out, i)


@tilewright.jit
def zero_step(out, n):
    for i in range(0, n, 0):
        tl.store(out, i)


@tilewright.jit
def tile_condition(out, n):
    if tl.arange(0, 4) > n:
        tl.store(out, 1)


@tilewright.jit
def tile_while(out, n):
    while tl.arange(0, 4) > n:
        tl.store(out, 1)


@tilewright.jit
def string_condition(out, n):
    mode: tl.constexpr = "relu"
    if mode:
        tl.store(out, 1)


@tilewright.jit
def string_choice(out, n):
    tl.store(out, 1 if "relu" else 2)


@tilewright.jit
def wrong_unpack(out, n):
    a, b = n, 1, 2
    tl.store(out, a + b)


@tilewright.jit
def unpack_a_tile(out, n):
    a, b = tl.arange(0, 2)
    tl.store(out, a + b)


@tilewright.jit
def missing_argument(out, n):
    tl.store(out, helper())


@tilewright.jit
def static_call(out, n):
    tl.store(out, double(n))


@tilewright.jit
def static_builtin(out, n):
    tl.store(out, int(n))


@tilewright.jit
def recursive(out, n):
    tl.store(out, endless(n))


@tilewright.jit
def tile_that_counts(out, n):
    i = tl.arange(0, 4)
    for i in range(n):
        tl.store(out, i)
    tl.store(out, i)


@tilewright.jit
def number_that_counts(out, n):
    i = 7.5
    for i in range(n):
        tl.store(out, i)
    tl.store(out, i)


@tilewright.jit
def power_of_a_tile(out, n):
    tl.store(out, n**2)


@tilewright.jit
def division_by_zero(out, n):
    tl.store(out, n + 1 // 0)


@tilewright.jit
def index_of_a_tuple(out, n):
    t = (1, 2)
    tl.store(out, n + t[5])


@tilewright.jit
def number_in_a_string(out, n):
    tl.store(out, n + int("seven"))


@tilewright.jit
def call_of_a_type(out, n):
    tl.store(out, tl.float32(n))


@tilewright.jit
def call_of_a_tile(out, n):
    tl.store(out, n(1))


@tilewright.jit
def call_of_nothing(out, n):
    f = None
    tl.store(out, f(n))


@tilewright.jit
def module_function_on_a_tile(out, n):
    tl.store(out, np.float32(n))


@tilewright.jit
def returns_a_value(out, n):
    return n


@tilewright.jit
def plain_global(out, n):
    tl.store(out, n + LIMIT)


@tilewright.jit
def undefined_name(out, count):
    tl.store(out, coumt)  # noqa: F821


@tilewright.jit
def unknown_attribute(out, n):
    tl.store(out, tl.arrange(0, 4))


@tilewright.jit
def foreign_call(out, n):
    tl.store(out, host_function(n))


@tilewright.jit
def return_in_loop(out, n):
    for i in range(4):
        return


@tilewright.jit
def static_assertion(out, n):
    tl.static_assert(LIMIT_IS_SMALL, "the limit is too large")


LIMIT_IS_SMALL = tl.constexpr(False)


@tilewright.jit
def no_power_of_two(out, n):
    tl.store(out + tl.arange(0, 100), 0)


@tilewright.jit
def no_broadcast(out, n):
    tl.store(out + (tl.arange(0, 4) + tl.arange(0, 8)), 0)


@tilewright.jit
def out_of_range(out, n):
    tl.store(out, tl.full((), 3, tl.int8) + 300)


@tilewright.jit
def float_modulo_shift(out, n):
    tl.store(out, (n * 0.5) << 2)


@tilewright.jit
def two_pointers(out, n):
    tl.store(out + out, n)


KERNELS = [
    bad_in_a_helper,
    assigned_shape,
    loop_over_tuple,
    long_unroll,
    float_bound,
    zero_step,
    tile_condition,
    tile_while,
    string_condition,
    string_choice,
    wrong_unpack,
    unpack_a_tile,
    missing_argument,
    static_call,
    static_builtin,
    recursive,
    growing_accumulator,
    widening_while,
    changed_in_a_branch,
    one_branch_only,
    made_in_a_loop,
    tile_that_counts,
    number_that_counts,
    power_of_a_tile,
    division_by_zero,
    index_of_a_tuple,
    number_in_a_string,
    call_of_a_type,
    call_of_a_tile,
    call_of_nothing,
    module_function_on_a_tile,
    returns_a_value,
    plain_global,
    undefined_name,
    unknown_attribute,
    foreign_call,
    return_in_loop,
    static_assertion,
    no_power_of_two,
    no_broadcast,
    out_of_range,
    float_modulo_shift,
    two_pointers,
]


def error_of(action):
    with pytest.raises(errors.TilewrightError) as info:
        action()
    return info.value


def assert_alike(kernel, *args):
    interpreted = error_of(lambda: kernel[(1,)](*args))
    compiled = error_of(lambda: assemble_for(kernel, "sm_90a", args, {}))
    assert (interpreted.code, interpreted.message) == (compiled.code, compiled.message)
    assert interpreted.help == compiled.help
    assert isinstance(interpreted, type(compiled)) and type(interpreted).__name__ == type(compiled).__name__

    def places(error):
        frames = [(f.file, f.function, f.line, f.column, f.end_column) for f in error.frames]
        return frames if sys.version_info >= (3, 11) else [frame[:3] for frame in frames]

    assert places(interpreted) == places(compiled)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
def test_both_evaluators_refuse_alike(kernel):
    assert_alike(kernel, np.zeros(8, np.int32), 5)


SYNTAX = {
    "try": "try:\n        pass\n    finally:\n        pass",
    "with": "with x:\n        pass",
    "lambda": "f = lambda: 1",
    "raise": "raise ValueError",
    "del": "del x",
    "global": "global g",
    "import": "import os",
    "from": "from os import path",
    "class": "class c:\n        pass",
    "def": "def f():\n        pass",
    "break": "while n > 3:\n        break",
    "continue": "while n > 3:\n        continue",
    "match": "match n:\n        case 1:\n            pass",
    "dict": "y = {1: 2}",
    "set": "y = {1}",
    "dict comprehension": "y = {i: i for i in (1, 2)}",
    "set comprehension": "y = {i for i in (1, 2)}",
    "generator": "y = tuple(i for i in (1, 2))",
    "nested comprehension": "y = [i for i in (1, 2) for j in (1, 2)]",
    "yield": "yield x",
    "matmul": "y = n @ n",
    "in": "y = 1 in (1, 2)",
    "not in": "y = 1 not in (1, 2)",
    "chained assignment": "a = b = 1",
    "attribute": "x.y = 1",
    "subscript": "x[0] = 1",
    "for else": "for i in range(2):\n        pass\n    else:\n        pass",
    "while else": "while n > 3:\n        pass\n    else:\n        pass",
    "for target": "for a, b in range(2):\n        pass",
    "bytes": "y = b'1'",
    "complex": "y = 1j",
    "keywords": "tl.load(x, **x)",
}


@pytest.mark.parametrize("name", SYNTAX)
def test_both_evaluators_refuse_the_same_syntax(name, tmp_path):
    source = f"import tilewright\nimport tilewright.language as tl\n@tilewright.jit\ndef kernel(x, n):\n    {SYNTAX[name]}\n"
    ast.parse(source)
    path = tmp_path / "syntax.py"
    path.write_text(source)
    names = {}
    exec(compile(source, str(path), "exec"), names)
    assert_alike(names["kernel"], np.zeros(8, np.int32), 5)
