# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is said where nothing can be proved."""

import sys

import numpy as np
import pytest

import tilewright as tw
import tilewright.language as tl
from tilewright import errors
from tilewright.proving import prove_conditions, prove_launch

pytest.importorskip("z3", reason="proofs need z3-solver")


@tw.jit
def copy_kernel(x, y, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + offsets, tl.load(x + offsets, mask=offsets < n), mask=offsets < n)


def prove_copy(count):
    """A launch for 100 elements on arrays of `count`."""
    x = np.zeros(count, np.float32)
    return prove_launch(copy_kernel, (7,), {"x": x, "y": x.copy(), "n": 100, "BLOCK": 16})


@pytest.mark.parametrize(
    "changed, text",
    [
        ({"assume": "n >"}, "invalid syntax"),
        ({"assume": "n + 1"}, "is no condition"),
        ({"assume": "n / 2 > 1"}, "the operators are"),
        ({"assume": "n is 3"}, "the comparisons are"),
        ({"assume": "sqrt(n) > 1"}, "the functions are"),
        ({"arrays": {"x": "n"}}, "the extents of this array are not given"),
        ({"grid": "n, n, n, n"}, "at most three"),
        ({"arrays": {"x": "n // m", "y": "'n'"}}, "is no whole number"),
    ],
)
def test_expressions_that_are_not_understood(changed, text):
    given = {"grid": "cdiv(n, BLOCK)", "arrays": {"x": "n", "y": "n"}, **changed}
    with pytest.raises(errors.ConfigError, match="cannot prove anything for '.*" + text) as raised:
        prove_conditions(copy_kernel, {"x": "*fp32", "y": "*fp32", "n": "i32"}, {"BLOCK": 16}, **given)
    assert raised.value.code == "E0428"


def test_missing_solver_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "z3", None)
    with pytest.raises(errors.InstallError, match="proofs need z3, which is not installed") as raised:
        prove_copy(100)
    assert raised.value.code == "E0427" and "pip install z3-solver" in str(raised.value)


def test_witness_that_the_interpreter_does_not_find_is_our_mistake(monkeypatch):
    from tilewright.proving import replay

    monkeypatch.setattr(replay.Replay, "finds", lambda self, programs, codes: (None, None))
    with pytest.raises(errors.InternalError, match=r"\[99\], and the interpreter finds nothing there") as raised:
        prove_copy(99)
    assert raised.value.code == "E0429"
