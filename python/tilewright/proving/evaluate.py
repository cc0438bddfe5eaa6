# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One lane of one program of a kernel, symbolically.

A tile is a function from an index to the expression of that element, and is only asked for the elements
that an access needs: so a tile of any size costs as much as a scalar. What a loop carries is `start +
iteration * step` where the body adds a step that is the same in every iteration, and unknown otherwise;
so is what was loaded or computed with floats. An unknown value may be anything its type holds: what
is proved in spite of it holds for all data.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from . import operations
from .operations import Pointers
from .terms import FALSE, INFINITY, TRUE, ZERO, Formula, Poly, and_, bits_interval, equal, less, not_, or_

__all__ = ["Evaluator", "Op", "OutsideTheFragment", "Pointers", "functions_ops"]


class OutsideTheFragment(Exception):
    """An address that is no expression of what the proof knows. args: the reason, the frames of the operation."""


@dataclass(eq=False)
class Op:
    """An operation of the tree that _core.emit_tree gives, with its surroundings."""

    name: str
    operands: tuple
    results: tuple
    attributes: dict
    regions: list
    frames: tuple
    parents: tuple = ()  # (op, number of its region), outermost first


@dataclass
class _Region:
    arguments: tuple
    ops: list = field(default_factory=list)


def functions_ops(tree):
    """The operations of a function, nested as in the source."""

    def convert(block, parents):
        ops = []
        for name, operands, results, attributes, regions, frames in block:
            op = Op(name, operands, results, attributes, [], frames, parents)
            op.regions = [_Region(arguments, convert(body, (*parents, (op, i)))) for i, (arguments, body) in enumerate(regions)]
            ops.append(op)
        return ops

    return convert(tree["body"], ())


def element_type(kind):
    return kind[2] if kind[0] == "tile" else kind


def size_in_bytes(kind):
    if kind[0] == "pointer":
        return 8
    return max(1, kind[-1] // 8)


class Evaluator:
    """The values of a function in one program.

    instance: the program's name among several; only arguments and the grid are the same in all
    arguments: for each argument of the function a Poly, Formula, Pointers or None (a float)
    programs: the extents of the grid
    """

    def __init__(self, atoms, ops, values, arguments, programs, instance):
        self.atoms, self.instance, self.programs = atoms, instance, programs
        self.known = {(number, ()): value for (number, _), value in zip(values, arguments)}
        self.types = dict(values)
        self.defined_by = {}
        self.argument_of = {}
        self.counters = {}
        self._collect(ops)
        self.program = [
            atoms.symbol(f"program{axis}", (0, max(0, min(extent.interval[1], bits_interval(32)[1]) - 1)), instance)
            for axis, extent in enumerate(programs)
        ]

    def _collect(self, ops):
        for op in ops:
            for position, (number, kind) in enumerate(op.results):
                self.defined_by[number] = op, position
                self.types[number] = kind
            for which, region in enumerate(op.regions):
                for position, (number, kind) in enumerate(region.arguments):
                    self.argument_of[number] = op, which, position
                    self.types[number] = kind
                self._collect(region.ops)

    # -- values -------------------------------------------------------------

    def at(self, number, index=()):
        """The element of a value at an index (a tuple of polynomials; empty for a scalar)."""
        key = number, index
        if key not in self.known:
            self.known[key] = self._argument(number, index) if number in self.argument_of else self._result(number, index)
        return self.known[key]

    def _result(self, number, index):
        op, position = self.defined_by[number]
        if op.name == "scf.for":
            return self._after_for(op, position, index)
        if op.name == "scf.while":
            return self._after_while(op, position, index)
        if op.name == "scf.if":
            return self._after_if(op, position, index)
        method = operations.TABLE.get(op.name)
        value = method(self, op, index, position) if method else None
        return self.unknown(number, index, self._reason(op)) if value is None else value

    def _reason(self, op):
        what = {
            "tw.load": "loaded",
            "tw.atomic_rmw": "given by an atomic",
            "tw.atomic_cas": "given by an atomic",
            "tw.reduce": "given by a reduction",
            "tw.scan": "given by a scan",
        }
        return what.get(op.name, f"given by {op.name}"), op.frames

    def unknown(self, number, index, origin):
        """Any value that the type of a value holds; the same one for the same element in the same iteration."""
        kind = element_type(self.types[number])
        loops = frozenset(self._loops_around(number))
        depends = loops.union(*(p.symbols for p in index)) if index else loops
        key = (self.instance, number, index, tuple(sorted(a.number for a in loops)))
        if kind == ("int", 1):
            return self.atoms.unknown_condition(self.atoms.symbol(f"unknown{number}", (0, 1), key, depends, origin))
        if kind[0] in ("int", "index"):
            bits = kind[1] if kind[0] == "int" else 64
            return self.atoms.symbol(f"unknown{number}", bits_interval(bits), key, depends, origin)
        if kind[0] == "pointer":
            raise OutsideTheFragment(f"a pointer that is {origin[0]}", origin[1])
        return None

    def _loops_around(self, number):
        if number in self.argument_of:
            op, which, _ = self.argument_of[number]
            parents = (*op.parents, (op, which))
        elif number in self.defined_by:
            parents = self.defined_by[number][0].parents
        else:
            return
        for op, _ in parents:
            if op.name in ("scf.for", "scf.while"):
                yield from self.counter(op).symbols

    # -- loops --------------------------------------------------------------

    def counter(self, op):
        """How many iterations of a loop came before this one."""
        if op not in self.counters:
            highest = INFINITY
            if op.name == "scf.for":
                low, high, step = (self.at(operand).interval for operand in op.operands[:3])
                least = max(1, step[0])
                if high[1] < INFINITY and low[0] > -INFINITY:
                    highest = max(0, (high[1] - low[0] - 1) // least)
            self.counters[op] = self.atoms.symbol(f"iteration{op.operands}", (0, highest), (self.instance, id(op)), origin=None)
        return self.counters[op]

    def _argument(self, number, index):
        op, which, position = self.argument_of[number]
        if op.name == "scf.for":
            if position == 0:
                low, _, step = (self.at(operand) for operand in op.operands[:3])
                return low + self.counter(op) * step
            return self._carried(
                op, number, op.operands[2 + position], op.regions[0].ops[-1].operands[position - 1], index, self.counter(op)
            )
        if op.name == "scf.while":
            if which == 1:
                return self.at(op.regions[0].ops[-1].operands[1 + position], index)
            return self._carried(
                op, number, op.operands[position], op.regions[1].ops[-1].operands[position], index, self.counter(op)
            )
        return self.unknown(number, index, ("an element that a function combines", op.frames))

    def _carried(self, op, argument, start, following, index, iteration):
        """What a loop carries, at the beginning of an iteration."""
        step = self._added(following, argument, index, op)
        if step is None:
            return self.unknown(argument, index, ("carried by a loop", op.frames))
        return self._plus(self.at(start, index), iteration * step, element_type(self.types[argument]), op)

    def _plus(self, value, number, kind, op):
        if isinstance(value, Pointers):
            return Pointers([(c, a, offset + number) for c, a, offset in value.choices], value.element_bytes)
        if isinstance(value, Poly):
            return self.atoms.wrapped(value + number, kind[1] if kind[0] == "int" else 64, frames=op.frames)
        return value

    def _added(self, number, argument, index, loop):
        """What the loop has added to `argument` where `number` is computed, if each iteration adds the same; else None."""
        step = self._difference(number, argument, index)
        if step is None or step.symbols & self.counter(loop).symbols:
            return None
        return step

    def _difference(self, number, argument, index):
        """`number` minus `argument`, in bytes for pointers, where it follows from their form."""
        if number == argument:
            return ZERO
        if number in self.argument_of:
            op, which, position = self.argument_of[number]
            if op.name == "scf.while" and which == 1:
                return self._difference(op.regions[0].ops[-1].operands[1 + position], argument, index)
            return None
        if number not in self.defined_by:
            return None
        op, position = self.defined_by[number]
        if op.name == "tw.addptr":
            return self._sum(self._difference(op.operands[0], argument, index), operations.byte_offset(self, op, index))
        if op.name == "arith.addi":
            for mine, other in (op.operands, op.operands[::-1]):
                difference = self._difference(mine, argument, index)
                if difference is not None:
                    return self._sum(difference, self.at(other, index))
        if op.name == "arith.subi":
            return self._sum(self._difference(op.operands[0], argument, index), self.at(op.operands[1], index), -1)
        if op.name in ("tw.hint", "tw.opaque"):
            return self._difference(op.operands[0], argument, index)
        if op.name == "scf.if":
            each = [self._difference(region.ops[-1].operands[position], argument, index) for region in op.regions]
            return each[0] if each[0] == each[1] else None
        if op.name == "scf.for":
            inner = op.regions[0].arguments[1 + position][0]
            before = self._difference(op.operands[3 + position], argument, index)
            step = self._added(op.regions[0].ops[-1].operands[position], inner, index, op)
            return None if before is None or step is None else before + self.trips(op) * step
        return None

    @staticmethod
    def _sum(difference, number, factor=1):
        return difference + number.times(factor) if difference is not None and isinstance(number, Poly) else None

    def trips(self, op):
        """How often the body of a for runs."""
        low, high, step = (self.at(operand) for operand in op.operands[:3])
        count = self.atoms.floor_quotient(high - low + step.plus(-1), step)
        return self.atoms.maximum(count, ZERO)

    def _after_for(self, op, position, index):
        inner = op.regions[0].arguments[1 + position][0]
        step = self._added(op.regions[0].ops[-1].operands[position], inner, index, op)
        number, kind = op.results[position]
        if step is None:
            return self.unknown(number, index, ("carried by a loop", op.frames))
        return self._plus(self.at(op.operands[3 + position], index), self.trips(op) * step, element_type(kind), op)

    def _after_while(self, op, position, index):
        number, kind = op.results[position]
        forwarded = op.regions[0].ops[-1].operands[1 + position]
        places = [place for place, (argument, _) in enumerate(op.regions[0].arguments) if argument == forwarded]
        if places:
            following = op.regions[1].ops[-1].operands[places[0]]
            step = self._added(following, forwarded, index, op)
            if step is not None:
                count = self.atoms.symbol(
                    f"iterations{number}", (0, INFINITY), (self.instance, number), frozenset(self._loops_around(number))
                )
                return self._plus(self.at(op.operands[places[0]], index), count * step, element_type(kind), op)
        return self.unknown(number, index, ("carried by a loop", op.frames))

    def _after_if(self, op, position, index):
        condition = self.at(op.operands[0])
        values = [self.at(region.ops[-1].operands[position], index) for region in op.regions]
        return self.choose(condition, *values)

    def choose(self, condition, a, b):
        """The first value where a condition holds, else the second."""
        if isinstance(a, Poly) and isinstance(b, Poly):
            return self.atoms.select(condition, a, b)
        if isinstance(a, Formula) and isinstance(b, Formula):
            if a == b:
                return a
            return or_(and_(condition, a), and_(not_(condition), b))
        if isinstance(a, Pointers) and isinstance(b, Pointers):
            choices = [(and_(condition, c), array, offset) for c, array, offset in a.choices]
            choices += [(and_(not_(condition), c), array, offset) for c, array, offset in b.choices]
            return Pointers([c for c in choices if c[0] != FALSE], a.element_bytes)
        return None

    # -- conditions ---------------------------------------------------------

    def in_grid(self):
        """That the program is one of the grid."""
        return [less(p, extent) for p, extent in zip(self.program, self.programs)]

    def loop_conditions(self, symbols):
        """What holds of the iterations among the symbols: that the loop has come to them.

        Not of a `while`, which computes its condition once more than it runs.
        """
        for op, counter in list(self.counters.items()):
            if op.name == "scf.for" and counter.symbols <= symbols:
                yield from self._runs_on(op)

    def _runs_on(self, op):
        """That a for loop comes to an iteration."""
        low, high, step = (self.at(operand) for operand in op.operands[:3])
        return less(ZERO, step), less(low + self.counter(op) * step, high)

    def path(self, op):
        """What holds where an operation runs: a condition for each loop and branch around it, outermost first."""
        conditions = []
        for parent, which in op.parents:
            if parent.name == "scf.for":
                conditions += self._runs_on(parent)
            elif parent.name == "scf.while" and which == 1:
                conditions.append(self.condition(parent.regions[0].ops[-1].operands[0]))
            elif parent.name == "scf.if":
                holds = self.condition(parent.operands[0])
                conditions.append(holds if which == 0 else not_(holds))
        return [c for c in conditions if c != TRUE]

    def condition(self, number, index=()):
        value = self.at(number, index)
        if isinstance(value, Formula):
            return value
        return not_(equal(value, ZERO)) if isinstance(value, Poly) else TRUE

    def lanes(self, number, name):
        """The symbols of an access's lanes: (index, their extents)."""
        kind = self.types[number]
        shape = kind[1] if kind[0] == "tile" else ()
        index = tuple(
            ZERO if extent == 1 else self.atoms.symbol(f"lane{axis}", (0, extent - 1), (self.instance, name))
            for axis, extent in enumerate(shape)
        )
        return index, shape
