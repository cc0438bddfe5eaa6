# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Copies of a launch's arguments as NumPy arrays: those of one piece of memory share a piece again, at the same alignment."""

import numpy as np
from harness.ptx_emulator import memory_of
from harness.element_types import NUMPY_TYPES
from tilewright.scalar_types import SHORT_NAMES, short_type
from tilewright.tools.tensor_descriptor import TensorDescriptor

MOST_BYTES = 200 << 20
ALIGNMENT = 256  # what a copy keeps of an address


class Uncomparable(Exception):
    """Why a launch cannot be tried."""


def typed(name, data_type):
    short = short_type(name, data_type)
    for numpy_name, numpy_type in NUMPY_TYPES.items():
        if SHORT_NAMES[numpy_name] == short:
            return np.dtype(numpy_type)
    raise Uncomparable(f"elements of {short}")


def copy_of(memory, address):
    """The bytes at an address of the same alignment."""
    room = np.zeros(memory.nbytes + 2 * ALIGNMENT, np.uint8)
    first = (address - room.ctypes.data) % ALIGNMENT
    copy = room[first : first + memory.nbytes]
    copy[...] = memory
    return copy


def storage_of(array):
    """The address of the piece of memory that an array or a tensor lies in, and a function that gives its bytes."""
    if isinstance(array, np.ndarray):
        whole = memory_of(array)
        return whole.ctypes.data, lambda: whole.reshape(-1).view(np.uint8)
    import torch

    storage = array.untyped_storage()

    def read():
        return torch.empty(0, dtype=torch.uint8).set_(storage, 0, (storage.nbytes(),), (1,)).numpy()

    return storage.data_ptr(), read


class Copies:
    """The pieces by the addresses of their originals."""

    def __init__(self):
        self.storages = {}

    def of_array(self, name, array, data_type=None):
        """The array, with all that follows it in its memory: a kernel may walk out of a view."""
        dtype = typed(name, data_type or array.dtype)
        key, read = storage_of(array)
        if key not in self.storages:
            memory = read()
            if sum(piece.nbytes for piece in self.storages.values()) + memory.nbytes > MOST_BYTES:
                raise Uncomparable("large arrays")
            self.storages[key] = copy_of(memory, key)
        offset = (array.ctypes.data if isinstance(array, np.ndarray) else array.data_ptr()) - key
        count = (self.storages[key].nbytes - offset) // dtype.itemsize
        return self.storages[key][offset : offset + count * dtype.itemsize].view(dtype)

    def of(self, name, value):
        """An argument with copies in the place of its arrays."""
        if isinstance(value, TensorDescriptor):
            flat = self.of_array(name, value.base)
            strides = [step * flat.itemsize for step in value.strides]
            base = np.lib.stride_tricks.as_strided(flat, tuple(value.shape), strides)
            return TensorDescriptor(base, list(value.shape), list(value.strides), list(value.block_shape), value.padding)
        if type(value).__name__ == "TensorWrapper":
            return self.of_array(name, value.base, value.dtype)
        if isinstance(value, np.ndarray) or (hasattr(value, "data_ptr") and hasattr(value, "dtype")):
            return self.of_array(name, value)
        if isinstance(value, (tuple, list)):
            items = [self.of(name, item) for item in value]
            return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
        return value

    def again(self, bound):
        """Arguments that lie in copies of these pieces, and those copies."""
        other = Copies()
        other.storages = {key: copy_of(piece, piece.ctypes.data) for key, piece in self.storages.items()}
        places = [(piece.ctypes.data, other.storages[key]) for key, piece in self.storages.items()]
        return {name: moved(value, places) for name, value in bound.items()}, other


def moved(value, places):
    """The value where its arrays, which lie in pieces at these addresses, lie in the copies beside them."""
    if isinstance(value, TensorDescriptor):
        base = moved(value.base, places)
        return TensorDescriptor(base, list(value.shape), list(value.strides), list(value.block_shape), value.padding)
    if isinstance(value, tuple):
        items = [moved(item, places) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if not isinstance(value, np.ndarray):
        return value
    for start, copy in places:
        offset = value.ctypes.data - start
        if 0 <= offset < copy.nbytes or (offset == 0 and value.nbytes == 0):
            # Not as_strided: its views do not say whose memory they are, so two of one piece would be two arrays to the
            # emulator, and the one that is read back last would undo what the kernel wrote through the other.
            return np.ndarray(value.shape, value.dtype, copy, offset, value.strides)
    return value
