# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exceptions as programs make, send and compare them."""

import ast
import pickle

import pytest

from tilewright import errors
from tilewright.compiler.errors import CompilationError
from tilewright.runtime.errors import AutotunerError, InterpreterError, OutOfResources, PTXASError, TritonError

SOURCE = "def kernel(x):\n    y = x +\n"


def sent(error):
    return pickle.loads(pickle.dumps(error))


def test_a_compilation_error_shows_its_place():
    node = ast.parse("def kernel(x):\n    y = x\n").body[0].body[0]
    error = CompilationError(SOURCE, node, "no operand")
    assert (error.src, error.node, error.error_message) == (SOURCE, node, "no operand")
    assert str(error) == "at 2:4:\ndef kernel(x):\n    y = x +\n    ^\nno operand"
    again = sent(error)
    assert type(again) is CompilationError and str(again) == str(error) and again.error_message == "no operand"
    assert str(CompilationError(None, node, "no operand")) == " <source unavailable>\nno operand"
    assert str(CompilationError(src=SOURCE, node=None, error_message="no operand")).endswith("no operand")


def test_errors_of_ours_have_the_message_alone():
    error = errors.make("E0103", g="LIMIT")
    assert (
        isinstance(error, CompilationError)
        and error.error_message == "Cannot access global variable 'LIMIT': it is not a constexpr"
    )
    assert error.src is None and error.node is None and sent(error).error_message == error.error_message


@pytest.mark.parametrize(
    "kind, text",
    [
        (PTXASError, "PTXAS error: no such option"),
        (InterpreterError, "no such option"),
        (AutotunerError, "Autotuner error: no such option"),
    ],
)
def test_errors_made_from_a_text(kind, text):
    error = kind("no such option")
    assert isinstance(error, TritonError) and str(error) == text and error.error_message == "no such option"
    assert str(sent(error)) == text and sent(error).error_message == "no such option"
    assert kind().error_message == ""


def test_what_does_not_fit_tells_numbers():
    error = sent(OutOfResources(5, 3, "shared memory"))
    assert (error.required, error.limit, error.name) == (5, 3, "shared memory")
    assert "out of resource: shared memory, Required: 5, Hardware limit: 3" in str(error)
    native = errors.make("E0301", n="327,680", arch="sm_90", m="232,448", s=2, k=1, b=1)
    assert isinstance(native, OutOfResources) and (sent(native).required, sent(native).limit) == (327680, 232448)
    assert "out of resource: shared memory, Required: 327680, Hardware limit: 232448" in str(native)
    assert str(sent(native)) == str(native)


def test_no_configuration_that_fits_is_both():
    error = sent(errors.NothingFits(OutOfResources(5, 3, "shared memory"), ["BLOCK: 8: pruned: too large"]))
    assert isinstance(error, OutOfResources) and isinstance(error, AutotunerError) and error.code == "E0601"
    assert (error.required, error.limit) == (5, 3) and "BLOCK: 8: pruned: too large" in str(error)


def test_a_prune_function_that_leaves_nothing_is_an_error_of_tuning():
    assert isinstance(errors.make("E0605"), AutotunerError) and isinstance(errors.make("E0605"), ValueError)
