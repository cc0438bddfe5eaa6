# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of shapes: broadcasts, permutations, joins and the like, with Triton's signatures."""

from __future__ import annotations

import builtins

from .. import errors
from ._values import shape_argument, unwrap, unwrap_all
from .basics import _language, builtin, method


@builtin
def broadcast(input, other):
    """Both operands in their common shape."""
    return _language.broadcast(input, other)


@method
@builtin
def broadcast_to(input, *shape):
    """`input` stretched to `shape`: equal rank, and extents that match or are 1."""
    return _language.broadcast_to(input, shape_argument(shape))


@method
@builtin
def trans(input, *dims):
    """The axes in another order; without `dims` the last two are swapped."""
    if not dims:
        rank = len(input.shape)
        if rank < 2:
            raise errors.make(
                "E0121",
                message=f"tl.trans needs at least two dimensions, got {input.type.short_name}",
                help="add one with x[None, :]",
            )
        dims = (*builtins.range(rank - 2), rank - 1, rank - 2)
    return permute(input, *dims)


@method
@builtin
def permute(input, *dims):
    """The axes in the order `dims`, which names each once."""
    return _language.permute(input, shape_argument(dims))


@builtin
def count_words(input, mask, num_bins):
    """tl.histogram of int32 or int64; None where elements must be compared, as in the interpreter."""
    return _language.histogram(input, mask, num_bins)


@builtin
def gather_words(src, index, axis):
    """tl.gather of integers, zero where the index is outside; None where several blocks share the tile."""
    return _language.gather(src, index, axis)


@method
@builtin
def view(input, *shape):
    """Deprecated: reshape that may reorder elements."""
    return _language.reshape(input, shape_argument(shape), True)


@method
@builtin
def reshape(input, *shape, can_reorder=False):
    """The same elements in another shape; row-major order is kept unless `can_reorder`."""
    return _language.reshape(input, shape_argument(shape), can_reorder)


@method
@builtin
def expand_dims(input, axis):
    """A new axis of extent 1 at `axis`, or at each of a tuple of axes."""
    axes = unwrap_all(axis)
    rank = len(_language.to_tensor(input).shape) + len(axes)
    positions = [a + rank if a < 0 else a for a in axes]
    if len(set(positions)) != len(positions):
        message = f"tl.expand_dims: duplicate axes, normalized axes = {positions}"
        raise errors.make("E0117", message=message, help="name each new axis once", sentence=message)
    if len(positions) == 1:
        return _language.expand_dims(input, axes[0])
    for position in sorted(positions):
        input = _language.expand_dims(input, position)
    return input


@method
@builtin
def squeeze(x, dim):
    """Removes axis `dim`, whose extent is 1."""
    dim, shape = unwrap(dim), list(x.shape)
    if not -len(shape) <= dim < len(shape) or shape[dim] != 1:
        raise errors.make(
            "E0121", message=f"tl.squeeze: dimension {dim} of {x.type.short_name} is not 1", help="name a dimension of extent 1"
        )
    del shape[dim]
    return _language.reshape(x, builtins.tuple(shape), False)


@method
@builtin
def unsqueeze(x, dim):
    """As expand_dims with one axis."""
    return _language.expand_dims(x, dim)


@builtin
def cat(input, other, can_reorder=False, dim=0):
    """Both tiles, one after the other along `dim`; shapes and types are equal."""
    dim = unwrap(dim)
    rank = len(_language.to_tensor(input).shape)
    if dim not in (0, -rank):
        axis = dim + rank if dim < 0 else dim
        order = [axis] + [d for d in builtins.range(rank) if d != axis]
        inverse = [order.index(d) for d in builtins.range(rank)]
        return permute(_language.cat(permute(input, order), permute(other, order)), inverse)
    return _language.cat(input, other)


@builtin
def join(a, b):
    """The broadcast operands as [..., 0] and [..., 1] of a new last dimension."""
    return _language.join(a, b)


@method
@builtin
def split(a):
    """The inverse of join: a last dimension of 2 as two tensors."""
    return _language.split(a)
