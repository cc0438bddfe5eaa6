# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""States polynomials and conditions for z3, and asks it.

Every atom becomes an integer variable. Conditions on the variable say what the atom is; they are added once to each
question in which it occurs. Division by a number is linear that way, and division by something that has few values is a
choice among those.
"""

from __future__ import annotations

import contextlib
import threading
import time

from .. import errors
from .terms import EVERYTHING, INFINITY, Formula, Poly

__all__ = ["Question", "now", "solver_library"]

#: A divisor with at most so many values is split into its cases.
_MOST_CASES = 64
#: From here on a bound is the limit of a type, which proofs about sizes seldom need.
_LARGE = 500


def solver_library():
    """The module z3; raises E0427 where it is not installed."""
    try:
        import z3
    except ImportError:
        raise errors.make("E0427") from None
    return z3


def now():
    """Seconds that this thread has computed. Deadlines are such times, so that answers do not depend on what else runs."""
    return time.thread_time()


@contextlib.contextmanager
def _interrupted(solver, deadline):
    """Interrupts what the solver does in the block once this thread has computed until the deadline."""
    clock, ended = time.pthread_getcpuclockid(threading.get_ident()), threading.Event()

    def watch():
        # Again and again: an interrupt between two phases of the solver is lost.
        while not ended.wait(max(0.01, deadline - time.clock_gettime(clock))):
            if time.clock_gettime(clock) >= deadline:
                solver.interrupt()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def _towards_minus_infinity(z3, value, n, quotient, rest):
    # Where the divisor is not positive nothing is said, rather than something that cannot be.
    states = z3.And(value == n * quotient + rest, 0 <= rest, rest < n)
    return states if z3.is_int_value(n) and n.as_long() > 0 else z3.Implies(n > 0, states)


def _towards_zero(z3, value, n, quotient, rest):
    size = z3.If(n < 0, -n, n)
    signs = z3.If(value >= 0, z3.And(0 <= rest, rest < size), z3.And(-size < rest, rest <= 0))
    # Nothing is known of a division by zero.
    return z3.Implies(n != 0, z3.And(value == n * quotient + rest, signs))


class Question:
    """Whether some conditions can hold together.

    exact: take every value as if it never left its bits; what could is in `wraps`, (what is cut, its bits)
    """

    def __init__(self, exact):
        self.z3, self.exact = solver_library(), exact
        # A context for each question: how z3 searches depends on what its context has been asked before.
        self.context = self.z3.Context()
        self.variables, self.definitions, self.limits, self.wraps = {}, [], [], {}
        self.divisions, self.quotients, self.products = {}, [], {}

    # -- stating ------------------------------------------------------------

    def integer(self, poly):
        parts = []
        for monomial, factor in poly.terms.items():
            value = self._number(factor)
            for i, atom in enumerate(monomial):
                variable = self._variable(atom)
                value = variable if i == 0 and factor == 1 else value * variable
            if len(monomial) > 1:
                self.products[monomial] = None
            parts.append(value)
        return self.z3.Sum(parts) if len(parts) > 1 else parts[0] if parts else self._number(0)

    def _number(self, value):
        return self.z3.IntVal(value, self.context)

    def _new_integer(self, name):
        return self.z3.FreshInt(name, self.context)

    def condition(self, formula):
        z3 = self.z3
        kind, args = formula.kind, formula.args
        if kind in ("true", "false"):
            return z3.BoolVal(kind == "true", self.context)
        if kind == "le":
            return self.integer(args[0]) <= 0
        if kind == "eq":
            return self.integer(args[0]) == 0
        parts = [self.condition(part) for part in args]
        if kind == "not":
            return z3.Not(parts[0])
        return (z3.And if kind == "and" else z3.Or)(*parts, self.context)

    def _variable(self, atom):
        if atom in self.variables:
            return self.variables[atom]
        variable = self.variables[atom] = self.z3.Int(f"{atom.kind}{atom.number}", self.context)
        # Bounds on what is taken to be exact would hide that it is not.
        if atom.kind != "wrap" or not self.exact:
            self._bound(variable, atom.interval)
        if atom.kind != "symbol":
            getattr(self, "_define_" + atom.kind)(variable, *atom.args)
            if atom.kind == "wrap":
                self.wraps[atom] = atom.args
        return variable

    def _bound(self, variable, interval):
        low, high = interval
        for end, condition in (
            (low, variable >= low if low not in EVERYTHING else None),
            (high, variable <= high if high not in EVERYTHING else None),
        ):
            if condition is not None:
                (self.limits if abs(end) >= _LARGE else self.definitions).append(condition)

    def _define_min(self, variable, a, b):
        a, b = self.integer(a), self.integer(b)
        self.definitions.append(variable == self.z3.If(a <= b, a, b))

    def _define_select(self, variable, condition, a, b):
        self.definitions.append(variable == self.z3.If(self.condition(condition), self.integer(a), self.integer(b)))

    def _define_wrap(self, variable, value, bits, signed):
        if self.exact:
            self.definitions.append(variable == self.integer(value))
            return
        turns = self._new_integer("turns")
        self.definitions.append(self.integer(value) == variable + turns * (1 << bits))

    def _cases(self, divisor, state):
        """What `state` says for the divisor, which is a number in as many cases as it has values."""
        low, high = divisor.interval
        if divisor.constant is not None:
            return state(self._number(divisor.constant))
        value = self.integer(divisor)
        if -INFINITY < low and high < INFINITY and high - low < _MOST_CASES:
            z3 = self.z3
            return z3.And([z3.Implies(value == n, state(self._number(n))) for n in range(low, high + 1)])
        return state(value)

    def _divided(self, a, b, relate):
        """Variables for quotient and remainder of two polynomials; the same ones for both operations on them."""
        key = relate, a, b
        if key not in self.divisions:
            quotient, rest = self._new_integer("quotient"), self._new_integer("rest")
            self.divisions[key] = quotient, rest
            if len(b.terms) == 1 and b.constant is None:
                self.quotients.append((b, quotient))
            value = self.integer(a)
            self.definitions.append(self._cases(b, lambda n: relate(self.z3, value, n, quotient, rest)))
        return self.divisions[key]

    def _define_floor(self, variable, a, b):
        self.definitions.append(variable == self._divided(a, b, _towards_minus_infinity)[0])

    def _define_modulo(self, variable, a, b):
        self.definitions.append(variable == self._divided(a, b, _towards_minus_infinity)[1])

    def _define_quotient(self, variable, a, b):
        self.definitions.append(variable == self._divided(a, b, _towards_zero)[0])

    def _define_remainder(self, variable, a, b):
        self.definitions.append(variable == self._divided(a, b, _towards_zero)[1])

    # -- asking -------------------------------------------------------------

    def _about_products(self):
        """What follows for products that the solver seldom compares by itself.

        For a quotient q of a division by c * n, where a product m * n is spoken of: c * q * n lies at least n below it, or
        not below it.
        """
        found = []
        for divisor, quotient in self.quotients:
            ((atoms, number),) = divisor.terms.items()
            if number > 0:
                found += [self._compared(number * quotient, Poly({atoms: 1}), rest) for rest in self._cofactors(atoms)]
        return found

    def _cofactors(self, atoms):
        """What `atoms` are multiplied by in the products that are spoken of."""
        for product in list(self.products):
            rest = list(product)
            if all(atom in rest and not rest.remove(atom) for atom in atoms) and rest:
                yield Poly({tuple(rest): 1})

    def _compared(self, quotient, n, m):
        z3, size = self.z3, self.integer(n)
        product = self.integer(m * n)
        below = z3.If(quotient < self.integer(m), quotient * size <= product - size, quotient * size >= product)
        return z3.Implies(size > 0, below)

    def can_leave_its_bits(self, formulas):
        """That a value which one of the formulas needs does not fit its bits, as a condition of z3."""
        before = set(self.wraps)
        for formula in formulas:
            self.condition(formula) if isinstance(formula, Formula) else self.integer(formula)
        new = [wrap for wrap in self.wraps if wrap not in before]
        return self.outside_their_bits(new)

    def outside_their_bits(self, wraps):
        z3, parts = self.z3, []
        for atom in wraps:
            value, (low, high) = self.integer(atom.args[0]), atom.interval
            parts.append(z3.Or(value < low, value > high))
        return z3.Or(parts) if parts else None

    def ask(self, conditions, deadline, with_limits=True, about_products=True):
        """Without limits, only the answer "no" is one: products are easier to reason about where nothing is large.

        about_products: whether there are products of symbols, so that something has to be said about them

        (answer, value): "no", "yes" with a function that gives the value of a polynomial, or "unknown"."""
        stated = [self.condition(c) if isinstance(c, Formula) else c for c in conditions]
        stated += [*self.definitions, *(self.limits if with_limits else ())]
        more = self._about_products() if about_products else ()
        if more:
            # What helps with one question is a burden to another.
            answer = self._check(stated, (now() + deadline) / 2)
            if answer[0] != "unknown":
                return answer
        return self._check([*more, *stated], deadline)

    def _check(self, stated, deadline):
        if now() >= deadline:
            return "unknown", None
        solver = self.z3.Solver(ctx=self.context)
        solver.add(*stated)
        with _interrupted(solver, deadline):
            answer = solver.check()
        if answer == self.z3.unsat:
            return "no", None
        if answer != self.z3.sat:
            return "unknown", None
        model = solver.model()
        return "yes", lambda poly: model.eval(self.integer(poly), model_completion=True).as_long()
