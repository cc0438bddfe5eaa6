# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors of the front end about names and their types: the whole text, with place, caret range and call chain.

Each case is a file of its own (harness/frontend_cases.py). Calls, constants and syntax have files beside this one.
"""

import pytest

import tilewright
from harness.frontend_cases import FIRST_LINE, check, emit, error_of, load
from tilewright import _core, errors


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
          help: write LIMIT = tl.constexpr(...), or pass it as an argument
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
