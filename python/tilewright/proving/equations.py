# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Consequences of the equality of two addresses.

Two programs that share an element have equal addresses. From that the rows and columns are equal (digits.py),
from those the numbers of the tiles, and from those, in the end, that the two programs are one: a contradiction, which
proves that there is no race. A solver that gets all of it at once seldom finds this chain, because it goes through products
and divisions of symbols. So each link is taken by itself, and rewrites the conditions for the next one:

1. An equality is taken apart into digits.
2. An equality that gives one atom as an expression of others eliminates it from everything.
3. a // b == c // b and a % b == c % b give a == c.

Each step adds only what the conditions imply, so a contradiction among the results is one among the conditions. It also
forgets things (what an eliminated quotient was a quotient of), so no contradiction means nothing.
"""

from __future__ import annotations

import math

from .digits import digits_of_zero
from .rebuild import Rebuilder
from .terms import FALSE, TRUE, ZERO, Poly, and_, at_most, equal, not_

__all__ = ["consequences"]

#: Each step removes an atom or a pair of divisions; this bounds those that a wrong chain could make up.
_MOST_STEPS = 200
_QUOTIENT_OF = {"modulo": "floor", "remainder": "quotient"}


def consequences(atoms, conditions, shared, holds):
    """Conditions that hold wherever all of `conditions` do, simpler where those contain equalities.

    shared: the symbols that are the same in both programs
    holds(known, condition): whether a condition is known to hold where `known` do; may be False for want of time
    """
    chain = _Chain(atoms, shared, holds)
    chain.add(and_(*conditions))
    for _ in range(_MOST_STEPS):
        if not chain.step():
            break
    return chain.results()


def _conjuncts(formula):
    return formula.args if formula.kind == "and" else (formula,)


class _Chain:
    def __init__(self, atoms, shared, holds):
        self.atoms, self.shared, self.holds = atoms, shared, holds
        self.others, self.equations, self.settled, self.divisions = [], [], [], []

    def add(self, formula):
        for part in _conjuncts(formula):
            if part.kind == "eq":
                self.equations.append(part.args[0])
            elif part != TRUE and part not in self.others:
                self.others.append(part)

    def results(self):
        return [*self.others, *(equal(poly, ZERO) for poly in (*self.settled, *self.equations))]

    def step(self):
        """Takes one equation; whether there was one and no contradiction yet."""
        if FALSE in self.others or not self.equations:
            return False
        poly = self.equations.pop(0)
        zeros = digits_of_zero(poly, self.shared, lambda condition: self.holds(self.others, condition))
        if len(zeros) > 1:
            self.equations[:0] = zeros
            return True
        solution = _solved(poly)
        if solution is None:
            self.settled.append(poly)
        else:
            self._eliminate(*solution)
        return True

    def _eliminate(self, atom, value):
        self._note_division(atom, value)
        build = Rebuilder(self.atoms, exact=False)
        build.known[atom] = value
        others, equations = self.others, [*self.equations, *self.settled]
        self.others, self.equations, self.settled = [], [], []
        for condition in (*others, *(equal(poly, ZERO) for poly in equations)):
            self.add(build.formula(condition))
        # A symbol's own bounds are bounds of what it is, unless the expression has them anyhow.
        low, high = atom.interval
        if atom.kind == "symbol" and -math.inf < low and high < math.inf:
            self.add(and_(at_most(Poly.of(low), value), at_most(value, Poly.of(high))))
        self.divisions = [(kind, *map(build.poly, parts)) for kind, *parts in self.divisions]
        self._join_divisions()

    def _note_division(self, atom, value):
        """Keeps that two quotients, or two remainders, are equal: (kind, a, b, c, d) for a // b == c // d."""
        other = _single_atom(value)
        if other is not None and other.kind == atom.kind and atom.kind in ("floor", "modulo", "quotient", "remainder"):
            self.divisions.append((atom.kind, *atom.args, *other.args))

    def _join_divisions(self):
        known = set(self.divisions)
        for division in self.divisions:
            kind, a, b, c, d = division
            if kind not in _QUOTIENT_OF or b != d or a == c:
                continue
            forms = {(_QUOTIENT_OF[kind], a, b, c, d)}
            if kind == "modulo":
                forms.add(("floor", *_of_whole(a, b), *_of_whole(c, d)))
            # The result of a division by zero is not known. A "floor" and a "modulo" are only made for positive divisors.
            if forms & known and (kind == "modulo" or self.holds(self.others, not_(equal(b, ZERO)))):
                self.divisions.remove(division)
                self.add(equal(a, c))
                return


def _of_whole(a, b):
    """(x, n * b) where a is x // n: dividing that by b is dividing x by n * b. Otherwise (a, b)."""
    atom = _single_atom(a)
    return (atom.args[0], atom.args[1] * b) if atom is not None and atom.kind == "floor" else (a, b)


def _single_atom(poly):
    ((monomial, factor),) = poly.terms.items() if len(poly.terms) == 1 else (((), 0),)
    return monomial[0] if len(monomial) == 1 and factor == 1 else None


def _solved(poly):
    """(atom, what it is) from poly == 0; None where no atom stands alone. Prefers the atom that was made last.

    An atom is made after all that it is an operation on, so the last one does not occur inside of the others.
    """
    atoms = sorted({atom for monomial in poly.terms for atom in monomial}, reverse=True)
    for atom in atoms:
        factor = poly.terms.get((atom,))
        rest = Poly({monomial: number for monomial, number in poly.terms.items() if monomial != (atom,)})
        occurs = any(atom in monomial for monomial in rest.terms) or atom in rest.symbols
        if factor in (1, -1) and not occurs and (atom is atoms[0] or atom.kind == "symbol"):
            return atom, rest.times(-factor)
    return None
