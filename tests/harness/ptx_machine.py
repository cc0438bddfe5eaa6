# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registers and threads of the PTX emulator; ptx_memory.py has the memories.

A register is an array of 64-bit words, one per thread of the block; an
instruction acts on all active threads at once. All threads run the same
instruction where they can: the lowest program counter goes first, so branches
meet again after what they skip.

What hardware leaves to chance is an error here: reading or writing beyond
an array; shared memory that another warp wrote or read since the last barrier, that
a matrix instruction reads before fence.proxy.async, that a copy in flight fills
or that a product or copy in flight reads; accumulators of a product in flight. Between
blocks of a cluster, since they last met: memory of either kind that one block writes
and another one reads or writes.
"""

import re

import numpy as np

from harness.ptx_memory import ClusterWindow, GlobalMemory, LocalMemory, SharedMemory
from harness.ptx_words import DTYPES, MOST_STEPS, PARAMETER_BASE, UNSIGNED, EmulationError
from harness.ptx_program import Instruction, Program


class Machine:
    """One block; of a cluster, where `grid` counts clusters and `machines` are its blocks."""

    def __init__(
        self, program: Program, memory: GlobalMemory, parameters: np.ndarray, block, grid, rank=0, machines=(), knowledge=None
    ):
        self.rank, self.machines = rank, machines
        self.window = ClusterWindow(rank, machines)
        self.program = program
        self.num_threads = program.num_threads
        self.threads = np.arange(self.num_threads)
        self.memory, self.shared = memory, SharedMemory(-(-self.num_threads // 32), knowledge, rank)
        self.local = LocalMemory(self.num_threads, program.local_bytes)
        self.parameters, self.block, self.grid = parameters, block, grid
        self.registers: dict[str, np.ndarray] = {}
        self.constants: dict[str, np.ndarray] = {}
        self.counters = np.zeros(self.num_threads, np.int64)
        self.is_done = np.zeros(self.num_threads, bool)
        self.at_barrier = np.zeros(self.num_threads, bool)
        self.is_stalled = np.zeros(self.num_threads, bool)
        # Wait for the rest of their warp.
        self.at_warp = np.zeros(self.num_threads, bool)
        # Have arrived at the barrier of the cluster; wait there.
        self.has_arrived = np.zeros(self.num_threads, bool)
        self.at_cluster = np.zeros(self.num_threads, bool)
        self.arrived_at = 0
        self.steps = self.num_meetings = 0
        # Accumulators of products in flight, with the number of their group.
        self.products: dict[str, int] = {}
        self.product_group = 0
        # Registers written since the last wgmma.fence.
        self.unordered: set[str] = set()
        # What they read in shared memory: (group, places).
        self.product_reads: list[tuple[int, np.ndarray]] = []
        # Barriers in shared memory by address; stores by TMA that are not done, those of
        # the open group first of all (ptx_tma.py); tensor maps (ptx_tensor_map.py).
        self.mbarriers: dict[int, object] = {}
        self.maps: object = None
        self.open_stores, self.stores = [], []
        # Copies by threads that are in flight, and how many groups of them each thread has closed.
        self.copies, self.closed_groups = [], np.zeros(self.num_threads, np.int64)
        self.active = np.ones(self.num_threads, bool)
        self.all_active = True

    # ---- operands ---------------------------------------------------------

    def special(self, name: str):
        axis = {"x": 0, "y": 1, "z": 2}
        if name.startswith("%tid."):
            return self.threads if name.endswith("x") else np.zeros(self.num_threads, np.int64)
        if name == "%laneid":
            return self.threads % 32
        base, _, which = name[1:].partition(".")
        if name == "%cluster_ctarank":
            return np.full(self.num_threads, self.rank, np.int64)
        value = {"ctaid": self.block, "nctaid": self.grid}.get(base)
        if self.machines:
            # The others are not what a program of several blocks asks for.
            value = {"clusterid": self.block, "nclusterid": self.grid}.get(base)
        if value is not None:
            return np.full(self.num_threads, value[axis[which]], np.int64)
        if base == "ntid":
            return np.full(self.num_threads, self.num_threads if which == "x" else 1, np.int64)
        return None

    def words(self, operand: str) -> np.ndarray:
        """The 64-bit words of a register, number or symbol."""
        if operand in self.registers:
            return self.registers[operand]
        if operand in self.constants:
            return self.constants[operand]
        if operand[0] == "%":
            value = self.special(operand)
            if value is None:
                # Read before it is written: the first product of a zero accumulator.
                return np.full(self.num_threads, 0xDEADBEEFDEADBEEF, np.uint64)
            return value.astype(np.uint64)
        if operand[:2] in ("0f", "0d"):
            number = int(operand[2:], 16)
        elif operand in ("__tw_shared", "__local_depot0"):
            number = 0
        elif operand in self.program.parameter_offsets:
            number = PARAMETER_BASE + self.program.parameter_offsets[operand]
        elif operand in self.memory.symbols:
            number = self.memory.symbols[operand]
        elif re.fullmatch(r"-?(0[xX][0-9a-fA-F]+|\d+)U?", operand):
            number = int(operand.rstrip("U"), 0)
        else:
            return np.full(self.num_threads, 0xDEADBEEFDEADBEEF, np.uint64)
        self.constants[operand] = np.full(self.num_threads, number & (2**64 - 1), np.uint64)
        return self.constants[operand]

    def read(self, operand: str, kind: str) -> np.ndarray:
        """An operand as an array of a PTX type."""
        if kind == "pred":
            negated = operand.startswith("!")
            value = self.words(operand.lstrip("!")) != 0
            return ~value if negated else value
        self.check_readable(operand)
        dtype = np.dtype(DTYPES[kind])
        return self.words(operand).astype(UNSIGNED[dtype.itemsize]).view(dtype)

    def check_readable(self, operand):
        if operand in self.products:
            raise EmulationError(f"reads {operand}, which a product in flight writes")

    def write(self, operand: str, value: np.ndarray, kind: str):
        if operand == "_":
            return
        if kind == "pred":
            words = np.asarray(value, np.uint64)
        else:
            dtype = np.dtype(DTYPES[kind])
            if np.shape(value) != (self.num_threads,):
                value = np.broadcast_to(value, self.num_threads)
            value = np.ascontiguousarray(value).astype(dtype, copy=False)
            # A register is wider than a byte, and a value of a signed type is extended to it by its sign.
            extended = value.astype(np.int64) if dtype.kind == "i" else value.view(UNSIGNED[dtype.itemsize])
            words = extended.astype(np.uint64)
        if not self.all_active:
            words = np.where(self.active, words, self.words(operand))
        self.registers[operand] = words
        self.products.pop(operand, None)
        self.unordered.add(operand)

    def address(self, operand: str) -> np.ndarray:
        match = re.fullmatch(r"\[([^+\]]+)(?:\+(-?\d+))?\]", operand.replace(" ", ""))
        base = self.words(match[1])
        return base + np.uint64(int(match[2] or 0) & (2**64 - 1))

    @staticmethod
    def list_of(operand: str) -> list[str]:
        return [part.strip() for part in operand.strip("{}").split(",")] if operand[0] == "{" else [operand]

    # ---- running ----------------------------------------------------------

    def run(self, execute):
        """To the end, or to where all threads wait for other blocks."""
        while not self.is_done.all():
            ready = ~(self.is_done | self.at_barrier | self.is_stalled | self.at_cluster | self.at_warp)
            if not ready.any():
                if (self.is_done | self.at_cluster).all() or self.waits_for_others():
                    return
                self.release()
                continue
            counter = self.counters[ready].min()
            self.active = (ready | self.at_warp) & (self.counters == counter)
            instruction = self.program.instructions[counter]
            if self.program.is_of_warps[counter] and not self.gather_warps():
                continue
            if is_noted_for_all(instruction):
                # Products in flight are noted for the whole block: its warps go together.
                live = ~self.is_done
                if (self.counters[live] != counter).any():
                    self.is_stalled |= self.active
                    continue
                self.active = live
                self.is_stalled[:] = False
            if self.program.is_plain[counter]:
                self.run_plain(int(counter), ready, execute)
                continue
            self.note_step(int(counter))
            self.counters[self.active] += 1
            self.step(instruction, execute)
        if self.products:
            raise EmulationError("the kernel ends with a product in flight")

    def of_whole_warps(self, group):
        """Those threads of a group whose warp is in it with all its threads."""
        live = ~self.is_done.reshape(-1, 32)
        return group & np.repeat((group.reshape(-1, 32) == live).all(axis=1), 32)

    def gather_warps(self):
        """Lets warps go on that are here with all their threads; whether there are any."""
        here, self.active = self.active, self.of_whole_warps(self.active)
        self.at_warp[here] = ~self.active[here]
        return self.active.any()

    def note_step(self, counter):
        self.program.executed.add(counter)
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise EmulationError("the kernel does not end")

    def run_plain(self, counter, ready, execute):
        """The active threads, up to an instruction that others may have to do with, or that others stand before."""
        group, instructions, is_plain = self.active, self.program.instructions, self.program.is_plain
        others = self.counters[ready & ~group]
        limit = others.min() if len(others) else len(instructions)
        is_parted = (group & ~self.of_whole_warps(group)).any()
        while counter < limit and is_plain[counter] and not (is_parted and self.program.is_of_warps[counter]):
            self.note_step(counter)
            self.active = group
            self.step(instructions[counter], execute)
            counter += 1
        self.counters[group] = counter

    def receive(self, where, values, at, sender, thread):
        """Bytes from a thread of another block, or of this one."""
        barrier = self.mbarriers.get(at)
        if barrier is None or (sender is not self and barrier.num_meetings >= self.num_meetings):
            raise EmulationError("sends to a block that may not have initialised its barrier")
        warp = sender.shared.first_warp + thread // 32
        places = self.shared.places(where, values.shape[1])
        barrier.copies.append(self.shared.receive(places, values, warp))
        barrier.bytes -= values.size
        barrier.told = np.maximum(barrier.told, sender.shared.arrived(thread // 32))
        self.is_stalled[:] = False

    def waits_for_others(self):
        """Whether threads wait for a barrier in shared memory that other blocks may complete."""
        if not self.machines or not self.is_stalled.any():
            return False
        return not is_noted_for_all(self.program.instructions[self.counters[self.is_stalled].min()])

    def release(self):
        """Nobody can go on: all have reached the barrier, or it is a deadlock."""
        waiting = self.program.instructions[self.counters[self.is_stalled].min()] if self.is_stalled.any() else None
        if waiting and is_noted_for_all(waiting):
            who = "a warpgroup" if waiting.name == "wgmma" else "a block"
            raise EmulationError(f"{who} reaches {waiting.text.split()[0]} in parts")
        if waiting:
            raise EmulationError("threads wait for a barrier in shared memory that nobody completes")
        if self.at_warp.any():
            parted = self.program.instructions[self.counters[self.at_warp].min()]
            raise EmulationError(f"a warp reaches {parted.text.split()[0]} in parts")
        if len(np.unique(self.counters[self.at_barrier])) > 1 or self.at_cluster.any():
            raise EmulationError("threads wait at different barriers")
        self.at_barrier[:] = False
        self.shared.barrier()

    def step(self, instruction: Instruction, execute):
        if instruction.predicate:
            holds = self.read(instruction.predicate, "pred")
            self.active = self.active & (holds != instruction.negated)
            if not self.active.any():
                return
        self.all_active = bool(self.active.all())
        with np.errstate(all="ignore"):
            execute(self, instruction)


def is_noted_for_all(instruction: Instruction) -> bool:
    return instruction.name == "wgmma"


def run_cluster(machines, execute, finish):
    """All blocks of one program, each as far as it gets by itself."""
    memory = machines[0].memory
    memory.meet()
    while not all(machine.is_done.all() for machine in machines):
        steps = sum(machine.steps for machine in machines)
        for rank, machine in enumerate(machines):
            memory.block = rank
            machine.run(execute)
        if all((machine.is_done | machine.at_cluster).all() for machine in machines):
            meet(machines)
        elif steps == sum(machine.steps for machine in machines):
            raise EmulationError("blocks wait for each other")
    memory.block = None
    for machine in machines:
        finish(machine)


def meet(machines):
    """All blocks of a cluster have arrived, or have ended."""
    if len({machine.is_done.all() for machine in machines}) > 1:
        raise EmulationError("a block ends while others wait for it")
    machines[0].memory.meet()
    for machine in machines:
        if machine.is_done.all() and machine.shared.read_remotely.any():
            raise EmulationError("a block may end while another one reads its shared memory")
        if machine.is_done.all() and machine.shared.in_flight.any():
            raise EmulationError("a block may end while another one writes its shared memory")
        machine.shared.meet(machine.arrived_at)
        machine.num_meetings += 1
        machine.at_cluster[:] = machine.has_arrived[:] = False
