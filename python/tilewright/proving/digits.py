# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""When two addresses `row * n + column` are equal.

With columns from 0 to n - 1 they are the digits of a number to base n: equal numbers have equal digits. For a
symbolic n a solver does not find that by itself, or late. So an equality is taken apart first: of a sum
s * d + r that is 0, with s > 0 the same in both programs, d and r are both 0 where r lies between -s and s.
"""

from __future__ import annotations

import math

from .terms import ONE, Poly, and_, at_most, less

__all__ = ["digits_of_zero"]


def _parts(poly, shared):
    """(s, d) for every product s of shared atoms and a number in the polynomial, where d is what it is multiplied by.

    After them, the same for numbers alone.
    """
    parts = {}
    for monomial, factor in poly.terms.items():
        common = tuple(atom for atom in monomial if atom.symbols <= shared)
        own = tuple(atom for atom in monomial if not atom.symbols <= shared)
        if common and own:
            parts.setdefault(common, {})[own] = factor
    steps = {common: math.gcd(*terms.values()) for common, terms in parts.items()}
    found = [(Poly({common: steps[common]}), Poly(terms).divided(steps[common])) for common, terms in parts.items()]
    for step in sorted({abs(factor) for factor in poly.terms.values()} - {1}, reverse=True):
        terms = {monomial: factor for monomial, factor in poly.terms.items() if factor % step == 0}
        if len(terms) < len(poly.terms):
            found.append((Poly.of(step), Poly(terms).divided(step)))
    return found


def digits_of_zero(poly, shared, holds):
    """Polynomials that are all 0 where `poly` is; `holds(condition)` says whether a condition is known to hold."""
    zeros, parts = [], _parts(poly, shared)
    while parts:
        for base, digit in parts:
            rest = poly - base * digit
            if holds(and_(at_most(ONE, base), less(-base, rest), less(rest, base))):
                zeros.append(digit)
                poly = rest
                break
        else:
            break
        parts = _parts(poly, shared)
    return [zero for zero in (*zeros, poly) if zero.terms]
