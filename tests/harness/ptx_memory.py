# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memories of the PTX emulator: global, shared and that of a cluster.

They know who has written what, and refuse what no rule of the GPU orders; see ptx_machine.py.
"""

import numpy as np

from harness.ptx_words import ARRAY_GAP, GLOBAL_BASE, NOBODY, SEVERAL, SEVERAL_WARPS, SHARED_BYTES, WINDOW_BITS, EmulationError


class GlobalMemory:
    """Arrays at made-up addresses; every access must lie within one."""

    def __init__(self):
        self.data = np.zeros(0, np.uint8)
        self.valid = np.zeros(0, bool)
        self.symbols = {}  # addresses of the module's tables
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


class LocalMemory:
    """Of each thread, addresses from 0."""

    def __init__(self, num_threads: int, size: int):
        self.data = np.zeros((num_threads, size), np.uint8)
        self.is_written = np.zeros((num_threads, size), bool)

    def places(self, addresses: np.ndarray, size: int) -> np.ndarray:
        if (addresses % np.uint64(size)).any():
            raise EmulationError(f"a local address is no multiple of {size}")
        if (addresses.astype(np.int64) + size > self.data.shape[1]).any():
            raise EmulationError("an address outside of local memory")
        return addresses.astype(np.int64)[:, None] + np.arange(size)

    def load(self, addresses, size, threads):
        places = self.places(addresses, size)
        if not self.is_written[threads[:, None], places].all():
            raise EmulationError("reads local memory that nothing was written to")
        return self.data[threads[:, None], places]

    def store(self, addresses, values, threads):
        places = self.places(addresses, values.shape[1])
        self.data[threads[:, None], places] = values
        self.is_written[threads[:, None], places] = True


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
        # Whether only atomic operations wrote it: they order themselves, not what others do.
        self.is_atomic = np.zeros(SHARED_BYTES, bool)
        # When it was read.
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
        is_ordered = (writer == NOBODY) | (writer == warps) | (self.is_atomic[places] if is_atomic else False)
        if not is_ordered.all():
            raise EmulationError("reads shared memory that another warp wrote since the last barrier")
        if is_atomic:
            return self.data[places]
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
        before = self.writer[places]
        self.write(places, values, threads)
        if is_atomic:
            self.is_atomic[places] = True
            others = (before != NOBODY) & (before != self.writer[places])
            self.writer[places[others]] = SEVERAL_WARPS

    def write(self, places, values, threads):
        self.data[places] = values
        self.written[places] = True
        self.is_atomic[places] = False
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
        """By a thread: others see it after a barrier only, matrix units without a fence; TMA is not told apart."""
        self.in_flight[places] = False
        self.write(places, values, threads)
        self.unfenced[places] = -1

    def finish_bulk_copy(self, places, values):
        """By TMA: whoever waited for its barrier sees it."""
        self.in_flight[places] = False
        self.data[places] = values
        self.written[places] = True
        self.writer[places] = NOBODY
        self.unfenced[places] = -1

    def load_async(self, places: np.ndarray, warp: int | None = None) -> np.ndarray:
        """What wgmma and TMA see; they read until `finish_reading`. Of `warp`, whose thread starts that
        alone, they also see what it wrote before its lanes met."""
        if self.in_flight[places].any():
            raise EmulationError("a matrix instruction reads what a copy in flight writes")
        if (self.unfenced[places] >= 0).any():
            raise EmulationError("a matrix instruction reads shared memory without fence.proxy.async")
        is_own = self.writer[places] == (NOBODY if warp is None else warp)
        is_known = (self.writer[places] == NOBODY) | (is_own & (self.unmet[places] < 0))
        if not is_known.all():
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
