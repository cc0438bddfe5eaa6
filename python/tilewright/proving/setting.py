# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The launches for which something is proved: one, or all that satisfy conditions."""

from __future__ import annotations

from dataclasses import dataclass, field

from .. import _core, errors
from ..compiler.options import parse_options
from .evaluate import Evaluator, Pointers, functions_ops
from .terms import TRUE, Atoms, Poly

__all__ = ["Array", "Setting"]

#: Descriptors are plain pointers there, and all types of numbers are known.
TARGET = "sm_89"


@dataclass
class Array:
    """An array of the launch, in bytes from the address that the kernel gets.

    region: what it shares with arrays that may overlap it; base: where its address lies in that
    """

    name: str
    low: Poly
    high: Poly
    element_bytes: int
    region: object
    base: Poly


@dataclass
class Setting:
    """What is known of a launch.

    leaves: for each argument of the kernel's function an array's name, a Poly, a Formula, or None (a float)
    grid: the numbers of programs, three
    facts: conditions that hold for every launch in question
    sizes: what a witness gives values to, by name: a symbol, or a number of times one; none for one launch
    """

    kernel: object
    signature: dict
    constants: dict
    atoms: Atoms
    leaves: list
    arrays: dict
    grid: tuple
    facts: list = field(default_factory=list)
    sizes: dict = field(default_factory=dict)
    options: dict = field(default_factory=dict)

    def symbols_of(self, sizes):
        """The value of each symbol, for the values of the sizes."""
        found = {}
        for name, poly in self.sizes.items():
            (((symbol,), factor),) = poly.terms.items()
            found[symbol] = sizes[name] // factor
        return found

    def function(self):
        """(ops, values of the arguments, evaluator per instance) of the kernel's tile IR."""
        tree = _core.emit_tree(self.kernel, self.signature, self.constants, {}, parse_options(dict(self.options)), TARGET)
        values = tree["arguments"]
        if len(values) != len(self.leaves):
            raise errors.make("E0428", text=self.kernel.__name__, reason="it has parameters of a kind that proofs do not know")
        return functions_ops(tree), values

    def evaluator(self, ops, values, instance):
        arguments = []
        for leaf, (_, kind) in zip(self.leaves, values):
            if kind[0] == "pointer":
                arguments.append(Pointers([(TRUE, leaf, Poly.of(0))], 1))
            else:
                arguments.append(leaf)
        return Evaluator(self.atoms, ops, values, arguments, self.grid, instance)
