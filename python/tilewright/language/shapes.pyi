# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by scripts/generate_stubs.py: do not edit; `make stubs` writes it again.
"""Functions of shapes: broadcasts, permutations, joins and the like, with Triton's signatures."""

import builtins
from collections.abc import Sequence
from typing import Any

from .. import errors as errors
from ._values import _Tile
from ._values import shape_argument as shape_argument
from ._values import unwrap as unwrap
from ._values import unwrap_all as unwrap_all
from .basics import builtin as builtin
from .basics import method as method


def broadcast(input: Any, other: Any) -> builtins.tuple[_Tile, _Tile]:
    """Both operands in their common shape."""


def broadcast_to(input: Any, *shape: Any) -> _Tile:
    """`input` stretched to `shape`: equal rank, and extents that match or are 1."""


def trans(input: Any, *dims: Any) -> _Tile:
    """The axes in another order; without `dims` the last two are swapped."""


def permute(input: Any, *dims: Any) -> _Tile:
    """The axes in the order `dims`, which names each once."""


def count_words(input: Any, mask: Any, num_bins: int) -> _Tile | None:
    """tl.histogram of int32 or int64; None where elements must be compared, as in the interpreter."""


def gather_words(src: Any, index: Any, axis: int) -> _Tile | None:
    """tl.gather of integers, zero where the index is outside; None where several blocks share the tile."""


def view(input: Any, *shape: Any) -> _Tile:
    """Deprecated: reshape that may reorder elements."""


def reshape(input: Any, *shape: Any, can_reorder: bool = False) -> _Tile:
    """The same elements in another shape; row-major order is kept unless `can_reorder`."""


def expand_dims(input: Any, axis: int | Sequence[int]) -> _Tile:
    """A new axis of extent 1 at `axis`, or at each of a tuple of axes."""


def squeeze(x: Any, dim: int) -> _Tile:
    """Removes axis `dim`, whose extent is 1."""


def unsqueeze(x: Any, dim: int) -> _Tile:
    """As expand_dims with one axis."""


def cat(input: Any, other: Any, can_reorder: bool = False, dim: int = 0) -> _Tile:
    """Both tiles, one after the other along `dim`; shapes and types are equal."""


def join(a: Any, b: Any) -> _Tile:
    """The broadcast operands as [..., 0] and [..., 1] of a new last dimension."""


def split(a: Any) -> builtins.tuple[_Tile, _Tile]:
    """The inverse of join: a last dimension of 2 as two tensors."""
