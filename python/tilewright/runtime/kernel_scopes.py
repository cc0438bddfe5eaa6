# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which names count loops, and which are read where no loop counts with them.

After a run-time `for` its counter has the loop's type, also where the loop did not run. The
rewriter sees to that for counters that are read afterwards.
"""

from __future__ import annotations

import ast


def counters(statements) -> set:
    """Names that a `for` of these statements counts with."""
    loops = (node for statement in statements for node in ast.walk(statement) if isinstance(node, ast.For))
    return {loop.target.id for loop in loops if isinstance(loop.target, ast.Name)}


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
