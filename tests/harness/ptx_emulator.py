# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a kernel's PTX on the CPU, for tests of code generation without a GPU.

Slow and literal: NumPy over the threads of one block, blocks one after the
other. It knows the instructions that products and what surrounds them need,
and refuses the rest by name; see ptx_machine.py for the mistakes that it finds
beyond wrong results.
"""

import numpy as np

from harness import ptx_matrix  # noqa: F401  registers its instructions
from harness.ptx_execute import execute
from harness.ptx_machine import GlobalMemory, Machine
from harness.ptx_program import parse

FORMATS = {4: {int: np.int32, float: np.float32}, 8: {int: np.int64, float: np.float64},
           2: {int: np.int16, float: np.float16}, 1: {int: np.int8}}  # fmt: skip


def launch(ptx: str, grid, arguments):
    """Arrays are changed in place; numbers are passed as the parameter's size says."""
    program = parse(ptx)
    grid = (*grid, 1, 1)[:3]
    memory, placed = GlobalMemory(), {}
    parameters = np.zeros(program.parameter_bytes, np.uint8)
    assert len(arguments) == len(program.parameters), f"{program.name} takes {len(program.parameters)} arguments"
    for value, (_, offset, size) in zip(arguments, program.parameters):
        if isinstance(value, np.ndarray):
            if id(value) not in placed:
                placed[id(value)] = (memory.add(value), value)
            raw = np.uint64(placed[id(value)][0])
        else:
            raw = FORMATS[size][float if isinstance(value, float) else int](value)
        parameters[offset : offset + size] = np.frombuffer(raw.tobytes(), np.uint8)
    for z in range(grid[2]):
        for y in range(grid[1]):
            for x in range(grid[0]):
                Machine(program, memory, parameters, (x, y, z), grid).run(execute)
    for address, array in placed.values():
        memory.read_back(address, array)
