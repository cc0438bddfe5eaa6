# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What cp.async does; its forms that TMA executes are in ptx_tma.py.

A copy is in flight, and its destination may not be read, until its thread
waits for it: so a wait that is missing shows.
"""

import numpy as np

from harness.ptx_handlers import handles
from harness.ptx_words import EmulationError
from harness.ptx_tma import bulk


@handles("cp")
def async_copy(machine, instruction):
    parts = instruction.parts
    if "bulk" in parts:
        bulk(machine, instruction)
    elif "commit_group" in parts:
        machine.closed_groups[machine.active] += 1
    elif "wait_group" in parts:
        wait_for_groups(machine, int(instruction.operands[0]))
    elif "mbarrier" in parts or "wait_all" in parts:
        raise EmulationError(f"not emulated: {instruction.text}")
    else:
        start_copy(machine, instruction)


def wait_for_groups(machine, most_open):
    """Groups belong to threads: each waits for its own copies."""
    over = np.where(machine.active, machine.closed_groups - most_open, 0)
    left = []
    for places, data, threads, groups in machine.copies:
        is_over = groups < over[threads]
        if is_over.any():
            machine.shared.finish_copy(places[is_over], data[is_over], threads[is_over])
        if not is_over.all():
            left.append((places[~is_over], data[~is_over], threads[~is_over], groups[~is_over]))
    machine.copies = left


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

    # A copy belongs to the group that its thread closes next.
    machine.copies.append((places, data, active, machine.closed_groups[active]))
