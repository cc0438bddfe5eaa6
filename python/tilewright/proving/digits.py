# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""When two addresses `row * n + column` are equal.

With columns from 0 to n - 1 they are the digits of a number to base n: equal numbers have equal digits. For a
symbolic n a solver does not find that by itself, or late. So an equality is taken apart first: of a sum
s * d + r that is 0, with s > 0 the same in both programs, d and r are both 0 where r lies between -s and s.
"""

from __future__ import annotations

import math

from .terms import ONE, ZERO, Formula, Poly, and_, at_most, equal, less

__all__ = ["equalities", "into_digits", "replaced"]


def equalities(formula):
    """The polynomials that a formula says are 0."""
    if formula.kind == "eq":
        return [formula.args[0]]
    if formula.kind in ("and", "or"):
        return list(dict.fromkeys(poly for part in formula.args for poly in equalities(part)))
    return []


def replaced(formula, by):
    """The formula with other conditions in place of equalities; `by` maps polynomials to them."""
    if formula.kind == "eq":
        return by.get(formula.args[0], formula)
    if formula.kind in ("and", "or"):
        parts = [replaced(part, by) for part in formula.args]
        return and_(*parts) if formula.kind == "and" else Formula("or", tuple(parts))
    return formula


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


def into_digits(poly, shared, holds):
    """That a polynomial is 0, digit by digit; `holds(condition)` says whether a condition is known to hold."""
    zeros, parts = [], _parts(poly, shared)
    while parts:
        for base, digit in parts:
            rest = poly - base * digit
            if holds(and_(at_most(ONE, base), less(-base, rest), less(rest, base))):
                zeros.append(equal(digit, ZERO))
                poly = rest
                break
        else:
            break
        parts = _parts(poly, shared)
    return and_(*zeros, equal(poly, ZERO))
