# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels with one mistake each, and what both evaluators must say of it.

    CASES = Cases()

    @CASES.add("[E0117] ...", "use ...", "tl.dot(a, b)", x=f32())
    def wrong(x): ...

    @pytest.mark.parametrize("door", DOORS)
    @CASES.parametrize
    def test_message(door, case): check_message(door, case)

The compiler and the interpreter must say the same, name the same line and mark the
same columns.
"""

import inspect
from dataclasses import dataclass

import numpy as np
import pytest

import tilewright
from tilewright import errors
from tilewright.runtime.interpreter import run_interpreted


@dataclass
class Case:
    kernel: object
    first_line: str
    help: str
    marked: str  # the text under the caret
    arguments: dict  # of the kernel


class Cases:
    def __init__(self):
        self.cases = []

    def add(self, first_line, help, marked, **arguments):
        def remember(fn):
            kernel = tilewright.jit(fn)
            self.cases.append(pytest.param(Case(kernel, first_line, help, marked, arguments), id=fn.__name__))
            return kernel

        return remember

    def parametrize(self, test):
        return pytest.mark.parametrize("case", self.cases)(test)


def f32(n=8):
    return np.zeros(n, np.float32)


def i32(n=8):
    return np.zeros(n, np.int32)


def interpret(kernel, arguments):
    run_interpreted(kernel, (1,), {p.name: arguments[p.name] for p in kernel.params})


_signatures = {
    "float16": "*fp16",
    "float32": "*fp32",
    "int16": "*i16",
    "int32": "*i32",
    "int64": "*i64",
    "uint8": "*u8",
    "uint32": "*u32",
}


def compile(kernel, arguments):
    constants = {p.name: arguments[p.name] for p in kernel.params if p.is_constexpr}
    signature = {
        p.name: _signatures[arguments[p.name].dtype.name] if isinstance(arguments[p.name], np.ndarray) else "i32"
        for p in kernel.params
        if not p.is_constexpr
    }
    tilewright.compile(tilewright.ASTSource(kernel, signature, constants, {}), "sm_80", {})


DOORS = [interpret, compile]


def check_message(door, case):
    with pytest.raises(errors.TilewrightError) as info:
        door(case.kernel, case.arguments)
    error = info.value
    lines = str(error).splitlines()
    # Some texts name the target.
    assert lines[0] == case.first_line.replace("{arch}", "sm_80" if door is compile else "interpreter")
    assert error.help == case.help and lines[-1] == f"  help: {case.help}"
    # The place: the innermost frame is the line of the mistake in the test's file.
    frame = error.frames[0]
    assert frame.file == inspect.getsourcefile(case.kernel.fn) and frame.function == case.kernel.__name__
    source, start = inspect.getsourcelines(case.kernel.fn)
    assert start <= frame.line < start + len(source)
    text = source[frame.line - start].rstrip("\n")
    assert text[frame.column - 1 : frame.end_column - 1] == case.marked
