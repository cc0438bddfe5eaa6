# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors with their places, and looking into a running kernel."""

import ast
import gc
import io
import pdb
import sys
import weakref

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from tilewright import errors
from tilewright.frontend_rules import FORBIDDEN

LIMIT = 5
NAMED: tl.constexpr = 6


def line_of(kernel, text):
    return next(i for i in range(kernel.starting_line_number, 10000) if text in kernel.source_line(i))


@tilewright.jit
def inner(x, i):
    return tl.load(x + i + 100)


@tilewright.jit
def outer(x, out):
    i = tl.program_id(0)
    tl.store(out + i, inner(x, i) + 1)


def test_errors_carry_the_call_chain():
    with pytest.raises(errors.OutOfBounds) as info:
        outer[(1,)](np.zeros(4, np.float32), np.zeros(4, np.float32))
    frames = info.value.frames
    assert [f.function for f in frames] == ["inner", "outer"]
    assert frames[0].line == line_of(inner, "tl.load(")
    assert frames[1].line == line_of(outer, "inner(x, i) + 1")
    assert all(f.file == __file__ for f in frames)
    if sys.version_info >= (3, 11):
        columns = [(f.source_line[f.column - 1 : f.end_column - 1]) for f in frames]
        assert columns == ["tl.load(x + i + 100)", "inner(x, i)"]
    text = str(info.value)
    assert text.index("in kernel 'inner'") < text.index("called from") < text.index("in kernel 'outer'")


def test_nested_functions_keep_their_columns():

    @tilewright.jit
    def nested(x):
        """A text before it."""
        tl.store(x, tl.load(x + 1) + tl.load(x - 1))

    with pytest.raises(errors.OutOfBounds) as info:
        nested[(1,)](np.zeros(2, np.float32))
    frame = info.value.frames[0]
    assert frame.line == line_of(nested, "tl.load(x - 1)")
    if sys.version_info >= (3, 11):
        assert frame.source_line[frame.column - 1 : frame.end_column - 1] == "tl.load(x - 1)"


@tilewright.jit
def plain_global(out):
    tl.store(out, LIMIT)


@tilewright.jit
def dead_global(out, USE: tl.constexpr):
    if USE:
        tl.store(out, LIMIT)
    tl.store(out, NAMED)


@tilewright.jit
def undefined_name(out, count):
    tl.store(out, coumt)  # noqa: F821


@tilewright.jit
def unknown_attribute(out):
    tl.store(out, tl.arrange(0, 4))


@tilewright.jit
def foreign_call(out):
    tl.store(out, line_of(out, 1))


@tilewright.jit
def return_in_loop(out):
    for i in range(4):
        return


@pytest.mark.parametrize(
    "kernel, args, code, text",
    [
        (plain_global, (), "E0103", "Cannot access global variable 'LIMIT': it is not a constexpr"),
        (undefined_name, (2,), "E0104", "name 'coumt' is not defined"),
        (unknown_attribute, (), "E0104", "name 'tl.arrange' is not defined"),
        (foreign_call, (), "E0123", "'line_of' is not a kernel function"),
        (return_in_loop, (), "E0115", "return inside a loop"),
    ],
)
def test_names_and_calls(kernel, args, code, text):
    with pytest.raises(errors.TilewrightError) as info:
        kernel[(1,)](np.zeros(4, np.int32), *args)
    assert info.value.code == code and text in str(info.value)
    assert f"in kernel '{kernel.__name__}'" in str(info.value)


def test_suggestions():
    with pytest.raises(errors.UndefinedName, match="did you mean 'count'?"):
        undefined_name[(1,)](np.zeros(4, np.int32), 2)
    with pytest.raises(errors.UndefinedName, match="did you mean 'arange'?"):
        unknown_attribute[(1,)](np.zeros(4, np.int32))


def test_dead_branches_are_not_looked_at():
    out = np.zeros(4, np.int32)
    dead_global[(1,)](out, USE=False)
    assert out[0] == 6


SYNTAX = {
    "Try": "try:\n        pass\n    finally:\n        pass",
    "With": "with x:\n        pass",
    "Lambda": "f = lambda: 1",
    "Raise": "raise ValueError",
    "Delete": "del x",
    "Global": "global g",
    "Import": "import os",
    "ImportFrom": "from os import path",
    "ClassDef": "class c:\n        pass",
    "FunctionDef": "def f():\n        pass",
    "Break": "while x:\n        break",
    "Continue": "while x:\n        continue",
    "Match": "match x:\n        case 1:\n            pass",
    "Dict": "y = {1: 2}",
    "Set": "y = {1}",
    "DictComp": "y = {i: i for i in (1, 2)}",
    "SetComp": "y = {i for i in (1, 2)}",
    "GeneratorExp": "y = tuple(i for i in (1, 2))",
    "NestedComprehension": "y = [i for i in (1, 2) for j in (1, 2)]",
    "Yield": "yield x",
    "MatMult": "y = x @ x",
    "In": "y = 1 in (1, 2)",
    "NotIn": "y = 1 not in (1, 2)",
    "ChainedAssign": "a = b = 1",
    "Starred": "a, *b = (1, 2, 3)",
    "AttributeTarget": "x.y = 1",
    "SubscriptTarget": "x[0] = 1",
    "ForElse": "for i in range(2):\n        pass\n    else:\n        pass",
    "WhileElse": "while False:\n        pass\n    else:\n        pass",
    "ForTarget": "for a, b in range(2):\n        pass",
    "Bytes": "y = b'1'",
    "Complex": "y = 1j",
    "KeywordArguments": "tl.load(x, **x)",
}


@pytest.mark.parametrize("key", SYNTAX)
def test_syntax_that_kernels_may_not_contain(key, tmp_path):
    source = f"import tilewright\nimport tilewright.language as tl\n@tilewright.jit\ndef kernel(x):\n    {SYNTAX[key]}\n"
    ast.parse(source)
    path = tmp_path / f"syntax_{key}.py"
    path.write_text(source)
    names = {}
    exec(compile(source, str(path), "exec"), names)
    construct, alternative = FORBIDDEN[key]
    with pytest.raises(errors.UnsupportedSyntax) as info:
        names["kernel"][(1,)](np.zeros(4, np.int32))
    assert f"[E0102] '{construct}' is not supported in a kernel" in str(info.value)
    assert f"help: {alternative}" in str(info.value)
    assert info.value.frames[0].file == str(path) and info.value.frames[0].line >= 5


@tilewright.jit
def checked(x, n):
    i = tl.program_id(0)
    value = tl.load(x + i)
    assert value < n, "value too large"
    tl.device_assert(value >= 0, "negative value")
    tl.assume(n > 2)


def test_assertions():
    checked[(3,)](np.array([1, 2, 3], np.int32), 4)
    with pytest.raises(errors.TilewrightError) as info:
        checked[(3,)](np.array([1, 2, 4], np.int32), 4)
    line = line_of(checked, "assert value")
    assert f"[E0403] value too large at {__file__}:{line}, program (2,0,0)" in str(info.value)
    with pytest.raises(errors.TilewrightError, match="negative value"):
        checked[(3,)](np.array([1, 2, -4], np.int32), 4)
    with pytest.raises(errors.FalseHint, match="tl.assume does not hold"):
        checked[(1,)](np.array([1], np.int32), 2)


@tilewright.jit
def printing(x):
    tile = tl.load(x + tl.arange(0, 4))
    print("tile", tile)
    print(f"sum {tl.sum(tile)} {tile.dtype}")
    tl.device_print("values", tile, tl.program_id(0))


def test_print_shows_values(capsys):
    printing[(1,)](np.array([1.5, 2, 3, 4], np.float32))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["tile", "[1.5", "2.", "3.", "4.", "]"]
    assert lines[1] == "sum 10.5 fp32"
    # The form of the GPU: a line per element.
    assert lines[2:] == [
        *(f"pid (0, 0, 0) idx ({i}) values: (operand 0) {x:f}" for i, x in enumerate((1.5, 2, 3, 4))),
        "pid (0, 0, 0) idx () values: (operand 1) 0",
    ]


@tilewright.jit
def stopped(x, out):
    i = tl.program_id(0)
    doubled = tl.load(x + i) * 2
    if i == 1:
        breakpoint()
    tl.store(out + i, doubled)


def test_pdb_stops_in_the_users_source(monkeypatch):
    output = io.StringIO()
    commands = io.StringIO("p i\np doubled\nnext\nlist\nup\ncontinue\n")
    debugger = pdb.Pdb(stdin=commands, stdout=output, nosigint=True, readrc=False)
    monkeypatch.setattr(sys, "breakpointhook", lambda: debugger.set_trace(sys._getframe(1)))
    out = np.zeros(2, np.int32)
    stopped[(2,)](np.array([3, 5], np.int32), out)
    text = output.getvalue()
    assert "10" in text and "tl.store(out + i, doubled)" in text and __file__ in text
    assert out.tolist() == [6, 10]


def test_kernels_are_collected():

    def launch_once():

        @tilewright.jit
        def short_lived(out):
            tl.store(out, inner_value())

        short_lived[(1,)](np.zeros(1, np.int32))
        return weakref.ref(short_lived)

    reference = launch_once()
    gc.collect()
    assert reference() is None


@tilewright.jit
def inner_value():
    return 3


def test_an_interrupt_leaves_the_kernel():
    seen = []

    @tilewright.jit
    def interrupted(x):
        tl.static_print(tl.program_id(0))

    def stop(*values, **options):
        seen.append(values)
        raise KeyboardInterrupt

    import builtins

    original = builtins.print
    builtins.print = stop
    try:
        with pytest.raises(KeyboardInterrupt):
            interrupted[(5,)](np.zeros(1, np.float32))
    finally:
        builtins.print = original
    assert len(seen) == 1
    outer_error = np.zeros(2, np.int32)
    stopped_free[(2,)](outer_error)
    assert outer_error.tolist() == [0, 1]


@tilewright.jit
def stopped_free(out):
    i = tl.program_id(0)
    tl.store(out + i, i)


def test_a_check_that_nobody_makes(monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CHECK", "races,devision")
    with pytest.raises(errors.TilewrightError) as info:
        fine[(1,)](np.zeros(1, np.int32))
    assert (
        str(info.value)
        .splitlines()[0]
        .startswith("[E0701] TILEWRIGHT_CHECK='devision': expected all, none, or names with commas: bounds, ")
    )
    monkeypatch.setenv("TILEWRIGHT_CHECK", "races, -bounds")
    with pytest.raises(errors.TilewrightError, match="bounds among the checks, which are always made"):
        fine[(1,)](np.zeros(1, np.int32))
    monkeypatch.setenv("TILEWRIGHT_CHECK", "none")
    with pytest.raises(errors.OutOfBounds):
        fine[(1,)](np.zeros(0, np.int32))
    monkeypatch.setenv("TILEWRIGHT_CHECK", "races, bounds")
    fine[(1,)](np.zeros(1, np.int32))


@tilewright.jit
def fine(out_ptr):
    tl.store(out_ptr, 1)
