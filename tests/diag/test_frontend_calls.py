# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors of calls, and errors inside helpers with the chain of calls to them: the whole text."""

import pytest
from harness.frontend_cases import FIRST_LINE, check, error_of


# ---------------------------------------------------------------------------
# Shapes, through calls
# ---------------------------------------------------------------------------


def test_shape_in_a_helper(tmp_path):
    check(
        tmp_path,
        """
        @tilewright.jit
        def helper(x):
            return x + tl.arange(0, 100)
        @tilewright.jit
        def kernel(p, n):
            tl.store(p + helper(n), 1.0)
        """,
        """
        InvalidShape[E0106] tile dimension 0 is 100; a power of two is required
          at kernels.py:5:16 in kernel 'helper'
              return x + tl.arange(0, 100)
                         ^^^^^^^^^^^^^^^^^
          called from kernels.py:8:18 in kernel 'kernel'
              tl.store(p + helper(n), 1.0)
                           ^^^^^^^^^
          help: use 128 and a mask
        """,
    )


def test_tile_too_large(tmp_path):
    assert (
        error_of(
            tmp_path,
            """
        @tilewright.jit
        def kernel(p, n):
            x = tl.zeros((2048, 1024), tl.float32)
        """,
        ).message
        == "tile has 2097152 elements; the limit is 1048576"
    )


def test_broadcast_over_two_lines(tmp_path):
    check(
        tmp_path,
        """
        @tilewright.jit
        def kernel(p, n):
            x = (tl.arange(0, 16) +
                 tl.arange(0, 32))
        """,
        """
        InvalidShape[E0110] cannot broadcast [16] with [32]
          at kernels.py:5:10 in kernel 'kernel'
              x = (tl.arange(0, 16) +
                   ^^^^^^^^^^^^^^^^^^
          help: shapes must match or be 1
        """,
    )


def test_error_in_a_combine_function(tmp_path):
    # The frames survive the way through Python's code of tl.reduce.
    error = error_of(
        tmp_path,
        """
        @tilewright.jit
        def combine(a, b):
            return a + missing
        @tilewright.jit
        def kernel(p, n):
            tl.store(p, tl.reduce(tl.arange(0, 16), 0, combine))
        """,
    )
    assert error.message == "name 'missing' is not defined"
    assert [(f.function, f.line, f.column) for f in error.frames] == [("combine", 5, 16), ("kernel", 8, 17)]


def test_name_of_a_combine_function(tmp_path):
    error = error_of(
        tmp_path,
        """
        @tilewright.jit
        def kernel(p, n):
            tl.store(p, tl.reduce(tl.arange(0, 16), 0, "argmax"))
        """,
    )
    assert (error.code, error.message) == ("E0117", "tl.reduce: no combine function is called 'argmax'")


# ---------------------------------------------------------------------------
# Calls
# ---------------------------------------------------------------------------


def test_recursion(tmp_path):
    check(
        tmp_path,
        """
        @tilewright.jit
        def first(x):
            return second(x)
        @tilewright.jit
        def second(x):
            return first(x)
        @tilewright.jit
        def kernel(p, n):
            tl.store(p, first(n))
        """,
        """
        UnsupportedSyntax[E0111] recursion: first -> second -> first
          at kernels.py:8:12 in kernel 'second'
              return first(x)
                     ^^^^^^^^
          called from kernels.py:5:12 in kernel 'first'
              return second(x)
                     ^^^^^^^^^
          called from kernels.py:11:17 in kernel 'kernel'
              tl.store(p, first(n))
                          ^^^^^^^^
          help: rewrite as a loop
        """,
    )


def test_recursion_without_end(tmp_path):
    error = error_of(
        tmp_path,
        """
        @tilewright.jit
        def deeper(x, N: tl.constexpr):
            return deeper(x, N + 1)
        @tilewright.jit
        def kernel(p, n):
            tl.store(p, deeper(n, 0))
        """,
    )
    assert error.code == "E0111"
    assert len(error.frames) < 12 and error.frames[-1].function == "kernel"


def test_plain_function(tmp_path):
    check(
        tmp_path,
        """
        def helper(x):
            return x
        @tilewright.jit
        def kernel(p, n):
            tl.store(p, helper(n))
        """,
        """
        UnsupportedSyntax[E0123] 'helper' is not a kernel function
          at kernels.py:7:17 in kernel 'kernel'
              tl.store(p, helper(n))
                          ^^^^^^^^^
          help: decorate it with @tilewright.jit, or @tilewright.constexpr_function for compile-time use
        """,
    )


@pytest.mark.parametrize(
    "call, problem",
    [
        ("helper(n)", "missing argument 'y'"),
        ("helper(n, 1, 2, 3)", "4 positional arguments given, 3 taken"),
        ("helper(n, x=1)", "argument 'x' is given twice"),
        ("helper(n, 1, w=1)", "unexpected argument 'w'"),
    ],
)
def test_arguments_of_a_helper(tmp_path, call, problem):
    error = error_of(
        tmp_path,
        f"""
        @tilewright.jit
        def helper(x, y, z=2):
            return x
        @tilewright.jit
        def kernel(p, n):
            {call}
        """,
    )
    assert error.message == f"call of 'helper': {problem}"
    assert error.help == "signature is helper(x, y, z=2)"


def test_arguments_of_the_language(tmp_path):
    check(
        tmp_path,
        """
        @tilewright.jit
        def kernel(p, n):
            tl.arange(0, 4, stop=4)
        """,
        """
        InvalidArgument[E0122] call of 'tl.arange': got an unexpected keyword argument 'stop'
          at kernels.py:5:5 in kernel 'kernel'
              tl.arange(0, 4, stop=4)
              ^^^^^^^^^^^^^^^^^^^^^^^
          help: signature is arange(start, end)
        """,
    )


def test_result_that_must_be_used(tmp_path):
    error = error_of(
        tmp_path,
        """
        @tilewright.must_use_result
        @tilewright.jit
        def pure(x):
            return x
        @tilewright.jit
        def kernel(p, n):
            pure(n)
        """,
    )
    assert error.message == "the result of 'pure' is not used"
    assert error.frames[0].line == FIRST_LINE + 6
