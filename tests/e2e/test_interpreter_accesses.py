# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Looking inside a launch: one program, what it touches, what tiles show, whose frames a traceback has."""

import csv
import sys
import traceback

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from tilewright import errors


@tilewright.jit
def copy(x, out, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + o, o < n)
    tl.store(out + o, value, o < n)
    tl.atomic_add(out + o, value * 0, o < n)


tuned = tilewright.autotune([tilewright.Config({"BLOCK": 64}), tilewright.Config({"BLOCK": 128})], key=["n"])(copy)


def line_of(text):
    return next(i for i in range(copy.starting_line_number, 10000) if text in copy.source_line(i))


def test_one_program_of_the_grid():
    x, out = np.ones(300, np.float32), np.zeros(300, np.float32)
    table = copy.interpret(x, out, 300, BLOCK=128, grid=lambda meta: (3,), program=2)
    assert out.sum() == 44 and out[256:].all()
    assert [tuple(row) for row in table] == [
        ((2, 0, 0), line_of("value = "), "load", "x", 256, 299, 44, 128, 176),
        ((2, 0, 0), line_of("tl.store"), "store", "out", 256, 299, 44, 128, 176),
        ((2, 0, 0), line_of("atomic"), "atomic", "out", 256, 299, 44, 128, 176),
    ]


def test_the_whole_grid_and_tuned_kernels():
    for kernel, options in ((copy, {"BLOCK": 64}), (tuned, {})):
        x, out = np.ones(100, np.float32), np.zeros(100, np.float32)
        table = kernel.interpret(x, out, 100, grid=(3,), **options)
        assert out.all() and len(table) == 9
        masked = table[6]
        assert (masked.active, masked.lanes, masked.first, masked.last, masked.bytes) == (0, 64, None, None, 0)


def test_the_table_for_print_csv_and_pandas(tmp_path):
    x, out = np.ones(100, np.float32), np.zeros(100, np.float32)
    table = copy.interpret(x, out, 100, BLOCK=128, grid=(1,))
    head, *rows = str(table).splitlines()
    assert head.split() == list(table.columns) and len(rows) == 3 and "AccessTable of 3" in repr(table)
    table.to_csv(tmp_path / "table.csv")
    with open(tmp_path / "table.csv") as file:
        assert [row["kind"] for row in csv.DictReader(file)] == ["load", "store", "atomic"]
    pandas = pytest.importorskip("pandas")
    assert list(table.to_pandas()["bytes"]) == [400, 400, 400] and isinstance(table.to_pandas(), pandas.DataFrame)


def test_what_interpret_refuses():
    x = np.ones(4, np.float32)
    for program in (1, -1, (0, 1), (0, 0, 0, 0), "0"):
        with pytest.raises(errors.InvalidGrid, match="has no program"):
            copy.interpret(x, x, 4, BLOCK=4, grid=(1,), program=program)
    with pytest.raises(errors.InvalidOption, match="num_warp"):
        copy.interpret(x, x, 4, BLOCK=4, grid=(1,), num_warp=4)
    with pytest.raises(errors.OutOfBounds):
        copy.interpret(x, x[:2], 4, BLOCK=4, grid=(1,))


@tilewright.jit
def show(x, n):
    small = tl.arange(0, 4)
    vector = tl.load(x + tl.arange(0, 64))
    matrix = tl.reshape(vector, (8, 8))
    mask = vector > 1
    pointer = x + tl.arange(0, 64)
    breakpoint()
    tl.store(pointer, tl.where(mask, vector, tl.reshape(matrix, (64,)) + n + tl.sum(small)))


def test_tiles_in_debuggers_and_notebooks(monkeypatch):
    shown = {}

    def look():
        names = sys._getframe(1).f_locals
        shown.update(
            {
                name: (repr(names[name]), names[name]._repr_html_())
                for name in ("small", "vector", "matrix", "mask", "pointer", "n")
            }
        )

    monkeypatch.setattr(sys, "breakpointhook", look)
    x = np.arange(64, dtype=np.float32)
    x[5], x[6] = np.nan, np.inf
    show[(1,)](x, 7)
    assert shown["small"][0] == "i32[4]([0 1 2 3])"
    text, page = shown["vector"]
    assert text == "fp32[64]([0. 1. 2. 3. ...]; min 0, mean 32.3387, max 63, nan 1, inf 1)"
    assert "mean 32.3387" in page and "<td>3.0</td>" in page and "<td>...</td>" in page
    assert shown["matrix"][0].startswith("fp32[8,8]([[") and "<tr>" in shown["matrix"][1]
    assert "true 61, false 3" in shown["mask"][0]
    assert shown["pointer"][0].startswith("*fp32[64](") and shown["n"][0] == "i32(7)"


@tilewright.jit
def inner(x):
    return tl.load(x + 100)


@tilewright.jit
def outer(x):
    tl.store(x, inner(x))


def launch():
    outer[(1,)](np.zeros(4, np.float32))


def test_tracebacks_have_the_users_frames_alone():
    with pytest.raises(errors.OutOfBounds) as info:
        launch()
    frames = traceback.extract_tb(info.value.__traceback__)
    assert [f.name for f in frames][1:] == ["launch", "outer", "inner"]
    assert {f.filename for f in frames} == {__file__}


@tilewright.jit
def misspelt(x):
    tl.store(x, undefined_name)  # noqa: F821


def test_tracebacks_of_explained_errors():
    with pytest.raises(errors.UndefinedName) as info:
        misspelt[(1,)](np.zeros(4, np.float32))
    assert {f.filename for f in traceback.extract_tb(info.value.__traceback__)} == {__file__}


def test_a_defect_of_ours_keeps_its_frames(monkeypatch):
    from tilewright.runtime import interpreter

    monkeypatch.setattr(interpreter, "native_function", None)
    with pytest.raises(TypeError) as info:
        launch()
    assert "run_interpreted" in [f.name for f in traceback.extract_tb(info.value.__traceback__)]
