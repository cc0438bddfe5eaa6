# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Grids as expressions over a kernel's arguments: "cdiv(n, BLOCK), heads".

They are read as Python, written as C, and computed here for packages. None of them is run as code.
"""

from __future__ import annotations

import ast
import operator

from .. import errors
from ..parsing import parse
from ..runtime.mathematics import cdiv

_HELP = (
    "use integer parameters, constants, x.shape[0] of a descriptor, multiprocessors, + - * // %, cdiv, min and max: "
    '"cdiv(n, BLOCK), heads"'
)
#: Operator -> (what it computes, its C form); `/` is C's for those who write C.
_OPERATORS = {
    ast.Add: (operator.add, "tw_add({}, {})"),
    ast.Sub: (operator.sub, "tw_subtract({}, {})"),
    ast.Mult: (operator.mul, "tw_multiply({}, {})"),
    ast.FloorDiv: (operator.floordiv, "tw_floor_divide({}, {})"),
    ast.Div: (operator.floordiv, "tw_floor_divide({}, {})"),
    ast.Mod: (operator.mod, "tw_modulo({}, {})"),
}
_FUNCTIONS = {"cdiv": (cdiv, "tw_cdiv({}, {})"), "min": (min, "tw_min({}, {})"), "max": (max, "tw_max({}, {})")}


class Grid:
    """One to three expressions. They may name the parameters `scalars`, and `descriptors`, which maps names to ranks."""

    def __init__(self, text, scalars, descriptors, constants):
        self.text = text
        self._scalars, self._descriptors, self._constants = set(scalars), dict(descriptors), set(constants)
        try:
            tree = parse(f"({text},)", mode="eval").body
        except SyntaxError as error:
            raise self._refused(f"it is no expression: {error.msg}") from None
        self.axes = tree.elts
        if not 1 <= len(self.axes) <= 3:
            raise self._refused(f"it has {len(self.axes)} axes")
        self._map(lambda name: "0", lambda name, axis: "0", True, lambda name: 0)

    def _refused(self, reason):
        return errors.make("E0117", message=f"the grid '{self.text}' cannot be exported: {reason}", help=_HELP)

    def _number(self, value) -> str:
        """As C writes an integer of 64 bits, which one of its own has not by itself."""
        if not -(2**63) < value < 2**63:
            raise self._refused(f"{value} has more than 64 bits")
        return f"INT64_C({value})"

    def _map(self, scalar, extent, is_text, constant):
        """All axes, by functions for what they name; as C where `is_text`."""

        def walk(node):
            if isinstance(node, ast.Constant) and type(node.value) is int:
                return self._number(node.value) if is_text else node.value
            if isinstance(node, ast.Name):
                if node.id in self._constants:
                    return self._number(constant(node.id)) if is_text else constant(node.id)
                if node.id in self._scalars or node.id == "multiprocessors":
                    return scalar(node.id)
                raise self._refused(f"'{node.id}' is no integer that the launch knows")
            if (
                isinstance(node, ast.Subscript)
                and isinstance(node.value, ast.Attribute)
                and node.value.attr == "shape"
                and isinstance(node.value.value, ast.Name)
                and node.value.value.id in self._descriptors
                and isinstance(node.slice, ast.Constant)
                and type(node.slice.value) is int
            ):
                rank = self._descriptors[node.value.value.id]
                if not 0 <= node.slice.value < rank:
                    raise self._refused(f"'{node.value.value.id}' has the axes 0 to {rank - 1}")
                return extent(node.value.value.id, node.slice.value)
            if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
                return f"tw_subtract(0, {walk(node.operand)})" if is_text else -walk(node.operand)
            if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
                return combine(_OPERATORS[type(node.op)], node.left, node.right)
            if isinstance(node, ast.Call) and len(node.args) == 2 and not node.keywords:
                # cdiv, tw.cdiv and triton.cdiv.
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                if name in _FUNCTIONS:
                    return combine(_FUNCTIONS[name], *node.args)
            raise self._refused(f"'{ast.unparse(node)}' is none of its forms")

        def combine(forms, left, right):
            compute, text = forms
            return text.format(walk(left), walk(right)) if is_text else compute(walk(left), walk(right))

        return [walk(axis) for axis in self.axes]

    def as_c(self, constants, names, state) -> list:
        """Three C expressions; `names` maps parameters to those of the C function."""
        axes = self._map(
            lambda name: f"{state}->multiprocessors" if name == "multiprocessors" else f"(int64_t){names[name]}",
            lambda name, axis: f"{names[name]}->shape[{axis}]",
            True,
            constants.__getitem__,
        )
        return axes + ["1"] * (3 - len(axes))

    def sizes(self, constants, arguments, multiprocessors) -> tuple:
        """The grid of a launch with these arguments by name."""

        def scalar(name):
            return multiprocessors() if name == "multiprocessors" else int(arguments[name])

        axes = self._map(scalar, lambda name, axis: int(arguments[name].shape[axis]), False, constants.__getitem__)
        return tuple(axes) + (1,) * (3 - len(axes))
