# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registers, memories and threads of the PTX emulator.

A register is an array of 64-bit words, one per thread of the block; an
instruction acts on all active threads at once. All threads run the same
instruction where they can: the lowest program counter goes first, so branches
meet again behind what they skip.

What hardware leaves to chance is an error here: reading or writing beyond
an array, shared memory that another warp wrote since the last barrier, that
a matrix instruction reads before fence.proxy.async, that a copy in flight will
fill, and accumulators of a product in flight.
"""

import re

import numpy as np

from harness.ptx_program import Instruction, Program

DTYPES = {
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
    "b8": np.uint8, "b16": np.uint16, "b32": np.uint32, "b64": np.uint64,
    "s8": np.int8, "s16": np.int16, "s32": np.int32, "s64": np.int64,
    "f16": np.float16, "f32": np.float32, "f64": np.float64,
    "f16x2": np.uint32, "bf16": np.uint16, "bf16x2": np.uint32, "tf32": np.uint32,
}  # fmt: skip
UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}

SHARED_BYTES = 232448
GLOBAL_BASE = 1 << 32
# Apart from each other, so that overruns do not hit the next array.
ARRAY_GAP = 4096


class EmulationError(AssertionError):
    """The kernel did what hardware does not define, or what is not emulated."""


class GlobalMemory:
    """Arrays at made-up addresses; every access must lie within one."""

    def __init__(self):
        self.data = np.zeros(0, np.uint8)
        self.valid = np.zeros(0, bool)

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

    def load(self, addresses, size, threads):
        return self.data[self.places(addresses, size)]

    def store(self, addresses, values, threads):
        self.data[self.places(addresses, values.shape[1])] = values


class SharedMemory:
    def __init__(self):
        self.data = np.full(SHARED_BYTES, 0xFF, np.uint8)
        # Who wrote a byte since the last barrier: the warp, or -1.
        self.writer = np.full(SHARED_BYTES, -1, np.int16)
        # The thread that wrote it without a fence for asynchronous readers, or -1.
        self.unfenced = np.full(SHARED_BYTES, -1, np.int16)
        # Bytes that a copy in flight will write.
        self.in_flight = np.zeros(SHARED_BYTES, bool)
        self.checks_races = True

    def places(self, addresses, size):
        if (addresses % np.uint64(size)).any():
            raise EmulationError(f"a shared address is no multiple of {size}")
        if (addresses.astype(np.int64) + size > SHARED_BYTES).any():
            raise EmulationError("an address beyond shared memory")
        return addresses.astype(np.int64)[:, None] + np.arange(size)

    def load(self, addresses, size, threads):
        places = self.places(addresses, size)
        if self.in_flight[places].any():
            raise EmulationError("reads shared memory that a copy in flight writes")
        writer = self.writer[places]
        if self.checks_races and ((writer >= 0) & (writer != (threads // 32)[:, None])).any():
            raise EmulationError("reads shared memory that another warp wrote since the last barrier")
        return self.data[places]

    def store(self, addresses, values, threads):
        places = self.places(addresses, values.shape[1])
        self.data[places] = values
        self.writer[places] = (threads // 32)[:, None]
        self.unfenced[places] = threads[:, None]

    def barrier(self):
        self.writer[:] = -1

    def fence(self, threads):
        self.unfenced[np.isin(self.unfenced, threads)] = -1

    def load_async(self, places: np.ndarray) -> np.ndarray:
        """What wgmma and TMA see."""
        if self.in_flight[places].any():
            raise EmulationError("a matrix instruction reads what a copy in flight writes")
        if (self.unfenced[places] >= 0).any():
            raise EmulationError("a matrix instruction reads shared memory without fence.proxy.async")
        if (self.writer[places] >= 0).any() and self.checks_races:
            raise EmulationError("a matrix instruction reads what was written since the last barrier")
        return self.data[places]


class Machine:
    """One block."""

    def __init__(self, program: Program, memory: GlobalMemory, parameters: np.ndarray, block, grid):
        self.program = program
        self.num_threads = program.num_threads
        self.threads = np.arange(self.num_threads)
        self.memory, self.shared = memory, SharedMemory()
        self.parameters, self.block, self.grid = parameters, block, grid
        self.registers: dict[str, np.ndarray] = {}
        self.counters = np.zeros(self.num_threads, np.int64)
        self.is_done = np.zeros(self.num_threads, bool)
        self.at_barrier = np.zeros(self.num_threads, bool)
        self.is_stalled = np.zeros(self.num_threads, bool)
        # Accumulators of products in flight, with the number of their group.
        self.products: dict[str, int] = {}
        self.product_group = 0
        # cp.async: the open group and the closed ones, as functions that finish a copy.
        self.copies, self.copy_groups = [], []
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
        value = {"ctaid": self.block, "nctaid": self.grid}.get(base)
        if value is not None:
            return np.full(self.num_threads, value[axis[which]], np.int64)
        if base == "ntid":
            return np.full(self.num_threads, self.num_threads if which == "x" else 1, np.int64)
        return None

    def words(self, operand: str) -> np.ndarray:
        """The 64-bit words of a register, number or symbol."""
        if operand in self.registers:
            return self.registers[operand]
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
        elif re.fullmatch(r"-?(0[xX][0-9a-fA-F]+|\d+)U?", operand):
            number = int(operand.rstrip("U"), 0)
        else:
            return np.full(self.num_threads, 0xDEADBEEFDEADBEEF, np.uint64)
        return np.full(self.num_threads, number & (2**64 - 1), np.uint64)

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
            value = np.ascontiguousarray(np.broadcast_to(value, self.num_threads)).astype(dtype, copy=False)
            words = value.view(UNSIGNED[dtype.itemsize]).astype(np.uint64)
        if not self.all_active:
            words = np.where(self.active, words, self.words(operand))
        self.registers[operand] = words
        self.products.pop(operand, None)

    def address(self, operand: str) -> np.ndarray:
        match = re.fullmatch(r"\[([^+\]]+)(?:\+(-?\d+))?\]", operand.replace(" ", ""))
        base = self.words(match[1])
        return base + np.uint64(int(match[2] or 0) & (2**64 - 1))

    @staticmethod
    def list_of(operand: str) -> list[str]:
        return [part.strip() for part in operand.strip("{}").split(",")] if operand[0] == "{" else [operand]

    # ---- running ----------------------------------------------------------

    def run(self, execute):
        while not self.is_done.all():
            ready = ~(self.is_done | self.at_barrier | self.is_stalled)
            if not ready.any():
                self.release()
                continue
            counter = self.counters[ready].min()
            self.active = ready & (self.counters == counter)
            instruction = self.program.instructions[counter]
            self.counters[self.active] += 1
            self.step(instruction, execute)
        if self.copies or self.copy_groups or self.products:
            self.finish_check()

    def finish_check(self):
        if self.products:
            raise EmulationError("the kernel ends with a product in flight")

    def release(self):
        waiting = ~self.is_done
        if (self.at_barrier | ~waiting).all():
            self.at_barrier[:] = False
            self.shared.barrier()
        elif self.is_stalled.any():
            raise EmulationError("threads wait for a barrier that nobody completes")
        else:
            raise EmulationError("threads wait at different barriers")

    def step(self, instruction: Instruction, execute):
        if instruction.predicate:
            holds = self.read(instruction.predicate, "pred")
            self.active = self.active & (holds != instruction.negated)
            if not self.active.any():
                return
        self.all_active = bool(self.active.all())
        with np.errstate(all="ignore"):
            execute(self, instruction)
