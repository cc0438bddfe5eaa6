# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Block pointers and tensor descriptors: tiles of an array by coordinates.

Both are records of run-time values: kernels pass, return and carry them through
loops like a tuple. Accesses become tiles of pointers with bounds masks, except that a
descriptor with a tensor map reads and writes by TMA, on GPUs that have it.
"""

from __future__ import annotations

import builtins

from .. import _core, errors
from . import core
from .core import block_type, builtin, int32, int64, tensor, to_tensor, unwrap, unwrap_all

_native = _core.language
_interpreter = _core.kernel

__all__ = [
    "advance",
    "load_tensor_descriptor",
    "make_block_ptr",
    "make_tensor_descriptor",
    "store_tensor_descriptor",
    "tensor_descriptor",
]


def _require_pointer(name, base):
    if not isinstance(base, tensor) or not base.dtype.is_ptr() or base.shape:
        shown = base.type if isinstance(base, tensor) else type(base).__name__
        raise errors.make(
            "E0116",
            message=f"tl.{name} needs a scalar pointer, got {shown}",
            help="pass a pointer argument, plus a scalar offset",
        )


def _same_length(name, **parts):
    lengths = {key: len(part) for key, part in parts.items()}
    if len(set(lengths.values())) > 1:
        text = ", ".join(f"{key} {n}" for key, n in lengths.items())
        raise errors.make("E0121", message=f"tl.{name}: lengths differ ({text})", help="give one entry per dimension in each")


def _along(index, axis, rank):
    """A 1-D tile as one that varies along `axis` of `rank` dimensions."""
    for d in builtins.range(rank):
        if d != axis:
            index = core.expand_dims(index, d)
    return index


def _pointers(base, indices, strides):
    """base + sum of index * stride, in 64 bits; indices already have the full rank."""
    for index, stride in zip(indices, strides):
        base = base + index.to(int64) * stride
    return base


def _inside(indices, shape, dims):
    """Whether all coordinates of `dims` are in the array; None for no dims."""
    mask = None
    for d in dims:
        inside = (indices[d] >= 0) & (indices[d].to(int64) < shape[d])
        mask = inside if mask is None else mask & inside
    return mask


def _padding(name, option, dtype):
    """The value of lanes outside the array."""
    if option == "nan":
        if not dtype.is_floating():
            raise errors.make(
                "E0117", message=f"tl.{name}: padding 'nan' needs a floating type, got {dtype}", help="use 'zero'"
            )
        return float("nan")
    if option not in ("", "zero"):
        raise errors.make("E0117", message=f"tl.{name}: padding_option is '{option}'", help="choose one of '', 'zero', 'nan'")
    return 0


class _Record:
    """Fields that both evaluators may take apart and put together again."""

    __slots__ = ()

    def __init__(self, *fields):
        for name, value in zip(self.__slots__, fields):
            setattr(self, name, value)

    def __tilewright_flatten__(self):
        return builtins.tuple(getattr(self, name) for name in self.__slots__)

    def __tilewright_unflatten__(self, fields):
        return type(self)(*fields)

    def __repr__(self):
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{type(self).__name__}({fields})"


class _BlockPointerType:
    """`p.type` and `p.dtype` of a block pointer: a pointer to a tile."""

    def __init__(self, element_ty):
        self.element_ty = element_ty

    def __eq__(self, other):
        return isinstance(other, _BlockPointerType) and self.element_ty == other.element_ty

    def __hash__(self):
        return hash(self.element_ty)

    def __repr__(self):
        return f"pointer<{self.element_ty}>"

    @property
    def scalar(self):
        return self

    def is_ptr(self):
        return True

    def is_block(self):
        return False


class block_pointer(_Record):
    """A tile of an array in memory: base, extents, strides, position, tile shape."""

    __slots__ = ("base", "shape", "strides", "offsets", "block_shape", "order")

    @property
    def type(self):
        return _BlockPointerType(block_type(self.base.dtype.element_ty, self.block_shape))

    dtype = type

    def _indices(self):
        rank = len(self.block_shape)
        return [_along(self.offsets[d] + core.arange(0, self.block_shape[d]), d, rank) for d in builtins.range(rank)]

    def _dims(self, boundary_check):
        rank = len(self.block_shape)
        for d in boundary_check:
            if not 0 <= d < rank:
                raise errors.make(
                    "E0117",
                    message=f"boundary_check names dimension {d} of a tile of rank {rank}",
                    help=f"use dimensions from 0 to {rank - 1}",
                )
        return sorted(set(boundary_check))

    def _check(self, access, boundary_check):
        """In the interpreter: whether the block leaves the array where no mask is."""
        dims = builtins.tuple(self._dims(boundary_check))
        _interpreter.check_block(access, self.offsets, builtins.tuple(self.shape), self.block_shape, dims)

    def _load_block(self, boundary_check, padding_option, cache_modifier, eviction_policy, volatile):
        self._check("load", boundary_check)
        indices = self._indices()
        padding = _padding("load", padding_option, self.base.dtype.element_ty)
        mask = _inside(indices, self.shape, self._dims(boundary_check))
        other = padding if mask is not None and padding_option else None
        return core.load(
            _pointers(self.base, indices, self.strides),
            mask,
            other,
            cache_modifier=cache_modifier,
            eviction_policy=eviction_policy,
            volatile=volatile,
        )

    def _store_block(self, value, boundary_check, cache_modifier, eviction_policy):
        self._check("store", boundary_check)
        indices = self._indices()
        mask = _inside(indices, self.shape, self._dims(boundary_check))
        return core.store(
            _pointers(self.base, indices, self.strides),
            value,
            mask,
            cache_modifier=cache_modifier,
            eviction_policy=eviction_policy,
        )

    @builtin
    def advance(self, offsets):
        """The tile moved by `offsets` elements along each dimension."""
        deltas = unwrap_all(offsets)
        _same_length("advance", pointer=self.offsets, offsets=deltas)
        # Zero leaves a coordinate as it is: it need not be carried through a loop.
        moved = builtins.tuple(o if isinstance(d, int) and d == 0 else (o + d).to(int32) for o, d in zip(self.offsets, deltas))
        return block_pointer(self.base, self.shape, self.strides, moved, self.block_shape, self.order)


@builtin
def make_block_ptr(base, shape, strides, offsets, block_shape, order):
    """A pointer to the tile of `block_shape` at `offsets` of an array.

    `order` lists the dimensions from the fastest varying on. See load for
    boundary_check and padding_option.
    """
    _require_pointer("make_block_ptr", base)
    shape, strides, offsets = unwrap_all(shape), unwrap_all(strides), unwrap_all(offsets)
    block_shape, order = unwrap_all(block_shape), unwrap_all(order)
    _same_length("make_block_ptr", shape=shape, strides=strides, offsets=offsets, block_shape=block_shape, order=order)
    if sorted(order) != list(builtins.range(len(order))):
        raise errors.make(
            "E0117", message=f"tl.make_block_ptr: order {order} is no permutation", help="name each dimension once"
        )
    block_type(base.dtype.element_ty, block_shape)  # raises for shapes that are none
    start = builtins.tuple(to_tensor(o).to(int32) for o in offsets)
    return block_pointer(base, shape, strides, start, block_shape, order)


@builtin
def advance(base, offsets):
    """The block pointer `base` moved by `offsets`; the argument itself stays."""
    if not isinstance(base, block_pointer):
        raise errors.make("E0116", message="tl.advance needs a block pointer", help="make one with tl.make_block_ptr")
    return base.advance(offsets)


# A bare `tl.advance(p, ...)` looks as if it moved p; the walker refuses it.
advance._must_use_result = block_pointer.advance._must_use_result = (
    "assign it: p = tl.advance(p, offsets); the argument itself stays"
)


class tensor_descriptor(_Record):
    """An array in memory that is read and written in tiles of one shape.

    `handle` is its tensor map, or None where accesses go through pointers.
    """

    __slots__ = ("base", "shape", "strides", "block_shape", "padding", "handle")

    def __init__(self, base, shape, strides, block_shape, padding="zero", handle=None):
        super().__init__(base, shape, strides, block_shape, padding, handle)

    @property
    def dtype(self):
        return self.base.dtype.element_ty

    @property
    def block_type(self):
        return block_type(self.dtype, self.block_shape)

    @property
    def type(self):
        return tensor_descriptor_type(self.block_type)

    def _offsets(self, offsets):
        offsets = unwrap_all(offsets)
        _same_length("tensor_descriptor", offsets=offsets, block_shape=self.block_shape)
        return offsets

    def _tile(self, offsets):
        """Pointers and mask of the tile at `offsets`."""
        offsets = self._offsets(offsets)
        rank = len(self.block_shape)
        indices = [_along(offsets[d] + core.arange(0, self.block_shape[d]), d, rank) for d in builtins.range(rank)]
        return _pointers(self.base, indices, self.strides), _inside(indices, self.shape, builtins.range(rank))

    def _rows(self, x_offsets, y_offset):
        """Pointers and mask of single rows, for gather and scatter."""
        if len(self.block_shape) != 2 or self.block_shape[0] != 1:
            raise errors.make(
                "E0121",
                message=f"rows of a descriptor with the block {list(self.block_shape)}",
                help="use a block of one row: [1, n]",
            )
        indices = [_along(x_offsets, 0, 2), _along(y_offset + core.arange(0, self.block_shape[1]), 1, 2)]
        return _pointers(self.base, indices, self.strides), _inside(indices, self.shape, (0, 1))

    def _by_tma(self, access, offsets):
        """Whether TMA does it; in debug mode with a check of what it demands."""
        if self.handle is None:
            _interpreter.check_coordinates(access, self.dtype.itemsize, builtins.tuple(self._offsets(offsets)))
            return False
        offsets, strides = self._offsets(offsets), builtins.tuple(self.strides)
        if not _native.descriptor_by_tma(access, self.handle, offsets, self.shape[-1], strides[:-1]):
            return False
        if _native.option("debug"):
            core.device_assert(
                to_tensor(offsets[-1]).to(int64) * self.dtype.itemsize % 16 == 0,
                "tensor_descriptor: the last coordinate is no multiple of 16 bytes",
            )
            for offset in offsets if access != "load" else ():
                core.device_assert(to_tensor(offset) >= 0, "tensor_descriptor: a store at a negative coordinate")
        return True

    @builtin
    def load(self, offsets):
        """The tile at `offsets`; elements outside the array are the padding.

        By TMA (docs/launch.md) the last offset has to be a multiple of 16 bytes; `debug=True` checks it.
        """
        if self._by_tma("load", offsets):
            return _native.descriptor_load(self.handle, self._offsets(offsets), "", "")
        pointers, mask = self._tile(offsets)
        return core.load(pointers, mask, _padding("tensor_descriptor", self.padding, self.dtype))

    @builtin
    def store(self, offsets, value):
        """Writes a tile at `offsets`; elements outside the array are dropped.

        By TMA the last offset has to be a multiple of 16 bytes and none may be negative; `debug=True` checks it.
        """
        if self._by_tma("store", offsets):
            return _native.descriptor_store(self.handle, self._offsets(offsets), core.reshape(value, self.block_shape))
        pointers, mask = self._tile(offsets)
        return core.store(pointers, core.reshape(value, self.block_shape), mask)

    @builtin
    def gather(self, x_offsets, y_offset):
        """Rows x_offsets[i], from column y_offset on."""
        pointers, mask = self._rows(x_offsets, y_offset)
        return core.load(pointers, mask, _padding("tensor_descriptor", self.padding, self.dtype))

    @builtin
    def scatter(self, value, x_offsets, y_offset):
        """Writes the rows of `value` to rows x_offsets[i], from column y_offset on."""
        pointers, mask = self._rows(x_offsets, y_offset)
        return core.store(pointers, value, mask)


def _attach_atomics():
    """desc.atomic_add(offsets, value) and the others: no result."""
    for name in ("add", "min", "max", "and", "or", "xor"):
        function = getattr(core, f"atomic_{name}")

        def method(self, offsets, value, function=function, name=name):
            if self._by_tma(name, offsets):
                return _native.descriptor_reduce(name, self.handle, self._offsets(offsets), value)
            pointers, mask = self._tile(offsets)
            function(pointers, value, mask, "relaxed")

        method.__name__ = f"atomic_{name}"
        method.__doc__ = f"As tl.atomic_{name} on the tile at `offsets`, without a result."
        setattr(tensor_descriptor, method.__name__, builtin(method))


_attach_atomics()

tensor_descriptor_base = tensor_descriptor


class tensor_descriptor_type:
    """The type of a descriptor: that of its tiles."""

    def __init__(self, block_type):
        self.block_type = block_type

    def __eq__(self, other):
        return isinstance(other, tensor_descriptor_type) and self.block_type == other.block_type

    def __hash__(self):
        return hash(self.block_type)

    def __repr__(self):
        return f"tensor_descriptor<{self.block_type}>"


def _check_alignment(base, strides, itemsize):
    """What a descriptor demands, as an assertion: nothing unless in debug mode."""
    rest = base.to(int64)
    for stride in strides:
        rest = rest | to_tensor(stride).to(int64) * itemsize
    core.device_assert(rest % 16 == 0, "make_tensor_descriptor: the base or a stride is no multiple of 16 bytes")


@builtin
def make_tensor_descriptor(base, shape, strides, block_shape, padding_option="zero"):
    """A descriptor of an array of one to five dimensions.

    The last stride is the constant 1, the last extent of a block at least 16 bytes.
    Base and strides are multiples of 16 bytes; `debug=True` checks it. padding_option:
    "zero" or "nan". On GPUs with TMA the launch makes a tensor map where base, shape and
    strides follow from the kernel's arguments, and each program its own where they do not.
    Stores go through pointers unless the last extent is known to be a multiple of 16 bytes.
    Where they are computed from arguments that are not known to be divisible as TMA needs
    it, accesses go through pointers; the remarks say so.
    """
    _require_pointer("make_tensor_descriptor", base)
    shape, strides, block_shape = unwrap_all(shape), unwrap_all(strides), unwrap_all(block_shape)
    _same_length("make_tensor_descriptor", shape=shape, strides=strides, block_shape=block_shape)
    if not 1 <= len(shape) <= 5:
        raise errors.make(
            "E0121", message=f"tl.make_tensor_descriptor: {len(shape)} dimensions", help="use one to five dimensions"
        )
    if isinstance(strides[-1], tensor) or strides[-1] != 1:
        raise errors.make(
            "E0117",
            message="tl.make_tensor_descriptor: the last stride must be the constant 1",
            help="make the array contiguous along its last dimension",
        )
    tile = block_type(base.dtype.element_ty, block_shape)
    row_bytes = block_shape[-1] * tile.scalar.itemsize
    if row_bytes < 16:
        raise errors.make(
            "E0121",
            message=f"tl.make_tensor_descriptor: the last dimension of a block has {row_bytes} bytes; 16 are required",
            help="use a wider block",
            sentence=f"Descriptor block shape must have at least 16 bytes in its last dimension, not {row_bytes}",
        )
    padding_option = unwrap(padding_option)
    _padding("make_tensor_descriptor", padding_option, tile.scalar)
    handle = _native.make_descriptor(base, shape, strides, block_shape, padding_option == "nan")
    if handle is not None:
        _check_alignment(base, strides[:-1], tile.scalar.itemsize)
    return tensor_descriptor(base, shape, strides, block_shape, padding_option, handle)


@builtin
def load_tensor_descriptor(desc, offsets):
    """As desc.load(offsets)."""
    return desc.load(offsets)


@builtin
def store_tensor_descriptor(desc, offsets, value):
    """As desc.store(offsets, value)."""
    return desc.store(offsets, value)
