# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds tight bounds of quotients by sizes.

The row of a tile, `tile // tiles_in_a_row`, is small because there are only so many tiles, but the intervals of the two
numbers do not show this. Once it is known, the intervals alone show for most numbers that they fit their bits. The
questions whether they do need products of sizes, and are saved.
"""

from __future__ import annotations

from .encode import Question, now
from .rebuild import Rebuilder
from .terms import Poly, at_most

__all__ = ["Narrowing"]

#: What may be larger than 2 ** 22 is left as it is, and so is what is below 2 ** 8.
_MOST_BITS, _LEAST_BITS = 22, 8
#: So many bits of a bound are found.
_LEADING_BITS = 4


class Narrowing(Rebuilder):
    """Builds expressions again, from the inside out, and notes better intervals of their quotients.

    conditions_of(poly): what holds wherever the program comes to a number
    seconds: for one number
    twins: builds the same expressions for the program that has been narrowed before
    """

    def __init__(self, atoms, positive, conditions_of, seconds, twins=None):
        super().__init__(atoms, False, positive)
        self.conditions_of, self.seconds, self.twins = conditions_of, seconds, twins

    def _built(self, atom):
        poly = super()._built(atom)
        (monomial, factor), *others = poly.terms.items() or [((), 0)]
        if others or factor != 1 or len(monomial) != 1 or poly.interval[1] < 1 << _LEAST_BITS:
            return poly
        # Bounds of what is divided by a symbol; other bounds are as good as those of what they are made of.
        if monomial[0].kind in ("floor", "quotient") and monomial[0].args[1].constant is None:
            if self.twins:
                poly.narrow(high=self.twins.poly(poly).interval[1])
            else:
                self._narrow(poly)
        return Poly(poly.terms)

    def _narrow(self, poly):
        conditions, until = [self.formula(c) for c in self.conditions_of(poly)], now() + self.seconds

        def is_below(end):
            # What leaves its bits would be another number.
            question = Question(exact=True)
            leaves = question.can_leave_its_bits([*conditions, poly])
            beyond = question.condition(at_most(Poly.of(end), poly))
            wrong = beyond if leaves is None else question.z3.Or(beyond, leaves)
            return question.ask([*conditions, wrong], until)[0] == "no"

        if not is_below(1 << _MOST_BITS):
            return
        least, bits = _LEAST_BITS - 1, _MOST_BITS
        while bits - least > 1:
            middle = (least + bits) // 2
            least, bits = (least, middle) if is_below(1 << middle) else (middle, bits)
        end, step = 1 << bits, 1 << bits
        for _ in range(_LEADING_BITS):
            step >>= 1
            if is_below(end - step):
                end -= step
        poly.narrow(high=end - 1)
