# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The memory accesses of a kernel: where each goes, under which mask, and when it runs."""

from __future__ import annotations

from dataclasses import dataclass, field

from .evaluate import OutsideTheFragment, Pointers, size_in_bytes
from .terms import FALSE, TRUE, Formula, and_, not_, or_

__all__ = ["Access", "accesses_of"]

_KINDS = {"tw.load": "load", "tw.store": "store", "tw.atomic_rmw": "atomic", "tw.atomic_cas": "atomic"}
_DESCRIBED = {"tw.descriptor_load": "load", "tw.descriptor_store": "store"}


@dataclass
class Access:
    """One memory operation, at one symbolic lane of one program.

    frames: its places in the source, (file, function, line, column), innermost first
    before: conditions that hold where it runs, in the order in which the program comes to them
    choices: (condition, array, offset in bytes) each
    outside: (reason, frames) where the address is none of the fragment
    waits: the frames of an operation before it at which programs wait for each other
    is_atomic_for_all: it is an atomic, and not one of scope "cta", which other programs need not respect, or what the
        interpreter's check takes for one (RaceCheck.h)
    """

    kind: str
    frames: tuple
    before: list
    mask: Formula = TRUE
    has_mask: bool = False
    choices: list = field(default_factory=list)
    element_bytes: int = 1
    index: tuple = ()
    shape: tuple = ()
    outside: tuple = ()
    waits: tuple = ()
    is_atomic_for_all: bool = False

    @property
    def arrays(self):
        return list(dict.fromkeys(array for _, array, _ in self.choices))

    def unknowns(self):
        """The values it depends on that only the data decide: (reason, frames) each."""
        symbols = frozenset().union(
            self.mask.symbols, *(f.symbols for f in self.before), *(c.symbols | offset.symbols for c, _, offset in self.choices)
        )
        return list(dict.fromkeys(s.origin for s in sorted(symbols) if s.kind == "symbol" and s.origin))


def _mask_of(op):
    if op.name == "tw.load":
        return op.operands[1] if op.attributes["operandSegmentSizes"][1] else None
    return op.operands[2] if op.name != "tw.atomic_cas" and len(op.operands) > 2 else None


class _Collector:
    def __init__(self, evaluator):
        self.evaluator, self.found, self.assumed, self.waits = evaluator, [], [], ()

    def walk(self, ops):
        for op in ops:
            if op.name in _KINDS:
                self.found.append(self.access(op))
            elif op.name in _DESCRIBED:
                self.found.append(
                    Access(_DESCRIBED[op.name], op.frames, [], outside=("a descriptor that was loaded", op.frames))
                )
            elif op.name == "tw.assume":
                condition = self.evaluator.condition(op.operands[0])
                self.assumed.append(or_(*(not_(c) for c in self.evaluator.path(op)), condition))
            elif op.name.startswith("scf."):
                for region in op.regions:
                    self.walk(region.ops)
                self.note_waiting(op)
            else:
                self.refuse(op)

    def refuse(self, op):
        """Refuses accesses that a function makes for elements, because their order is not promised."""
        for inner in (inner for region in op.regions for inner in region.ops):
            if inner.name in _KINDS:
                reason = ("an access by a function that runs on elements", inner.frames)
                self.found.append(Access(_KINDS[inner.name], inner.frames, [], outside=reason))
            self.refuse(inner)

    def note_waiting(self, op):
        """A loop that ends when other programs have done something, or a branch for whom they let through."""
        condition = {"scf.while": lambda: op.regions[0].ops[-1].operands[0], "scf.if": lambda: op.operands[0]}.get(op.name)
        if condition is None:
            return
        try:
            symbols = self.evaluator.condition(condition()).symbols
        except OutsideTheFragment:
            return
        reasons = [s.origin for s in symbols if s.kind == "symbol" and s.origin]
        if any("atomic" in reason or op.name == "scf.while" for reason, _ in reasons):
            self.waits = op.frames

    def assumed_at(self, op):
        """The assumptions before an access but for those about iterations of loops that it is not in.

        They say nothing of it, and what is known of such an iteration (narrowing.py) holds where there is one.
        """
        counters = self.evaluator.counters
        here = frozenset().union(*(counters[loop].symbols for loop, _ in op.parents if loop in counters))
        others = frozenset().union(*(counter.symbols for counter in counters.values())) - here
        return [condition for condition in self.assumed if not condition.symbols & others]

    def access(self, op):
        evaluator = self.evaluator
        access = Access(_KINDS[op.name], op.frames, [], waits=self.waits)
        if access.kind == "atomic":
            access.is_atomic_for_all = "cta" not in op.attributes["scope"]
            # What only loads or only stores is one of those, and atomic.
            access.kind = {"#tw.atomic<load>": "load", "#tw.atomic<store>": "store"}.get(op.attributes.get("kind"), "atomic")
        elif access.kind == "load":
            access.is_atomic_for_all = "isVolatile" in op.attributes or op.attributes["cache"] == "#tw.cache<cv>"
        else:
            is_tile = evaluator.types[op.operands[0]][0] == "tile"
            access.is_atomic_for_all = op.attributes["cache"] == "#tw.cache<wt>" and not is_tile
        access.index, access.shape = evaluator.lanes(op.operands[0], len(self.found))
        try:
            access.before = [*self.assumed_at(op), *evaluator.path(op)]
            mask = _mask_of(op)
            if mask is not None:
                access.has_mask = True
                access.mask = evaluator.condition(mask, access.index if evaluator.types[mask][0] == "tile" else ())
            pointers = evaluator.at(op.operands[0], access.index)
        except OutsideTheFragment as outside:
            access.outside = outside.args
            return access
        if not isinstance(pointers, Pointers):
            access.outside = ("an address that is computed from floats", op.frames)
            return access
        kind = evaluator.types[op.operands[0]]
        access.element_bytes = size_in_bytes((kind[2] if kind[0] == "tile" else kind)[1])
        access.choices = [choice for choice in pointers.choices if choice[0] != FALSE]
        return access


def accesses_of(evaluator, ops):
    """All accesses in program order."""
    collector = _Collector(evaluator)
    collector.walk(ops)
    return collector.found


def runs(access, choice=TRUE):
    """When a lane of the access touches memory."""
    return and_(*access.before, choice, access.mask)
