# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the ordinary PTX instructions of memory and control do; ptx_arithmetic.py has those that compute."""

import functools

import numpy as np

from harness.ptx_arithmetic import PACKED
from harness.ptx_handlers import HANDLERS, handles
from harness.ptx_machine import Machine
from harness.ptx_words import DTYPES, UNSIGNED, WINDOW_BITS, EmulationError
from harness.ptx_program import Instruction


def execute(machine: Machine, instruction: Instruction):
    handler = HANDLERS.get(instruction.name)
    if not handler:
        raise EmulationError(f"not emulated: {instruction.text}")
    try:
        handler(machine, instruction)
    except EmulationError as error:
        raise EmulationError(f"{error}\n  in: {instruction.text[:200]}") from None


# ---------------------------------------------------------------------------
# Memory
# ---------------------------------------------------------------------------


def element_kind(instruction):
    return instruction.type, int(instruction.type.lstrip("busf")) // 8


def memory_of(machine, instruction):
    for name in ("shared", "local"):
        if name in instruction.parts:
            return getattr(machine, name)
    return machine.memory


@handles("ld")
def load(machine, instruction):
    kind, size = element_kind(instruction)
    destinations = machine.list_of(instruction.operands[0])
    place = instruction.operands[1]
    if "param" in instruction.parts:
        name, _, offset = place.strip("[]").partition("+")
        if name not in machine.program.parameter_offsets:
            return  # of what a call returns nothing is used
        start = machine.program.parameter_offsets[name] + int(offset or 0)
        raw = machine.parameters[start : start + size * len(destinations)]
        data = np.broadcast_to(raw, (machine.num_threads, len(raw)))
        active = np.arange(machine.num_threads)
    else:
        memory = memory_of(machine, instruction)
        if "shared::cluster" in instruction.parts:
            memory = machine.window
        active = machine.threads[machine.active]
        data = memory.load(machine.address(place)[active], size * len(destinations), active)
    for index, destination in enumerate(destinations):
        value = np.zeros(machine.num_threads, UNSIGNED[size])
        value[active] = np.ascontiguousarray(data[:, index * size : (index + 1) * size]).view(UNSIGNED[size])[:, 0]
        # A wider register is filled by the kind of the load.
        held = kind if kind[0] == "s" else f"b{size * 8}"
        machine.write(destination, value.view(DTYPES[held]), held)


@handles("st")
def store(machine, instruction):
    _, size = element_kind(instruction)
    if "async" in instruction.parts:
        return send(machine, instruction, size)
    place, source = instruction.operands[:2]
    if "param" in instruction.parts:
        return None  # of a call
    memory = memory_of(machine, instruction)
    active = machine.threads[machine.active]
    columns = [machine.read(part, f"b{size * 8}")[active].view(np.uint8).reshape(-1, size) for part in machine.list_of(source)]
    memory.store(machine.address(place)[active], np.concatenate(columns, axis=1), active)


def send(machine, instruction, size):
    """To the memory of a block of the cluster, counted by a barrier there."""
    place, source, barrier = instruction.operands
    values = machine.read(source, f"b{size * 8}").view(np.uint8).reshape(-1, size)
    for thread in machine.threads[machine.active]:
        (rank,), where = machine.window.split(machine.address(place)[thread : thread + 1])
        (barrier_rank,), at = machine.window.split(machine.address(barrier)[thread : thread + 1])
        if rank != barrier_rank:
            raise EmulationError("a barrier of another block than what is sent")
        machine.machines[rank].receive(where, values[thread : thread + 1], int(at[0]), machine, int(thread))


ATOMICS = {"add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
           "xor": np.bitwise_xor, "exch": lambda old, new: new}  # fmt: skip


@handles("red", "atom")
def atomic(machine, instruction):
    """One thread after the other. Vectors and packed floats by elements."""
    kind = instruction.type
    dtype = PACKED[kind][1] if kind in PACKED else DTYPES[kind]
    size = np.dtype(DTYPES[kind]).itemsize
    operation = next(part for part in instruction.parts if part in ATOMICS or part == "cas")
    operands = instruction.operands if instruction.name == "atom" else ["_", *instruction.operands]
    destination, place, *sources = operands
    destinations = machine.list_of(destination)
    memory = machine.shared if "shared" in instruction.parts else machine.memory
    raw_kind = f"b{8 * size}"
    addresses = machine.address(place)
    values = [np.stack([machine.read(word, raw_kind) for word in machine.list_of(source)], axis=1) for source in sources[:2]]
    before = np.zeros((machine.num_threads, values[0].shape[1]), DTYPES[raw_kind])
    for thread in machine.threads[machine.active]:
        at, one = addresses[thread : thread + 1], machine.threads[thread : thread + 1]
        old = np.ascontiguousarray(memory.load(at, size * before.shape[1], one, True)).reshape(-1)
        before[thread] = old.view(DTYPES[raw_kind])
        if operation == "cas":
            new = values[1][thread] if before[thread] == values[0][thread] else before[thread]
        else:
            new = ATOMICS[operation](old.view(dtype), values[0][thread].view(dtype)).astype(dtype)
        memory.store(at, np.ascontiguousarray(new).reshape(-1).view(np.uint8).reshape(1, -1), one, True)
    for index, word in enumerate(destinations):
        machine.write(word, np.ascontiguousarray(before[:, index % before.shape[1]]), raw_kind)


# ---------------------------------------------------------------------------
# Control
# ---------------------------------------------------------------------------


@handles("bra")
def branch(machine, instruction):
    machine.counters[machine.active] = instruction.target


@handles("ret", "exit")
def leave(machine, instruction):
    machine.is_done[machine.active] = True


@handles("mapa")
def map_to_block(machine, instruction):
    destination, address, rank = instruction.operands
    where, rank = machine.read(address, "u32"), machine.read(rank, "u32")
    machine.write(destination, where + ((rank + np.uint32(1)) << np.uint32(WINDOW_BITS)), "u32")


def barrier_of_cluster(machine, instruction):
    if not machine.machines:
        raise EmulationError("a barrier of a cluster in a kernel that is launched without")
    if "arrive" in instruction.parts:
        if machine.has_arrived[machine.active].any():
            raise EmulationError("arrives twice at the barrier of the cluster")
        machine.has_arrived[machine.active] = True
        machine.arrived_at = machine.shared.knowledge.now
    else:
        if not machine.has_arrived[machine.active].all():
            raise EmulationError("waits at the barrier of the cluster without having arrived")
        machine.at_cluster[machine.active] = True


@handles("bar", "barrier")
def barrier(machine, instruction):
    if "cluster" in instruction.parts:
        return barrier_of_cluster(machine, instruction)
    if "arrive" in instruction.parts or len(instruction.operands) > 1 or "warp" in instruction.parts:
        if "warp" in instruction.parts:
            machine.shared.meet_in_warps(machine.threads[machine.active])
            return
        raise EmulationError(f"not emulated: {instruction.text}")
    machine.at_barrier[machine.active] = True


@handles("fence", "membar", "createpolicy", "prefetch", "discard", "applypriority", "nanosleep")
def order(machine, instruction):
    if "tensormap::generic" in instruction.parts and instruction.name == "fence":
        machine.maps.acquire(machine, instruction)
    if "proxy" in instruction.parts and "async" in ".".join(instruction.parts):
        machine.shared.fence(machine.threads[machine.active])
    if instruction.name == "createpolicy":
        machine.write(instruction.operands[0], np.zeros(machine.num_threads, np.uint64), "b64")


@handles("griddepcontrol")
def dependency(machine, instruction):
    """Launches run one after the other here, so the kernels that this one depends on have ended."""
    if not {"wait", "launch_dependents"} & set(instruction.parts):
        raise EmulationError(f"not emulated: {instruction.text}")


@handles("call")
def call(machine, instruction):
    """What is printed is not looked at."""
    if "vprintf" not in instruction.text:
        raise EmulationError(f"not emulated: {instruction.text}")


@handles("trap")
def trap(machine, instruction):
    raise EmulationError("the kernel trapped")


@handles("shfl")
def shuffle(machine, instruction):
    destination, source, lane, clamp = instruction.operands[:4]
    value, lane = machine.read(source, "b32"), machine.read(lane, "u32").astype(np.int64)
    mine = machine.threads % 32
    mode = next(part for part in instruction.parts if part in ("idx", "bfly", "up", "down"))
    target = {"idx": lane & 31, "bfly": mine ^ lane, "up": mine - lane, "down": mine + lane}[mode]
    limit = machine.read(clamp, "u32").astype(np.int64) & 31
    inside = target >= limit if mode == "up" else target <= np.maximum(limit, 31 if limit.max() == 0 else limit)
    target = np.where(inside, target, mine) + machine.threads // 32 * 32
    if not machine.active[target[machine.active]].all():
        raise EmulationError("shuffles with a thread that is not here")
    destination, _, predicate = destination.partition("|")
    machine.write(destination, value[target], "b32")
    if predicate:
        machine.write(predicate, inside, "pred")


@functools.cache
def lanes_of(num_threads):
    return np.arange(num_threads) % 32


@handles("elect")
def elect(machine, instruction):
    first = machine.active & (lanes_of(machine.num_threads) == 0)
    machine.write(instruction.operands[0].split("|")[1], first, "pred")


@handles("vote", "redux", "match", "activemask")
def warp_vote(machine, instruction):
    kind = instruction.type
    if instruction.name not in ("redux", "vote"):
        raise EmulationError(f"not emulated: {instruction.text}")
    if instruction.name == "vote":
        value = machine.read(instruction.operands[1], "pred").reshape(-1, 32)
        mode = instruction.parts[2]
        if mode == "ballot":
            words = (value.astype(np.uint64) << np.arange(32, dtype=np.uint64)).sum(axis=1).astype(np.uint32)
            return machine.write(instruction.operands[0], np.repeat(words, 32), "b32")
        result = {"any": value.any(axis=1), "all": value.all(axis=1)}[mode]
        return machine.write(instruction.operands[0], np.repeat(result, 32), "pred")
    value = machine.read(instruction.operands[1], kind).reshape(-1, 32)
    function = {"add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
                "xor": np.bitwise_xor}[instruction.parts[2]]  # fmt: skip
    return machine.write(instruction.operands[0], np.repeat(function.reduce(value, axis=1, dtype=value.dtype), 32), kind)
