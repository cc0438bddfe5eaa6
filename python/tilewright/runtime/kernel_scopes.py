# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which names a kernel has where, for the rules that native Python does not have.

In a compiled kernel a name that is assigned in one branch of a run-time `if`, or
first assigned in a loop, is gone afterwards, and a name that has a value may not
change its type there. The rewriter adds checks for that around `if`, `for` and
`while`; this module knows the names they are about.

The analysis is in the order of the text and errs on the side of silence: a name
is checked only where it certainly has a value, and hidden only where it certainly
had none.
"""

from __future__ import annotations

import ast


def assigned_names(statements) -> set:
    """Names that these statements assign, constexpr annotations left out."""
    names = set()

    def visit(node):
        if isinstance(node, (ast.ListComp, ast.Lambda, ast.FunctionDef)):
            return  # scopes of their own
        if isinstance(node, ast.AnnAssign) and is_constexpr_annotation(node.annotation):
            return
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        for child in ast.iter_child_nodes(node):
            visit(child)

    for statement in statements:
        visit(statement)
    return names


def names_read_outside_loops(statements) -> set:
    """Names that are read anywhere but in the bodies of the `for` loops that count with them."""
    names = set()

    def visit(node, counting):
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            visit(node.iter, counting)
            inner = counting | {node.target.id}
            for child in (*node.body, *node.orelse):
                visit(child, inner)
            return
        if isinstance(node, ast.AugAssign):
            visit_name(node.target, counting)
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store):
            visit_name(node, counting)
        for child in ast.iter_child_nodes(node):
            visit(child, counting)

    def visit_name(node, counting):
        if isinstance(node, ast.Name) and node.id not in counting:
            names.add(node.id)

    for statement in statements:
        visit(statement, frozenset())
    return names


def is_constexpr_annotation(node) -> bool:
    if isinstance(node, ast.Constant):
        return str(node.value).rsplit(".", 1)[-1] == "constexpr"
    return ast.unparse(node).rsplit(".", 1)[-1] == "constexpr"


def contains_return(statements) -> bool:
    return any(isinstance(node, ast.Return) for statement in statements for node in ast.walk(statement))


class Scope:
    """What is known about names at one point of the text."""

    def __init__(self, arguments):
        self.bound = set(arguments)  # certainly has a value
        self.seen = set(arguments)  # has been assigned somewhere above
        self.hidden = set()  # may have been hidden: loads are checked

    def assign(self, target):
        for node in ast.walk(target):
            if isinstance(node, ast.Name):
                self.bound.add(node.id)
                self.seen.add(node.id)

    def see(self, names):
        self.seen |= names

    def hide(self, names):
        self.hidden.update(names)
        self.bound.difference_update(names)
