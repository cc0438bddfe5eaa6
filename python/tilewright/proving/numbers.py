# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Computes an expression for given values of its symbols."""

from __future__ import annotations

__all__ = ["evaluated", "holds"]


def evaluated(poly, values):
    """The value of a polynomial; `values` maps symbols to numbers."""
    total = 0
    for monomial, factor in poly.terms.items():
        for atom in monomial:
            factor *= _atom(atom, values)
        total += factor
    return total


def _truncated(a, b):
    size = abs(a) // abs(b)
    return size if (a < 0) == (b < 0) else -size


def _atom(atom, values):
    if atom.kind == "symbol":
        return values[atom]
    if atom.kind == "select":
        condition, a, b = atom.args
        return evaluated(a if holds(condition, values) else b, values)
    if atom.kind == "wrap":
        value, bits, signed = atom.args
        value = evaluated(value, values) & ((1 << bits) - 1)
        return value - (1 << bits) if signed and value >> (bits - 1) else value
    a, b = (evaluated(part, values) for part in atom.args)
    if atom.kind == "min":
        return min(a, b)
    if atom.kind == "floor":
        return a // b
    if atom.kind == "modulo":
        return a % b
    quotient = _truncated(a, b)
    return quotient if atom.kind == "quotient" else a - quotient * b


def holds(formula, values):
    """Whether a condition holds."""
    kind, args = formula.kind, formula.args
    if kind in ("true", "false"):
        return kind == "true"
    if kind == "le":
        return evaluated(args[0], values) <= 0
    if kind == "eq":
        return evaluated(args[0], values) == 0
    if kind == "not":
        return not holds(args[0], values)
    return (all if kind == "and" else any)(holds(part, values) for part in args)
