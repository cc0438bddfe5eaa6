# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The expressions of a jit function as Python that means what the language means (kernel_rewriter.py has the table)."""

from __future__ import annotations

import ast
import types

from ..frontend_rules import FORBIDDEN
from ..user_objects import attribute, has_attribute
from . import kernel_helpers

#: Builtins that mean something of their own in a kernel.
_replaced_builtins = kernel_helpers.builtins_of_the_language

PREFIX = "__tw_"


def helper_name(name):
    return PREFIX + name


def load_node(name):
    return ast.Name(id=name, ctx=ast.Load())


def call_node(helper, *args):
    return ast.Call(func=load_node(helper_name(helper)), args=list(args), keywords=[])


#: What kernels may not assign to, by the keys of FORBIDDEN.
_faulty_targets = {ast.Attribute: "AttributeTarget", ast.Subscript: "SubscriptTarget", ast.Starred: "Starred"}


class ExpressionRewriter(ast.NodeTransformer):
    """Rewrites expressions; a subclass knows the function: `jit_function`, its `locals`, and `temporaries` so far."""

    def _at(self, new, old):
        return ast.copy_location(new, old)

    def _fault_of_target(self, target):
        """The key of what kernels may not assign to; None for a name, or a tuple of targets that may be."""
        if isinstance(target, (ast.Tuple, ast.List)):
            return next(filter(None, map(self._fault_of_target, target.elts)), None)
        return _faulty_targets.get(type(target))

    # -- what kernels may not contain -------------------------------------------

    def _refused(self, key, node):
        """In place of `node`: raised where it is reached, a branch that is never taken may hold it."""
        refusal = self._at(call_node("refused", ast.Constant(key)), node)
        return self._at(ast.Expr(value=refusal), node) if isinstance(node, ast.stmt) else refusal

    def generic_visit(self, node):
        key = type(node).__name__
        return self._refused(key, node) if key in FORBIDDEN else super().generic_visit(node)

    # -- expressions ----------------------------------------------------------

    def _truth(self, node, construct):
        return self._at(call_node("truth_" + construct, self.visit(node)), node)

    def _temporary(self):
        self.temporaries += 1
        return f"{PREFIX}{self.temporaries}"

    def visit_BoolOp(self, node):
        """(t if decides_and(t := a) else join_and(t, b)), nested to the right."""
        name = "and" if isinstance(node.op, ast.And) else "or"
        values = [self.visit(value) for value in node.values]
        result = values.pop()
        while values:
            value, held = values.pop(), self._temporary()
            keep = self._at(ast.NamedExpr(target=ast.Name(id=held, ctx=ast.Store()), value=value), value)
            result = self._at(
                ast.IfExp(
                    test=self._at(call_node(f"decides_{name}", keep), value),
                    body=self._at(load_node(held), value),
                    orelse=self._at(call_node(f"join_{name}", self._at(load_node(held), value), result), node),
                ),
                node,
            )
        return result

    def visit_UnaryOp(self, node):
        node.operand = self.visit(node.operand)
        if isinstance(node.op, ast.Not):
            return self._at(call_node("logical_not", node.operand), node)
        return node

    def visit_IfExp(self, node):
        held = self._temporary()
        keep = self._at(ast.NamedExpr(target=ast.Name(id=held, ctx=ast.Store()), value=self.visit(node.test)), node.test)
        choice = self._at(
            ast.IfExp(
                test=self._at(call_node("truth_choice", keep), node.test),
                body=self.visit(node.body),
                orelse=self.visit(node.orelse),
            ),
            node,
        )
        return self._at(call_node("branch", choice, self._at(load_node(held), node.test)), node)

    def visit_Compare(self, node):
        if len(node.ops) != 1:
            return self._chain(node)
        operator = node.ops[0]
        if type(operator).__name__ in FORBIDDEN:
            return self._refused(type(operator).__name__, node)
        node.left, right = self.visit(node.left), self.visit(node.comparators[0])
        if isinstance(operator, (ast.Is, ast.IsNot)):
            return self._at(call_node("is_same" if isinstance(operator, ast.Is) else "is_not_same", node.left, right), node)
        node.comparators = [right]
        return node

    def _chain(self, node):
        """`a < b < c` as `a < (t := b) and t < c`."""
        parts, left = [], node.left
        for position, (operator, right) in enumerate(zip(node.ops, node.comparators)):
            following = right
            if position + 1 < len(node.ops):
                held = self._temporary()
                keep = ast.NamedExpr(target=ast.Name(id=held, ctx=ast.Store()), value=right)
                right, following = self._at(keep, right), self._at(load_node(held), right)
            parts.append(self._at(ast.Compare(left=left, ops=[operator], comparators=[right]), node))
            left = following
        return self.visit(self._at(ast.BoolOp(op=ast.And(), values=parts), node))

    def visit_BinOp(self, node):
        if isinstance(node.op, ast.MatMult):
            return self._refused("MatMult", node)
        return self.generic_visit(node)

    def visit_Call(self, node):
        if any(keyword.arg is None for keyword in node.keywords):
            return self._refused("KeywordArguments", node)
        found, callee = self._resolve(node.func)
        if found and kernel_helpers.is_run_time_range(callee) and callee is not kernel_helpers.tl.range:
            # Outside of `for` a range is its values.
            return self._at(call_node("make_tuple", self._call_of_range(node)), node)
        kind = kernel_helpers.kind_of_callee(callee) if found else "value"
        # What computes at compile time takes Python's values, and may give back a constexpr.
        visit = self._unwrapped if kind == "static" else self.visit
        call = self._at(
            ast.Call(
                func=self._callee(node.func, kind),
                args=[self._argument(a, visit) for a in node.args],
                keywords=[self._at(ast.keyword(arg=k.arg, value=visit(k.value)), k) for k in node.keywords],
            ),
            node,
        )
        return self._at(call_node("unwrap", call), node) if kind in ("static", "library") else call

    def _call_of_range(self, node):
        node.func = self.visit(node.func)
        node.args = [self._argument(a, self.visit) for a in node.args]
        node.keywords = [self._at(ast.keyword(arg=k.arg, value=self.visit(k.value)), k) for k in node.keywords]
        return node

    def _callee(self, node, kind):
        if kind == "constant":
            return self._at(load_node(helper_name("unwrap")), node)
        callee = self.visit(node)
        wanted = {"wrapped": "inner_function", "library": "function_of_a_library"}.get(kind)
        return self._at(call_node(wanted, callee), node) if wanted else callee

    def _argument(self, node, visit):
        return self.visit(node) if isinstance(node, ast.Starred) else visit(node)

    def visit_Starred(self, node):
        """`*x` among arguments or elements; a starred target has been refused."""
        node.value = self.visit(node.value)
        return node

    def _unwrapped(self, node):
        return self._at(call_node("unwrap", self.visit(node)), node)

    def _resolve(self, node):
        """(True, value) for a dotted name that starts at a global; modules and classes are looked into."""
        if isinstance(node, ast.Name):
            if node.id in self.locals:
                return False, None
            try:
                return True, self.jit_function.lookup_global(node.id)
            except KeyError:
                return False, None
        if isinstance(node, ast.Attribute):
            found, base = self._resolve(node.value)
            if found and isinstance(base, (types.ModuleType, type)) and has_attribute(base, node.attr):
                return True, getattr(base, node.attr)
        return False, None

    def visit_Attribute(self, node):
        if not isinstance(node.ctx, ast.Load):
            return self.generic_visit(node)
        found, base = self._resolve(node.value)
        node.value = self.visit(node.value)
        if found and isinstance(base, types.ModuleType):
            value = attribute(base, node.attr)
            return self._at(call_node("unwrap", node), node) if kernel_helpers.is_constexpr_object(value) else node
        if node.attr in ("value", "type"):
            return self._at(call_node(f"{node.attr}_of", node.value), node)
        if node.attr in kernel_helpers.tensor_attributes:
            node.value = self._at(call_node("promote", node.value), node.value)
        return node

    def visit_Subscript(self, node):
        node.value = self.visit(node.value)
        if isinstance(node.slice, ast.Slice):
            for name in ("lower", "upper", "step"):
                bound = getattr(node.slice, name)
                if bound is not None:
                    setattr(node.slice, name, self._unwrapped(bound))
        elif isinstance(node.slice, (ast.Constant, ast.Tuple)):
            node.slice = self.visit(node.slice)
        else:
            node.slice = self._unwrapped(node.slice)
        return node

    def visit_List(self, node):
        elements = [self.visit(element) for element in node.elts]
        return self._at(ast.Tuple(elts=elements, ctx=node.ctx), node)

    def visit_ListComp(self, node):
        if len(node.generators) != 1:
            return self._refused("NestedComprehension", node)
        generator = node.generators[0]
        if key := self._fault_of_target(generator.target):
            return self._refused(key, node)
        # The target is local to the comprehension; inside it, it hides a global.
        inner = {n.id for n in ast.walk(generator.target) if isinstance(n, ast.Name)}
        generator.iter = self._unwrapped(generator.iter)
        added = inner - self.locals
        self.locals |= added
        generator.ifs = [self._unwrapped(condition) for condition in generator.ifs]
        node.elt = self.visit(node.elt)
        self.locals -= added
        return self._at(call_node("make_tuple", node), node)

    def visit_Constant(self, node):
        if isinstance(node.value, bytes):
            return self._refused("Bytes", node)
        if isinstance(node.value, complex):
            return self._refused("Complex", node)
        return node

    def visit_Name(self, node):
        name = node.id
        if not isinstance(node.ctx, ast.Load) or name in self.locals or name.startswith(PREFIX):
            return node
        try:
            value = self.jit_function.lookup_global(name)
        except KeyError:
            return node
        function = self.jit_function.fn
        if name not in function.__code__.co_freevars and name not in function.__globals__:
            return self._builtin(node)
        if kernel_helpers.is_constexpr_object(value):
            return self._at(call_node("unwrap", node), node)
        return node

    def _builtin(self, node):
        if node.id in _replaced_builtins:
            return self._at(load_node(helper_name("builtin_" + node.id)), node)
        return node
