# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Proofs of programs that walk through tiles, and of convolutions: the right form is proved, each wrong one refuted.

Every mistake is one that people make, is a real race or a real access out of bounds, and is refuted for all sizes and
for one launch, with a witness that the interpreter has run.
"""

import inspect
import os

import numpy as np
import pytest

import tilewright as tw
import tilewright.language as tl
from tilewright.proving import prove_conditions, prove_launch

z3 = pytest.importorskip("z3", reason="proofs need z3-solver")


@tw.jit
def doubled_tiles(x, M, N, BLOCK: tl.constexpr, GROUP: tl.constexpr, WRONG: tl.constexpr):
    """Doubles a matrix in place: programs that stay go through tiles in bands of GROUP rows."""
    tiles_m, tiles_n = tl.cdiv(M, BLOCK), tl.cdiv(N, BLOCK)
    step = tl.num_programs(0)
    if WRONG == "one program less":
        step = step - 1
    for tile in range(tl.program_id(0), tiles_m * tiles_n, step):
        per_band = GROUP * tiles_n
        first = tile // per_band * GROUP
        height = min(tiles_m - first, GROUP)
        inside = tile % per_band
        m = first + inside % height
        n = inside // (GROUP + 1 if WRONG == "columns of another height" else height)
        rows = m * BLOCK + tl.arange(0, 2 * BLOCK if WRONG == "tiles that overlap" else BLOCK)
        columns = n * BLOCK + tl.arange(0, BLOCK)
        mask = (rows[:, None] < M) & (columns[None, :] <= N if WRONG == "one column more" else columns[None, :] < N)
        places = x + rows[:, None] * N + columns[None, :]
        tl.store(places, tl.load(places, mask=mask) * 2 + tl.program_id(0), mask=mask)


@tw.jit
def doubled_chunks(x, n, BLOCK: tl.constexpr, WRONG: tl.constexpr):
    """Each program doubles a part of a vector in place, block by block."""
    programs = tl.num_programs(0)
    blocks = tl.cdiv(tl.cdiv(n, BLOCK), programs)
    if WRONG == "one block more":
        last = (tl.program_id(0) + 1) * blocks + 1
    else:
        last = (tl.program_id(0) + 1) * blocks
    for block in range(tl.program_id(0) * blocks, last):
        offsets = block * BLOCK + tl.arange(0, BLOCK)
        mask = offsets < n
        tl.store(x + offsets, tl.load(x + offsets, mask=mask) * 2, mask=mask)


@tw.jit
def convolution(
    image, taps, out, batch, height, width, out_height, out_width, SIDE: tl.constexpr, BLOCK: tl.constexpr, WRONG: tl.constexpr
):
    """A convolution of one channel without padding; `batch` images side by side."""
    pixels = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    column = pixels % out_width
    row = pixels // out_width % out_height
    number = pixels // (out_width * out_height)
    inside = pixels < batch * out_height * out_width
    total = tl.zeros((BLOCK,), tl.float32)
    for tap in range(SIDE * SIDE):
        y, x = row + tap // SIDE, column + tap % SIDE
        if WRONG == "centred taps":
            y = y - 1
        if WRONG == "images as high as wide":
            places = (number * width + y) * width + x
        else:
            places = (number * height + y) * width + x
        total += tl.load(image + places, mask=inside, other=0.0) * tl.load(taps + tap)
    if WRONG == "rows of the image":
        # The rows of the result are shorter than those that this counts.
        tl.store(out + (number * out_height + row) * (out_width - 1) + column, total + pixels, mask=inside)
    else:
        tl.store(out + pixels, total, mask=inside)


@tw.jit
def spread(image, out, rows, width, SIDE: tl.constexpr, BLOCK: tl.constexpr, ATOMIC: tl.constexpr):
    """The other way: each pixel adds to all places that its taps reach."""
    row, column = tl.program_id(0), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = column < width
    value = tl.load(image + row * width + column, mask=inside)
    for tap in range(SIDE):
        places = out + (row + tap) * width + column
        if ATOMIC:
            tl.atomic_add(places, value, mask=inside)
        else:
            tl.store(places, tl.load(places, mask=inside) + value, mask=inside)


SIZES = "0 < M <= 2**14, 0 < N <= 2**14, programs <= 132"
IMAGES = (
    "0 < batch <= 64, 0 < out_height <= 256, 0 < out_width <= 256, "
    "height == out_height + SIDE - 1, width == out_width + SIDE - 1"
)


def tiles_for_all_sizes(wrong):
    return prove_conditions(
        doubled_tiles,
        {"x": "*fp32", "M": "i32", "N": "i32"},
        {"BLOCK": 16, "GROUP": 4, "WRONG": wrong},
        "programs",
        {"x": "[M, N]"},
        SIZES,
    )


def tiles_of_a_launch(wrong):
    bound = inspect.signature(doubled_tiles.fn).bind(np.ones((80, 50), np.float32), 80, 50, BLOCK=16, GROUP=4, WRONG=wrong)
    return prove_launch(doubled_tiles, (7,), dict(bound.arguments))


def chunks_for_all_sizes(wrong):
    return prove_conditions(
        doubled_chunks,
        {"x": "*fp32", "n": "i32"},
        {"BLOCK": 16, "WRONG": wrong},
        "programs",
        {"x": "n"},
        "0 < n <= 2**24, programs <= 132",
    )


def chunks_of_a_launch(wrong):
    bound = inspect.signature(doubled_chunks.fn).bind(np.ones(1000, np.float32), 1000, BLOCK=16, WRONG=wrong)
    return prove_launch(doubled_chunks, (7,), dict(bound.arguments))


def convolution_for_all_sizes(wrong):
    names = "batch height width out_height out_width".split()
    return prove_conditions(
        convolution,
        {"image": "*fp32", "taps": "*fp32", "out": "*fp32", **dict.fromkeys(names, "i32")},
        {"SIDE": 3, "BLOCK": 32, "WRONG": wrong},
        "cdiv(batch * out_height * out_width, BLOCK)",
        {"image": "[batch, height, width]", "taps": "SIDE * SIDE", "out": "[batch, out_height, out_width]"},
        IMAGES,
    )


def convolution_of_a_launch(wrong):
    arrays = [np.ones(shape, np.float32) for shape in ((2, 7, 10), (3, 3), (2, 5, 8))]
    bound = inspect.signature(convolution.fn).bind(*arrays, 2, 7, 10, 5, 8, SIDE=3, BLOCK=32, WRONG=wrong)
    return prove_launch(convolution, (3,), dict(bound.arguments))


def spread_for_all_sizes(atomic):
    return prove_conditions(
        spread,
        {"image": "*fp32", "out": "*fp32", "rows": "i32", "width": "i32"},
        {"SIDE": 3, "BLOCK": 32, "ATOMIC": atomic},
        "rows, cdiv(width, BLOCK)",
        {"image": "[rows, width]", "out": "[rows + 2, width]"},
        "0 < rows <= 2**14, 0 < width <= 2**14",
    )


RIGHT = {
    "tiles": (tiles_for_all_sizes, tiles_of_a_launch),
    "chunks": (chunks_for_all_sizes, chunks_of_a_launch),
    "convolution": (convolution_for_all_sizes, convolution_of_a_launch),
}
WRONG = [
    ("tiles", "one program less", "races"),
    ("tiles", "columns of another height", "races"),
    ("tiles", "tiles that overlap", "races"),
    ("tiles", "one column more", "bounds"),
    ("chunks", "one block more", "races"),
    ("convolution", "centred taps", "bounds"),
    ("convolution", "images as high as wide", "bounds"),
    ("convolution", "rows of the image", "races"),
]


@pytest.mark.parametrize("kernel", RIGHT)
@pytest.mark.parametrize("which", ["all sizes", "a launch"])
def test_right_form_is_proved(kernel, which):
    proof = RIGHT[kernel][which == "a launch"]("")
    assert proof.proved, str(proof)


def test_questions_are_asked_as_if_they_were_the_first(monkeypatch):
    # What z3's own context had been asked decided how long a proof took: 2 seconds, or more than its limit.
    answers = []
    check = z3.Solver.check

    def counted(solver, *assumptions):
        answer = check(solver, *assumptions)
        answers.append((str(answer), solver.statistics().get_key_value("rlimit count")))
        return answer

    monkeypatch.setattr(z3.Solver, "check", counted)
    for _ in range(2):
        assert chunks_for_all_sizes("").proved
    first, second = answers[: len(answers) // 2], answers[len(answers) // 2 :]
    assert len(first) > 1 and first == second


# For all sizes each third form in an ordinary run; `PROVE_ALL=1` runs all.
STEP = 1 if os.environ.get("PROVE_ALL") == "1" else 3


@pytest.mark.parametrize(
    "kernel,wrong,question,which", [(*form, "a launch") for form in WRONG] + [(*form, "all sizes") for form in WRONG[::STEP]]
)
def test_wrong_form_is_refuted(kernel, wrong, question, which):
    proof = RIGHT[kernel][which == "a launch"](wrong)
    refuted = [getattr(finding, question) for finding in proof.findings if getattr(finding, question).verdict == "refuted"]
    assert refuted and all(outcome.witness["confirmed"] for outcome in refuted), str(proof)
    if question == "races":
        assert all(outcome.witness["program"] != outcome.witness["other program"] for outcome in refuted)


def test_sums_over_taps_need_atomics():
    assert spread_for_all_sizes(True).proved
    assert spread_for_all_sizes(False).refuted


def test_race_that_a_program_does_not_come_to():
    """Both programs of the witness go out of bounds first: that is refuted, and of the race it is said why not."""
    proof = tiles_of_a_launch("one column more")
    races = [finding.races for finding in proof.findings]
    assert {outcome.verdict for outcome in races} == {"outside"}
    assert {outcome.reason for outcome in races} == {"a program of the witness ends earlier, with E0407"}
