# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors of the front end: the whole text, with place, caret range and call chain.

Each case is a file of its own, so line numbers count from its first line; the
kernel is always called `kernel` and takes a float pointer and an int.
"""

import importlib.util
import textwrap

import pytest

import tilewright
from tilewright import _core, errors

HEADER = "import tilewright\nimport tilewright.language as tl\n"
FIRST_LINE = 3  # of a case, below the header


def load(tmp_path, text):
    path = tmp_path / "kernels.py"
    path.write_text(HEADER + textwrap.dedent(text).lstrip("\n"))
    spec = importlib.util.spec_from_file_location("kernels", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def emit(module, **constants):
    return _core.emit_ttir(module.kernel, {"p": "*fp32", "n": "i32"}, constants)


def error_of(tmp_path, text, **constants):
    module = load(tmp_path, text)
    with pytest.raises(errors.TilewrightError) as caught:
        emit(module, **constants)
    return caught.value


def check(tmp_path, text, expected, **constants):
    """The message of `text` is `expected`, but for the folder of the file."""
    error = error_of(tmp_path, text, **constants)
    shown = f"{type(error).__name__}{error}".replace(str(tmp_path) + "/", "")
    assert shown == textwrap.dedent(expected).strip("\n")
    return error


# ---------------------------------------------------------------------------
# Names
# ---------------------------------------------------------------------------


def test_global_number(tmp_path):
    error = check(
        tmp_path,
        """
        LIMIT = 5
        @tilewright.jit
        def kernel(p, n):
            tl.store(p, n + LIMIT)
        """,
        """
        GlobalNotConstant[E0103] Cannot access global variable 'LIMIT': it is not a constexpr
          at kernels.py:6:21 in kernel 'kernel'
              tl.store(p, n + LIMIT)
                              ^^^^^
          help: annotate it or pass it as an argument
        """,
    )
    assert isinstance(error, NameError) and isinstance(error, tilewright.CompilationError)


def test_global_tuple(tmp_path):
    assert (
        error_of(
            tmp_path,
            """
        SIZES = (1, 2)
        @tilewright.jit
        def kernel(p, n):
            tl.store(p, SIZES[0])
        """,
        ).message
        == "Cannot access global variable 'SIZES': it is not a constexpr"
    )


@pytest.mark.parametrize(
    "declaration",
    ["K = tl.constexpr(4)", "K: tl.constexpr = 4", "K: 'tl.constexpr' = 4", "K = (tl.constexpr(4), tl.float32)[0]"],
)
def test_constant_global_is_allowed(tmp_path, declaration):
    text = f"{declaration}\n@tilewright.jit\ndef kernel(p, n):\n    tl.store(p + tl.arange(0, K), 1.0)\n"
    assert "tw.range 0 to 4" in emit(load(tmp_path, text))


def test_undefined_name(tmp_path):
    check(
        tmp_path,
        """
        @tilewright.jit
        def kernel(p, n):
            value = n + 1
            tl.store(p, valu)
        """,
        """
        UndefinedName[E0104] name 'valu' is not defined
          at kernels.py:6:17 in kernel 'kernel'
              tl.store(p, valu)
                          ^^^^
          help: did you mean 'value'?
        """,
    )


def test_undefined_attribute(tmp_path):
    check(
        tmp_path,
        """
        @tilewright.jit
        def kernel(p, n):
            tl.store(p, tl.exq(n))
        """,
        """
        UndefinedName[E0104] name 'tl.exq' is not defined
          at kernels.py:5:17 in kernel 'kernel'
              tl.store(p, tl.exq(n))
                          ^^^^^^
          help: did you mean 'exp'?
        """,
    )


def test_name_of_one_branch(tmp_path):
    check(
        tmp_path,
        """
        @tilewright.jit
        def kernel(p, n):
            if n > 3:
                y = 1
            tl.store(p, y)
        """,
        """
        UndefinedName[E0104] name 'y' is not defined
          at kernels.py:7:17 in kernel 'kernel'
              tl.store(p, y)
                          ^
          help: it is assigned in one branch of the 'if' in line 5 only; assign it before
        """,
    )


def test_name_of_a_loop(tmp_path):
    check(
        tmp_path,
        """
        @tilewright.jit
        def kernel(p, n):
            for i in range(n):
                y = i
            tl.store(p, y)
        """,
        """
        UndefinedName[E0104] name 'y' is not defined
          at kernels.py:7:17 in kernel 'kernel'
              tl.store(p, y)
                          ^
          help: it is first assigned inside a loop and does not outlive it; assign it before the loop
        """,
    )


# ---------------------------------------------------------------------------
# Types over branches and loops
# ---------------------------------------------------------------------------


def test_branch_changes_type(tmp_path):
    error = check(
        tmp_path,
        """
        @tilewright.jit
        def kernel(p, n):
            x = 0
            if n > 3:
                x = 1.0
            tl.store(p, x)
        """,
        """
        TypeMismatch[E0105] Mismatched type for x: fp32 in one branch and i32 in the other
          at kernels.py:6:5 in kernel 'kernel'
              if n > 3:
              ^^^^^^^^^
          help: cast both to one type
        """,
    )
    assert isinstance(error, TypeError)


def test_branches_make_two_types(tmp_path):
    text = """
        @tilewright.jit
        def kernel(p, n):
            if n > 3:
                x = tl.zeros((4,), tl.float32)
            else:
                x = 1
        """
    emit(load(tmp_path, text))  # nobody looks at x afterwards
    check(
        tmp_path,
        text.rstrip() + "\n            tl.store(p, x)\n",
        """
        TypeMismatch[E0105] Mismatched type for x: fp32[4] in one branch and i32 in the other
          at kernels.py:9:17 in kernel 'kernel'
              tl.store(p, x)
                          ^
          help: cast both to one type
        """,
    )


def test_returns_of_two_types(tmp_path):
    check(
        tmp_path,
        """
        @tilewright.jit
        def helper(n):
            if n > 0:
                return 1
            return 1.0
        @tilewright.jit
        def kernel(p, n):
            tl.store(p, helper(n))
        """,
        """
        TypeMismatch[E0105] Return type mismatch: helper() gives i32 in one branch and fp32 in the other
          at kernels.py:5:5 in kernel 'helper'
              if n > 0:
              ^^^^^^^^^
          called from kernels.py:10:17 in kernel 'kernel'
              tl.store(p, helper(n))
                          ^^^^^^^^^
          help: cast both to one type
        """,
    )


def test_conditional_expression_of_two_types(tmp_path):
    assert (
        error_of(
            tmp_path,
            """
        @tilewright.jit
        def kernel(p, n):
            tl.store(p, n if n > 3 else 1.0)
        """,
        ).message
        == "Ternary expression with dynamic condition has inconsistent types: i32 in one branch and fp32 in the other"
    )


def test_loop_changes_type(tmp_path):
    check(
        tmp_path,
        """
        @tilewright.jit
        def kernel(p, n):
            acc = 0
            for i in range(n):
                acc += 1.0
            tl.store(p, acc)
        """,
        """
        TypeMismatch[E0118] 'acc' is i32 before the loop and fp32 after an iteration
          at kernels.py:6:5 in kernel 'kernel'
              for i in range(n):
              ^^^^^^^^^^^^^^^^^^
          help: cast it to i32 inside the loop, or start it as fp32
        """,
    )


def test_while_changes_shape(tmp_path):
    assert (
        error_of(
            tmp_path,
            """
        @tilewright.jit
        def kernel(p, n):
            acc = 0.0
            while n > 0:
                acc = acc + tl.zeros((8,), tl.float32)
                n -= 1
        """,
        ).message
        == "'acc' is fp32 before the loop and fp32[8] after an iteration"
    )


def test_loop_starts_with_none(tmp_path):
    error = error_of(
        tmp_path,
        """
        @tilewright.jit
        def kernel(p, n):
            acc = None
            for i in range(n):
                acc = tl.zeros((8,), tl.float32)
        """,
    )
    assert error.message == "'acc' is None before the loop and fp32[8] after an iteration"
    assert error.help == "only values of the kernel can change in a loop; start it as fp32[8]"


@pytest.mark.parametrize(
    "condition, message, column, length",
    [
        ("tl.arange(0, 16) > 3", "[E0121] condition of 'if' is a tile i1[16]; a scalar is required", 8, 20),
        ("'text'", "[E0120] condition of 'if' has type str; bool, int or None is required", 8, 6),
        ("2.0", "[E0120] condition of 'if' has type float; bool, int or None is required", 8, 3),
    ],
)
def test_condition(tmp_path, condition, message, column, length):
    error = error_of(tmp_path, f"@tilewright.jit\ndef kernel(p, n):\n    if {condition}:\n        pass\n")
    assert str(error).splitlines()[0] == message
    frame = error.frames[0]
    assert (frame.line, frame.column, frame.end_column) == (FIRST_LINE + 2, column, column + length)


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
        CompileLimit[E0114] loop would be unrolled 100000 times; the limit is 4096
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
            return 1 // x
        @tilewright.jit
        def kernel(p, n):
            tl.store(p, inverse(0))
        """,
        """
        InvalidArgument[E0117] integer division or modulo by zero
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


# ---------------------------------------------------------------------------
# Source
# ---------------------------------------------------------------------------


def test_source_unavailable():
    space = {"tilewright": tilewright}
    exec("@tilewright.jit\ndef kernel(p, n):\n    pass\n", space)
    with pytest.raises(errors.SourceUnavailable) as caught:
        _core.emit_ttir(space["kernel"], {"p": "*fp32", "n": "i32"})
    assert str(caught.value).splitlines()[0] == "[E0101] cannot read the source of 'kernel'"
    assert caught.value.help == "put the kernel in a file, use a notebook or IPython, or pass source="


def test_unknown_type_in_the_signature(tmp_path):
    module = load(tmp_path, "@tilewright.jit\ndef kernel(p, n):\n    pass\n")
    with pytest.raises(errors.TilewrightError) as caught:
        _core.emit_ttir(module.kernel, {"p": "*fp31", "n": "i32"})
    assert caught.value.message == "argument 'p' has type *fp31"


def test_threads_do_not_share_a_kernel(tmp_path):
    # Each compilation has its own context: equal input gives equal text.
    from concurrent.futures import ThreadPoolExecutor

    module = load(
        tmp_path,
        """
        @tilewright.jit
        def kernel(p, n):
            for i in range(n):
                tl.store(p + i, tl.sum(tl.arange(0, 16)).to(tl.float32))
        """,
    )
    with ThreadPoolExecutor(4) as pool:
        texts = list(pool.map(lambda _: emit(module), range(16)))
    assert len(set(texts)) == 1
