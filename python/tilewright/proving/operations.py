# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The value of each operation of tile IR at one element.

TABLE maps a name to a function of (evaluator, op, index, number of the result). An operation that is not
in it, or for which the function gives None, has an unknown value.

Integers are kept as signed numbers, conditions (i1) as formulas.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass

from .terms import FALSE, ONE, TRUE, ZERO, Formula, Poly, and_, at_most, equal, less, not_, or_

TABLE = {}


@dataclass
class Pointers:
    """Where a pointer may point: (condition, array, offset in bytes) each."""

    choices: list
    element_bytes: int


def _operation(*names):

    def register(function):
        TABLE.update(dict.fromkeys(names, function))
        return function

    return register


def _element(kind):
    return kind[2] if kind[0] == "tile" else kind


def _bits(evaluator, number):
    kind = _element(evaluator.types[number])
    return kind[1] if kind[0] == "int" else 64


def _is_integer(evaluator, number):
    return _element(evaluator.types[number])[0] in ("int", "index")


def _shape(evaluator, number):
    kind = evaluator.types[number]
    return kind[1] if kind[0] == "tile" else ()


def as_number(evaluator, value):
    """A condition as 0 or 1."""
    return evaluator.atoms.select(value, ONE, ZERO) if isinstance(value, Formula) else value


def _as_unsigned(evaluator, value, bits):
    if value.interval[0] >= 0:
        return value
    return evaluator.atoms.select(less(value, ZERO), value.plus(1 << bits), value)


# ---------------------------------------------------------------------------
# Programs, constants, shapes
# ---------------------------------------------------------------------------


@_operation("arith.constant")
def _constant(evaluator, op, index, position):
    kind, value = _element(op.results[0][1]), op.attributes["value"]
    if kind == ("int", 1):
        return TRUE if value else FALSE
    return Poly.of(value) if kind[0] in ("int", "index") and isinstance(value, int) else None


@_operation("tw.program_id")
def _program_id(evaluator, op, index, position):
    return evaluator.program[op.attributes["axis"]]


@_operation("tw.num_programs")
def _num_programs(evaluator, op, index, position):
    return evaluator.programs[op.attributes["axis"]]


@_operation("tw.range")
def _range(evaluator, op, index, position):
    return index[0].plus(op.attributes["start"])


@_operation("tw.splat")
def _splat(evaluator, op, index, position):
    return evaluator.at(op.operands[0], ())


@_operation("tw.expand_dims")
def _expand_dims(evaluator, op, index, position):
    axis = op.attributes["axis"]
    return evaluator.at(op.operands[0], index[:axis] + index[axis + 1 :])


@_operation("tw.broadcast")
def _broadcast(evaluator, op, index, position):
    extents = _shape(evaluator, op.operands[0])
    return evaluator.at(op.operands[0], tuple(ZERO if extent == 1 else i for extent, i in zip(extents, index)))


@_operation("tw.permute")
def _permute(evaluator, op, index, position):
    source = [ZERO] * len(index)
    for i, dimension in zip(index, op.attributes["order"]):
        source[dimension] = i
    return evaluator.at(op.operands[0], tuple(source))


@_operation("tw.reshape")
def _reshape(evaluator, op, index, position):
    if op.attributes.get("mayReorder"):
        return None
    flat = ZERO
    for i, extent in zip(index, _shape(evaluator, op.results[0][0])):
        flat = flat.times(extent) + i
    source = []
    for extent in reversed(_shape(evaluator, op.operands[0])):
        source.append(evaluator.atoms.floor_remainder(flat, Poly.of(extent)))
        flat = evaluator.atoms.floor_quotient(flat, Poly.of(extent))
    return evaluator.at(op.operands[0], tuple(reversed(source)))


@_operation("tw.join")
def _join(evaluator, op, index, position):
    sides = [evaluator.at(operand, index[:-1]) for operand in op.operands]
    return evaluator.choose(equal(index[-1], ZERO), *sides)


@_operation("tw.split")
def _split(evaluator, op, index, position):
    return evaluator.at(op.operands[0], (*index, Poly.of(position)))


@_operation("tw.concat")
def _concat(evaluator, op, index, position):
    rows = _shape(evaluator, op.operands[0])[0]
    first = evaluator.at(op.operands[0], index)
    second = evaluator.at(op.operands[1], (index[0].plus(-rows), *index[1:]))
    return evaluator.choose(less(index[0], Poly.of(rows)), first, second)


@_operation("tw.extract_scalar")
def _extract_scalar(evaluator, op, index, position):
    return evaluator.at(op.operands[0], (ZERO,) * len(_shape(evaluator, op.operands[0])))


@_operation("tw.hint", "tw.opaque")
def _same(evaluator, op, index, position):
    return evaluator.at(op.operands[0], index)


# ---------------------------------------------------------------------------
# Pointers
# ---------------------------------------------------------------------------


def byte_offset(evaluator, op, index):
    """How many bytes a tw.addptr adds."""
    offset = evaluator.at(op.operands[1], index)
    if not isinstance(offset, Poly):
        return None
    if op.attributes.get("isUnsigned"):
        offset = _as_unsigned(evaluator, offset, _bits(evaluator, op.operands[1]))
    kind = _element(op.results[0][1])[1]
    return offset.times(8 if kind[0] == "pointer" else max(1, kind[-1] // 8))


@_operation("tw.addptr")
def _addptr(evaluator, op, index, position):
    pointer, offset = evaluator.at(op.operands[0], index), byte_offset(evaluator, op, index)
    if not isinstance(pointer, Pointers) or offset is None:
        return None
    return Pointers([(c, array, before + offset) for c, array, before in pointer.choices], pointer.element_bytes)


@_operation("tw.bitcast")
def _bitcast(evaluator, op, index, position):
    source, result = _element(evaluator.types[op.operands[0]]), _element(op.results[0][1])
    if source == result or source[0] == result[0] == "pointer":
        return evaluator.at(op.operands[0], index)
    return None


# ---------------------------------------------------------------------------
# Integers
# ---------------------------------------------------------------------------


def _arithmetic(compute):
    """An operation on two integers whose result is cut to the type's bits."""

    def evaluate(evaluator, op, index, position):
        a, b = (evaluator.at(operand, index) for operand in op.operands)
        bits = _bits(evaluator, op.results[0][0])
        if not _is_integer(evaluator, op.results[0][0]):
            return None
        if bits == 1:
            return _on_conditions(op.name, a, b)
        result = compute(evaluator, a, b, bits)
        return None if result is None else evaluator.atoms.wrapped(result, bits, frames=op.frames)

    return evaluate


def _on_conditions(name, a, b):
    if name in ("arith.andi", "arith.muli", "arith.minui", "arith.maxsi"):
        return and_(a, b)
    if name in ("arith.ori", "arith.maxui", "arith.minsi"):
        return or_(a, b)
    if name in ("arith.xori", "arith.addi", "arith.subi"):
        return or_(and_(a, not_(b)), and_(not_(a), b))
    return None


def _unsigned(compute):

    def evaluate(evaluator, a, b, bits):
        return compute(evaluator, _as_unsigned(evaluator, a, bits), _as_unsigned(evaluator, b, bits), bits)

    return evaluate


def _shift(evaluator, a, b, bits):
    return a.times(1 << b.constant) if b.constant is not None and 0 <= b.constant < bits else None


def _shift_right(evaluator, a, b, bits):
    if b.constant is None or not 0 <= b.constant < bits:
        return None
    return evaluator.atoms.floor_quotient(a, Poly.of(1 << b.constant))


def _bitwise(on_numbers, otherwise):
    """A bitwise operation, which commutes: of two numbers, or of something and a number or two."""

    def compute(evaluator, a, b, bits):
        if a.constant is not None and b.constant is not None:
            return Poly.of(on_numbers(a.constant, b.constant))
        return otherwise(evaluator, b, a) if a.constant is not None else otherwise(evaluator, a, b)

    return compute


def _and(evaluator, a, b):
    mask = b.constant
    if mask is None:
        return None
    if mask >= 0 and mask & (mask + 1) == 0:
        return evaluator.atoms.floor_remainder(a, Poly.of(mask + 1)) if mask else ZERO
    if mask < 0 and -mask & (-mask - 1) == 0:
        return a - evaluator.atoms.floor_remainder(a, Poly.of(-mask))
    return None


def _xor(evaluator, a, b):
    return -a - ONE if b.constant == -1 else a if b.constant == 0 else None


def _or(evaluator, a, b):
    if b.constant == 0:
        return a
    # Bits that lie apart: a multiple of a power of two and what is below it.
    for high, low in ((a, b), (b, a)):
        if low.interval[0] >= 0 and low.interval[1] < 1 << 62:
            size = 1 << int(low.interval[1]).bit_length()
            if high.divided(size) is not None:
                return high + low
    return None


def _floor_division(evaluator, a, b, bits):
    return evaluator.atoms.floor_quotient(a, b) if b.interval[0] > 0 else None


def _ceil_division(evaluator, a, b, bits):
    return evaluator.atoms.floor_quotient(a + b.plus(-1), b) if b.interval[0] > 0 else None


_INTEGER = {
    "arith.addi": lambda e, a, b, bits: a + b,
    "arith.subi": lambda e, a, b, bits: a - b,
    "arith.muli": lambda e, a, b, bits: a * b,
    "arith.divsi": lambda e, a, b, bits: e.atoms.quotient(a, b),
    "arith.remsi": lambda e, a, b, bits: e.atoms.remainder(a, b),
    "arith.floordivsi": _floor_division,
    "arith.ceildivsi": _ceil_division,
    "arith.divui": _unsigned(lambda e, a, b, bits: e.atoms.quotient(a, b)),
    "arith.remui": _unsigned(lambda e, a, b, bits: e.atoms.remainder(a, b)),
    "arith.minsi": lambda e, a, b, bits: e.atoms.minimum(a, b),
    "arith.maxsi": lambda e, a, b, bits: e.atoms.maximum(a, b),
    "arith.minui": _unsigned(lambda e, a, b, bits: e.atoms.minimum(a, b)),
    "arith.maxui": _unsigned(lambda e, a, b, bits: e.atoms.maximum(a, b)),
    "arith.shli": _shift,
    "arith.shrsi": _shift_right,
    "arith.shrui": lambda e, a, b, bits: _shift_right(e, _as_unsigned(e, a, bits), b, bits),
    "arith.andi": _bitwise(operator.and_, _and),
    "arith.ori": _bitwise(operator.or_, _or),
    "arith.xori": _bitwise(operator.xor, _xor),
}
TABLE.update({name: _arithmetic(compute) for name, compute in _INTEGER.items()})


@_operation("arith.extsi", "arith.index_cast")
def _extend(evaluator, op, index, position):
    value = evaluator.at(op.operands[0], index)
    # True is -1 as a signed number.
    return -as_number(evaluator, value) if isinstance(value, Formula) else value


@_operation("arith.extui", "arith.index_castui")
def _extend_unsigned(evaluator, op, index, position):
    value = evaluator.at(op.operands[0], index)
    if isinstance(value, Formula):
        return as_number(evaluator, value)
    return _as_unsigned(evaluator, value, _bits(evaluator, op.operands[0]))


@_operation("arith.trunci")
def _truncate(evaluator, op, index, position):
    value, bits = evaluator.at(op.operands[0], index), _bits(evaluator, op.results[0][0])
    if bits == 1:
        return equal(evaluator.atoms.floor_remainder(value, Poly.of(2)), ONE)
    return evaluator.atoms.wrapped(value, bits, frames=op.frames)


@_operation("arith.select")
def _select(evaluator, op, index, position):
    condition = evaluator.condition(op.operands[0], index if _shape(evaluator, op.operands[0]) else ())
    return evaluator.choose(condition, *(evaluator.at(operand, index) for operand in op.operands[1:]))


@_operation("math.absi")
def _absolute(evaluator, op, index, position):
    value = evaluator.at(op.operands[0], index)
    result = evaluator.atoms.maximum(value, -value)
    return evaluator.atoms.wrapped(result, _bits(evaluator, op.results[0][0]), frames=op.frames)


@_operation("arith.cmpi")
def _compare(evaluator, op, index, position):
    a, b = (as_number(evaluator, evaluator.at(operand, index)) for operand in op.operands)
    predicate, bits = op.attributes["predicate"], _bits(evaluator, op.operands[0])
    if predicate >= 6:
        a, b = _as_unsigned(evaluator, a, bits), _as_unsigned(evaluator, b, bits)
        predicate -= 4
    elif bits == 1 and predicate >= 2:
        a, b = -a, -b  # true is -1
    return (equal(a, b), not_(equal(a, b)), less(a, b), at_most(a, b), less(b, a), at_most(b, a))[predicate]
