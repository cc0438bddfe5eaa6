# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sources are parsed again where Python's parser stumbled over another thread."""

import ast

import pytest

from tilewright.parsing import parse


def failing(monkeypatch, times):
    calls, real = [], ast.parse

    def stumbling(*arguments):
        calls.append(arguments)
        if len(calls) <= times:
            raise SystemError("AST constructor recursion depth mismatch (before=18, after=21)")
        return real(*arguments)

    monkeypatch.setattr(ast, "parse", stumbling)
    return calls


def test_a_stumble_is_no_error(monkeypatch):
    calls = failing(monkeypatch, 2)
    assert ast.unparse(parse("x = 1")) == "x = 1" and len(calls) == 3


def test_what_fails_always_fails(monkeypatch):
    calls = failing(monkeypatch, 100)
    with pytest.raises(SystemError, match="recursion depth"):
        parse("x = 1")
    assert len(calls) == 8


def test_errors_of_the_text_come_at_once(monkeypatch):
    calls = failing(monkeypatch, 0)
    with pytest.raises(SyntaxError):
        parse("x = = 1")
    assert len(calls) == 1
