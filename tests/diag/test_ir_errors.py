# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tile IR given as a file: what is wrong with it, and where."""

import pytest

import tilewright
from tilewright import errors


def compile_text(tmp_path, text, name="kernel.ttir"):
    path = tmp_path / name
    path.write_text(text)
    return tilewright.compile(str(path), "sm_90a")


def test_ir_can_be_compiled(tmp_path):
    kernel = compile_text(tmp_path, "func.func public @empty() {\n  return\n}\n")
    assert kernel.name == "empty" and ".entry empty" in kernel.asm["ptx"]


def test_syntax(tmp_path):
    with pytest.raises(errors.IRParseError) as info:
        compile_text(tmp_path, "func.func @k() {\n  %0 = nonsense\n}\n")
    first = str(info.value).splitlines()[0]
    assert first.startswith("[E0801] ") and ":2:" in first
    assert str(info.value).splitlines()[-1] == "  help: check the text of the IR"


def test_invalid_operation(tmp_path):
    text = 'func.func @k() {\n  %0 = arith.constant 1 : i32\n  "func.return"(%0) : (i32) -> ()\n}\n'
    with pytest.raises(errors.IRVerifyError) as info:
        compile_text(tmp_path, text)
    assert str(info.value).startswith("[E0802] module: ")
    assert str(info.value).splitlines()[-1] == "  help: this IR breaks a rule of its op"
    # And the next one compiles.
    assert compile_text(tmp_path, "func.func public @empty() {\n  return\n}\n").name == "empty"


def test_stage_that_cannot_be_read(tmp_path):
    with pytest.raises(errors.InvalidArgument, match=r"\[E0117\] cannot compile from stage 'llir'"):
        compile_text(tmp_path, "", "kernel.llir")
