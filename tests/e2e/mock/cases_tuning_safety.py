# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""That tuning leaves memory as it was and finds configurations that compute something else; run by test_tuning.py."""

import os
import warnings

import numpy as np
import pytest
from harness.simulated import Array
from harness.tuner_cases import TRIALS, launch, outputs_only, records, tuned
from tilewright import errors

if "MOCK_CASES" not in os.environ:
    pytest.skip("needs the mock driver; see test_tuning.py", allow_module_level=True)

pytest_plugins = ["harness.tuner_cases"]


# -- safety --------------------------------------------------------------------------


def aliases(rng, size=64):
    """Two arrays over one memory: the same, apart, or overlapping in every way."""
    base = Array(rng.random(size).astype(np.float32))
    kind = rng.integers(5)
    half = size // 2
    a, b = [
        (base, base),
        (base.view(0, half), base.view(half, size)),
        (base.view(0, half + 8), base.view(half - 8, size)),
        (base, base.view(4, 20)),
        (base.view(8, 24), base),
    ][kind]
    return base, a, b


@pytest.mark.parametrize("seed", range(TRIALS or 40))
def test_in_place_kernels_see_their_input_once(seed):
    """T1: the result is that of one run on the original input."""
    rng = np.random.default_rng(seed)
    base, a, b = aliases(rng)
    other = Array(rng.random(16).astype(np.float32))
    untouched = other.values.copy()
    n = min(a.values.size, b.values.size)

    def body(arguments):
        x, y = arguments["x"].values, arguments["y"].values
        if seed % 3 == 0:
            x[:n] += y[:n]
        elif seed % 3 == 1:
            y[:] = y * 2 + 1
        else:
            x[:n], y[:n] = y[:n].copy() + arguments["z"].values[0], x[:n].copy()

    expected = base.values.copy()
    copy = Array(expected)
    offset = (a.data_ptr() - base.data_ptr()) // 4, (b.data_ptr() - base.data_ptr()) // 4
    body(
        {"x": copy.view(offset[0], offset[0] + a.values.size), "y": copy.view(offset[1], offset[1] + b.values.size), "z": other}
    )
    written = {0: ["x"], 1: ["y"], 2: ["x", "y"]}[seed % 3]
    known = {"written_args": written, "read_args": ["x", "y", "z"]} if seed % 2 else {}
    tuner = tuned(body, {64: 2.0, 128: 1.0, 256: 1.5}, names=("x", "y", "z"), key=(), resources=lambda c: known)
    launch(tuner, a, b, other)
    assert np.array_equal(base.values, expected) and np.array_equal(other.values, untouched)
    assert len(tuner.fn.launched) > 10


def test_reset_to_zero_and_restore_value_still_mean_what_they_did():
    x = Array(np.array([5.0, 5.0]))

    def accumulate(arguments):
        arguments["x"].values += 1

    tuner = tuned(accumulate, {64: 1.0, 128: 2.0}, reset_to_zero=["x"])
    launch(tuner, x, 5)
    assert list(x.values) == [1.0, 1.0]  # zeroed before the run that counts, too
    launch(tuner, x, 5)
    assert list(x.values) == [2.0, 2.0]  # known now: nothing is tuned, nothing reset
    y = Array(np.array([5.0]))
    launch(tuned(accumulate, {64: 1.0, 128: 2.0}, restore_value=["x"]), y, 6)
    assert list(y.values) == [6.0]


def write_block(wrong=()):
    """Writes its output whole, or leaves a part out."""

    def body(arguments):
        out = arguments["x"].values
        end = len(out) // 2 if arguments["BLOCK"] in wrong else len(out)
        out[:end] = 7.0

    return body


def test_candidate_that_leaves_elements_out_is_found():
    """Its output would look right over that of the candidate before it."""
    x = Array(np.zeros(32))
    tuner = tuned(write_block(wrong=[256]), {64: 3.0, 128: 2.0, 256: 1.0}, resources=outputs_only)
    with pytest.warns(errors.TuneWarning, match=r"\[E0604\] 1 of 3 configurations disagree with the reference"):
        launch(tuner, x, 5)
    assert tuner.best_config.kwargs == {"BLOCK": 128} and (x.values == 7).all()
    assert records()["256"]["status"] == "wrong" and "16 of 32 elements differ" in records()["256"]["reason"]


def test_first_candidate_may_be_the_wrong_one():
    x = Array(np.zeros(32))
    tuner = tuned(write_block(wrong=[64]), {64: 1.0, 128: 2.0, 256: 3.0}, resources=outputs_only)
    with pytest.warns(errors.TuneWarning, match="E0604"):
        launch(tuner, x, 5)
    assert tuner.best_config.kwargs == {"BLOCK": 128} and records()["64"]["reason"] == "most configurations disagree with it"


def test_reference_and_strict():
    def right(arguments):
        arguments["x"].values[:] = 7.0

    x = Array(np.zeros(32))
    tuner = tuned(write_block(wrong=[64, 256]), {64: 1.0, 128: 5.0, 256: 2.0}, resources=outputs_only, reference=right)
    with pytest.warns(errors.TuneWarning, match="2 of 3"):
        launch(tuner, x, 5)
    assert tuner.best_config.kwargs == {"BLOCK": 128}
    strict = tuned(write_block(wrong=[64]), {64: 1.0, 128: 5.0, 256: 2.0}, resources=outputs_only, check="strict")
    with pytest.raises(errors.TuneMismatch, match="E0604"):
        launch(strict, x, 6)


def test_rounding_is_no_mismatch():
    def body(arguments):
        arguments["x"].values[:] = np.float32(1.0) + np.float32(arguments["BLOCK"]) * np.float32(1e-6)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        launch(tuned(body, {64: 1.0, 128: 2.0}, resources=outputs_only), Array(np.zeros(8, np.float32)), 5)


def test_integers_must_agree_exactly():
    def body(arguments):
        arguments["x"].values[:] = 1000 + (arguments["BLOCK"] == 128)

    with pytest.warns(errors.TuneWarning, match="E0604"):
        launch(tuned(body, {64: 1.0, 128: 0.5, 256: 2.0}, resources=outputs_only), Array(np.zeros(8, np.int32)), 5)
