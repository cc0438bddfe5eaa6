# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs tile IR of 32-bit scalars, as the front end makes it, in plain Python.

It knows control flow (scf), integer arithmetic and stores, which is enough to
check what the walker does with branches, loops and returns. The text must be in
MLIR's generic form, one op per line.
"""

import re

OP = re.compile(r'\s*(?:(%\w+)(?::(\d+))? = )?"([\w.]+)"\(([^)]*)\)(.*)')


class StepLimit(Exception):
    """The program did not end within the steps it was given."""


class Operation:
    """One op: names of results and operands, text after the operands, regions."""

    def __init__(self, match):
        result, count, self.name, operands, self.rest = match.groups()
        self.operands = [o.strip() for o in operands.split(",") if o.strip()]
        self.results = [] if result is None else [result] if count is None else [f"{result}#{i}" for i in range(int(count))]
        self.regions = []


class Region:
    """A block: its arguments and ops."""

    def __init__(self, arguments, operations):
        self.arguments, self.operations = arguments, operations


def parse(lines, position=0):
    """The region that starts at `position`, and the position of its closing line."""
    arguments, operations = [], []
    while position < len(lines):
        line = lines[position].strip()
        if line.startswith("}"):
            break
        if line.startswith("^"):
            arguments = re.findall(r"(%\w+): ", line)
        elif match := OP.match(lines[position]):
            operation = Operation(match)
            if operation.rest.rstrip().endswith("({"):
                closing = "}, {"
                while closing.startswith("}, {"):
                    region, position = parse(lines, position + 1)
                    operation.regions.append(region)
                    closing = lines[position].strip()
                operation.rest += closing
            operations.append(operation)
        position += 1
    return Region(arguments, operations), position


def wrap(value):
    """Two's complement of 32 bits."""
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value


ARITHMETIC = {
    "addi": lambda a, b: wrap(a + b),
    "subi": lambda a, b: wrap(a - b),
    "muli": lambda a, b: wrap(a * b),
    "andi": lambda a, b: a & b,
    "ori": lambda a, b: a | b,
    "xori": lambda a, b: a ^ b,
    "minsi": min,
    "maxsi": max,
    "extui": lambda a: a,
    "select": lambda c, a, b: a if c else b,
}
# By the number of arith.cmpi's predicate.
COMPARISONS = [
    lambda a, b: a == b,
    lambda a, b: a != b,
    lambda a, b: a < b,
    lambda a, b: a <= b,
    lambda a, b: a > b,
    lambda a, b: a >= b,
]


class Machine:
    """Memory of a run, and the steps that are left."""

    def __init__(self, steps=200_000):
        self.memory, self.steps = {}, steps

    def run(self, region, values, arguments):
        """Binds the arguments, runs the ops; what the last op hands on."""
        values.update(zip(region.arguments, arguments))
        for op in region.operations:
            self.steps -= 1
            if self.steps < 0:
                raise StepLimit
            operands = [values[name] for name in op.operands]
            if op.name in ("scf.yield", "scf.condition", "func.return"):
                return operands
            values.update(zip(op.results, self.evaluate(op, operands, values)))
        return []

    def evaluate(self, op, operands, values):
        dialect, name = op.name.split(".")
        if dialect == "scf":
            return getattr(self, "run_" + name)(op, operands, values)
        if op.name == "arith.constant":
            text = re.search(r"value = (true|false|-?\d+)", op.rest)[1]
            return [{"true": 1, "false": 0}.get(text) if text in ("true", "false") else int(text)]
        if op.name == "arith.cmpi":
            predicate = int(re.search(r"predicate = (\d+)", op.rest)[1])
            return [int(COMPARISONS[predicate](*operands))]
        if dialect == "arith":
            return [ARITHMETIC[name](*operands)]
        if op.name == "tw.addptr":
            return [operands[0] + operands[1]]
        assert op.name == "tw.store", op.name
        self.memory[operands[0]] = operands[1]
        return []

    def run_if(self, op, operands, values):
        taken = op.regions[0 if operands[0] else 1] if len(op.regions) > 1 or operands[0] else None
        return self.run(taken, values, []) if taken else []

    def run_for(self, op, operands, values):
        index, end, step, *carried = operands
        assert step > 0
        while index < end:
            carried = self.run(op.regions[0], values, [index, *carried])
            index += step
        return carried

    def run_while(self, op, operands, values):
        while True:
            goes_on, *carried = self.run(op.regions[0], values, operands)
            if not goes_on:
                return carried
            operands = self.run(op.regions[1], values, carried)


def run_kernel(text, arguments):
    """Memory after the only function of `text` has run: address -> value."""
    module, _ = parse(text.splitlines())
    function = module.operations[0].regions[0].operations[0]
    machine = Machine()
    machine.run(function.regions[0], {}, arguments)
    return machine.memory
