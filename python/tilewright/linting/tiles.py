# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Facts about an expression of a kernel, as far as its text shows them: rank, the axes it varies along, undefined lanes.

If the text does not show a fact, it is unknown and no rule reports: a value of unknown rank varies along
no axis. Types are not looked at, apart from accumulators that are created with one.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

_NONE: frozenset = frozenset()


@dataclass(frozen=True)
class Tile:
    """A value; axes count from the first of `rank`."""

    rank: int | None = None
    varies: frozenset = _NONE  # axes along which it is made from tl.arange
    undefined: frozenset = _NONE  # axes along which lanes of a masked load have no value
    has_program_id: bool = False  # and is as wide as that, 32 bits
    is_wrapped: bool = False  # by a remainder, which keeps an index inside
    is_known: bool = False  # while compiling: made of indices and constexprs alone
    made_half: bool = False  # by tl.zeros or tl.full, in 16 bits

    def aligned(self, rank: int) -> "Tile":
        """The same value broadcast to a larger rank."""
        shift = rank - self.rank
        return (
            replace(
                self,
                rank=rank,
                varies=frozenset(a + shift for a in self.varies),
                undefined=frozenset(a + shift for a in self.undefined),
            )
            if shift
            else self
        )


UNKNOWN, SCALAR, CONSTANT = Tile(), Tile(rank=0), Tile(rank=0, is_known=True)

_ELEMENTWISE = {
    "exp",
    "exp2",
    "log",
    "log2",
    "sqrt",
    "rsqrt",
    "abs",
    "sin",
    "cos",
    "sigmoid",
    "floor",
    "ceil",
    "cast",
    "math.exp",
    "math.exp2",
    "math.log",
    "math.log2",
    "math.sqrt",
    "math.rsqrt",
    "math.abs",
    "multiple_of",
    "max_contiguous",
}
_METHODS = {"to", "exp", "log", "sqrt", "abs", "sigmoid", "cast"}
_HALF = ("tilewright.language.float16", "tilewright.language.bfloat16")


def joined(values) -> Tile:
    """What an operation on all of them gives."""
    if any(value.rank is None for value in values):
        return Tile(has_program_id=any(v.has_program_id for v in values), is_wrapped=any(v.is_wrapped for v in values))
    rank = max((value.rank for value in values), default=0)
    parts = [value.aligned(rank) for value in values]
    return Tile(
        rank,
        _NONE.union(*(p.varies for p in parts)),
        _NONE.union(*(p.undefined for p in parts)),
        any(p.has_program_id for p in parts),
        any(p.is_wrapped for p in parts),
        all(p.is_known for p in parts),
    )


def merged(first: Tile, second: Tile) -> Tile:
    """What a name is after two branches."""
    return first if first == second else UNKNOWN


class Evaluator:
    """Values of expressions with the names of one moment.

    `seen(call, name, arguments)` is told of each call of the language.
    """

    def __init__(self, module, names: dict, seen):
        self.module, self.names, self.seen = module, names, seen

    def value(self, node) -> Tile:
        method = getattr(self, "_of_" + type(node).__name__, None)
        if method is not None:
            return method(node)
        for child in ast.iter_child_nodes(node):
            self.value(child)
        return UNKNOWN

    def _of_Constant(self, node):
        return CONSTANT

    def _of_Name(self, node):
        return self.names.get(node.id, CONSTANT)  # a global of the module

    def _of_BinOp(self, node):
        left, right = self.value(node.left), self.value(node.right)
        result = joined((left, right))
        return replace(result, is_wrapped=True) if isinstance(node.op, ast.Mod) else result

    def _of_UnaryOp(self, node):
        return self.value(node.operand)

    def _of_BoolOp(self, node):
        return joined([self.value(value) for value in node.values])

    def _of_Compare(self, node):
        return joined([self.value(part) for part in (node.left, *node.comparators)])

    def _of_Attribute(self, node):
        base = self.value(node.value)
        return transposed(base) if node.attr == "T" else UNKNOWN

    def _of_Subscript(self, node):
        """x[:, None] and kin: where its axes are afterwards."""
        base = self.value(node.value)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        keeps = [isinstance(part, ast.Slice) and part.lower is None and part.upper is None for part in parts]
        adds = [isinstance(part, ast.Constant) and part.value is None for part in parts]
        if base.rank is None or not all(k or a for k, a in zip(keeps, adds)) or sum(keeps) != base.rank:
            return UNKNOWN
        places = [position for position, keep in enumerate(keeps) if keep]
        return replace(
            base,
            rank=len(parts),
            varies=frozenset(places[a] for a in base.varies),
            undefined=frozenset(places[a] for a in base.undefined),
        )

    def _of_Call(self, node):
        name = self.module.function_of_language(node)
        if not name and isinstance(node.func, ast.Attribute):
            return self._of_method(node)
        arguments = [self.value(a) for a in node.args]
        keywords = {k.arg: self.value(k.value) for k in node.keywords}
        if name:
            self.seen(node, name, arguments, keywords)
        return self._result(node, name, arguments, keywords)

    def _result(self, node, name, arguments, keywords):
        if name == "arange":
            return Tile(1, frozenset({0}), is_known=True)
        if name in ("program_id", "num_programs"):
            return Tile(0, has_program_id=name == "program_id")
        if name in _ELEMENTWISE and arguments:
            return arguments[0]
        if name in ("zeros", "full", "zeros_like"):
            dtype = argument(node, 2 if name == "full" else 1, "dtype")
            shape = argument(node, 0, "shape")
            rank = len(shape.elts) if isinstance(shape, (ast.Tuple, ast.List)) else None
            return Tile(rank, made_half=self.module.meaning(dtype) in _HALF)
        if name == "load" and arguments:
            return _loaded(arguments, keywords, node)
        if name in ("minimum", "maximum"):
            return joined(arguments)
        if name == "trans" and len(arguments) == 1:
            return transposed(arguments[0])
        return UNKNOWN

    def _of_method(self, node):
        base = self.value(node.func.value)
        for inner in (*node.args, *(k.value for k in node.keywords)):
            self.value(inner)
        if node.func.attr == "to" and node.args and "64" in ast.unparse(node.args[0]):
            return replace(base, has_program_id=False)
        if node.func.attr in _METHODS:
            return base
        self.seen(node, "." + node.func.attr, [base], {})
        return UNKNOWN


def transposed(tile: Tile) -> Tile:
    if tile.rank != 2:
        return UNKNOWN
    return replace(tile, varies=frozenset(1 - a for a in tile.varies), undefined=frozenset(1 - a for a in tile.undefined))


def argument(node: ast.Call, position: int, name: str):
    """The expression given for a parameter, or None."""
    if position < len(node.args):
        return node.args[position]
    return next((k.value for k in node.keywords if k.arg == name), None)


def _loaded(arguments, keywords, node) -> Tile:
    """What a load gives: undefined along the axes of its mask, where it has one and no `other`."""
    pointer = arguments[0]
    mask = arguments[1] if len(arguments) > 1 else keywords.get("mask")
    other = argument(node, 2, "other")
    if pointer.rank is None or mask is not None and mask.rank is None:
        return UNKNOWN
    rank = max(pointer.rank, mask.rank if mask else 0)
    is_partial = mask is not None and (other is None or isinstance(other, ast.Constant) and other.value is None)
    undefined = mask.aligned(rank).varies if is_partial and not mask.is_known else _NONE
    return Tile(rank, pointer.aligned(rank).varies, undefined)
