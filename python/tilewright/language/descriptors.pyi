# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by scripts/generate_stubs.py: do not edit; `make stubs` writes it again.
"""Block pointers and tensor descriptors: tiles of an array by coordinates."""

from collections.abc import Sequence
from typing import Any

from ._known_to_the_compiler import int32 as int32  # type: ignore
from ._known_to_the_compiler import int64 as int64  # type: ignore
from . import core as core
from .. import errors as errors
from ._values import _BlockPointer
from ._values import _Descriptor
from ._values import _Tile
from ._values import unwrap as unwrap
from ._values import unwrap_all as unwrap_all
from .basics import builtin as builtin
from .core import block_type as block_type
from .core import dtype
from .core import dtype as _dtype, pointer_type as _pointer_type
from .core import tensor as tensor
from .core import to_tensor as to_tensor


class block_pointer:
    """A tile of an array in memory: base, extents, strides, position, tile shape."""
    @property
    def type(self) -> Any:
        ...
    @property
    def dtype(self) -> _pointer_type:
        ...
    def advance(self, offsets: Any) -> _BlockPointer:
        """The tile moved by `offsets` elements along each dimension."""
    base: Any
    block_shape: Any
    offsets: Any
    order: Any
    shape: Any
    strides: Any
    def __init__(self, *fields: Any) -> None:
        ...


def make_block_ptr(base: Any, shape: Any, strides: Any, offsets: Any, block_shape: Sequence[int], order: Sequence[int]) -> _BlockPointer:
    """A pointer to the tile of `block_shape` at `offsets` of an array.

    `order` lists the dimensions from the fastest varying on. See load for
    boundary_check and padding_option."""


def advance(base: Any, offsets: Any) -> _BlockPointer:
    """The block pointer `base` moved by `offsets`; the argument itself stays."""


class tensor_descriptor:
    """An array in memory that is read and written in tiles of one shape.

    `handle` is its tensor map, or None where accesses go through pointers."""
    def __init__(self, base: Any, shape: Sequence[int] | int, strides: Any, block_shape: Any, padding: Any = 'zero', handle: Any = None) -> None:
        ...
    @property
    def dtype(self) -> _pointer_type:
        ...
    @property
    def block_type(self) -> _dtype:
        ...
    @property
    def type(self) -> Any:
        ...
    def load(self, offsets: Any) -> _Tile:
        """The tile at `offsets`; elements outside the array are the padding.

        By TMA (docs/launch.md) the last offset has to be a multiple of 16 bytes; `debug=True` checks it."""
    def store(self, offsets: Any, value: Any) -> None:
        """Writes a tile at `offsets`; elements outside the array are dropped.

        By TMA the last offset has to be a multiple of 16 bytes and none may be negative; `debug=True` checks it."""
    def gather(self, x_offsets: Any, y_offset: Any) -> _Tile:
        """Rows x_offsets[i], from column y_offset on."""
    def scatter(self, value: Any, x_offsets: Any, y_offset: Any) -> None:
        """Writes the rows of `value` to rows x_offsets[i], from column y_offset on."""
    base: Any
    block_shape: Any
    handle: Any
    padding: Any
    shape: Any
    strides: Any
    def atomic_add(self, offsets: Any, value: Any, function: Any = ..., name: Any = 'add') -> None:
        """As tl.atomic_add on the tile at `offsets`, without a result."""
    def atomic_min(self, offsets: Any, value: Any, function: Any = ..., name: Any = 'min') -> None:
        """As tl.atomic_min on the tile at `offsets`, without a result."""
    def atomic_max(self, offsets: Any, value: Any, function: Any = ..., name: Any = 'max') -> None:
        """As tl.atomic_max on the tile at `offsets`, without a result."""
    def atomic_and(self, offsets: Any, value: Any, function: Any = ..., name: Any = 'and') -> None:
        """As tl.atomic_and on the tile at `offsets`, without a result."""
    def atomic_or(self, offsets: Any, value: Any, function: Any = ..., name: Any = 'or') -> None:
        """As tl.atomic_or on the tile at `offsets`, without a result."""
    def atomic_xor(self, offsets: Any, value: Any, function: Any = ..., name: Any = 'xor') -> None:
        """As tl.atomic_xor on the tile at `offsets`, without a result."""


class tensor_descriptor_base:
    """An array in memory that is read and written in tiles of one shape.

    `handle` is its tensor map, or None where accesses go through pointers."""
    def __init__(self, base: Any, shape: Sequence[int] | int, strides: Any, block_shape: Any, padding: Any = 'zero', handle: Any = None) -> None:
        ...
    @property
    def dtype(self) -> _pointer_type:
        ...
    @property
    def block_type(self) -> _dtype:
        ...
    @property
    def type(self) -> Any:
        ...
    def load(self, offsets: Any) -> _Tile:
        """The tile at `offsets`; elements outside the array are the padding.

        By TMA (docs/launch.md) the last offset has to be a multiple of 16 bytes; `debug=True` checks it."""
    def store(self, offsets: Any, value: Any) -> None:
        """Writes a tile at `offsets`; elements outside the array are dropped.

        By TMA the last offset has to be a multiple of 16 bytes and none may be negative; `debug=True` checks it."""
    def gather(self, x_offsets: Any, y_offset: Any) -> _Tile:
        """Rows x_offsets[i], from column y_offset on."""
    def scatter(self, value: Any, x_offsets: Any, y_offset: Any) -> None:
        """Writes the rows of `value` to rows x_offsets[i], from column y_offset on."""
    base: Any
    block_shape: Any
    handle: Any
    padding: Any
    shape: Any
    strides: Any
    def atomic_add(self, offsets: Any, value: Any, function: Any = ..., name: Any = 'add') -> Any:
        """As tl.atomic_add on the tile at `offsets`, without a result."""
    def atomic_min(self, offsets: Any, value: Any, function: Any = ..., name: Any = 'min') -> Any:
        """As tl.atomic_min on the tile at `offsets`, without a result."""
    def atomic_max(self, offsets: Any, value: Any, function: Any = ..., name: Any = 'max') -> Any:
        """As tl.atomic_max on the tile at `offsets`, without a result."""
    def atomic_and(self, offsets: Any, value: Any, function: Any = ..., name: Any = 'and') -> Any:
        """As tl.atomic_and on the tile at `offsets`, without a result."""
    def atomic_or(self, offsets: Any, value: Any, function: Any = ..., name: Any = 'or') -> Any:
        """As tl.atomic_or on the tile at `offsets`, without a result."""
    def atomic_xor(self, offsets: Any, value: Any, function: Any = ..., name: Any = 'xor') -> Any:
        """As tl.atomic_xor on the tile at `offsets`, without a result."""


class tensor_descriptor_type:
    """The type of a descriptor: that of its tiles."""
    def __init__(self, block_type: Any) -> None:
        ...
    def __eq__(self, other: Any) -> bool:
        ...
    def __hash__(self) -> int:
        ...
    def __repr__(self) -> str:
        ...


def make_tensor_descriptor(base: Any, shape: Any, strides: Any, block_shape: Sequence[int], padding_option: str = 'zero') -> _Descriptor:
    """A descriptor of an array of one to five dimensions.

    The last stride is the constant 1, the last extent of a block at least 16 bytes.
    Base and strides are multiples of 16 bytes; `debug=True` checks it. padding_option:
    "zero" or "nan". On GPUs with TMA the launch makes a tensor map where base, shape and
    strides follow from the kernel's arguments, and each program its own where they do not.
    Stores go through pointers unless the last extent is known to be a multiple of 16 bytes.
    Where they are computed from arguments that are not known to be divisible as TMA needs
    it, accesses go through pointers; the remarks say so."""


def load_tensor_descriptor(desc: Any, offsets: Any) -> _Tile:
    """As desc.load(offsets)."""


def store_tensor_descriptor(desc: Any, offsets: Any, value: Any) -> None:
    """As desc.store(offsets, value)."""

__all__ = [
    "advance", "load_tensor_descriptor", "make_block_ptr", "make_tensor_descriptor", "store_tensor_descriptor",
    "tensor_descriptor",
]
