# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What cp.async does; its forms that TMA executes are in ptx_tma.py.

A copy is in flight, and its destination may not be read, until its thread
waits for it: so a wait that is missing shows.
"""

import numpy as np

from harness.ptx_execute import handles
from harness.ptx_machine import EmulationError
from harness.ptx_tma import bulk


@handles("cp")
def async_copy(machine, instruction):
    parts = instruction.parts
    if "bulk" in parts:
        bulk(machine, instruction)
    elif "commit_group" in parts:
        whole_block(machine, "closes a group of copies")
        machine.copy_groups.append(machine.copies)
        machine.copies = []
    elif "wait_group" in parts:
        whole_block(machine, "waits for copies")
        while len(machine.copy_groups) > int(instruction.operands[0]):
            for finish in machine.copy_groups.pop(0):
                finish()
    elif "mbarrier" in parts or "wait_all" in parts:
        raise EmulationError(f"not emulated: {instruction.text}")
    else:
        start_copy(machine, instruction)


def whole_block(machine, what):
    """Groups belong to threads; here there is one list of them."""
    if not machine.active.all():
        raise EmulationError(f"a part of the block {what}")


def start_copy(machine, instruction):
    place, source, size = instruction.operands[:3]
    size = int(size, 0)
    active = machine.threads[machine.active]
    present = np.full(machine.num_threads, size)
    # Source bytes, unless the fourth operand is a policy.
    extra = len(instruction.operands) - 3 - any("cache_hint" in part for part in instruction.parts)
    if extra > 0:
        present = machine.read(instruction.operands[3], "u32").astype(np.int64)
    data = np.zeros((len(active), size), np.uint8)
    addresses = machine.address(source)[active]
    for count in np.unique(present[active]):
        if count:
            rows = present[active] == count
            data[rows, :count] = machine.memory.load(addresses[rows], int(count), active[rows])
    shared = machine.shared
    places = shared.places(machine.address(place)[active], size)
    shared.start_copy(places, active)

    def finish():
        shared.finish_copy(places, data, active)

    machine.copies.append(finish)
