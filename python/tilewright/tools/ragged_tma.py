# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays of rows that belong to groups of unequal length, in blocks that end with their group.

A block of rows `[offset, offset + size)` must neither read nor overwrite the rows of the
next group, although the array goes on there. The descriptor gets two more dimensions in
front, whose strides undo each other modulo 2^64, so that any row can be reached with an
index whose bound is the end of its group: with R = 2^30 rows in the descriptor, index
R - size + row is in bounds exactly for row < size, and the two indices in front bring the
address back to row `offset + row`.
"""

from __future__ import annotations

from .. import language as tl
from ..runtime.jit import jit
from .tensor_descriptor import TensorDescriptor

_ROWS = tl.constexpr(1 << 30)
_WRAP = 1 << 34  # times an element of 2^n bytes and 2^30 rows it is a multiple of 2^64
_EXTENT = 0x7FFF0000  # of the dimensions in front: more than any index


def create_ragged_descriptor(T, block_shape, ragged_dim=0):
    """The descriptor of `T`, of rank 2 or 3, for load_ragged, store_ragged and atomic_add_ragged.

    Groups follow each other along `ragged_dim`, which is not the last dimension.
    """
    shape, rank = list(T.shape), len(T.shape)
    if rank not in (2, 3) or len(block_shape) != rank:
        raise AssertionError(
            f"ragged descriptors are of 2 or 3 dimensions, with a block of as many; got {rank} and "
            f"a block of {len(block_shape)}"
        )
    axis = ragged_dim + rank if ragged_dim < 0 else ragged_dim
    if not 0 <= axis < rank - 1:
        raise AssertionError(f"dimension {ragged_dim} of {rank} cannot be ragged: the last one is contiguous")
    if shape[axis] > _ROWS.value:
        raise AssertionError(f"{shape[axis]} rows are more than 2^30")
    shape[axis] = _ROWS.value
    strides = [T.stride(i) for i in range(rank)]
    return TensorDescriptor(
        T, [_EXTENT, _EXTENT, *shape], [_WRAP - strides[axis], strides[axis], *strides], [1, 1, *block_shape]
    )


@jit
def to_ragged_indices(slice_off, slice_size, row):
    """The two indices in front and that of the row, for a group of `slice_size` rows at `slice_off`."""
    return _ROWS, slice_off + slice_size, _ROWS - slice_size + row


@jit
def load_ragged(TMA, slice_off, slice_size, coords, ragged_dim: tl.constexpr = 0):
    """A block of the group at `coords`, counted from its first row; rows after its end are zero."""
    tl.static_assert(len(TMA.shape) == len(coords) + 2, "the descriptor must be one of create_ragged_descriptor")
    first, second, row = to_ragged_indices(slice_off, slice_size, coords[ragged_dim])
    block = TMA.load([first, second] + coords[:ragged_dim] + [row] + coords[ragged_dim + 1 :])
    return tl.reshape(block, block.shape[2:])


@jit
def store_ragged(TMA, slice_off, slice_size, coords, data, ragged_dim: tl.constexpr = 0):
    """Writes a block of the group at `coords`; rows after its end are left alone."""
    first, second, row = to_ragged_indices(slice_off, slice_size, coords[ragged_dim])
    TMA.store([first, second] + coords[:ragged_dim] + [row] + coords[ragged_dim + 1 :], tl.reshape(data, [1, 1] + data.shape))


@jit
def atomic_add_ragged(TMA, slice_off, slice_size, coords, data, ragged_dim: tl.constexpr = 0):
    """Adds a block to the group at `coords`; rows after its end are left alone."""
    first, second, row = to_ragged_indices(slice_off, slice_size, coords[ragged_dim])
    TMA.atomic_add(
        [first, second] + coords[:ragged_dim] + [row] + coords[ragged_dim + 1 :], tl.reshape(data, [1, 1] + data.shape)
    )
