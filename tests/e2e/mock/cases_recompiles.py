# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""TILEWRIGHT_LOG=recompiles on the recording driver; run by test_profiling.py."""

import os

import pytest

import tilewright
from harness.launch_cases import constexpr
from harness.mock_driver import FakeTensor
from tilewright import errors, knobs

if "MOCK_CASES" not in os.environ:
    pytest.skip("needs the mock driver; see test_profiling.py", allow_module_level=True)

pytest_plugins = ["harness.launch_cases"]


@pytest.fixture(autouse=True)
def compiler(compiler):
    with knobs.runtime.scope():
        knobs.runtime.log = "recompiles"
        yield compiler


def add(x, y, n, BLOCK: constexpr):
    pass


@pytest.fixture
def kernel():
    return tilewright.jit(add)


def said(capsys):
    """What was told: [[title, line, ...], ...]."""
    told = capsys.readouterr().err.split("recompiles: ")[1:]
    return [[line.strip() for line in text.splitlines()] for text in told]


def launch(kernel, n=1024, x=0x10000000000, block=64, dtype="float32", **options):
    kernel[(1,)](FakeTensor(x, dtype), FakeTensor(0x10000100000), n, BLOCK=block, **options)


def test_the_first_one_is_no_recompilation(kernel, capsys):
    launch(kernel)
    launch(kernel)
    assert said(capsys) == []


def test_divisibility_of_an_integer(kernel, capsys):
    launch(kernel, 1024)
    launch(kernel, 1023)
    launch(kernel, 1021)
    ((title, change, hint),) = said(capsys)
    assert title.startswith("add (cases_recompiles.py:") and "has a 2nd specialisation, made in" in title
    assert "for the launch at cases_recompiles.py:" in title
    assert change == "n: i32 divisible by 16 before, i32 now"
    assert hint == 'help: do_not_specialize=["n"] makes one kernel for all values of n'


def test_an_integer_that_is_one(kernel, capsys):
    launch(kernel, 1023)
    launch(kernel, 1)
    ((_, change, hint),) = said(capsys)
    assert change == "n: i32 before, equal to 1 now" and "do_not_specialize" in hint


def test_what_the_hint_says_helps(capsys):
    kernel = tilewright.jit(add, do_not_specialize=["n"])
    for n in (1024, 1023, 1):
        launch(kernel, n)
    assert said(capsys) == []


def test_a_wide_integer(kernel, capsys):
    launch(kernel, 1023)
    launch(kernel, 2**40 + 1)
    ((_, change, hint),) = said(capsys)
    assert change == "n: i32 before, i64 now" and "annotate n: tl.int64" in hint


def test_alignment_and_dtype_of_an_array(kernel, capsys):
    launch(kernel)
    launch(kernel, x=0x10000000004)
    launch(kernel, dtype="float16")
    (_, first, hint), (_, second, *no_hint) = said(capsys)
    assert first == "x: *fp32 divisible by 16 before, *fp32 now" and 'do_not_specialize_on_alignment=["x"]' in hint
    assert second == "x: *fp32 before, *fp16 divisible by 16 now" and no_hint == []


def test_a_constexpr_that_varies(kernel, capsys):
    for block in (64, 128, 256):
        launch(kernel, block=block)
    _, (title, change, hint) = said(capsys)
    assert "3rd specialisation" in title and change == "BLOCK: constexpr 128 before, constexpr 256 now"
    assert "BLOCK has had 3 values (64, 128, 256)" in hint and "drop tl.constexpr" in hint


def test_an_option(kernel, capsys):
    launch(kernel)
    launch(kernel, num_warps=8)
    ((_, change, hint),) = said(capsys)
    assert change == "option num_warps: None before, 8 now" and "num_warps is part of the key" in hint


def test_the_nearest_one_is_compared(kernel, capsys):
    launch(kernel, 1024, block=64)
    launch(kernel, 1023, block=128)
    launch(kernel, 1023, block=64)
    _, (_, *lines) = said(capsys)
    assert len([line for line in lines if not line.startswith("help")]) == 1, "one part differs from either"


def test_the_source_has_changed(kernel, capsys):
    launch(kernel)
    kernel._unsafe_update_src("def add(x, y, n, BLOCK):\n    x\n")
    launch(kernel)
    ((_, change),) = said(capsys)
    assert change == "the source of add has changed"


def test_tuned_kernels_speak_of_their_key(kernel, capsys):
    configs = [tilewright.Config({"BLOCK": block}) for block in (64, 128)]
    tuner = tilewright.autotune(configs, key=["n"], do_bench=lambda call, quantiles: (call(), [1.0] * 3)[1])(kernel)

    def tuned(n):
        tuner[(1,)](FakeTensor(0x10000000000), FakeTensor(0x10000100000), n)

    tuned(1024)
    assert said(capsys) == [], "candidates are no recompilations"
    tuned(1024)
    tuned(2048)
    ((title, change, hint),) = said(capsys)
    assert title.startswith("add, tuned, measured 2 configurations in") and "cases_recompiles.py" in title
    assert change == "n: 1024 before, 2048 now" and "key names n, which has had 2 values (1024, 2048)" in hint


def test_an_unknown_topic(kernel):
    knobs.runtime.log = "recompile"
    with pytest.raises(errors.ConfigError, match="TILEWRIGHT_LOG='recompile': expected names with commas: recompiles"):
        launch(kernel)


def test_nothing_without_the_knob(kernel, capsys):
    knobs.runtime.log = ""
    launch(kernel, 1024)
    launch(kernel, 1023)
    assert capsys.readouterr().err == ""
