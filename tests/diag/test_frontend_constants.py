# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors of values that must be known when a kernel is compiled: the whole text, place and call chain."""

import pytest
from harness.frontend_cases import FIRST_LINE, check, emit, error_of, load
from tilewright import errors


# ---------------------------------------------------------------------------
# Compile-time values
# ---------------------------------------------------------------------------


def test_run_time_value_where_a_parameter_must_be_constant(tmp_path):
    check(
        tmp_path,
        """
        @tilewright.jit
        def helper(x, K: tl.constexpr):
            return x + tl.arange(0, K)
        @tilewright.jit
        def kernel(p, n):
            tl.store(p, helper(n, n))
        """,
        """
        NotConstexpr[E0112] 'tl.arange: end' must be known at compile time
          at kernels.py:5:16 in kernel 'helper'
              return x + tl.arange(0, K)
                         ^^^^^^^^^^^^^^^
          called from kernels.py:8:17 in kernel 'kernel'
              tl.store(p, helper(n, n))
                          ^^^^^^^^^^^^
          help: annotate the parameter as constexpr
        """,
    )


def test_run_time_value_of_a_constant_that_a_loop_would_carry(tmp_path):
    error = error_of(
        tmp_path,
        """
        @tilewright.jit
        def kernel(p, n):
            k: tl.constexpr = 1
            for i in range(n):
                k: tl.constexpr = n
        """,
    )
    assert error.code == "E0112" and error.message == "'n' must be known at compile time"


@pytest.mark.parametrize(
    "line, name",
    [
        ("k = (1, 2)[n]", "n"),
        ("k = int(n + 1)", "n + 1"),
        ("k = f'{n}'", "n"),
        ("k = math.sqrt(n)", "n"),
        ("for i in tl.static_range(n): pass", "end of tl.static_range"),
        ("k = [i for i in (1, 2) if n > i]", "n > i"),
    ],
)
def test_run_time_value_where_a_constant_is_needed(tmp_path, line, name):
    error = error_of(tmp_path, f"import math\n@tilewright.jit\ndef kernel(p, n):\n    {line}\n")
    assert error.message == f"'{name}' must be known at compile time"
    assert error.code == "E0112" and error.frames[0].line == FIRST_LINE + 3


def test_static_assert(tmp_path):
    error = check(
        tmp_path,
        """
        @tilewright.jit
        def kernel(p, n):
            tl.static_assert(1 > 2, "one is less")
        """,
        """
        StaticAssertFailed[E0113] one is less
          at kernels.py:5:5 in kernel 'kernel'
              tl.static_assert(1 > 2, "one is less")
              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
          help: value was False
        """,
    )
    assert isinstance(error, errors.CompileTimeAssertionFailure)


def test_unroll_limit(tmp_path):
    check(
        tmp_path,
        """
        @tilewright.jit
        def kernel(p, n):
            for i in tl.static_range(100000):
                tl.store(p, i)
        """,
        """
        CompileLimit[E0114] loop would be unrolled 100000 times; the limit is 16384
          at kernels.py:5:14 in kernel 'kernel'
              for i in tl.static_range(100000):
                       ^^^^^^^^^^^^^^^^^^^^^^^
          help: use a runtime loop
        """,
    )


def test_python_exception_is_kept(tmp_path):
    error = check(
        tmp_path,
        """
        @tilewright.constexpr_function
        def inverse(x):
            return 1 / x
        @tilewright.jit
        def kernel(p, n):
            tl.store(p, inverse(0))
        """,
        """
        InvalidArgument[E0117] division by zero
          at kernels.py:8:17 in kernel 'kernel'
              tl.store(p, inverse(0))
                          ^^^^^^^^^^
          help: ZeroDivisionError was raised by Python code that runs at compile time
        """,
    )
    assert isinstance(error.__cause__, ZeroDivisionError)


def test_interrupt_passes_through(tmp_path):
    module = load(
        tmp_path,
        """
        @tilewright.constexpr_function
        def stop():
            raise KeyboardInterrupt
        @tilewright.jit
        def kernel(p, n):
            tl.store(p, stop())
        """,
    )
    with pytest.raises(KeyboardInterrupt):
        emit(module)
