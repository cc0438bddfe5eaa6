# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The questions about each access, and their answers.

Each question states what would be a mistake (a lane outside of its array, one element for two programs)
and asks the solver for an example. No example means proved. A question before these is whether any number
that the access needs leaves its bits. If not, all of them are mathematical integers, which is much easier
to decide. If so, the questions are asked again with numbers that wrap as on the hardware.
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass, field

from .accesses import accesses_of, runs
from .draws import SMALL_SIZES, draws
from .encode import Question, now
from .equations import consequences
from .narrowing import Narrowing
from .ranges import lies_within
from .rebuild import Rebuilder, divisors
from .terms import FALSE, TRUE, Poly, and_, at_most, equal, less, not_, or_

__all__ = ["Finding", "Outcome", "Prover", "expressions"]

PROVED, REFUTED, OUTSIDE, UNDECIDED = "proved", "refuted", "outside", "undecided"


@dataclass
class Outcome:
    """The answer to one question about one access.

    reason: why it is outside of what can be proved
    witness: for a mistake, the example: a dict of plain numbers and names
    """

    verdict: str
    reason: str = ""
    witness: dict | None = None
    seconds: float = 0.0


@dataclass
class Finding:
    """All answers about one access."""

    access: object
    bounds: Outcome = None
    races: Outcome = None
    wraps: Outcome = None
    mask: str = "none"  # none, needed, superfluous, or undecided
    seconds: float = 0.0
    exact: bool = field(default=True, repr=False)


class Prover:
    """Asks everything about the accesses of one kernel in one setting."""

    def __init__(self, setting, timeout):
        self.setting, self.timeout = setting, timeout
        ops, values = setting.function()
        self.evaluators = [setting.evaluator(ops, values, name) for name in ("first", "second")]
        self.first, self.second = (accesses_of(evaluator, ops) for evaluator in self.evaluators)
        self.positive, self.exactly = [], None
        self._find_positive_divisors()
        self.is_narrowed, self.draws = not setting.sizes, draws(setting)
        self.exactly = Rebuilder(setting.atoms, True, self.positive)
        self.wrapping = Rebuilder(setting.atoms, False, self.positive)

    def findings(self):
        found = []
        for access in self.first:
            start = now()
            finding = Finding(access)
            if access.outside:
                reason = _said(access.outside)
                finding.bounds = finding.races = Outcome(OUTSIDE, reason)
                finding.wraps = Outcome(OUTSIDE, reason)
                finding.mask = "undecided"
            else:
                finding.wraps = self._wraps(access)
                finding.exact = finding.wraps.verdict == PROVED
                finding.bounds = self._bounds(finding)
                finding.mask = self._mask(finding)
            finding.seconds = now() - start
            found.append(finding)
        self._all_races(found)
        return found

    def _find_positive_divisors(self):
        """Divisors that are positive in every program, in the order of the program: one may need another."""
        pairs = zip(*(divisors(expressions(accesses)) for accesses in (self.first, self.second)))
        deadline = now() + self.timeout
        for here, there in pairs:
            known = Rebuilder(self.setting.atoms, True, self.positive)
            question = Question(exact=True)
            # Only what no number can leave its bits in: a sum that wraps may well be negative.
            wrong = and_(*self._known_positive(known), at_most(known.poly(here), Poly.of(0)))
            leaves = question.can_leave_its_bits([here])
            parts = [question.condition(wrong), *([leaves] if leaves is not None else [])]
            asked = [*self._launch(1), question.z3.Or(parts)]
            if question.ask(asked, min(deadline, now() + 2), with_limits=leaves is not None)[0] == "no":
                for divisor in (here, there):
                    if not divisor.narrow(1) and divisor not in self.positive:
                        self.positive.append(divisor)

    def _narrow_quotients(self):
        """Builds the accesses again from numbers whose intervals are better known."""
        self.is_narrowed, twins = True, None
        for evaluator, accesses in zip(self.evaluators, (self.first, self.second)):

            def conditions_of(poly, evaluator=evaluator):
                return [*self.setting.facts, *evaluator.in_grid(), *evaluator.loop_conditions(poly.symbols)]

            build = Narrowing(self.setting.atoms, self.positive, conditions_of, self.timeout / 5, twins)
            for access in accesses:
                access.before = [build.formula(condition) for condition in access.before]
                access.mask = build.formula(access.mask)
                access.choices = [(build.formula(c), name, build.poly(offset)) for c, name, offset in access.choices]
            twins = self._twins()

    def _twins(self):
        """Builds expressions of the second program for the first one."""
        first, second = self.evaluators
        pairs = [*zip(first.program, second.program)]
        pairs += [(counter, second.counters[op]) for op, counter in first.counters.items() if op in second.counters]
        pairs += [pair for here, there in zip(self.first, self.second) for pair in zip(here.index, there.index)]
        build = Rebuilder(self.setting.atoms, False)
        for here, there in pairs:
            build.known.update((atom, here) for atom in there.symbols)
        return build

    def _known_positive(self, rebuilder):
        """That the positive divisors are positive, as conditions."""
        found = [at_most(Poly.of(1), rebuilder.poly(divisor)) for divisor in self.positive]
        return [condition for condition in found if condition != TRUE]

    # -- what holds ---------------------------------------------------------

    def _rebuilder(self, *findings):
        return self.exactly if all(finding.exact for finding in findings) else self.wrapping

    def _launch(self, which, rebuilder=None):
        """What is known of every launch, and of the programs in question."""
        conditions = list(self.setting.facts)
        if rebuilder is not None and rebuilder is self.exactly:
            conditions += self._known_positive(rebuilder)
        for evaluator in self.evaluators[:which]:
            conditions += evaluator.in_grid()
        return [c for c in conditions if c != TRUE]

    def _ask(self, question, conditions):
        """As Question.ask; with sizes to choose, tries to find small ones."""
        deadline = now() + self.timeout
        sizes = list(self.setting.sizes.values())
        if not sizes:
            return question.ask(conditions, deadline)
        answer = question.ask(conditions, now() + self.timeout / 4, with_limits=False)
        if answer[0] == "no":
            return answer
        # With numbers for all sizes there are no products left, and an answer comes at once.
        for drawn in self.draws:
            until = min(deadline, now() + self.timeout / 20)
            answer = question.ask([*conditions, *drawn], until, about_products=False)
            if answer[0] == "yes":
                return answer
        answer = question.ask(conditions, deadline)
        if answer[0] != "yes":
            return answer
        for most in SMALL_SIZES:
            small = [at_most(size, Poly.of(most)) for size in sizes]
            smaller = question.ask([*conditions, *small], min(deadline, now() + self.timeout / 8))
            if smaller[0] == "yes":
                return smaller
        return answer

    def _outcome(self, access, answer, value, start, describe):
        seconds = now() - start
        if answer == "no":
            return Outcome(PROVED, seconds=seconds)
        unknowns = access.unknowns()
        if answer == "unknown":
            if unknowns:
                return Outcome(OUTSIDE, _said(unknowns[0]), seconds=seconds)
            return Outcome(UNDECIDED, f"no answer in {self.timeout:g} s", seconds=seconds)
        witness = describe(value)
        if unknowns:
            return Outcome(OUTSIDE, _said(unknowns[0]), witness, seconds)
        return Outcome(REFUTED, witness=witness, seconds=seconds)

    # -- the questions ------------------------------------------------------

    def _wraps(self, access):
        """Whether a number that decides where and whether the access goes leaves its bits."""
        start = now()
        question = Question(exact=True)
        parts, guard = [], []
        # In the order of the program: the first number that wraps is computed from numbers that have not.
        for condition in access.before:
            leaves = question.can_leave_its_bits([condition])
            if leaves is not None:
                parts.append(question.z3.And([*guard, leaves]))
            guard.append(question.condition(condition))
        rest = [access.mask, *(item for choice, _, offset in access.choices for item in (choice, offset))]
        leaves = question.can_leave_its_bits(rest)
        if leaves is not None:
            parts.append(question.z3.And([*guard, leaves]))
        if not parts:
            return Outcome(PROVED)
        conditions = [*self._launch(1), question.z3.Or(parts)]
        if not self.is_narrowed:
            if question.ask(conditions, now() + self.timeout / 10, with_limits=False)[0] == "no":
                return Outcome(PROVED, seconds=now() - start)
            self._narrow_quotients()
            return self._wraps(access)
        answer, value = self._ask(question, conditions)

        def describe(value):
            for atom in question.wraps:
                number, (low, high) = value(atom.args[0]), atom.interval
                if not low <= number <= high:
                    return {
                        **self._where(value, access),
                        "number": number,
                        "bits": atom.args[1],
                        "line": atom.origin[1][0][2] if atom.origin and atom.origin[1] else 0,
                    }
            return self._where(value, access)

        return self._outcome(access, answer, value, start, describe)

    def _bounds(self, finding):
        access, start = finding.access, now()
        outside, offset_of = [], {}
        for choice, name, offset in access.choices:
            array = self.setting.arrays[name]
            beyond = or_(less(offset, array.low), less(array.high, offset.plus(access.element_bytes)))
            outside.append(and_(runs(access, choice), beyond))
            offset_of[name] = offset
        question, build = Question(finding.exact), self._rebuilder(finding)
        wrong = build.formula(or_(*outside))
        if self.setting.sizes and wrong.kind != "false" and self._in_bounds_by_digits(access, build):
            return Outcome(PROVED, seconds=now() - start)
        answer, value = self._ask(question, [*self._launch(1, build), wrong]) if wrong.kind != "false" else ("no", None)

        def describe(value):
            name = access.arrays[0]
            array = self.setting.arrays[name]
            return {
                **self._where(value, access),
                "array": name,
                "element": value(offset_of[name]) // array.element_bytes,
                "size": (value(array.high) - value(array.low)) // array.element_bytes,
            }

        return self._outcome(access, answer, value, start, describe)

    def _in_bounds_by_digits(self, access, build):
        """Whether rows and columns, each for itself, show that the access lies in its array."""
        until = now() + self.timeout / 2
        for choice, name, offset in access.choices:
            array, size = self.setting.arrays[name], access.element_bytes
            place, count = (build.poly(number).divided(size) for number in (offset - array.low, array.high - array.low))
            if place is None or count is None:
                return False
            run = build.formula(runs(access, choice))
            holds = functools.partial(self._holds, build, [*self._launch(1, build), run], until)
            if not lies_within(place, count, holds):
                return False
        return True

    def _holds(self, build, known, until, condition):
        """Whether a condition holds wherever `known` does; False may be for want of time."""
        # Most follow from what the numbers themselves are, and the rest would only keep the solver busy.
        for given, share in (((), 20), (known, 5)):
            end = min(until, now() + self.timeout / share)
            if Question(build.exact).ask([*given, not_(condition)], end, with_limits=False)[0] == "no":
                return True
        return False

    def _mask(self, finding):
        access = finding.access
        if not access.has_mask:
            return "none"
        if access.mask == TRUE:
            return "superfluous"
        question, build = Question(finding.exact), self._rebuilder(finding)
        always = [build.formula(condition) for condition in (*access.before, not_(access.mask))]
        answer, _ = question.ask([*self._launch(1, build), *always], now() + min(self.timeout, 2))
        return {"no": "superfluous", "yes": "needed"}.get(answer, "undecided")

    def _where(self, value, access):
        """The arguments, the program and the lane of an example."""
        witness = {"sizes": {name: value(size) for name, size in self.setting.sizes.items()}}
        witness["grid"] = tuple(value(extent) for extent in self.setting.grid)
        witness["program"] = tuple(value(p) for p in self.evaluators[0].program)
        witness["lane"] = tuple(value(i) for i in access.index)
        return witness

    # -- races --------------------------------------------------------------

    def _all_races(self, found):
        """Every pair of accesses that may meet: one of them writes, and not both are atomic."""
        for finding in found:
            if finding.races is None:
                finding.races = Outcome(PROVED)
        for i, j in itertools.combinations_with_replacement(range(len(found)), 2):
            a, b = self.first[i], self.second[j]
            harmless = a.kind == b.kind == "load" or a.is_atomic_for_all and b.is_atomic_for_all
            if harmless or a.outside or b.outside or not self._share(a, b):
                continue
            outcome = self._race(found[i], found[j], b, i == j)
            for finding in {id(found[i]): found[i], id(found[j]): found[j]}.values():
                outcome_seconds = outcome.seconds
                finding.seconds += outcome_seconds
                if _worse(outcome, finding.races):
                    finding.races = outcome

    def _share(self, a, b):
        regions = {self.setting.arrays[name].region for name in a.arrays}
        return any(self.setting.arrays[name].region in regions for name in b.arrays)

    def _race(self, finding, other, second, is_same):
        start, access = now(), finding.access
        build = self._rebuilder(finding, other)
        question = Question(build.exact)
        known = [*self._launch(2, build), self._two_programs(is_same)]
        answer, value = "no", None
        for meets in self._meetings(access, second):
            one, found = self._meet(question, build, known, build.formula(meets))
            if one != "no":
                answer, value = one, found
            if one == "yes":
                break

        def describe(value):
            name, offset = access.choices[0][1:]
            return {
                **self._where(value, access),
                "array": name,
                "element": value(offset) // self.setting.arrays[name].element_bytes,
                "other program": tuple(value(p) for p in self.evaluators[1].program),
                "other lane": tuple(value(i) for i in second.index),
                "other line": _line(second),
                "other kind": second.kind,
            }

        outcome = self._outcome(access, answer, value, start, describe)
        if outcome.verdict == REFUTED and second.unknowns():
            outcome.verdict, outcome.reason = OUTSIDE, _said(second.unknowns()[0])
        waits = access.waits or second.waits
        if outcome.verdict == REFUTED and waits:
            outcome.verdict, outcome.reason = OUTSIDE, f"programs may wait for each other at line {waits[0][2]}"
        return outcome

    def _meetings(self, access, second):
        """When the accesses touch the same bytes: a condition for each pair of arrays that may be meant."""
        for (c1, name1, offset1), (c2, name2, offset2) in itertools.product(access.choices, second.choices):
            one, two = self.setting.arrays[name1], self.setting.arrays[name2]
            if one.region == two.region:
                here, there = one.base + offset1, two.base + offset2
                yield and_(
                    runs(access, c1), runs(second, c2), _overlap(here, access.element_bytes, there, second.element_bytes)
                )

    def _meet(self, question, build, known, meets):
        """As Question.ask. For all sizes the equality of the addresses is followed up before the solver gets it whole."""
        conditions = [*known, meets]
        if FALSE in conditions:
            return "no", None
        if self.setting.sizes:
            shared = frozenset().union(*(size.symbols for size in self.setting.sizes.values()))
            until = now() + self.timeout
            found = consequences(
                self.setting.atoms, conditions, shared, lambda given, condition: self._holds(build, given, until, condition)
            )
            if FALSE in found:
                return "no", None
            if Question(build.exact).ask(found, now() + self.timeout / 4, with_limits=False)[0] == "no":
                return "no", None
        return self._ask(question, conditions)

    def _two_programs(self, is_same):
        """That the two programs differ; of a pair of equal accesses the first one has the lower number."""
        (x1, y1, z1), (x2, y2, z2) = (evaluator.program for evaluator in self.evaluators)

        def ordered(pairs):
            (a, b), *rest = pairs
            return or_(less(a, b), and_(at_most(a, b), ordered(rest))) if rest else less(a, b)

        before = ordered([(z1, z2), (y1, y2), (x1, x2)])
        return before if is_same else or_(before, ordered([(z2, z1), (y2, y1), (x2, x1)]))


def expressions(accesses):
    """All that decides where and whether accesses go."""
    for access in accesses:
        yield from access.before
        yield access.mask
        for choice, _, offset in access.choices:
            yield from (choice, offset)


def _overlap(here, size, there, other_size):
    """Whether two elements share a byte."""
    if size == other_size and (here - there).divided(size) is not None:
        return equal(here, there)
    return and_(less(here, there.plus(other_size)), less(there, here.plus(size)))


def _worse(a, b):
    order = (PROVED, OUTSIDE, UNDECIDED, REFUTED)
    return order.index(a.verdict) > order.index(b.verdict)


def _line(access):
    return access.frames[0][2] if access.frames else 0


def _said(origin):
    """Why a value is not known, with the line it comes from."""
    reason, frames = origin
    return f"{reason} at line {frames[0][2]}" if frames else reason
