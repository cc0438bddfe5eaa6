# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A kernel as a module that torch walks, to learn which arguments the kernel changes.

torch asks `ASTSource.make_ir` for a module of Triton's own IR and follows the pointer of
each store back to the function's arguments. Tilewright knows the answer from its own IR
(codegen/emit/ArgumentAccess.h). So the module that it hands out has a function with the
kernel's name and the arguments that torch counts, a load from each that may be read, and
stores to each that may be written: whoever follows those finds what the compiler knows.
Each written argument has two stores. If it had one, torch would take that for the place where
a complete result is stored, and would put more computation there.
"""

from __future__ import annotations

import itertools


class context:
    """Stands for MLIR's context: modules here need none."""


def load_dialects(context):
    """Triton registers its operations; here nothing has to be."""


_numbers = itertools.count(1)


class value:
    """An argument of a function."""

    def __init__(self):
        self._id = next(_numbers)

    def id(self) -> int:
        return self._id


class region(value):
    """What belongs to a function; all that is asked for is its identity."""


class block(value):
    """The body of a function."""

    def __init__(self, parent, arguments):
        super().__init__()
        self._parent, self._arguments = parent, arguments

    def get_num_arguments(self) -> int:
        return len(self._arguments)

    def get_argument(self, index) -> value:
        return self._arguments[index]

    def get_parent(self) -> region:
        return self._parent


class operation:
    """An operation without results."""

    def __init__(self, name, operands=(), place=None, regions=(), attributes=None):
        self._name, self._operands, self._place = name, list(operands), place
        self._regions, self._attributes = list(regions), dict(attributes or {})

    def get_name(self) -> str:
        return self._name

    def get_num_operands(self) -> int:
        return len(self._operands)

    def get_operand(self, index) -> value:
        return self._operands[index]

    def get_num_results(self) -> int:
        return 0

    def get_result(self, index):
        raise IndexError(index)

    def get_num_regions(self) -> int:
        return len(self._regions)

    def get_region(self, index) -> region:
        return self._regions[index]

    def get_block(self):
        return self._place

    def get_str_attr(self, name):
        return self._attributes.get(name)

    def get_flat_symbol_ref_attr(self, name):
        return self._attributes.get(name)

    def get_bool_attr(self, name):
        return self._attributes.get(name)


class module:
    """One kernel: `arguments` has (name, whether it may be written, whether it may be read) in order."""

    def __init__(self, name, arguments, text=""):
        self._text = text
        inside = region()
        values = [value() for _ in arguments]
        body = block(inside, values)
        loads = [operation("tt.load", [v], body) for v, (_, _, is_read) in zip(values, arguments) if is_read]
        stores = [operation("tt.store", [v], body) for v, (_, is_written, _) in zip(values, arguments) if is_written]
        self._operations = [
            *loads,
            *stores,
            *stores,
            operation("tt.return", place=body),
            operation("tt.func", place=block(region(), []), regions=[inside], attributes={"sym_name": name}),
            operation("builtin.module"),
        ]

    def verify(self) -> bool:
        return True

    def walk(self, visit):
        """What is inside comes first, as in MLIR's walks."""
        for op in self._operations:
            visit(op)

    def __str__(self):
        return self._text
