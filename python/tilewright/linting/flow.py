# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Walks the statements of a kernel in order, with what the text shows about each name, for the rules about tiles."""

from __future__ import annotations

import ast
from dataclasses import replace

from .module import is_constexpr
from .tiles import CONSTANT, SCALAR, UNKNOWN, Evaluator, Tile, argument, merged

_REDUCTIONS = ("sum", "max", "min", "argmax", "argmin", "reduce", "xor_sum")
_FLOAT32_MIN, _FLOAT32_MAX = 1.1754944e-38, 3.4028235e38


class Walk:
    """One kernel: names, accesses so far, and the conditions around a statement."""

    def __init__(self, module, kernel, reporter):
        self.module, self.kernel, self.reporter = module, kernel, reporter
        self.constants = {a.arg for a in kernel.arguments if is_constexpr(a)}
        # Arguments of a launched kernel are scalars; a helper may get tiles.
        self.names = {
            a.arg: CONSTANT if a.arg in self.constants else SCALAR if kernel.is_entry else UNKNOWN for a in kernel.arguments
        }
        self.run_time = {a.arg for a in kernel.arguments} - self.constants
        self.accesses: list = []  # (call, names that index it, mask expression or None, conditions)
        self.conditions: list = []
        self.loops: list = []
        stored = [n.id for n in ast.walk(kernel.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        self.assigned_once = {name for name in stored if stored.count(name) == 1}
        self.definitions: dict = {}

    def run(self):
        self._block(self.kernel.node.body)
        return self

    # -- statements -----------------------------------------------------------

    def _block(self, statements):
        for statement in statements:
            method = getattr(self, "_" + type(statement).__name__, None)
            if method is not None:
                method(statement)
            else:
                self._value(statement)

    def _value(self, node) -> Tile:
        return Evaluator(self.module, self.names, self._seen).value(node)

    def _Assign(self, node):
        value = self._value(node.value)
        for target in node.targets:
            if isinstance(target, ast.Name):
                self._check_accumulation(node, target.id, node.value)
                self._set(target.id, value, node.value)
            else:
                for inner in ast.walk(target):
                    if isinstance(inner, ast.Name):
                        self.names[inner.id] = UNKNOWN
        if (
            isinstance(node.targets[0], ast.Tuple)
            and isinstance(node.value, ast.Tuple)
            and len(node.targets[0].elts) == len(node.value.elts)
        ):
            for target, element in zip(node.targets[0].elts, node.value.elts):
                if isinstance(target, ast.Name):
                    self._set(target.id, self._value(element), element)

    def _AnnAssign(self, node):
        if isinstance(node.target, ast.Name) and node.value is not None:
            self._set(node.target.id, self._value(node.value), node.value)
            if is_constexpr(node):
                self.names[node.target.id] = CONSTANT

    def _AugAssign(self, node):
        value = self._value(ast.copy_location(ast.BinOp(left=_loaded_name(node.target), op=node.op, right=node.value), node))
        if isinstance(node.target, ast.Name):
            self._check_accumulation(node, node.target.id, None)
            made_half = self.names.get(node.target.id, UNKNOWN).made_half
            self._set(node.target.id, replace(value, made_half=made_half), node.value)

    def _set(self, name, value, expression):
        self.names[name], self.definitions[name] = value, expression

    def _If(self, node):
        self._value(node.test)
        before = dict(self.names)
        self.conditions.append(node)
        self._block(node.body)
        after = self.names
        self.names = dict(before)
        self._block(node.orelse)
        self.conditions.pop()
        self.names = {name: merged(after.get(name, UNKNOWN), self.names.get(name, UNKNOWN)) for name in {**after, **self.names}}

    def _For(self, node):
        self._value(node.iter)
        self._loop(node, {node.target.id} if isinstance(node.target, ast.Name) else set())

    def _While(self, node):
        self._value(node.test)
        self._loop(node, set())

    def _loop(self, node, counters):
        """Once: names that the loop changes have what they have before it only until it does."""
        assigned = {n.id for s in node.body for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        before = dict(self.names)
        for name in assigned:
            if name in self.names:
                self.names[name] = replace(UNKNOWN, made_half=self.names[name].made_half)
        self.names.update(dict.fromkeys(counters, SCALAR))
        self.loops.append((node, before))
        self._block(node.body)
        self.loops.pop()
        self._check_lost_accumulators(node, assigned)

    # -- rules at a call --------------------------------------------------------

    def _seen(self, node, name, arguments, keywords):
        if name in ("load", "store"):
            self._access(node, name, arguments, keywords)
        elif name.lstrip(".") in _REDUCTIONS and arguments:
            self._reduction(node, name, arguments)
        elif name == "dot" and len(arguments) > 1:
            for tile, axis, which in ((arguments[0], 1, "first"), (arguments[1], 0, "second")):
                if tile.rank == 2 and axis in tile.undefined:
                    self._undefined(node, f"the {which} operand of tl.dot has undefined lanes along K")
        elif name in ("maximum", "minimum", "where", "clamp"):
            for given in node.args:
                self._constant(node, given, name)
        elif name in ("device_print", "static_print") and not self.conditions:
            self._report("print-left", node, f"tl.{name} prints each time")

    def _report(self, rule, node, text, **more):
        self.reporter.report(rule, node, self.kernel.name, text, **more)

    def _undefined(self, node, text):
        self._report("undefined-lanes", node, f"{text}: they are loaded with a mask and without other=")

    def _reduction(self, node, name, arguments):
        tile = arguments[0]
        given = argument(node, 0 if name.startswith(".") else 1, "axis")
        axis = given.value if isinstance(given, ast.Constant) else None if given is None else "?"
        if isinstance(given, ast.UnaryOp) and tile.rank:
            value = getattr(given.operand, "value", None)
            axis = tile.rank - value if isinstance(given.op, ast.USub) and type(value) is int else "?"
        if tile.rank and (axis is None and tile.undefined or axis in tile.undefined):
            self._undefined(node, f"{ast.unparse(node.func)} reads undefined lanes")

    def _constant(self, node, given, name):
        value = given.operand if isinstance(given, ast.UnaryOp) else given
        if isinstance(value, ast.Constant) and type(value.value) is float and value.value:
            if not _FLOAT32_MIN <= abs(value.value) <= _FLOAT32_MAX and abs(value.value) != float("inf"):
                self._report("float64-constant", node, f"{ast.unparse(given)} makes the result of tl.{name} float64")

    def _access(self, node, name, arguments, keywords):
        if "boundary_check" in keywords or not node.args:
            return
        position = 1 if name == "load" else 2
        mask = argument(node, position, "mask")
        if isinstance(mask, ast.Constant) and mask.value is None:
            mask = None
        self.accesses.append((node, self._indices(node.args[0]), mask, len(self.conditions)))
        pointer = arguments[0]
        if mask is None and pointer.rank and pointer.varies and pointer.has_program_id and not pointer.is_wrapped:
            self._report("unmasked-tail", node, f"tl.{name} at program_id * block + arange has no mask")
        self._check_strides(node.args[0])

    def _check_strides(self, pointer):
        for inner in ast.walk(pointer):
            if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Mult):
                for side, other in ((inner.left, inner.right), (inner.right, inner.left)):
                    is_stride = isinstance(other, ast.Name) and other.id in self.run_time and "stride" in other.id.lower()
                    if is_stride and self._value(side).has_program_id:
                        self._report("int32-stride", inner, f"{ast.unparse(inner)} is computed in 32 bits")

    def _indices(self, pointer) -> set:
        """Names of tiles made from tl.arange in an address, also in what names mean that are assigned once.

        A remainder stays inside.
        """
        found, waiting = set(), [pointer]
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
                continue
            waiting += ast.iter_child_nodes(node)
            if isinstance(node, ast.Name) and node.id in self.assigned_once and node.id not in found:
                value = self.names.get(node.id, UNKNOWN)
                if value.rank and value.varies and not value.is_wrapped:
                    found.add(node.id)
                    waiting.append(self.definitions.get(node.id, node))
        return found

    # -- rules about accumulators -------------------------------------------------

    def _check_accumulation(self, node, name, value):
        if not self.loops or not self.loops[-1][1].get(name, UNKNOWN).made_half:
            return
        is_sum = isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add)
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
            is_sum = any(isinstance(side, ast.Name) and side.id == name for side in (value.left, value.right))
        elif isinstance(value, ast.Call) and self.module.function_of_language(value) == "dot":
            third = argument(value, 2, "acc")
            is_sum = isinstance(third, ast.Name) and third.id == name
        if is_sum:
            self._report("half-accumulator", node, f"'{name}' adds up over the loop in 16 bits")

    def _check_lost_accumulators(self, loop, assigned):
        """A name that a loop sets to zeros, adds products to, reads nowhere else, and that is read after the loop."""
        for statement in loop.body:
            is_creation = (
                isinstance(statement, ast.Assign)
                and isinstance(statement.targets[0], ast.Name)
                and self.module.function_of_language(statement.value) in ("zeros", "full", "zeros_like")
            )
            if not is_creation:
                continue
            name = statement.targets[0].id
            updates = [s for s in loop.body if _is_update(s, name)]
            reads = sum(
                isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)
                for s in loop.body
                if s not in updates
                for n in ast.walk(s)
            )
            has_product = any(self.module.function_of_language(n) == "dot" for s in updates for n in ast.walk(s))
            later = any(
                isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load) and n.lineno > loop.end_lineno
                for n in ast.walk(self.kernel.node)
            )
            if has_product and not reads and later:
                self._report(
                    "lost-accumulator",
                    statement,
                    f"'{name}' is made anew in each iteration, and only the last one's product is left",
                )


def _loaded_name(target):
    return ast.copy_location(ast.Name(id=target.id, ctx=ast.Load()), target) if isinstance(target, ast.Name) else target


def _is_update(statement, name) -> bool:
    if isinstance(statement, ast.AugAssign):
        return isinstance(statement.target, ast.Name) and statement.target.id == name
    return (
        isinstance(statement, ast.Assign)
        and isinstance(statement.targets[0], ast.Name)
        and statement.targets[0].id == name
        and any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(statement.value))
    )


# ---------------------------------------------------------------------------
# Rules about a whole kernel
# ---------------------------------------------------------------------------


def check_tiles(module, kernel, reporter):
    walk = Walk(module, kernel, reporter).run()
    _check_missing_masks(walk)
    _check_unused_masks(walk)


def _names_in(node) -> set:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def _guards(walk, mask) -> set:
    """Names that a mask compares with arguments known at run time, followed through names that are assigned once.

    A comparison with constexprs often cuts a row of the block off, which another access wants.
    """
    found, waiting, known = set(), [mask], set()
    while waiting:
        node = waiting.pop()
        for inner in ast.walk(node):
            if isinstance(inner, ast.Compare) and (names := _names_in(inner)) & walk.run_time:
                found |= names
            elif (
                isinstance(inner, ast.Name)
                and inner.id in walk.assigned_once
                and inner.id in walk.definitions
                and inner.id not in known
            ):
                known.add(inner.id)
                waiting.append(walk.definitions[inner.id])
    return found


def _check_missing_masks(walk):
    """Accesses without a mask by an index that another access, which is not under a condition either, masks."""
    masked = {}
    for node, indices, mask, depth in walk.accesses:
        if mask is not None and depth == 0:
            for name in indices & _guards(walk, mask):
                masked.setdefault(name, node)
    for node, indices, mask, depth in walk.accesses:
        if mask is None and depth == 0 and (names := sorted(indices & set(masked))):
            first = masked[names[0]]
            walk.reporter.report(
                "missing-mask", node, walk.kernel.name, f"no mask, though the access in line {first.lineno} masks '{names[0]}'"
            )


def _check_unused_masks(walk):
    read = {n.id for n in ast.walk(walk.kernel.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    for statement in ast.walk(walk.kernel.node):
        if (
            isinstance(statement, ast.Assign)
            and isinstance(statement.targets[0], ast.Name)
            and isinstance(statement.value, ast.Compare)
        ):
            name = statement.targets[0].id
            if name not in read and not name.startswith("_"):
                walk.reporter.report("unused-mask", statement, walk.kernel.name, f"'{name}' is never used")
