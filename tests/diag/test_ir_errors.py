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


# What a launch could not start is the text's fault and no bug of the compiler.
WRONG = [
    (
        "syntax",
        "E0801",
        "2:8",
        "custom op 'nonsense' is unknown (tried 'func.nonsense' as well)",
        "func.func @k() {\n  %0 = nonsense\n}\n",
    ),
    (
        "operation",
        "E0802",
        "3:3",
        "'func.return' op has 1 operands, but enclosing function (@k) returns 0",
        'func.func @k() {\n  %0 = arith.constant 1 : i32\n  "func.return"(%0) : (i32) -> ()\n}\n',
    ),
    ("no kernel", "E0802", "0:0", "has no kernel: no function is public", "func.func private @k() {\n  return\n}\n"),
    (
        "two kernels",
        "E0802",
        "4:1",
        "'func.func' op is a second kernel: 'first' and 'second' are public",
        "func.func public @first() {\n  return\n}\nfunc.func public @second() {\n  return\n}\n",
    ),
    ("empty file", "E0802", "0:0", "has no kernel: no function is public", ""),
    (
        "no body",
        "E0802",
        "4:1",
        "'func.func' op has no body",
        "func.func public @k() {\n  return\n}\nfunc.func private @sine(f32) -> f32\n",
    ),
    (
        "two blocks",
        "E0802",
        "1:1",
        "'func.func' op has unstructured control flow",
        "func.func public @k() {\n  return\n^next:\n  return\n}\n",
    ),
    (
        "result",
        "E0802",
        "1:1",
        "'func.func' op is a kernel and cannot return values",
        "func.func public @k(%x: i32) -> i32 {\n  return %x : i32\n}\n",
    ),
    (
        "argument",
        "E0802",
        "1:1",
        "'func.func' op argument type has no place in a launch: 'f8E5M2'",
        "func.func public @k(%x: f8E5M2) {\n  return\n}\n",
    ),
]


@pytest.mark.parametrize("code,place,sentence,text", [case[1:] for case in WRONG], ids=[case[0] for case in WRONG])
def test_wrong_text(tmp_path, code, place, sentence, text):
    help = {"E0801": "check the text of the IR", "E0802": "this IR breaks a rule of its op"}[code]
    with pytest.raises({"E0801": errors.IRParseError, "E0802": errors.IRVerifyError}[code]) as info:
        compile_text(tmp_path, text)
    assert str(info.value) == f"[{code}] {tmp_path / 'kernel.ttir'}:{place}: {sentence}\n  help: {help}"
    # And the next one compiles.
    assert compile_text(tmp_path, "func.func public @empty() {\n  return\n}\n").name == "empty"


def test_stage_that_cannot_be_read(tmp_path):
    with pytest.raises(errors.InvalidArgument, match=r"\[E0117\] cannot compile from stage 'llir'"):
        compile_text(tmp_path, "", "kernel.llir")
