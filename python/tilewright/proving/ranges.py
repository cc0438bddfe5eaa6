# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""When an address `row * n + column` lies in an array of m * n elements.

It does where the column is from 0 to n - 1 and the row from 0 to m - 1. A solver is slow to find that by itself for a
symbolic n, so it is asked about rows and columns, which need no products.
"""

from __future__ import annotations

import math

from .terms import ZERO, Poly, and_, at_most, less

__all__ = ["lies_within"]


def _over(monomial, base):
    """The monomial without the atoms of `base`; None where they are not all in it."""
    rest = list(monomial)
    for atom in base:
        if atom not in rest:
            return None
        rest.remove(atom)
    return tuple(rest)


def _divided(poly, base):
    """(what the terms with `base` have beside it, the other terms)"""
    digit, rest = {}, {}
    for monomial, factor in poly.terms.items():
        own = _over(monomial, base)
        if own is None:
            rest[monomial] = factor
        else:
            digit[own] = factor
    return Poly(digit), Poly(rest)


def _split(poly, size):
    """(base, digit, rest, how many digits) for poly = base * digit + rest and size = base * how many."""
    if len(size.terms) != 1:
        return
    ((monomial, factor),) = size.terms.items()
    for i, atom in enumerate(monomial):
        if atom in monomial[:i]:
            continue
        digit, rest = _divided(poly, (atom,))
        if not digit.terms:
            continue
        others = _over(monomial, (atom,))
        for step in dict.fromkeys((math.gcd(factor, *digit.terms.values()), 1)):
            yield Poly({(atom,): step}), digit.divided(step), rest, Poly({others: factor // step})


def lies_within(poly, size, holds):
    """Whether 0 <= poly < size is shown digit by digit; `holds(condition)` says whether a condition is known to hold."""
    for base, digit, rest, count in _split(poly, size):
        if holds(and_(at_most(ZERO, rest), less(rest, base))) and lies_within(digit, count, holds):
            return True
    return holds(and_(at_most(ZERO, poly), less(poly, size)))
