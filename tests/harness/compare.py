# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Comparisons that know what is exact.

`assert_same` for results that have one right answer (NaN equals NaN, and
-0 differs from 0), `assert_near` for those with an error bound.
"""

import ml_dtypes
import numpy as np

from harness.element_types import is_float, name_of


def describe(actual, expected, wrong) -> str:
    where = np.argwhere(wrong)
    lines = [f"{len(where)} of {wrong.size} elements differ ({actual.dtype})"]
    for index in where[:5]:
        place = tuple(int(i) for i in index)
        lines.append(f"  {list(place)}: got {actual[place]!r}, expected {expected[place]!r}")
    return "\n".join(lines)


def as_arrays(actual, expected):
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.dtype == expected.dtype, f"got {actual.dtype}, expected {expected.dtype}"
    assert actual.shape == expected.shape, f"got shape {actual.shape}, expected {expected.shape}"
    return actual, expected


def assert_same(actual, expected, signed_zeros=True):
    """Equal bit for bit, but every NaN is like another."""
    actual, expected = as_arrays(actual, expected)
    if not is_float(name_of(actual.dtype)):
        wrong = actual != expected
    else:
        a, e = actual.astype(np.float64), expected.astype(np.float64)
        wrong = ~((a == e) | (np.isnan(a) & np.isnan(e)))
        if signed_zeros:
            wrong |= (a == 0) & (e == 0) & (np.signbit(a) != np.signbit(e))
    assert not wrong.any(), describe(actual, expected, wrong)


def assert_near(actual, expected, ulps=0.0, absolute=0.0, relative=0.0):
    """Within so many units in the last place of the expected value, or the given tolerances.

    `expected` may be more precise (float64) than `actual`.
    """
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape, f"got shape {actual.shape}, expected {expected.shape}"
    info = ml_dtypes.finfo(actual.dtype)
    a, e = actual.astype(np.float64), expected.astype(np.float64)
    with np.errstate(all="ignore"):
        # An expected value beyond the type's range rounds to infinity.
        e = np.where(np.abs(e) > float(info.max) * (1 + float(info.eps) / 4), np.copysign(np.inf, e), e)
        exponent = np.floor(np.log2(np.maximum(np.abs(e), float(info.tiny))))
        unit = np.exp2(exponent) * float(info.eps)
        allowed = np.maximum(ulps * unit, absolute + relative * np.abs(e))
        close = np.abs(a - e) <= allowed
    wrong = ~(close | (a == e) | (np.isnan(a) & np.isnan(e)))
    assert not wrong.any(), describe(actual, expected, wrong)


def assert_sum(actual, terms, axis=None, slack=4.0):
    """A sum in any order: the error may be a few rounding errors of the sum of magnitudes.

    Catches a missing term that a loose relative tolerance would hide.
    """
    actual = np.asarray(actual)
    exact = np.sum(terms.astype(np.float64), axis=axis)
    magnitude = np.sum(np.abs(terms.astype(np.float64)), axis=axis)
    count = terms.size // max(exact.size, 1)
    epsilon = float(ml_dtypes.finfo(actual.dtype).eps)
    bound = slack * np.log2(max(count, 2)) * epsilon * magnitude + epsilon * np.abs(exact)
    wrong = ~(np.abs(actual.astype(np.float64) - exact) <= bound)
    assert not wrong.any(), describe(actual, np.asarray(exact), np.asarray(wrong))
