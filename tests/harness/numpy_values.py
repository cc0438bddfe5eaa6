# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values of the kernel language in NumPy: tiles, pointers, block pointers and descriptors.

They are half of an oracle that shares no code with the product (numpy_language.py is the other
half): the text of a kernel runs as ordinary Python on them. It knows what the random kernels
of the campaigns need, and what it knows is written from the description of the language.
"""

import numpy as np

from harness import reference
from harness.element_types import FP8, NUMPY_TYPES, bits, is_float

KINDS = {"b": 0, "i": 1, "f": 2}


class Dtype:
    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return f"tl.{self.name}"

    @property
    def numpy(self):
        return NUMPY_TYPES[self.name]


TYPES = {name: Dtype(name) for name in NUMPY_TYPES}


def kind_of(name):
    return "f" if is_float(name) else "b" if name == "int1" else "i"


def literal_type(value):
    """The type of a number that stands alone."""
    if isinstance(value, bool):
        return "int1"
    if isinstance(value, float):
        return "float32"
    return next(
        name
        for name in ("int32", "uint32", "int64", "uint64")
        if np.iinfo(NUMPY_TYPES[name]).min <= value <= np.iinfo(NUMPY_TYPES[name]).max
    )


def as_tile(value, name=None):
    if isinstance(value, Tile):
        return value
    name = name or literal_type(value)
    return Tile(np.asarray(value).astype(NUMPY_TYPES[name]), name)


def pair_of(left, right, weak=True):
    """Both operands as tiles; a number takes the type of the other operand where its kind is no higher."""
    for value, other in ((left, right), (right, left)):
        if weak and not isinstance(value, Tile) and isinstance(other, Tile):
            own = literal_type(value)
            name = other.name if KINDS[kind_of(own)] <= KINDS[kind_of(other.name)] else own
            both = as_tile(value, name), other
            return both if value is left else both[::-1]
    return as_tile(left), as_tile(right)


def ranks_made_equal(left, right):
    """Lower ranks get leading ones."""
    rank = max(left.ndim, right.ndim)
    return [part.reshape((1,) * (rank - part.ndim) + part.shape) if part.ndim else part for part in (left, right)]


def binary(op, left, right, weak=True):
    if isinstance(left, Pointer) or isinstance(right, Pointer):
        pointer, offset = (left, right) if isinstance(left, Pointer) else (right, left)
        return pointer.moved(offset if op == "add" else -offset)
    a, b = pair_of(left, right, weak)
    data = reference.binary(op, *ranks_made_equal(a.data, b.data), a.name, b.name)
    return Tile(data, reference.result_type(op, a.name, b.name))


def cast(tile, name):
    if tile.name == name:
        return tile
    data, dtype = tile.data, NUMPY_TYPES[name]
    with np.errstate(all="ignore"):
        if name == "int1":
            return Tile(data != 0, name)
        if name in FP8 or (is_float(name) and bits(name) == 16):
            # Through float32 where there is no direct way.
            return Tile(reference.round_to(data.astype(np.float32), name), name)
        if is_float(tile.name) and not is_float(name):
            wide = np.trunc(data.astype(np.float64))
            return Tile(wide.astype(np.uint64 if name == "uint64" else np.int64).astype(dtype), name)
        if tile.name in FP8 or tile.name == "bfloat16":
            data = data.astype(np.float32)
        return Tile(data.astype(dtype), name)


def toward_zero(tile, name):
    """Rounded to nearest, then back by one where that went away from zero."""
    rounded = np.atleast_1d(cast(tile, name).data.copy())
    is_larger = np.abs(rounded.astype(np.float64)) > np.abs(np.atleast_1d(tile.data).astype(np.float64))
    words = rounded.view(np.uint16)
    words[is_larger] -= 1
    return Tile(rounded.reshape(tile.shape), name)


class Tile:
    """An array, of rank 0 for a scalar, and the name of its element type."""

    __slots__ = ("data", "name")
    __array_ufunc__ = None

    def __init__(self, data, name):
        self.data, self.name = np.asarray(data), name
        assert self.data.dtype == NUMPY_TYPES[name], (self.data.dtype, name)

    def __bool__(self):
        assert self.data.size == 1
        return bool(self.data.reshape(-1)[0])

    def __index__(self):
        assert self.data.size == 1 and not is_float(self.name)
        return int(self.data.reshape(-1)[0])

    def __getitem__(self, index):
        return Tile(self.data[index], self.name)

    @property
    def dtype(self):
        return TYPES[self.name]

    @property
    def shape(self):
        return self.data.shape

    @property
    def T(self):
        return Tile(self.data.T, self.name)

    def to(self, dtype, bitcast=False, fp_downcast_rounding=None):
        if fp_downcast_rounding == "rtz":
            return toward_zero(self, dtype.name)
        if bitcast:
            return Tile(np.ascontiguousarray(self.data).view(dtype.numpy).reshape(self.shape), dtype.name)
        return cast(self, dtype.name)

    def __neg__(self):
        with np.errstate(all="ignore"):
            return Tile(-self.data, self.name)

    def __invert__(self):
        return Tile(~self.data, self.name)

    def is_scalar(self):
        return self.data.ndim == 0


def with_operators(table):
    def decorate(cls):
        for method, (op, weak) in table.items():
            setattr(cls, f"__{method}__", lambda self, other, op=op, weak=weak: binary(op, self, other, weak))
            if weak:
                setattr(cls, f"__r{method}__", lambda self, other, op=op: binary(op, other, self))
        return cls

    return decorate


OPERATORS = {method: (method, True) for method in ("add", "sub", "mul", "truediv", "floordiv", "mod", "and", "or", "xor")}
OPERATORS |= {"lshift": ("shl", True), "rshift": ("shr", True)}
OPERATORS |= {method: (method, False) for method in ("lt", "le", "gt", "ge", "eq", "ne")}
Tile.__hash__ = None
with_operators(OPERATORS)(Tile)


def extended(data, rank):
    return data.reshape((1,) * (rank - data.ndim) + data.shape)


class Pointer:
    """Elements of a flat array, by number."""

    __array_ufunc__ = None

    def __init__(self, array, offsets=0):
        self.array, self.offsets = array, np.asarray(offsets, np.int64)

    def moved(self, offset):
        data = np.asarray(offset.data if isinstance(offset, Tile) else offset)
        left, right = ranks_made_equal(self.offsets, data.astype(np.int64))
        return Pointer(self.array, left + right)

    def __add__(self, other):
        return self.moved(other)

    __radd__ = __add__

    def __getitem__(self, index):
        return Pointer(self.array, self.offsets[index])

    @property
    def flat(self):
        return self.array.reshape(-1)

    @property
    def name(self):
        return next(name for name, dtype in NUMPY_TYPES.items() if np.dtype(dtype) == self.array.dtype)

    def lanes(self, mask, shape=None):
        """Offsets and a mask of one shape; every lane that counts lies in the array."""
        parts = [self.offsets, np.asarray(True if mask is None else cast(as_tile(mask), "int1").data)]
        rank = max(part.ndim for part in parts)
        offsets, mask = np.broadcast_arrays(*[extended(part, rank) for part in parts])
        if shape is not None:
            offsets, mask = np.broadcast_to(offsets, shape), np.broadcast_to(mask, shape)
        chosen = offsets[mask]
        assert ((chosen >= 0) & (chosen < self.flat.size)).all(), "an address outside of its array"
        return offsets, mask

    def load(self, mask=None, other=None):
        offsets, mask = self.lanes(mask)
        safe = np.where(mask, offsets, 0)
        data = self.flat[safe]
        if other is not None:
            data = np.where(mask, data, cast(as_tile(other), self.name).data)
        else:
            data = np.where(mask, data, np.zeros((), data.dtype))
        return Tile(data.astype(self.array.dtype), self.name)

    def store(self, value, mask=None):
        offsets, mask = self.lanes(mask)
        data = np.broadcast_to(cast(as_tile(value), self.name).data, offsets.shape)
        self.flat[offsets[mask]] = data[mask]


class BlockPointer:
    def __init__(self, base, shape, strides, offsets, block_shape, order):
        self.base, self.block_shape, self.order = base, [int(size) for size in block_shape], order
        self.shape, self.strides, self.offsets = ([int(part) for part in parts] for parts in (shape, strides, offsets))

    def advanced(self, by):
        return BlockPointer(
            self.base, self.shape, self.strides, [a + int(b) for a, b in zip(self.offsets, by)], self.block_shape, self.order
        )

    def lanes(self, checked):
        """A pointer to every element, and which of them lie inside in the dimensions that are checked."""
        pointer, mask = self.base.offsets, np.asarray(True)
        for axis, size in enumerate(self.block_shape):
            places = self.offsets[axis] + np.arange(size)
            places = places.reshape([-1 if other == axis else 1 for other in range(len(self.block_shape))])
            pointer = pointer + places * self.strides[axis]
            if axis in checked:
                mask = mask & (places >= 0) & (places < self.shape[axis])
        mask = np.broadcast_to(mask, self.block_shape)
        return Pointer(self.base.array, pointer), Tile(mask, "int1")

    def load(self, checked=(), padding=""):
        pointer, mask = self.lanes(checked)
        return pointer.load(mask, float("nan") if padding == "nan" else 0)

    def store(self, value, checked=()):
        pointer, mask = self.lanes(checked)
        pointer.store(value, mask)


class Descriptor:
    """Reads beyond the shape give the padding, writes beyond it are dropped."""

    def __init__(self, base, shape, strides, block_shape, padding="zero"):
        self.base, self.shape, self.strides = base, shape, strides
        self.block_shape, self.padding = block_shape, padding

    def block(self, offsets):
        return BlockPointer(self.base, self.shape, self.strides, offsets, self.block_shape, None)

    def load(self, offsets):
        return self.block(offsets).load(range(len(offsets)), self.padding)

    def store(self, offsets, value):
        self.block(offsets).store(value, range(len(offsets)))

    def gather(self, rows, column):
        """The rows that a tile names, from a column on."""
        places = rows.data.astype(np.int64)[:, None], int(column) + np.arange(self.block_shape[1])[None, :]
        extents, strides = [int(size) for size in self.shape], [int(size) for size in self.strides]
        mask = np.logical_and(*[(place >= 0) & (place < extent) for place, extent in zip(places, extents)])
        pointer = Pointer(self.base.array, self.base.offsets + places[0] * strides[0] + places[1] * strides[1])
        return pointer.load(Tile(mask, "int1"), 0)
