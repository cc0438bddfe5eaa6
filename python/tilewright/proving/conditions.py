# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The setting of all launches that satisfy conditions: `n > 0, stride >= columns`.

Conditions, extents of arrays and the grid are expressions of Python over the kernel's integer parameters, its
whole constants, and names of the user's own, which stand for any number from 1 on.
"""

from __future__ import annotations

import ast
import math

from .. import errors
from ..parsing import parse
from ..runtime.host_arrays import size_of
from .setting import Array, Setting
from .terms import FALSE, INFINITY, TRUE, Atoms, Formula, Poly, and_, at_most, bits_interval, equal, less, not_, or_, within

__all__ = ["setting_of_conditions"]

_GRID_LIMITS = (2**31 - 1, 65535, 65535)
_LARGEST_SIZE = 2**31 - 1


def _refused(text, reason):
    return errors.make("E0428", text=text, reason=reason)


class _Reader:
    """Expressions of one setting as polynomials and formulas."""

    def __init__(self, atoms, numbers, parameters):
        self.atoms, self.names, self.limits, self.constants = atoms, dict(numbers), {}, frozenset(numbers)
        self.sizes, self.same, self.parameters, self.being_read = {}, {}, parameters, ()
        self.multiples = {}

    def parse(self, text):
        try:
            return parse(f"({text}\n)", mode="eval").body  # a list with commas is a tuple
        except SyntaxError as error:
            raise _refused(text, error.msg) from None

    # -- limits that follow from one condition alone --------------------------

    def note_limits(self, node):
        """From `0 < n < 2**20`, the interval of n: known before its symbol is made, it settles much at once."""
        if isinstance(node, (ast.Tuple, ast.BoolOp)) and not isinstance(getattr(node, "op", None), ast.Or):
            for part in node.elts if isinstance(node, ast.Tuple) else node.values:
                self.note_limits(part)
        elif isinstance(node, ast.Compare):
            for left, operator, right in zip([node.left, *node.comparators], node.ops, node.comparators):
                self._note(left, operator, right)

    def _note(self, left, operator, right):
        mirrored = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE, ast.Eq: ast.Eq}
        kind = type(operator)
        if isinstance(right, ast.Name) and not isinstance(left, ast.Name) and kind in mirrored:
            left, right, kind = right, left, mirrored[kind]
        if kind is ast.Eq and isinstance(left, ast.Name) and left.id not in self.names:
            self.same.setdefault(left.id, right)
        if kind is ast.Eq and isinstance(left, ast.BinOp) and isinstance(left.op, ast.Mod) and isinstance(left.left, ast.Name):
            divisor = self._literal(left.right)
            if self._literal(right) == 0 and divisor and divisor > 0:
                name = left.left.id
                self.multiples[name] = math.lcm(self.multiples.get(name, 1), divisor)
        number = self._literal(right)
        if not isinstance(left, ast.Name) or number is None or kind not in mirrored:
            return
        low, high = self.limits.get(left.id, (-INFINITY, INFINITY))
        if kind in (ast.Gt, ast.GtE, ast.Eq):
            low = max(low, number + (kind is ast.Gt))
        if kind in (ast.Lt, ast.LtE, ast.Eq):
            high = min(high, number - (kind is ast.Lt))
        self.limits[left.id] = low, high

    def _literal(self, node):
        if any(
            isinstance(part, ast.Call) or isinstance(part, ast.Name) and part.id not in self.constants
            for part in ast.walk(node)
        ):
            return None
        value = self.number(node, ast.unparse(node))
        return value.constant

    def parameter(self, name, interval):
        """An integer parameter: a symbol, or where a condition says `name == expression`, that expression."""
        node = self.same.pop(name, None)
        if name in self.names:  # another expression has come to it first
            return self.names[name]
        if node is None:
            return self.symbol(name, interval)
        self.being_read = (*self.being_read, name)
        value = self.number(node, ast.unparse(node))
        self.being_read = self.being_read[:-1]
        # `a == b, b == a` comes back here, and has made a symbol then.
        self.names.setdefault(name, value)
        return self.names[name]

    def symbol(self, name, interval):
        """One number's symbol; a condition `n % 64 == 0` makes it 64 times a symbol, of which all that is divided is plain."""
        low, high = self.limits.get(name, (-INFINITY, INFINITY))
        step = self.multiples.get(name, 1)
        low, high = -(-max(low, interval[0]) // step), min(high, interval[1]) // step
        self.names[name] = self.sizes[name] = self.atoms.symbol(name, (low, high)).times(step)
        return self.names[name]

    # -- numbers ------------------------------------------------------------

    def number(self, node, text):
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return Poly.of(node.value)
        if isinstance(node, ast.Name):
            if node.id in self.names:
                return self.names[node.id]
            interval = self.parameters.get(node.id, (1, _LARGEST_SIZE))
            return self.symbol(node.id, interval) if node.id in self.being_read else self.parameter(node.id, interval)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -self.number(node.operand, text)
        if isinstance(node, ast.BinOp):
            return self._binary(node.op, self.number(node.left, text), self.number(node.right, text), text)
        if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)) and not node.keywords:
            name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            return self._call(name, [self.number(argument, text) for argument in node.args], text)
        if isinstance(node, ast.IfExp):
            return self.atoms.select(
                self.formula(node.test, text), self.number(node.body, text), self.number(node.orelse, text)
            )
        raise _refused(text, f"'{ast.unparse(node)}' is no whole number")

    def _binary(self, operator, a, b, text):
        if isinstance(operator, ast.Add):
            return a + b
        if isinstance(operator, ast.Sub):
            return a - b
        if isinstance(operator, ast.Mult):
            return a * b
        if isinstance(operator, (ast.FloorDiv, ast.Mod)):
            if b.interval[0] <= 0:
                raise _refused(text, "what is divided by must be known to be positive: write so before it")
            divide = self.atoms.floor_quotient if isinstance(operator, ast.FloorDiv) else self.atoms.floor_remainder
            return divide(a, b)
        if isinstance(operator, (ast.Pow, ast.LShift)) and a.constant is not None and 0 <= (b.constant or 0) < 64:
            return Poly.of(a.constant**b.constant if isinstance(operator, ast.Pow) else a.constant << b.constant)
        raise _refused(text, "the operators are +, -, *, // and %")

    def _call(self, name, arguments, text):
        if name == "cdiv" and len(arguments) == 2:
            return self._binary(ast.FloorDiv(), arguments[0] + arguments[1].plus(-1), arguments[1], text)
        if name in ("min", "max") and len(arguments) == 2:
            return (self.atoms.minimum if name == "min" else self.atoms.maximum)(*arguments)
        raise _refused(text, "the functions are cdiv, min and max, of two numbers")

    # -- conditions ---------------------------------------------------------

    def formula(self, node, text) -> Formula:
        if isinstance(node, ast.Tuple):
            return and_(*(self.formula(part, text) for part in node.elts))
        if isinstance(node, ast.BoolOp):
            join = and_ if isinstance(node.op, ast.And) else or_
            return join(*(self.formula(part, text) for part in node.values))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return not_(self.formula(node.operand, text))
        if isinstance(node, ast.Constant) and isinstance(node.value, bool):
            return TRUE if node.value else FALSE
        if isinstance(node, ast.Compare):
            sides = [self.number(side, text) for side in (node.left, *node.comparators)]
            return and_(*(self._compared(operator, a, b, text) for a, operator, b in zip(sides, node.ops, sides[1:])))
        raise _refused(text, f"'{ast.unparse(node)}' is no condition")

    @staticmethod
    def _compared(operator, a, b, text):
        compare = {
            ast.Lt: less,
            ast.LtE: at_most,
            ast.Eq: equal,
            ast.Gt: lambda a, b: less(b, a),
            ast.GtE: lambda a, b: at_most(b, a),
            ast.NotEq: lambda a, b: not_(equal(a, b)),
        }.get(type(operator))
        if compare is None:
            raise _refused(text, "the comparisons are <, <=, ==, !=, >= and >")
        return compare(a, b)


def _is_integer(kind):
    return kind[0] in "iu" and kind != "i1"


def _range_of(kind):
    return bits_interval(int(kind[1:]), kind[0] == "i")


def _whole_constants(constants):
    return {name: Poly.of(value) for name, value in constants.items() if isinstance(value, int) and not isinstance(value, bool)}


def setting_of_conditions(kernel, signature, constants, grid, arrays, assume="", options=None):
    """All launches of a kernel for which `assume` holds.

    signature, constants: as of ASTSource; grid: "cdiv(n, BLOCK), 2"; arrays: for each pointer parameter its
    extents, "[m, n]", or its number of elements, "m * stride".
    """
    atoms = Atoms()
    parameters = {name: _range_of(kind) for name, kind in signature.items() if isinstance(kind, str) and _is_integer(kind)}
    reader = _Reader(atoms, _whole_constants(constants), parameters)
    conditions = [(text, reader.parse(text)) for text in [assume] if text.strip()]
    for _, node in conditions:
        reader.note_limits(node)
    leaves, described = [], {}
    for name in kernel.arg_names:
        kind = signature.get(name)
        if kind is None:
            continue
        if not isinstance(kind, str):
            raise _refused(name, "tuples are proved for one launch only")
        leaves.append((name, kind))
    for name, interval in parameters.items():
        reader.parameter(name, interval)
    setting = Setting(kernel, signature, constants, atoms, [], {}, (), sizes=reader.sizes, options=dict(options or {}))
    setting.facts = [reader.formula(node, text) for text, node in conditions]
    setting.facts += [within(reader.names[name], interval) for name, interval in parameters.items()]
    for name, kind in leaves:
        if kind.startswith(("*", "tensordesc<")):
            described[name] = _array(setting, reader, name, kind, arrays)
    for name, kind in leaves:
        setting.leaves += described[name] if name in described else [_scalar(atoms, reader, name, kind)]
    _set_grid(setting, reader, grid)
    return setting


def _scalar(atoms, reader, name, kind):
    if kind == "i1":
        return atoms.unknown_condition(atoms.symbol(name, (0, 1)))
    if not _is_integer(kind):
        return None
    number = reader.names[name]
    return atoms.wrapped(number, int(kind[1:])) if kind[0] == "u" else number


def _array(setting, reader, name, kind, arrays):
    """Notes an array; the leaves of its parameter."""
    if name not in arrays:
        raise _refused(name, "the extents of this array are not given")
    node = reader.parse(arrays[name])
    parts = node.elts if isinstance(node, (ast.List, ast.Tuple)) else [node]
    extents = [reader.number(part, arrays[name]) for part in parts]
    short = kind.lstrip("*k") if kind.startswith("*") else kind[len("tensordesc<") : kind.index("[")]
    size, count = size_of(short), math.prod(extents, start=Poly.of(1))
    zero = Poly.of(0)
    setting.arrays[name] = Array(name, zero, count.times(size), size, name, zero)
    setting.facts += [at_most(zero, extent) for extent in extents if at_most(zero, extent) != TRUE]
    if kind.startswith("*"):
        return [name]
    strides = [math.prod(extents[i + 1 :], start=Poly.of(1)) for i in range(len(extents))]
    return [name, *extents, *strides]


def _set_grid(setting, reader, grid):
    node = reader.parse(grid)
    parts = list(node.elts) if isinstance(node, (ast.List, ast.Tuple)) else [node]
    if len(parts) > 3:
        raise _refused(grid, "a grid has at most three extents")
    extents = [reader.number(part, grid) for part in parts]
    setting.grid = (*extents, *(Poly.of(1) for _ in range(3 - len(extents))))
    for extent, limit in zip(setting.grid, _GRID_LIMITS):
        allowed = and_(at_most(Poly.of(1), extent), at_most(extent, Poly.of(limit)))
        if allowed != TRUE:
            setting.facts.append(allowed)
