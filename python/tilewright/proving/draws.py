# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Some sizes that the conditions allow, for which the solver looks for a mistake first.

With numbers for all sizes there are no products of symbols left, so an answer comes at once. A witness with small
sizes is also easy to read and to run.
"""

from __future__ import annotations

import random

from .numbers import evaluated, holds
from .terms import Poly, equal

__all__ = ["SMALL_SIZES", "draws"]

#: Sizes up to these are tried, one after the other.
SMALL_SIZES = (8, 40, 300, 5000)
#: Of each of them so many draws of all sizes, from so many that may be against the conditions.
_DRAWS, _MOST_TRIES = 3, 200


def draws(setting):
    """For each draw the conditions that every size is its number; the same ones every time."""
    generator, found = random.Random(0), []
    sizes = [(next(iter(size.symbols)), size) for size in setting.sizes.values()]
    facts = [fact for fact in setting.facts if fact.symbols <= {symbol for symbol, _ in sizes}]
    for most in SMALL_SIZES if sizes else ():
        drawn = []
        for _ in range(_MOST_TRIES):
            values = {symbol: _number(generator, symbol.interval, most) for symbol, _ in sizes}
            if len(drawn) < _DRAWS and all(holds(fact, values) for fact in facts):
                drawn.append([equal(size, Poly.of(evaluated(size, values))) for _, size in sizes])
        found += drawn
    return found


def _number(generator, interval, most):
    low, high = interval
    low = max(low, min(high, -1))  # negative numbers are rarely meant, and one is enough
    return generator.randint(low, max(low, min(high, most)))
