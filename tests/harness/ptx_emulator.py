# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a kernel's PTX on the CPU, for tests of code generation without a GPU.

Slow and literal: NumPy over the threads of one block, blocks one after the
other, those of a cluster up to where they meet. It knows the instructions that products and what surrounds them need,
and refuses the rest by name; see ptx_machine.py for the mistakes that it finds
beyond wrong results.
"""

import math
import types

import numpy as np
from tilewright.tools.tensor_descriptor import TensorDescriptor

from harness import ptx_arithmetic, ptx_copies, ptx_matrix  # noqa: F401  they register their instructions
from harness.ptx_execute import execute
from harness.ptx_machine import Machine, run_cluster
from harness.ptx_memory import GlobalMemory, Knowledge
from harness.ptx_words import GLOBAL_BASE, PARAMETER_BASE
from harness.ptx_program import parse
from harness.ptx_tensor_map import ProgramMaps, TensorMap
from harness.ptx_tma import finish_kernel

FLOATS = {2: np.float16, 4: np.float32, 8: np.float64}
TENSOR_MAP_BYTES = 128


def memory_of(array):
    """The array that owns the memory of a view, so that views of one memory overlap; else the array."""
    while isinstance(array.base, np.ndarray) and array.base.flags.c_contiguous:
        array = array.base
    return array


class Parameters:
    """The bytes of a kernel's parameters, filled in order."""

    def __init__(self, program):
        self.program = program
        self.bytes = np.zeros(program.parameter_bytes, np.uint8)
        self.memory, self.placed, self.tensor_maps = GlobalMemory(), {}, {}
        self.count, self.values = 0, []
        for name, table in program.tables.items():
            self.memory.symbols[name] = self.memory.add(np.frombuffer(table, np.uint8))

    def place(self, array):
        whole = memory_of(array)
        if id(whole) not in self.placed:
            self.placed[id(whole)] = (self.memory.add(whole), whole)
        return self.placed[id(whole)][0] + array.ctypes.data - whole.ctypes.data

    def add(self, value):
        assert self.count < len(self.program.parameters), f"{self.program.name} takes {self.count} arguments"
        if isinstance(value, TensorDescriptor):
            return self.add_descriptor(value)
        _, offset, size = self.program.parameters[self.count]
        self.count += 1
        self.values.append(value)
        if isinstance(value, np.ndarray):
            value = self.place(value)
        if isinstance(value, float):
            raw = FLOATS[size](value).tobytes()
        else:
            assert -(2 ** (8 * size - 1)) <= value < 2 ** (8 * size), f"{value} in {size} bytes"
            raw = (int(value) % 2 ** (8 * size)).to_bytes(size, "little")
        self.bytes[offset : offset + size] = np.frombuffer(raw, np.uint8)
        return None

    def add_descriptor(self, descriptor):
        _, offset, size = self.program.parameters[self.count]
        if size == TENSOR_MAP_BYTES:
            self.tensor_maps[PARAMETER_BASE + offset] = TensorMap.of(descriptor, self.place(descriptor.base))
            self.count += 1
            self.values.append(None)
        for part in (descriptor.base, *descriptor.shape, *descriptor.strides):
            self.add(part)

    def evaluate(self, steps):
        """An expression of metadata.host_tensor_maps (ir/support/RecipeOp.h)."""
        stack = []
        for op, operand in zip(steps[::2], steps[1::2]):
            if op == 0:
                stack.append(operand)
            elif op in (1, 2):
                stack.append(int(self.values[operand]))
            elif op in (7, 8):
                low = stack.pop() & 0xFFFFFFFF
                stack.append(low - (1 << 32) if op == 7 and low >> 31 else low)
            else:
                right, left = stack.pop(), stack.pop()
                stack.append({3: left + right, 4: left - right, 5: left * right, 6: int(left / right) if right else 0}[op])
        return stack[0]

    def add_host_tensor_map(self, recipe):
        """What a launch makes of other arguments."""
        array = self.values[recipe["base"]]
        descriptor = types.SimpleNamespace(
            base=array,
            shape=[self.evaluate(steps) for steps in recipe["shape"]],
            strides=[self.evaluate(steps) for steps in recipe["strides"]],
            block_shape=recipe["block"],
            padding="nan" if recipe["nan"] else "zero",
        )
        _, offset, size = self.program.parameters[self.count]
        assert size == TENSOR_MAP_BYTES
        self.tensor_maps[PARAMETER_BASE + offset] = TensorMap.of(descriptor, self.place(array))
        self.count += 1


def link_tables(parameters) -> set:
    """Where arrays of int64 hold addresses of other arguments, these become the emulator's; returns those tables."""
    placed = list(parameters.placed.values())
    known = {array.ctypes.data: address for address, array in placed}
    linked = set()
    for address, array in placed:
        start = address - GLOBAL_BASE
        words = parameters.memory.data[start : start + array.nbytes].view(np.int64) if array.dtype == np.int64 else []
        for i, word in enumerate(words):
            if int(word) in known:
                words[i] = known[int(word)]
                linked.add(address)
    return linked


def run_program(program, parameters, place, grid, num_ctas):
    """Runs one program of the grid, on the blocks of its cluster."""
    machines, knowledge = [], Knowledge(num_ctas * -(-program.num_threads // 32))
    for rank in range(num_ctas):
        peers = machines if num_ctas > 1 else ()
        machine = Machine(program, parameters.memory, parameters.bytes, place, grid, rank, peers, knowledge)
        machine.maps = ProgramMaps(parameters.tensor_maps)
        machines.append(machine)
    if num_ctas > 1:
        run_cluster(machines, execute, finish_kernel)
    else:
        machine.run(execute)
        finish_kernel(machine)


def launch(ptx: str, grid, arguments, host_tensor_maps=(), scratch_bytes=0, num_ctas=1, programs=None):
    """Arrays are changed in place; numbers are passed as the parameter's size says. The grid counts programs.

    `scratch_bytes`: global memory that each program gets beside its arguments. `programs`: those that run, in this order;
    all of the grid where it is None.
    """
    program = parse(ptx)
    grid = (*grid, 1, 1)[:3]
    parameters = Parameters(program)
    for value in arguments:
        parameters.add(value)
    for recipe in host_tensor_maps:
        parameters.add_host_tensor_map(recipe)
    if scratch_bytes:
        parameters.add(np.full(scratch_bytes * math.prod(grid), 0xA5, np.uint8))
    tables = link_tables(parameters)
    assert parameters.count == len(program.parameters), f"{program.name} takes {len(program.parameters)} arguments"
    if programs is None:
        programs = [(x, y, z) for z in range(grid[2]) for y in range(grid[1]) for x in range(grid[0])]
    for place in programs:
        run_program(program, parameters, place, grid, num_ctas)
    for address, array in parameters.placed.values():
        if address not in tables:
            parameters.memory.read_back(address, array)
