# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the commands say of wrong arguments and files, each whole."""

from types import SimpleNamespace

import pytest

import tilewright
import tilewright.compile_command
import tilewright.language as tl
from tilewright.cli import main
from tilewright.compiler.kernel import AsmDict
from tilewright.tuning.table import read_file


@tilewright.jit
def copy_kernel(x, y, B: tl.constexpr):
    tl.store(y + tl.arange(0, B), tl.load(x + tl.arange(0, B)))


@pytest.mark.parametrize("emit", ["cubin", "sass"])
def test_machine_code_on_the_command_line(emit, monkeypatch):
    monkeypatch.setattr(tilewright.compile_command, "compile", lambda *_: SimpleNamespace(asm=AsmDict({"ptx": ""})))
    with pytest.raises(SystemExit) as info:
        main(["compile", __file__ + ":copy_kernel", "--signature", "*fp32, *fp32, 8", "--emit", emit])
    assert info.value.code == f"tilewright compile: no {emit}: no assembler library was found; see tilewright doctor"


def test_tuning_table_that_is_none(tmp_path):
    path = tmp_path / "table.json"
    path.write_text("{}")
    with pytest.warns(UserWarning, match="not a tuning table"):
        assert read_file(str(path)) == []


# What is typed -> all that is printed.
COMMANDS = {
    "check": (["check"], "tilewright check: name a script, or -m and a module"),
    "check -m": (["check", "-m"], "tilewright check: -m needs the name of a module"),
    "profile": (["profile"], "tilewright profile: name a script, or -m and a module"),
    "run": (["run"], "tilewright run: name a script, or -m and a module"),
    "run -m": (["run", "-m"], "tilewright run: -m needs the name of a module"),
    "prove nothing": (["prove", "no.py"], "tilewright prove: no file 'no.py'"),
    "prove without a grid": (["prove", __file__ + ":copy_kernel"], "tilewright prove: a kernel needs --signature and --grid"),
    "cache why": (["cache", "why", "00"], "tilewright cache why: give FILE:FUNCTION with --signature, or two keys"),
    "cache why of nothing": (["cache", "why", "nosuchkey", "00"], "tilewright cache: 0 entries start with 'nosuchkey'"),
    "tune import": (["tune", "import", "no.json"], "tilewright tune: no file 'no.json'"),
    "tune pin": (
        ["tune", "pin", "--kernel", "nosuchkernel", "none"],
        "tilewright tune: 0 tables match; name one with --kernel or --key",
    ),
}


@pytest.mark.parametrize("arguments,text", COMMANDS.values(), ids=COMMANDS)
def test_command_line(arguments, text, monkeypatch, tmp_path):
    monkeypatch.setenv("TILEWRIGHT_CACHE", "1")
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))
    with pytest.raises(SystemExit) as info:
        main(arguments)
    assert info.value.code == text


@pytest.mark.parametrize(
    "kernel,signature,sentence,advice",
    [
        (
            "kernel.py",
            "*fp32",
            "'kernel.py' is not of the form FILE:FUNCTION",
            "name a kernel as kernels.py:add or package.module:add",
        ),
        ("no.py:f", "*fp32", "no file 'no.py'", "name the file as from the current folder"),
        ("no_such_module:f", "*fp32", "no module 'no_such_module'", "the name of a file ends in .py"),
        (__file__ + ":main", "*fp32", f"'main' is no jit function of {__file__}", "there are copy_kernel"),
        (
            __file__ + ":copy_kernel",
            "*fp32, *fp32, 8, i32",
            "more entries in the signature than copy_kernel(x, y, B) has parameters",
            "give one entry for each parameter, or name them: n=i32",
        ),
        (__file__ + ":copy_kernel", "*fp32, x=i32", "'x' is in the signature twice", "give each parameter one entry"),
        (
            __file__ + ":copy_kernel",
            "*fp32:4",
            "'*fp32:4' ends in none of :16 or :8 (divisible by it) and :1 (equal to 1)",
            "leave the end off where nothing is promised",
        ),
    ],
)
def test_kernel_of_a_command_line(kernel, signature, sentence, advice, capsys):
    assert main(["compile", kernel, "--signature", signature]) == 1
    assert capsys.readouterr().err == f"InvalidArgument[E0117] {sentence}\n  help: {advice}\n"


@pytest.mark.parametrize("arguments,text", [
    (["cache", "list"], "tilewright cache: the cache is off (TILEWRIGHT_CACHE=0)"),
    (["tune", "show"], "tilewright tune: tables are off (TILEWRIGHT_CACHE=0 or TILEWRIGHT_TUNE_TABLES=0)"),
], ids=["cache", "tune"])  # yapf: disable
def test_commands_without_a_cache(arguments, text, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE", "0")
    with pytest.raises(SystemExit) as info:
        main(arguments)
    assert info.value.code == text


def test_profile_that_is_none(tmp_path, capsys):
    path = tmp_path / "profile.json"
    path.write_text("[]")
    assert main(["explain", f"{__file__}:copy_kernel", "--signature", "*fp32, *fp32, 8", "--profile", str(path)]) == 1
    told = capsys.readouterr().err
    assert f"[E0117] '{path}' is no profile (TypeError: " in told
    assert "  help: write one with 'tilewright profile --json FILE SCRIPT'" in told
