# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Annotations that Python evaluates late (from 3.14 on, PEP 649) mean what they meant when it evaluated them early."""

import linecache
import sys
import textwrap
from typing import NamedTuple

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from tilewright import errors
from tilewright.annotations import module_annotations

needs_lazy = pytest.mark.skipif(sys.version_info < (3, 14), reason="annotations are evaluated early before Python 3.14")

HEAD = "import tilewright, tilewright.language as tl\n"


def cell(space, text):
    """Runs a text as a notebook runs a cell, in the module with these variables."""
    text = HEAD + textwrap.dedent(text)
    path = f"<cell {len(linecache.cache)}>"
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    exec(compile(text, path, "exec", dont_inherit=True), space)
    return space


def run(space):
    out = np.zeros(1, np.int32)
    space["kernel"][(1,)](out)
    return int(out[0])


GLOBALS = """
CONSTANT = tl.constexpr
PLAIN: tl.constexpr = 1
ALIAS: CONSTANT = 2
TEXT: "tl.constexpr" = 3
TUPLE: tl.constexpr = (4, 5)
if PLAIN == 1:
    CONDITIONAL: tl.constexpr = 6

@tilewright.jit
def kernel(out):
    tl.store(out, PLAIN + 10 * ALIAS + 100 * TEXT + 1000 * TUPLE[1] + 10000 * CONDITIONAL)
"""


def test_annotated_globals_are_constants():
    assert run(cell({}, GLOBALS)) == 65321


def test_an_annotation_that_is_no_constexpr_makes_no_constant():
    space = cell({}, "N: int = 1\n@tilewright.jit\ndef kernel(out):\n    tl.store(out, N)\n")
    with pytest.raises(errors.TilewrightError, match="E0103") as info:
        run(space)
    assert "help: write N = tl.constexpr(...), or pass it as an argument" in str(info.value)


def test_annotations_that_a_module_has_already_evaluated_count_too():
    space = cell({"__annotations__": {"EARLY": tl.constexpr}}, "EARLY = 7\n" + GLOBALS)
    assert {"EARLY", "PLAIN"} <= set(module_annotations(space))
    assert module_annotations({"__annotations__": None}) == {}


@needs_lazy
def test_of_statements_that_run_on_their_own_the_last_one_counts():
    """As the launch document says of notebooks."""
    space = cell({}, "FIRST: tl.constexpr = 1")
    kernel = "@tilewright.jit\ndef kernel(out):\n    tl.store(out, FIRST)\n"
    assert run(cell(space, kernel)) == 1
    cell(space, "SECOND: tl.constexpr = 2")
    assert set(module_annotations(space)) == {"SECOND"}
    with pytest.raises(errors.TilewrightError, match="E0103"):
        run(cell(space, kernel))


@needs_lazy
def test_globals_beside_annotations_that_cannot_be_evaluated():
    """A name for type checkers alone hides no constant; a module whose annotations raise has none."""
    unknown = "LIST: list[Unknown] = []\nOTHER: unknown.Thing = 1\n"
    assert run(cell({}, unknown + GLOBALS)) == 65321
    space = cell({}, unknown + GLOBALS)
    assert module_annotations(space)["LIST"] == "list[Unknown]" and module_annotations(space)["PLAIN"] is tl.constexpr
    with pytest.raises(errors.TilewrightError, match="E0103"):
        run(cell({}, GLOBALS + "BROKEN: 1 / 0 = 1\n"))


PARAMETERS = """
CONSTANT = tl.constexpr

@tilewright.jit
def kernel(out, a: Later = 1, b: module.Thing = 2, c: "tl.int64" = 3, d: list[Later] = 4, E: CONSTANT = 5, F: "tl.constexpr" = 6) -> Later:
    tl.static_assert(E == 5 and F == 6)
    tl.store(out, a + b + c + d + E + F)

class Later: pass
"""  # noqa: E501


@needs_lazy
def test_parameters_may_be_annotated_by_what_comes_later():
    space = cell({}, PARAMETERS)
    params = space["kernel"].params
    assert [param.is_constexpr for param in params] == [False] * 5 + [True] * 2
    assert [param.annotation for param in params][1:4] == ["Later", "Thing", "int64"]
    assert params[3].annotation_type == "i64"
    assert run(space) == 21


@needs_lazy
def test_texts_of_annotations_are_those_of_the_future_import():
    """No address of an object gets into what names a kernel in the cache."""
    late = cell({}, PARAMETERS.replace("CONSTANT = ", "tl.float33 = ").replace("E: CONSTANT", "E: tl.constexpr"))["kernel"]
    text = "from __future__ import annotations\n" + HEAD + PARAMETERS.replace("E: CONSTANT", "E: tl.constexpr")
    linecache.cache["<future>"] = (len(text), None, text.splitlines(keepends=True), "<future>")
    space = {}
    exec(compile(text, "<future>", "exec", dont_inherit=True), space)
    assert [param.annotation for param in late.params] == [param.annotation for param in space["kernel"].params]


RECORDS = """
@tilewright.aggregate
class Outer:
    inner: Inner
    count: tl.constexpr

    @tilewright.constexpr_function
    def __init__(self, inner, count):
        self.inner = inner
        self.count = count

@tilewright.aggregate
class Inner:
    value: tl.tensor

@tilewright.jit
def kernel(out):
    record = Outer(Inner(tl.program_id(0) + 1), 3)
    tl.static_assert(record.count == 3)
    tl.store(out, record.inner.value + record.count)
"""


@needs_lazy
def test_records_of_records_that_come_later():
    assert run(cell({}, RECORDS)) == 4


def record_kernel(kind):
    class Pair(NamedTuple):
        first: kind
        second: tl.constexpr

    @tilewright.jit
    def kernel(out):
        pair = Pair(tl.program_id(0), tl.constexpr(2))
        tl.store(out, pair.first + pair.second)

    return kernel


def test_the_annotations_of_a_record_are_part_of_the_kernel():
    """A cached kernel must not serve a record whose fields mean something else now."""
    assert record_kernel(int).cache_key == record_kernel(int).cache_key
    assert record_kernel(int).cache_key != record_kernel(tl.constexpr).cache_key


MARKED = """
def marked(x, count: Unknown, _semantic=None) -> Unknown:
    return _semantic.add(x, count, True)

marked.__triton_builtin__ = True

@tilewright.jit
def kernel(out):
    tl.store(out, marked(2, 3))
"""


@needs_lazy
def test_functions_of_libraries_may_be_annotated_by_names_for_checkers():
    assert run(cell({}, MARKED)) == 5
