# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the asynchronous copies and the barriers in shared memory do.

A copy is in flight, and its destination may not be read, until somebody
waits for it; then it arrives at once. So a wait that is missing shows, and one
that nobody can satisfy is a deadlock, not a hang.
"""

import dataclasses

import numpy as np

from harness.ptx_execute import handles
from harness.ptx_machine import PARAMETER_BASE, EmulationError

# ---------------------------------------------------------------------------
# cp.async
# ---------------------------------------------------------------------------


@handles("cp")
def async_copy(machine, instruction):
    parts = instruction.parts
    if "bulk" in parts:
        bulk_copy(machine, instruction)
    elif "commit_group" in parts:
        machine.copy_groups.append(machine.copies)
        machine.copies = []
    elif "wait_group" in parts:
        while len(machine.copy_groups) > int(instruction.operands[0]):
            for finish in machine.copy_groups.pop(0):
                finish()
    elif "mbarrier" in parts or "wait_all" in parts:
        raise EmulationError(f"not emulated: {instruction.text}")
    else:
        start_copy(machine, instruction)


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
    shared, targets = machine.shared, machine.address(place)[active]
    places = shared.places(targets, size)
    shared.in_flight[places] = True

    def finish():
        shared.in_flight[places] = False
        shared.store(targets, data, active)

    machine.copies.append(finish)


# ---------------------------------------------------------------------------
# mbarrier
# ---------------------------------------------------------------------------


@dataclasses.dataclass
class Mbarrier:
    arrivals: int
    pending: int
    bytes: int = 0
    phase: int = 0
    copies: list = dataclasses.field(default_factory=list)

    def settle(self):
        if self.pending == 0 and self.bytes == 0:
            self.phase ^= 1
            self.pending = self.arrivals


def mbarrier_at(machine, address) -> Mbarrier:
    if int(address) not in machine.mbarriers:
        raise EmulationError("uses a barrier that was not initialised")
    return machine.mbarriers[int(address)]


@handles("mbarrier")
def mbarrier(machine, instruction):
    parts = instruction.parts
    place = next(operand for operand in instruction.operands if operand[0] == "[")
    addresses = machine.address(place)
    if "try_wait" in parts or "test_wait" in parts:
        return mbarrier_wait(machine, instruction, addresses)
    for thread in machine.threads[machine.active]:
        if "init" in parts:
            count = int(instruction.operands[1])
            machine.mbarriers[int(addresses[thread])] = Mbarrier(count, count)
            continue
        if "arrive" not in parts:
            raise EmulationError(f"not emulated: {instruction.text}")
        barrier = mbarrier_at(machine, addresses[thread])
        if barrier.pending == 0:
            raise EmulationError("more arrivals than a phase of the barrier takes")
        if "expect_tx" in parts:
            barrier.bytes += int(instruction.operands[-1])
        barrier.pending -= 1
        barrier.settle()
    machine.is_stalled[:] = False
    return None


def mbarrier_wait(machine, instruction, addresses):
    parity = machine.read(instruction.operands[2], "u32") & 1
    done = np.zeros(machine.num_threads, bool)
    for address in np.unique(addresses[machine.active]):
        barrier = mbarrier_at(machine, address)
        waits = "try_wait" in instruction.parts
        # What was announced arrives when somebody waits for it.
        if waits and barrier.copies:
            for finish in barrier.copies:
                finish()
            barrier.copies.clear()
            barrier.settle()
            machine.is_stalled[:] = False
        done[addresses == address] = parity[addresses == address] != barrier.phase
    machine.write(instruction.operands[0], done, "pred")
    if "try_wait" in instruction.parts:
        machine.is_stalled |= machine.active & ~done


# ---------------------------------------------------------------------------
# TMA
# ---------------------------------------------------------------------------


@dataclasses.dataclass
class TensorMap:
    """As cuTensorMapEncodeTiled takes it, but the slowest dimension first."""

    address: int
    shape: list[int]
    strides: list[int]  # bytes
    box: list[int]
    element_bytes: int
    swizzle_bytes: int

    def places(self, start):
        """Global byte offsets (element,) of a box, and which elements exist; order of shared memory."""
        grids = np.meshgrid(*(np.arange(extent) + int(s) for extent, s in zip(self.box, start)), indexing="ij")
        inside = np.ones(self.box, bool)
        offset = np.zeros(self.box, np.int64)
        for grid, extent, stride in zip(grids, self.shape, self.strides):
            inside &= (grid >= 0) & (grid < extent)
            offset += grid * stride
        return offset.reshape(-1), inside.reshape(-1)

    def shared_offsets(self):
        """Byte offsets (element,) in shared memory before the swizzle."""
        return np.arange(int(np.prod(self.box)), dtype=np.int64) * self.element_bytes

    def swizzled(self, addresses):
        mask = max(self.swizzle_bytes - 16, 0)
        return addresses ^ (addresses >> 3 & mask)


def tensor_map_at(machine, address) -> TensorMap:
    return machine.tensor_maps[int(address) - PARAMETER_BASE]


def split_place(operand):
    """[%rd1, {%r1, %r2}] as the address and the coordinates, slowest first."""
    base, _, rest = operand.strip("[] ").partition(",")
    return f"[{base.strip()}]", [part.strip() for part in rest.strip(" {}").split(",")][::-1]


def bulk_copy(machine, instruction):
    parts = instruction.parts
    if "commit_group" in parts or "wait_group" in parts:
        return
    if "tensor" not in parts:
        raise EmulationError(f"not emulated: {instruction.text}")
    is_load = parts.index("global") > next(i for i, part in enumerate(parts) if part.startswith("shared"))
    map_operand = instruction.operands[1 if is_load else 0]
    shared_operand = instruction.operands[0 if is_load else 1]
    map_place, coordinates = split_place(map_operand)
    for thread in machine.threads[machine.active]:
        tensor_map = tensor_map_at(machine, machine.address(map_place)[thread])
        start = [int(machine.read(c, "s32")[thread]) for c in coordinates]
        base = int(machine.address(shared_operand)[thread])
        if base % (8 * max(tensor_map.swizzle_bytes, 16)):
            raise EmulationError("a box in shared memory is not aligned")
        places = tensor_map.swizzled(base + tensor_map.shared_offsets())[:, None] + np.arange(tensor_map.element_bytes)
        offsets, inside = tensor_map.places(start)
        sources = (tensor_map.address + offsets[inside]).astype(np.uint64)
        if is_load:
            barrier = mbarrier_at(machine, machine.address(instruction.operands[2])[thread])
            tma_load(machine, tensor_map, places, sources, inside, barrier)
        else:
            tma_store(machine, tensor_map, places, sources, inside, instruction)


def tma_load(machine, tensor_map, places, sources, inside, barrier):
    shared = machine.shared
    shared.in_flight[places] = True

    def finish():
        shared.in_flight[places] = False
        data = np.zeros(places.shape, np.uint8)
        if inside.any():
            data[inside] = machine.memory.load(sources, tensor_map.element_bytes, None)
        shared.data[places] = data
        shared.writer[places] = shared.unfenced[places] = -1
        barrier.bytes -= places.size

    barrier.copies.append(finish)


REDUCTIONS = {"add": np.add, "min": np.minimum, "max": np.maximum}


def tma_store(machine, tensor_map, places, targets, inside, instruction):
    data = machine.shared.load_async(places)[inside]
    if "reduce" in instruction.parts:
        raise EmulationError(f"not emulated: {instruction.text}")
    if inside.any():
        machine.memory.store(targets, data, None)
