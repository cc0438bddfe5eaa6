# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What TMA and mbarriers do: bulk copies, phases.

As late as hardware may be: a load arrives when somebody waits for its barrier, a
store reads shared memory until it is waited for and reaches global memory when its
completion is waited for, or at the end of the kernel. So a missing wait, fence or
barrier is a wrong result or an error. As seen on an H200, stores write whole chunks of
16 bytes, also beyond the last column, and fail at negative coordinates.
"""

import dataclasses

import ml_dtypes
import numpy as np

from harness.ptx_arithmetic import ordering_zeros
from harness.ptx_handlers import handles
from harness.ptx_words import EmulationError
from harness.ptx_tensor_map import ALIGNMENT


@dataclasses.dataclass
class Mbarrier:
    arrivals: int
    pending: int
    bytes: int = 0  # expected, less those of copies that were started
    phase: int = 0
    copies: list = dataclasses.field(default_factory=list)
    # Whoever initialised it; others know it after a barrier of the block.
    warp: int = -1
    initialised_at: int = -1  # count of the block's barriers
    num_meetings: int = 0  # of the cluster's blocks before
    # Up to when each warp has read, as those that arrived say: in this phase, and in the last.
    told: object = 0
    told_before: object = 0

    def is_visible(self, machine, thread):
        has_met = machine.shared.num_barriers > self.initialised_at or machine.num_meetings > self.num_meetings
        return has_met or thread // 32 == self.warp

    def complete_if_due(self, waiting):
        """Copies arrive only when somebody asks."""
        if self.pending or self.bytes or (self.copies and not waiting):
            return
        for finish in self.copies:
            finish()
        self.copies, self.pending, self.phase = [], self.arrivals, self.phase ^ 1
        self.told_before, self.told = self.told, 0


def bytes_of(places, size):
    return places[:, None] + np.arange(size)


def only(machine, what):
    threads = machine.threads[machine.active]
    if len(threads) != 1:
        raise EmulationError(f"{len(threads)} threads {what} at once")
    return int(threads[0])


def mbarrier_at(machine, address, thread):
    barrier = machine.mbarriers.get(int(address))
    if barrier is None:
        raise EmulationError(f"no mbarrier at {address}")
    if not barrier.is_visible(machine, thread):
        raise EmulationError("uses an mbarrier that another warp initialised since the last barrier")
    return barrier


@handles("mbarrier")
def mbarrier(machine, instruction):
    parts, operands = instruction.parts, instruction.operands
    place = next(operand for operand in operands if operand[0] == "[")
    addresses = machine.address(place)
    if "init" in parts:
        thread = only(machine, "initialise a barrier")
        count = int(operands[1])
        machine.mbarriers[int(addresses[thread])] = Mbarrier(
            count, count, warp=thread // 32, initialised_at=machine.shared.num_barriers, num_meetings=machine.num_meetings
        )
    elif "arrive" in parts:
        for thread in machine.threads[machine.active]:
            barrier = mbarrier_at(machine, addresses[thread], thread)
            if "expect_tx" in parts:
                barrier.bytes += int(operands[-1])
            if barrier.pending == 0:
                raise EmulationError("more arrivals than the barrier waits for")
            barrier.pending -= 1
            barrier.told = np.maximum(barrier.told, machine.shared.arrived(thread // 32))
            barrier.complete_if_due(waiting=False)
        machine.is_stalled[:] = False
    elif "try_wait" in parts or "test_wait" in parts:
        ask(machine, instruction, addresses)
    else:
        raise EmulationError(f"not emulated: {instruction.text}")


def ask(machine, instruction, addresses):
    """Whether a phase is over; whoever waits for it in vain sleeps until something has happened."""
    done = np.zeros(machine.num_threads, bool)
    parity = machine.read(instruction.operands[2], "u32")
    for address in np.unique(addresses[machine.active]):
        threads = machine.threads[machine.active & (addresses == address)]
        barrier = mbarrier_at(machine, address, threads[-1])
        if "try_wait" in instruction.parts:
            phase = barrier.phase
            barrier.complete_if_due(waiting=True)
            if barrier.phase != phase:
                machine.is_stalled[:] = False
        done[threads] = barrier.phase != parity[threads]
        for warp in np.unique(threads[done[threads]] // 32):
            machine.shared.learn(warp, barrier.told_before)
    machine.write(instruction.operands[0], done, "pred")
    if "try_wait" in instruction.parts:
        machine.is_stalled |= machine.active & ~done


# A limit of ours: real strides are up to a million times those of tests.
FARTHEST = 1 << 30


def parse_tensor(machine, text, thread):
    """The map, the corner (outermost first) and the map's address of "[%rd1, {%r1, %r2}]"."""
    name, coordinates = text.strip("[]").split(",", 1)
    address = int(machine.words(name.strip())[thread])
    tensor = machine.maps.find(machine, address, thread)
    corner = [int(machine.read(c, "s32")[thread]) for c in machine.list_of(coordinates.strip())]
    if len(corner) != len(tensor.shape):
        raise EmulationError(f"{len(corner)} coordinates for a map of rank {len(tensor.shape)}")
    if corner[0] * tensor.dtype.itemsize % ALIGNMENT:
        raise EmulationError(f"a box at column {corner[0]} of {tensor.dtype}, which is no multiple of 16 bytes")
    check_reach(tensor, corner[::-1])
    return tensor, corner[::-1], address


def check_reach(tensor, corner):
    """A box outside of its array is fine as long as its place still is an address near it."""
    if tensor.address + sum(at * stride for at, stride in zip(corner, tensor.strides)) < 0:
        raise EmulationError(f"a box at {corner} of an array at {tensor.address:#x}, which is no address")
    for at, extent, stride in zip(corner, tensor.shape, tensor.strides):
        if not 0 <= at < extent and abs(at * stride) >= FARTHEST:
            raise EmulationError(f"a box at coordinate {at} with a stride of {stride} bytes")


def load_box(machine, instruction):
    thread = only(machine, "start a copy")
    target, source, barrier_operand = instruction.operands[:3]
    tensor, corner, map_address = parse_tensor(machine, source, thread)
    barrier = mbarrier_at(machine, machine.address(barrier_operand)[thread], thread)
    addresses, inside = tensor.elements(corner)
    size = tensor.dtype.itemsize
    data = np.full(len(addresses), tensor.padding).astype(tensor.dtype).view(np.uint8).reshape(-1, size)
    if inside.any():
        data[inside] = machine.memory.load(addresses[inside].astype(np.uint64), size, machine.threads[:1])
    places = bytes_of(tensor.places(int(machine.address(target)[thread])), size)
    machine.shared.start_copy(places, machine.threads[:1])
    barrier.bytes -= tensor.bytes
    machine.maps.start_reading(map_address)

    def finish():
        machine.maps.finish_reading(map_address)
        machine.shared.finish_bulk_copy(places, data)

    barrier.copies.append(finish)
    machine.is_stalled[:] = False


REDUCTIONS = {
    "add": np.add,
    "min": ordering_zeros(np.fmin),
    "max": ordering_zeros(np.fmax),
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def store_box(machine, instruction):
    thread = only(machine, "start a copy")
    tensor, corner, map_address = parse_tensor(machine, instruction.operands[0], thread)
    if min(corner) < 0:
        raise EmulationError(f"stores a box at negative coordinates: {corner}")
    reduction = next((REDUCTIONS[part] for part in instruction.parts if part in REDUCTIONS), None)
    addresses, inside = tensor.elements(corner, whole_chunks=True)
    size = tensor.dtype.itemsize
    places = bytes_of(tensor.places(int(machine.address(instruction.operands[1])[thread])), size)
    data = machine.shared.load_async(places, thread // 32)
    machine.maps.start_reading(map_address)

    def finish_read():
        machine.maps.finish_reading(map_address)
        machine.shared.finish_reading(places, thread // 32)

    def finish():
        where, new = addresses[inside].astype(np.uint64), data[inside]
        if not len(where):
            return
        if reduction is not None:
            old = np.ascontiguousarray(machine.memory.load(where, size, machine.threads[:1])).view(tensor.dtype)
            wide = np.float32 if tensor.dtype in (np.float16, ml_dtypes.bfloat16) else tensor.dtype
            with np.errstate(all="ignore"):
                both = reduction(old.astype(wide), np.ascontiguousarray(new).view(tensor.dtype).astype(wide))
            new = both.astype(tensor.dtype).view(np.uint8).reshape(-1, size)
        machine.memory.store(where, new, machine.threads[:1])

    machine.open_stores.append((finish_read, finish))


def bulk(machine, instruction):
    """Instructions cp.async.bulk and cp.reduce.async.bulk."""
    parts = instruction.parts
    if "commit_group" in parts:
        machine.stores.append(machine.open_stores)
        machine.open_stores = []
    elif "wait_group" in parts:
        if machine.active[0]:  # stores are those of thread 0, as checked when they started
            wait_for_stores(machine, int(instruction.operands[0]), complete="read" not in parts)
    elif "tensor" not in parts:
        raise EmulationError(f"not emulated: {instruction.text}")
    elif any("mbarrier" in part for part in parts):
        load_box(machine, instruction)
    else:
        store_box(machine, instruction)


def wait_for_stores(machine, pending, complete):
    done = len(machine.stores) - pending
    for group in machine.stores[: max(done, 0)]:
        for index, (finish_read, finish) in enumerate(group):
            if finish_read:
                finish_read()
            group[index] = (None, finish)
    if not complete:
        return
    for group in machine.stores[: max(done, 0)]:
        for _, finish in group:
            finish()
    del machine.stores[: max(done, 0)]


def finish_kernel(machine):
    """Loads must have arrived and shared memory must have been read; global memory gets what was stored."""
    if any(barrier.copies for barrier in machine.mbarriers.values()):
        raise EmulationError("the kernel ends while a copy writes shared memory")
    if machine.open_stores:
        raise EmulationError("the kernel ends with stores that no group contains")
    if any(finish_read for group in machine.stores for finish_read, _ in group):
        raise EmulationError("the kernel ends while a store reads shared memory")
    wait_for_stores(machine, 0, complete=True)
