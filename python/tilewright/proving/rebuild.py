# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Expressions built again from what has been found out about them.

Two findings make the next questions easier: that no number leaves its bits (then what was cut to its bits is
the number itself, and sums cancel), and that a divisor is positive (then division is the simple one, and a
divisor with few values is split into cases).
"""

from __future__ import annotations

from .terms import ONE, ZERO, Formula, Poly, and_, at_most, equal, not_, or_

__all__ = ["Rebuilder", "divisors"]

_DIVISIONS = ("quotient", "remainder", "floor", "modulo")


class Rebuilder:
    """Builds expressions again.

    exact: no number leaves its bits
    positive: divisors that are known to be at least 1
    """

    def __init__(self, atoms, exact, positive=()):
        self.atoms, self.exact, self.positive = atoms, exact, frozenset(positive)
        self.known = {}

    def poly(self, poly):
        if poly not in self.known:
            total = ZERO
            for monomial, factor in poly.terms.items():
                product = Poly.of(factor)
                for atom in monomial:
                    product = product * self._atom(atom)
                total = total + product
            self.known[poly] = total
        return self.known[poly]

    def _atom(self, atom):
        if atom not in self.known:
            self.known[atom] = self._built(atom)
        return self.known[atom]

    def _built(self, atom):
        atoms, args = self.atoms, atom.args
        if atom.kind == "symbol":
            return Poly({(atom,): 1})
        if atom.kind == "wrap":
            value = self.poly(args[0])
            return value if self.exact else atoms.wrapped(value, args[1], args[2], atom.origin[1] if atom.origin else ())
        if atom.kind == "select":
            return atoms.select(self.formula(args[0]), self.poly(args[1]), self.poly(args[2]))
        a, b = self.poly(args[0]), self.poly(args[1])
        if atom.kind == "min":
            return atoms.minimum(a, b)
        if args[1] in self.positive:
            b = atoms.maximum(b, ONE)
        return {
            "quotient": atoms.quotient,
            "remainder": atoms.remainder,
            "floor": atoms.floor_quotient,
            "modulo": atoms.floor_remainder,
        }[atom.kind](a, b)

    def formula(self, formula):
        if formula not in self.known:
            self.known[formula] = self._formula(formula)
        return self.known[formula]

    def _formula(self, formula):
        kind, args = formula.kind, formula.args
        if kind in ("true", "false"):
            return formula
        if kind in ("le", "eq"):
            return (at_most if kind == "le" else equal)(self.poly(args[0]), ZERO)
        parts = [self.formula(part) for part in args]
        return not_(parts[0]) if kind == "not" else (and_ if kind == "and" else or_)(*parts)


def divisors(expressions):
    """What the expressions divide by and what is not known to be positive, in the order it is met."""
    found, seen = {}, set()

    def visit(expression):
        if expression in seen:
            return
        seen.add(expression)
        if isinstance(expression, Formula):
            for part in expression.args:
                visit(part)
        elif isinstance(expression, Poly):
            for monomial in expression.terms:
                for atom in monomial:
                    if atom in seen or atom.kind == "symbol":
                        continue
                    seen.add(atom)
                    for part in atom.args:
                        if isinstance(part, (Poly, Formula)):
                            visit(part)
                    if atom.kind in _DIVISIONS and atom.args[1].interval[0] <= 0 and not atom.args[1].constant:
                        found.setdefault(atom.args[1])

    for expression in expressions:
        visit(expression)
    return list(found)
