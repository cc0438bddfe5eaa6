# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integers and conditions of a kernel as expressions.

An integer is a polynomial with whole coefficients over atoms. An atom is a symbol (an argument, a
program's number, a lane, the iteration of a loop, a value that is not known) or what an operation gives
that polynomials have not: a quotient, a minimum, a choice, a value cut to its bits. Every atom knows an
interval, and most questions about a concrete launch end there: a sum that cannot leave 32 bits is left
as it is, a minimum that is always the same side is that side.

Nothing here knows of a solver; encode.py states atoms and conditions for one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

INFINITY = float("inf")
EVERYTHING = (-INFINITY, INFINITY)


def _product(a, b):
    # An infinite bound times an exact zero is zero, not NaN.
    return 0 if a == 0 or b == 0 else a * b


def _multiply(first, second):
    ends = [_product(a, b) for a in first for b in second]
    return min(ends), max(ends)


def bits_interval(bits, signed=True):
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)


class Atom:
    """A symbol or the result of an operation; made by Atoms only, which keeps equal ones identical.

    symbols: the symbols it depends on, itself where it is one
    origin: of a symbol that stands for an unknown value, why it is unknown and the frames of the operation
    """

    __slots__ = ("number", "kind", "args", "interval", "symbols", "origin")

    def __init__(self, number, kind, args, interval, symbols, origin=None):
        self.number, self.kind, self.args = number, kind, args
        self.interval, self.origin = interval, origin
        self.symbols = symbols if symbols is not None else frozenset((self,))

    def narrow(self, interval):
        self.interval = max(self.interval[0], interval[0]), min(self.interval[1], interval[1])

    def __lt__(self, other):
        return self.number < other.number

    def __repr__(self):
        return self.args[0] if self.kind == "symbol" else f"{self.kind}{self.number}{self.args}"


class Poly:
    """A sum of products of atoms; immutable."""

    __slots__ = ("terms", "key", "_interval", "_symbols")

    def __init__(self, terms):
        self.terms = {monomial: factor for monomial, factor in terms.items() if factor}
        self.key = tuple(sorted((tuple(a.number for a in m), c) for m, c in self.terms.items()))
        self._interval = self._symbols = None

    @staticmethod
    def of(number):
        return Poly({(): int(number)})

    def __hash__(self):
        return hash(self.key)

    def __eq__(self, other):
        return isinstance(other, Poly) and self.key == other.key

    def __add__(self, other):
        terms = dict(self.terms)
        for monomial, factor in other.terms.items():
            terms[monomial] = terms.get(monomial, 0) + factor
        return Poly(terms)

    def __neg__(self):
        return self.times(-1)

    def __sub__(self, other):
        return self + -other

    def __mul__(self, other):
        terms = {}
        for m1, c1 in self.terms.items():
            for m2, c2 in other.terms.items():
                monomial = tuple(sorted(m1 + m2))
                terms[monomial] = terms.get(monomial, 0) + c1 * c2
        return Poly(terms)

    def times(self, number):
        return Poly({m: c * number for m, c in self.terms.items()})

    def plus(self, number):
        return self + Poly.of(number)

    @property
    def constant(self):
        """The number it is, or None."""
        if not self.terms:
            return 0
        return self.terms.get(()) if len(self.terms) == 1 else None

    def divided(self, number):
        """The exact quotient where every coefficient is divisible, else None."""
        if number and all(c % number == 0 for c in self.terms.values()):
            return Poly({m: c // number for m, c in self.terms.items()})
        return None

    @property
    def interval(self):
        if self._interval is None:
            low = high = 0
            for monomial, factor in self.terms.items():
                part = (factor, factor)
                for atom in monomial:
                    part = _multiply(part, atom.interval)
                low, high = low + part[0], high + part[1]
            self._interval = (low, high)
        return self._interval

    def narrow(self, low=-INFINITY, high=INFINITY):
        """Notes that it lies between two numbers in every launch, where it is one atom; whether it is.

        Polynomials that are built from now on have the narrower interval, and those that are there a wider one, which
        is right as well.
        """
        (monomial, factor), *others = self.terms.items()
        if others or len(monomial) != 1 or factor != 1:
            return False
        monomial[0].narrow((low, high))
        return True

    @property
    def symbols(self):
        if self._symbols is None:
            self._symbols = frozenset().union(*(a.symbols for m in self.terms for a in m))
        return self._symbols

    def __repr__(self):
        return " + ".join("*".join([str(c), *map(repr, m)]) for m, c in self.terms.items()) or "0"


ZERO, ONE = Poly.of(0), Poly.of(1)


@dataclass(frozen=True)
class Formula:
    """A condition: kind is true, false, le (args[0] <= 0), eq (args[0] == 0), and, or, not, unknown (a symbol)."""

    kind: str
    args: tuple = ()

    @property
    def symbols(self):
        if self.kind in ("le", "eq"):
            return self.args[0].symbols
        if self.kind == "unknown":
            return self.args[0].symbols
        return frozenset().union(*(part.symbols for part in self.args))


TRUE, FALSE = Formula("true"), Formula("false")


def not_(a):
    if a.kind == "true":
        return FALSE
    if a.kind == "false":
        return TRUE
    if a.kind == "not":
        return a.args[0]
    if a.kind == "le":  # not x <= 0 is 1 - x <= 0
        return at_most(ONE - a.args[0], ZERO)
    return Formula("not", (a,))


def _joined(kind, parts, neutral, absorbing):
    flat = []
    for part in parts:
        if part == absorbing:
            return absorbing
        for item in part.args if part.kind == kind else (part,):
            if item != neutral and item not in flat:
                flat.append(item)
    if not flat:
        return neutral
    return flat[0] if len(flat) == 1 else Formula(kind, tuple(flat))


def and_(*parts):
    return _joined("and", parts, TRUE, FALSE)


def or_(*parts):
    return _joined("or", parts, FALSE, TRUE)


def _common_factor(poly):
    return math.gcd(*(factor for monomial, factor in poly.terms.items() if monomial))


def at_most(a, b):
    """a <= b"""
    difference = a - b
    low, high = difference.interval
    if high <= 0:
        return TRUE
    if low > 0:
        return FALSE
    factor = _common_factor(difference)
    if factor > 1:  # 4 x + 3 <= 0 is x + 1 <= 0 for whole numbers
        difference = Poly({m: c // factor if m else -(-c // factor) for m, c in difference.terms.items()})
    return Formula("le", (difference,))


def less(a, b):
    return at_most(a.plus(1), b)


def equal(a, b):
    difference = a - b
    low, high = difference.interval
    if low == high == 0:
        return TRUE
    if low > 0 or high < 0:
        return FALSE
    factor = _common_factor(difference)
    if factor > 1:
        difference = difference.divided(factor)
    return FALSE if difference is None else Formula("eq", (difference,))


def within(a, interval):
    """Whether a lies in an interval of numbers."""
    return and_(at_most(Poly.of(interval[0]), a), at_most(a, Poly.of(interval[1])))


class Atoms:
    """Makes atoms, each one once, and the polynomials of operations."""

    def __init__(self):
        self.known = {}

    def _atom(self, kind, args, interval, symbols, origin=None):
        atom = self.known.get((kind, args))
        if atom is None:
            atom = self.known[(kind, args)] = Atom(len(self.known), kind, args, interval, symbols, origin)
        # More may be known of what it is made of than when it was made first.
        atom.narrow(interval)
        return Poly({(atom,): 1})

    def symbol(self, name, interval=EVERYTHING, key=(), depends=frozenset(), origin=None):
        """A symbol. `depends`: symbols that it is a function of, so that it changes where they do."""
        poly = self._atom("symbol", (name, key), interval, None, origin)
        atom = next(iter(poly.terms))[0]
        if depends and len(atom.symbols) == 1:
            atom.symbols = atom.symbols | depends
        return poly

    def unknown_condition(self, poly):
        """An unknown condition, as a symbol that is 0 or 1."""
        return Formula("eq", (poly.plus(-1),))

    def _operation(self, kind, args, interval):
        symbols = frozenset().union(*(a.symbols for a in args if isinstance(a, (Poly, Formula))))
        return self._atom(kind, args, interval, symbols)

    def minimum(self, a, b):
        low, high = (a - b).interval
        if high <= 0:
            return a
        if low >= 0:
            return b
        a, b = sorted((a, b), key=lambda p: p.key)
        interval = min(a.interval[0], b.interval[0]), min(a.interval[1], b.interval[1])
        return self._operation("min", (a, b), interval)

    def maximum(self, a, b):
        return -self.minimum(-a, -b)

    def select(self, condition, a, b):
        if condition.kind == "true" or a == b:
            return a
        if condition.kind == "false":
            return b
        interval = min(a.interval[0], b.interval[0]), max(a.interval[1], b.interval[1])
        return self._operation("select", (condition, a, b), interval)

    def quotient(self, a, b):
        """a / b towards zero, as the hardware divides."""
        if a.constant is not None and b.constant:
            size = abs(a.constant) // abs(b.constant)
            return Poly.of(size if (a.constant < 0) == (b.constant < 0) else -size)
        if b.constant:
            exact = a.divided(b.constant)
            if exact is not None:
                return exact
        if a.interval[0] >= 0 and b.interval[0] > 0:
            return self.floor_quotient(a, b)
        if b.interval[0] > 0:
            size = max(abs(a.interval[0]), abs(a.interval[1]))
            return self._operation("quotient", (a, b), (-size, size))
        size = max(map(abs, a.interval))
        return self._operation("quotient", (a, b), (-size, size))

    def floor_quotient(self, a, b):
        """The largest whole number that is at most a / b, for b > 0."""
        if b.constant:
            # What is divisible comes out whole: (64 * n + 63) // 64 is n.
            whole = Poly({m: c - c % b.constant for m, c in a.terms.items()})
            if whole.terms:
                return whole.divided(b.constant) + self.floor_quotient(a - whole, b)
        low, high = a.interval
        least, most = max(1, b.interval[0]), b.interval[1]
        ends = [self._floor(x, y) for x in (low, high) for y in (least, most)]
        interval = min(ends), max(ends)
        if interval[0] == interval[1] and interval[0] not in EVERYTHING:
            return Poly.of(interval[0])
        return self._operation("floor", (a, b), interval)

    @staticmethod
    def _floor(x, y):
        if x in EVERYTHING:
            return x
        if y == INFINITY:
            return 0 if x >= 0 else -1
        return x // y

    def remainder(self, a, b):
        """What the quotient towards zero leaves."""
        if a.interval[0] >= 0 and b.interval[0] > 0:
            return self.floor_remainder(a, b)
        if b.constant and a.divided(b.constant) is not None:
            return ZERO
        size = max(map(abs, b.interval)) - 1
        low = 0 if a.interval[0] >= 0 else -size
        high = 0 if a.interval[1] <= 0 else size
        return self._operation("remainder", (a, b), (low, high))

    def floor_remainder(self, a, b):
        """a modulo b, for b > 0; from 0 to b - 1."""
        low, high = a.interval
        if low >= 0 and high < b.interval[0]:
            return a
        if b.constant:
            # What is divisible falls out.
            a = Poly({m: c % b.constant if m else c for m, c in a.terms.items()})
            if a.constant is not None:
                return Poly.of(a.constant % b.constant)
        return self._operation("modulo", (a, b), (0, min(b.interval[1] - 1, high if low >= 0 else INFINITY)))

    def wrapped(self, a, bits, signed=True, frames=()):
        """The lowest bits of a, read as a signed number."""
        interval = bits_interval(bits, signed)
        low, high = a.interval
        if interval[0] <= low and high <= interval[1]:
            return a
        if a.constant is not None:
            value = a.constant & ((1 << bits) - 1)
            return Poly.of(value - (1 << bits) if signed and value >> (bits - 1) else value)
        poly = self._operation("wrap", (a, bits, signed), interval)
        atom = next(iter(poly.terms))[0]
        if atom.origin is None:
            atom.origin = ("wrap", frames)
        return poly
