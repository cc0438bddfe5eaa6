# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensor maps: those of the launch, and those that a kernel makes.

What a kernel makes are bytes, in an order of our own: the real one is not public. A
map must have been cleared, every field of it set, and the whole released by
tensormap.cp_fenceproxy and acquired by the thread that uses it; it must not change
afterwards, nor be made again while a copy still reads it.
"""

import dataclasses

import ml_dtypes
import numpy as np

from harness.ptx_handlers import handles
from harness.ptx_words import EmulationError

ROW_BYTES, MAX_EXTENT, MAP_BYTES, ALIGNMENT = 128, 256, 128, 16
# By PTX's numbers. Types without a number of their own travel as unsigned integers.
ELEMENT_TYPES = {0: np.uint8, 1: np.uint16, 2: np.uint32, 3: np.int32, 4: np.uint64, 5: np.int64, 6: np.float16,
                 7: np.float32, 9: np.float64, 10: ml_dtypes.bfloat16}  # fmt: skip
RANK = 5
FIELDS = np.dtype([
    ("global_address", "<u8"), ("global_stride", "<u8", RANK - 1), ("global_dim", "<u4", RANK), ("rank", "<u4"),
    ("elemtype", "<u4"), ("interleave_layout", "<u4"), ("swizzle_mode", "<u4"), ("fill_mode", "<u4"),
    ("box_dim", "<u2", RANK), ("element_stride", "u1", RANK),
    # How many entries of each field have been set, and how often a map was made.
    ("entries", "u1", 16),
])  # fmt: skip
ENTRIES = {name: index for index, name in enumerate(FIELDS.names[:-1])}


@dataclasses.dataclass
class TensorMap:
    """What the driver encodes: dimensions outermost first, strides in bytes."""

    address: int
    dtype: np.dtype
    shape: tuple
    strides: tuple
    box: tuple
    swizzle: int
    padding: float

    @staticmethod
    def of(descriptor, address):
        dtype = np.dtype(descriptor.base.dtype)
        box = list(descriptor.block_shape)
        box[-1] = min(box[-1], ROW_BYTES // dtype.itemsize)
        for dim in reversed(range(len(box) - 1)):
            box[dim] = (
                1
                if any(box[d] < descriptor.block_shape[d] for d in range(dim + 1, len(box) - 1))
                else min(box[dim], MAX_EXTENT)
            )
        row = box[-1] * dtype.itemsize
        padding = np.nan if descriptor.padding == "nan" else 0
        return TensorMap(
            address,
            dtype,
            tuple(descriptor.shape),
            tuple(s * dtype.itemsize for s in descriptor.strides),
            tuple(box),
            row if row > 16 else 0,
            padding,
        )

    @staticmethod
    def from_bytes(data):
        fields = np.frombuffer(data[: FIELDS.itemsize].tobytes(), FIELDS)[0]
        rank = int(fields["rank"]) + 1
        wanted = {"global_dim": rank, "box_dim": rank, "element_stride": rank, "global_stride": rank - 1}
        for name, index in ENTRIES.items():
            if fields["entries"][index] < wanted.get(name, 1):
                raise EmulationError(f"a tensor map without its {name}")
        dtype = np.dtype(ELEMENT_TYPES[int(fields["elemtype"])])
        # As the hardware, which keeps extents less 1: 0 is none that it can say.
        if (fields["global_dim"][:rank] == 0).any():
            raise EmulationError("a tensor map with an extent of 0")
        if fields["interleave_layout"] or (fields["element_stride"][:rank] != 1).any():
            raise EmulationError("a tensor map of a kind that is not emulated")
        inner = (dtype.itemsize, *(int(s) for s in fields["global_stride"][: rank - 1]))
        if fields["global_address"] % ALIGNMENT or any(s % ALIGNMENT for s in inner[1:]):
            raise EmulationError("a tensor map whose base or stride is no multiple of 16 bytes")
        swizzle = (0, 32, 64, 128)[int(fields["swizzle_mode"])]
        return TensorMap(
            int(fields["global_address"]),
            dtype,
            tuple(int(e) for e in fields["global_dim"][:rank][::-1]),
            inner[::-1],
            tuple(int(e) for e in fields["box_dim"][:rank][::-1]),
            swizzle,
            np.nan if fields["fill_mode"] else 0,
        )

    def elements(self, corner, whole_chunks=False):
        """(addresses, whether inside) of all elements of the box at `corner`.

        With `whole_chunks` the last chunk of 16 bytes of a row is inside as a whole.
        """
        index = [c + i for c, i in zip(corner, np.indices(self.box))]
        inside = np.ones(self.box, bool)
        address = np.full(self.box, self.address, np.int64)
        unit = max(1, ALIGNMENT // self.dtype.itemsize) if whole_chunks else 1
        for i, extent, stride in zip(index, (*self.shape[:-1], -(-self.shape[-1] // unit) * unit), self.strides):
            inside &= (i >= 0) & (i < extent)
            address += i * stride
        return address.reshape(-1), inside.reshape(-1)

    def places(self, start):
        """Offsets in shared memory of the first byte of each element of a box."""
        if start % ROW_BYTES:
            raise EmulationError(f"a box at {start}, which is no multiple of {ROW_BYTES}")
        place = start + np.arange(int(np.prod(self.box))) * self.dtype.itemsize
        chunks = self.swizzle // 16 - 1 if self.swizzle else 0
        return place ^ ((place >> 7 & chunks) << 4)

    @property
    def bytes(self):
        return int(np.prod(self.box)) * self.dtype.itemsize


class ProgramMaps:
    """The maps of one program: those of the launch by address, and what it makes itself."""

    def __init__(self, of_launch=()):
        self.of_launch = dict(of_launch)
        # Bytes as they were released, by address, and as (thread, address) has acquired them.
        self.released, self.acquired = {}, {}
        # Copies under way that read a map.
        self.readers = {}

    def find(self, machine, address, thread):
        if address in self.of_launch:
            return self.of_launch[address]
        data = self.acquired.get((thread, address))
        if data is None:
            raise EmulationError(f"{address:#x} is no address of a tensor map that the thread has acquired")
        if not np.array_equal(data, map_bytes(machine, address)):
            raise EmulationError("uses a tensor map that has changed since it was acquired")
        return TensorMap.from_bytes(data)

    def acquire(self, machine, instruction):
        """fence.proxy.tensormap::generic.acquire"""
        addresses = machine.address(instruction.operands[0])
        for thread in machine.threads[machine.active]:
            address = int(addresses[thread])
            data = self.released.get(address)
            if data is None or not np.array_equal(data, map_bytes(machine, address)):
                raise EmulationError("acquires a tensor map that nobody has released")
            self.acquired[int(thread), address] = data

    def start_reading(self, address):
        self.readers[address] = self.readers.get(address, 0) + 1

    def finish_reading(self, address):
        self.readers[address] -= 1


def map_bytes(machine, address):
    return machine.memory.load(np.array([address], np.uint64), MAP_BYTES, machine.threads[:1])[0]


def only_thread(machine):
    threads = machine.threads[machine.active]
    if len(threads) != 1:
        raise EmulationError(f"{len(threads)} threads edit a tensor map at once")
    return threads


@handles("tensormap")
def tensormap(machine, instruction):
    if "replace" in instruction.parts:
        replace(machine, instruction)
    elif "cp_fenceproxy" in instruction.parts:
        copy_and_release(machine, instruction)
    else:
        raise EmulationError(f"not emulated: {instruction.text}")


def replace(machine, instruction):
    """One field of a map in shared memory."""
    thread = only_thread(machine)
    name = next(part for part in instruction.parts if part in ENTRIES)
    place, *entry, value = instruction.operands
    address = machine.address(place)[thread]
    machine.shared.check_synced(address, MAP_BYTES, thread)
    data = machine.shared.load(address, MAP_BYTES, thread)[0].copy()
    fields = data[: FIELDS.itemsize].view(FIELDS)[0]
    if (fields["entries"] > RANK).any():
        raise EmulationError("edits a tensor map that nobody has cleared")
    number = int(machine.read(value, "u64" if "b64" in instruction.parts else "u32")[thread[0]])
    if entry:
        fields[name][int(entry[0])] = number
    else:
        fields[name] = number
    fields["entries"][ENTRIES[name]] += 1
    machine.shared.store(address, data[None, :], thread)


def copy_and_release(machine, instruction):
    target, source = instruction.operands[:2]
    targets, sources = machine.address(target), machine.address(source)
    threads = machine.threads[machine.active]
    for warp in np.unique(threads // 32):
        lanes = threads[threads // 32 == warp]
        if len(lanes) != 32:
            raise EmulationError("a warp copies a tensor map without all of its lanes")
        # Each lane copies a word.
        words = sources[lanes] + np.uint64(4) * (lanes % 32).astype(np.uint64)
        machine.shared.check_synced(sources[lanes[:1]], MAP_BYTES, None)
        data = machine.shared.load(words, 4, lanes).reshape(1, -1)
        address = int(targets[lanes[0]])
        if machine.maps.readers.get(address):
            raise EmulationError("makes a tensor map again that a copy under way reads")
        machine.memory.store(targets[lanes[:1]], data, lanes[:1])
        machine.maps.released[address] = data[0].copy()
