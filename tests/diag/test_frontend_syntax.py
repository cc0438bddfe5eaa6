# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors of statements that the language has not: the whole text, with place and caret range."""

import pytest
from harness.frontend_cases import check, error_of
from tilewright import errors


# ---------------------------------------------------------------------------
# Syntax
# ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body, construct, alternative",
    [
        (
            "try:\n        pass\n    except ValueError:\n        pass",
            "try",
            "check the condition with if, or use tl.device_assert",
        ),
        ("with p:\n        pass", "with", "remove it: kernels have no context managers"),
        ("f = lambda x: x", "lambda", "define a module-level function with @tilewright.jit"),
        ("def f(x):\n        return x", "nested function", "define a module-level function with @tilewright.jit"),
        ("import math", "import", "import at module level"),
        ("for i in range(n):\n        break", "break", "use a while loop with a condition, or a mask"),
        ("while n > 0:\n        continue", "continue", "put the rest of the loop body under an if"),
        ("del n", "del", "remove it: values live until their last use"),
        ("raise ValueError", "raise", "use tl.device_assert or tl.static_assert"),
        ("x = {1: 2}", "dict", "use a tuple or a namedtuple"),
        ("x = {1, 2}", "set", "use a tuple"),
        ("x = n in (1, 2)", "in", "compare with == and combine with or"),
        ("x = y = n", "a = b = c", "use one assignment per name"),
        ("p[0] = n", "assignment to an element", "use tl.where to build a new tile"),
        ("p.x = n", "assignment to an attribute", "assign to a name"),
        ("a, *b = (1, 2, 3)", "starred target", "name every element"),
        ("x = p @ p", "@", "use tl.dot"),
        ("x = n ** 2", "** on a tile", "multiply, or use tl.exp2 and tl.log2"),
        ("for i in (1, 2):\n        pass", "for over a tuple", "use tl.static_range(len(t)) and index the tuple"),
        ("for i, j in range(n):\n        pass", "tuple as a loop variable", "use one name and index"),
        ("for i in range(n):\n        pass\n    else:\n        pass", "for ... else", "use a flag that the loop sets"),
        ("while n > 0:\n        pass\n    else:\n        pass", "while ... else", "use a flag that the loop sets"),
        ("x = [a for a in (1, 2) for b in (3, 4)]", "nested comprehension", "use tl.static_range"),
        ("x = 1j", "complex number", "keep the real and imaginary parts in two tiles"),
        ("x = b'a'", "bytes literal", "use integers"),
        (
            "tl.load(p, **{})",
            "**kwargs",
            "name the parameters; what Triton 1 read from **meta are parameters annotated tl.constexpr",
        ),
    ],
)
def test_unsupported_syntax(tmp_path, body, construct, alternative):
    error = error_of(tmp_path, f"@tilewright.jit\ndef kernel(p, n):\n    {body}\n")
    assert str(error).splitlines()[0] == f"[E0102] '{construct}' is not supported in a kernel"
    assert error.help == alternative
    assert isinstance(error, errors.UnsupportedLanguageConstruct)


def test_place_of_unsupported_syntax(tmp_path):
    check(
        tmp_path,
        """
        @tilewright.jit
        def kernel(p, n):
            tl.store(p, n in (0, 3))
        """,
        """
        UnsupportedSyntax[E0102] 'in' is not supported in a kernel
          at kernels.py:5:17 in kernel 'kernel'
              tl.store(p, n in (0, 3))
                          ^^^^^^^^^^^
          help: compare with == and combine with or
        """,
    )


def test_return_in_a_loop(tmp_path):
    check(
        tmp_path,
        """
        @tilewright.jit
        def kernel(p, n):
            for i in range(n):
                if i > 3:
                    return
        """,
        """
        UnsupportedSyntax[E0115] return inside a loop
          at kernels.py:7:13 in kernel 'kernel'
              return
              ^^^^^^
          help: assign and return after the loop
        """,
    )


def test_returns_that_multiply_the_code(tmp_path):
    text = "@tilewright.jit\ndef kernel(p, n):\n" + "".join(
        f"    if n > {i}:\n        if n < {2 * i}:\n            return\n        n += 1\n" for i in range(20)
    )
    error = error_of(tmp_path, text)
    assert error.code == "E0114"
    assert error.message == "the statements after this 'if' would be repeated more than 64 times"


def test_kernel_returns_a_value(tmp_path):
    check(
        tmp_path,
        """
        @tilewright.jit
        def kernel(p, n):
            return n
        """,
        """
        TypeMismatch[E0116] a kernel returns nothing; this one returns i32
          at kernels.py:5:5 in kernel 'kernel'
              return n
              ^^^^^^^^
          help: store the result through a pointer argument
        """,
    )


@pytest.mark.parametrize(
    "values, names, message",
    [
        ("(1, 2, 3)", "a, b", "cannot unpack 3 values into 2 names"),
        ("n", "a, b", "cannot unpack i32 into 2 names"),
        ("(n, (1, 2))", "a, (b, c, d)", "cannot unpack 2 values into 3 names"),
    ],
)
def test_unpacking(tmp_path, values, names, message):
    error = error_of(tmp_path, f"@tilewright.jit\ndef kernel(p, n):\n    {names} = {values}\n")
    assert error.code == "E0116" and error.message == message


def test_returns_in_an_unrolled_loop_without_end(tmp_path):
    error = error_of(
        tmp_path,
        """
        @tilewright.jit
        def kernel(p, n):
            for i in tl.static_range(1000):
                if n == i:
                    return
                tl.store(p + i, 0.0)
        """,
    )
    assert error.code == "E0114" and error.message == "more than 256 ifs that may return follow each other"


@pytest.mark.parametrize(
    "bounds, message",
    [
        ("0, n, 0", "step of 'range' is zero"),
        ("1.5", "range() takes integer scalars, not a float"),
        ("tl.arange(0, 4)", "range() takes integer scalars, not i32[4]"),
        ("0, n, 1, 2", "call of 'range': 4 positional arguments given, 3 taken"),
        ("n, num_steges=2", "call of 'range': unexpected argument 'num_steges'"),
    ],
)
def test_range(tmp_path, bounds, message):
    error = error_of(tmp_path, f"@tilewright.jit\ndef kernel(p, n):\n    for i in range({bounds}):\n        pass\n")
    assert error.message == message
