# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registers, memories and threads of the PTX emulator.

A register is an array of 64-bit words, one per thread of the block; an
instruction acts on all active threads at once. All threads run the same
instruction where they can: the lowest program counter goes first, so branches
meet again behind what they skip.

What hardware leaves to chance is an error here: reading or writing beyond
an array; shared memory that another warp wrote or read since the last barrier, that
a matrix instruction reads before fence.proxy.async, that a copy in flight fills
or that a product or copy in flight reads; accumulators of a product in flight. Between
blocks of a cluster, since they last met: memory of either kind that one block writes
and another one reads or writes.
"""

import re

import numpy as np

from tilewright import _core

from harness.ptx_program import Instruction, Program

DTYPES = {
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
    "b8": np.uint8, "b16": np.uint16, "b32": np.uint32, "b64": np.uint64,
    "s8": np.int8, "s16": np.int16, "s32": np.int32, "s64": np.int64,
    "f16": np.float16, "f32": np.float32, "f64": np.float64,
    "f16x2": np.uint32, "bf16": np.uint16, "bf16x2": np.uint32, "tf32": np.uint32,
}  # fmt: skip
UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}

SHARED_BYTES = _core.target_limits("sm_90a")["shared"]
GLOBAL_BASE = 1 << 32
PARAMETER_BASE = 1 << 48
# Who read a byte of shared memory, if not one warp only.
NOBODY, SEVERAL_WARPS = -1, -2
# The same of blocks of a cluster.
SEVERAL = -2
# Where the memories of the blocks begin in the window of shared memory of a cluster.
WINDOW_BITS = 24
# Instructions of one block, many times those of the tests.
MOST_STEPS = 2_000_000
# Apart from each other, so that overruns do not hit the next array.
ARRAY_GAP = 4096


class EmulationError(AssertionError):
    """The kernel did what hardware does not define, or what is not emulated."""


class GlobalMemory:
    """Arrays at made-up addresses; every access must lie within one."""

    def __init__(self):
        self.data = np.zeros(0, np.uint8)
        self.valid = np.zeros(0, bool)
        # The block of a cluster that acts, and which ones wrote and read a byte since
        # all met.
        self.block = None
        self.writer = self.reader = None

    def meet(self):
        """All blocks of a cluster."""
        self.writer = np.full(len(self.data), NOBODY, np.int8)
        self.reader = np.full(len(self.data), NOBODY, np.int8)

    def check_blocks(self, places, is_write, is_atomic):
        """Atomics order themselves, not what others do."""
        if self.block is None or is_atomic:
            return
        writer, reader = self.writer[places], self.reader[places]
        if ((writer != NOBODY) & (writer != self.block)).any():
            raise EmulationError("accesses what another block of the program wrote since they met")
        if not is_write:
            self.reader[places] = np.where((reader == NOBODY) | (reader == self.block), self.block, SEVERAL)
            return
        if ((reader != NOBODY) & (reader != self.block)).any():
            raise EmulationError("writes what another block of the program read since they met")
        self.writer[places] = self.block

    def add(self, array: np.ndarray) -> int:
        start = len(self.data) + ARRAY_GAP
        start = -(-start // 256) * 256
        size = start + array.nbytes
        data, valid = np.zeros(size, np.uint8), np.zeros(size, bool)
        data[: len(self.data)], valid[: len(self.valid)] = self.data, self.valid
        data[start:] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        valid[start:] = True
        self.data, self.valid = data, valid
        return GLOBAL_BASE + start

    def read_back(self, address: int, array: np.ndarray):
        start = address - GLOBAL_BASE
        array.reshape(-1).view(np.uint8)[...] = self.data[start : start + array.nbytes]

    def places(self, addresses: np.ndarray, size: int) -> np.ndarray:
        """Indices (thread, byte) of `size` bytes at each address."""
        if (addresses % np.uint64(size)).any():
            raise EmulationError(f"an address is no multiple of {size}")
        first = addresses.astype(np.int64) - GLOBAL_BASE
        if (first < 0).any() or (first + size > len(self.data)).any():
            raise EmulationError("an address outside of every array")
        places = first[:, None] + np.arange(size)
        if not self.valid[places].all():
            raise EmulationError("an access beyond an array")
        return places

    def load(self, addresses, size, threads, is_atomic=False):
        places = self.places(addresses, size)
        self.check_blocks(places, False, is_atomic)
        return self.data[places]

    def store(self, addresses, values, threads, is_atomic=False):
        places = self.places(addresses, values.shape[1])
        self.check_blocks(places, True, is_atomic)
        self.data[places] = values


class Knowledge:
    """Up to when each warp (row) of a cluster knows that each other one has used shared memory."""

    def __init__(self, num_warps: int):
        # Counts uses and arrivals so far.
        self.now = 0
        self.known = np.zeros((num_warps, num_warps), np.int64)


class SharedMemory:
    def __init__(self, num_warps: int, knowledge=None, rank=0):
        self.knowledge = knowledge or Knowledge(num_warps)
        self.num_warps, self.first_warp = num_warps, rank * num_warps
        self.data = np.full(SHARED_BYTES, 0xFF, np.uint8)
        # The warp that wrote a byte since the last barrier, and those that read it.
        self.writer = np.full(SHARED_BYTES, NOBODY, np.int16)
        self.reader = np.full(SHARED_BYTES, NOBODY, np.int16)
        # When that was.
        self.read_at = np.zeros(SHARED_BYTES, np.int64)
        # The thread that wrote it without a fence for asynchronous readers, or -1.
        self.unfenced = np.full(SHARED_BYTES, -1, np.int16)
        # Bytes that a copy in flight will write; how many copies and products in flight read one.
        self.in_flight = np.zeros(SHARED_BYTES, bool)
        self.reading = np.zeros(SHARED_BYTES, np.int16)
        # The thread that wrote it since its warp met, or -1.
        self.unmet = np.full(SHARED_BYTES, -1, np.int16)
        self.num_barriers = 0
        # Since the blocks of the cluster met: what this one wrote and others read, and
        # which warp used a byte last, and when.
        self.written = np.zeros(SHARED_BYTES, bool)
        self.read_remotely = np.zeros(SHARED_BYTES, bool)
        self.user = np.full(SHARED_BYTES, NOBODY, np.int16)
        self.used_at = np.zeros(SHARED_BYTES, np.int64)

    def places(self, addresses, size):
        if (addresses % np.uint64(size)).any():
            raise EmulationError(f"a shared address is no multiple of {size}")
        if (addresses.astype(np.int64) + size > SHARED_BYTES).any():
            raise EmulationError("an address beyond shared memory")
        return addresses.astype(np.int64)[:, None] + np.arange(size)

    # ---- what threads do --------------------------------------------------

    def load_from_other_block(self, addresses, size):
        places = self.places(addresses, size)
        if self.in_flight[places].any() or self.written[places].any():
            raise EmulationError("reads shared memory that another block wrote since they met")
        self.read_remotely[places] = True
        return self.data[places]

    def note_use(self, places, warps):
        self.knowledge.now += 1
        before = self.user[places]
        self.user[places] = warps
        several = ((before != NOBODY) & (before != warps)) | (self.user[places] != warps)
        self.user[places[several]] = SEVERAL_WARPS
        self.used_at[places] = self.knowledge.now

    def receive(self, places, values, sender):
        """A warp of the cluster starts to send; returns what finishes it."""
        user, used_at = self.user[places], self.used_at[places]
        known = self.knowledge.known[sender, self.first_warp : self.first_warp + self.num_warps]
        known = np.where(user >= 0, known[np.maximum(user, 0)], known.min())
        if self.in_flight[places].any():
            raise EmulationError("sends to shared memory that something in flight writes")
        if ((user != NOBODY) & (self.first_warp + user != sender) & (used_at > known)).any():
            raise EmulationError("sends to shared memory that its block may still be using")
        self.in_flight[places] = True
        return lambda: self.finish_bulk_copy(places, values)

    def meet(self, arrived_at=None):
        """All blocks of the cluster, which had arrived at this time."""
        if arrived_at is None or arrived_at >= self.knowledge.now:
            self.barrier()
        before = self.used_at <= (self.knowledge.now if arrived_at is None else arrived_at)
        # Other blocks may have gone on meanwhile: what this one did before is ordered all the same.
        self.writer[before] = self.reader[before] = NOBODY
        self.unmet[before] = -1
        self.written[before] = self.read_remotely[before] = False
        self.user[before] = NOBODY

    def load(self, addresses, size, threads, is_atomic=False):
        places = self.places(addresses, size)
        if self.in_flight[places].any():
            raise EmulationError("reads shared memory that a copy in flight writes")
        writer, warps = self.writer[places], (threads // 32)[:, None]
        if ((writer != NOBODY) & (writer != warps)).any():
            raise EmulationError("reads shared memory that another warp wrote since the last barrier")
        # Several warps may read the same byte in this very instruction.
        reader = self.reader[places]
        self.reader[places] = warps
        several = ((reader != NOBODY) & (reader != warps)) | (self.reader[places] != warps)
        self.reader[places[several]] = SEVERAL_WARPS
        self.note_read(places, warps)
        return self.data[places]

    def note_read(self, places, warps):
        self.note_use(places, warps)
        self.read_at[places] = self.knowledge.now

    def may_still_read(self, places, warps):
        """Whether another warp may be about to read: nothing tells `warps` that it has."""
        reader, read_at = self.reader[places], self.read_at[places]
        own = slice(self.first_warp, self.first_warp + self.num_warps)
        of_block = self.knowledge.known[own, own]
        of_others = np.where(np.eye(len(of_block), dtype=bool), np.iinfo(np.int64).max, of_block).min(axis=1)
        known = np.where(reader >= 0, of_block[warps, reader], of_others[warps])
        return (reader != NOBODY) & (reader != warps) & (read_at > known)

    def store(self, addresses, values, threads, is_atomic=False):
        places = self.places(addresses, values.shape[1])
        self.check_writable(places, threads)
        self.write(places, values, threads)

    def write(self, places, values, threads):
        self.data[places] = values
        self.written[places] = True
        self.note_use(places, (threads // 32)[:, None])
        self.writer[places] = (threads // 32)[:, None]
        self.unfenced[places] = self.unmet[places] = threads[:, None]

    def check_writable(self, places, threads):
        """Nobody may still read what is overwritten, nor write it too."""
        if self.read_remotely[places].any():
            raise EmulationError("writes shared memory that another block read since they met")
        if self.in_flight[places].any():
            raise EmulationError("writes shared memory that a copy in flight writes")
        if self.reading[places].any():
            raise EmulationError("writes shared memory that a product or copy in flight reads")
        if self.may_still_read(places, (threads // 32).reshape(-1, *[1] * (places.ndim - 1))).any():
            raise EmulationError("writes shared memory that another warp read since the last barrier")

    def barrier(self):
        self.num_barriers += 1
        self.writer[:] = self.reader[:] = NOBODY
        self.unmet[:] = -1
        # All warps of the block know what any of them knew.
        own = slice(self.first_warp, self.first_warp + self.num_warps)
        told = self.knowledge.known[own].max(axis=0)
        told[own] = self.knowledge.now
        self.knowledge.known[own] = told

    def meet_in_warps(self, threads):
        self.unmet[np.isin(self.unmet, threads)] = -1

    def check_synced(self, addresses, size, threads):
        """Nobody but `threads` wrote these bytes since the lanes of a warp met."""
        unmet = self.unmet[self.places(addresses, size)]
        if ((unmet >= 0) & ~np.isin(unmet, [] if threads is None else threads)).any():
            raise EmulationError("reads what another lane wrote since the warp met")

    def fence(self, threads):
        self.unfenced[np.isin(self.unfenced, threads)] = -1

    # ---- what copies and matrix units do ----------------------------------

    def start_copy(self, places, threads):
        self.check_writable(places, threads)
        writer = self.writer[places]
        if ((writer != NOBODY) & (writer != (threads // 32)[:, None])).any():
            raise EmulationError("a copy writes what another warp wrote since the last barrier")
        self.in_flight[places] = True

    def finish_copy(self, places, values, threads):
        """By a thread: others see it behind a barrier only."""
        self.in_flight[places] = False
        self.write(places, values, threads)

    def finish_bulk_copy(self, places, values):
        """By TMA: whoever waited for its barrier sees it."""
        self.in_flight[places] = False
        self.data[places] = values
        self.written[places] = True
        self.writer[places] = NOBODY
        self.unfenced[places] = -1

    def load_async(self, places: np.ndarray) -> np.ndarray:
        """What wgmma and TMA see; they read until `finish_reading`."""
        if self.in_flight[places].any():
            raise EmulationError("a matrix instruction reads what a copy in flight writes")
        if (self.unfenced[places] >= 0).any():
            raise EmulationError("a matrix instruction reads shared memory without fence.proxy.async")
        if (self.writer[places] != NOBODY).any():
            raise EmulationError("a matrix instruction reads what was written since the last barrier")
        self.reading[places] += 1
        return self.data[places]

    def finish_reading(self, places: np.ndarray, warp: int):
        """Only whoever waited for it knows: `warp`, or SEVERAL_WARPS."""
        self.reading[places] -= 1
        self.reader[places] = warp
        self.note_read(places, warp)

    def arrived(self, warp: int) -> np.ndarray:
        """What a warp that arrives at an mbarrier tells whoever waits for it."""
        self.knowledge.now += 1
        warp += self.first_warp
        told = self.knowledge.known[warp].copy()
        told[warp] = self.knowledge.now
        return told

    def learn(self, warp: int, told):
        warp += self.first_warp
        self.knowledge.known[warp] = np.maximum(self.knowledge.known[warp], told)


class ClusterWindow:
    """The shared memories of a cluster, as one block sees them."""

    def __init__(self, rank, machines):
        self.rank, self.machines = rank, machines

    def split(self, addresses):
        """Ranks of blocks and addresses in their memories."""
        ranks = (addresses >> np.uint64(WINDOW_BITS)).astype(np.int64) - 1
        if (ranks < 0).any() or (ranks >= len(self.machines)).any():
            raise EmulationError("an address of no block of the cluster")
        return ranks, addresses & np.uint64(2**WINDOW_BITS - 1)

    def load(self, addresses, size, threads):
        ranks, places = self.split(addresses)
        data = np.zeros((len(addresses), size), np.uint8)
        for rank in np.unique(ranks):
            mine, shared = ranks == rank, self.machines[rank].shared
            if rank == self.rank:
                data[mine] = shared.load(places[mine], size, threads[mine])
            else:
                data[mine] = shared.load_from_other_block(places[mine], size)
        return data


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
        self.parameters, self.block, self.grid = parameters, block, grid
        self.registers: dict[str, np.ndarray] = {}
        self.constants: dict[str, np.ndarray] = {}
        self.counters = np.zeros(self.num_threads, np.int64)
        self.is_done = np.zeros(self.num_threads, bool)
        self.at_barrier = np.zeros(self.num_threads, bool)
        self.is_stalled = np.zeros(self.num_threads, bool)
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
        elif operand == "__tw_shared":
            number = 0
        elif operand in self.program.parameter_offsets:
            number = PARAMETER_BASE + self.program.parameter_offsets[operand]
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
            ready = ~(self.is_done | self.at_barrier | self.is_stalled | self.at_cluster)
            if not ready.any():
                if (self.is_done | self.at_cluster).all() or self.waits_for_others():
                    return
                self.release()
                continue
            counter = self.counters[ready].min()
            self.active = ready & (self.counters == counter)
            instruction = self.program.instructions[counter]
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
        while counter < limit and is_plain[counter]:
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
