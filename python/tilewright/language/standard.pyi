# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by scripts/generate_stubs.py: do not edit; `make stubs` writes it again.
"""Library functions that are made of other functions of the language."""

import builtins
from collections.abc import Sequence
from typing import Any, Literal, overload

from . import core as core
from . import math as math
from .. import errors as errors
from ..runtime.mathematics import constexpr_function as constexpr_function
from ._values import _Tile
from ._values import unwrap as unwrap
from .basics import builtin as builtin
from .basics import method as method
from .combines import sort_impl as sort_impl
from .core import dtype
from .core import dtype as _dtype, pointer_type as _pointer_type
from .extrema import find_extremum as find_extremum
from .shapes import squeeze as squeeze
from .shapes import unsqueeze as unsqueeze


@overload
def cdiv(x: int, div: int) -> int:
    """x / div rounded up, for non-negative integers."""
@overload
def cdiv(x: Any, div: Any) -> _Tile:
    """x / div rounded up, for non-negative integers."""


def sigmoid(x: Any) -> _Tile:
    """1 / (1 + exp(-x))."""


def softmax(x: Any, dim: int | None = None, keep_dims: bool = False, ieee_rounding: bool = False) -> _Tile:
    """exp(x) over its sum along `dim` (0 if not given), shifted by the maximum.

    Without keep_dims only dimension 0 broadcasts back as it should."""


def zeros(shape: Sequence[int] | int, dtype: _dtype) -> _Tile:
    """A tile of zeros."""


def zeros_like(input: Any) -> _Tile:
    """Zeros in the shape and type of `input`."""


def ravel(x: Any, can_reorder: bool = False) -> _Tile:
    """The elements in one dimension."""


def interleave(a: Any, b: Any) -> _Tile:
    """The elements of a and b in turns along the last dimension."""


def swizzle2d(i: Any, j: Any, size_i: Any, size_j: Any, size_g: Any) -> builtins.tuple[_Tile, _Tile]:
    """Row-major indices (i, j) regrouped: `size_g` rows at a time, column by column.

    Neighbouring programs then share rows and columns, which stay in the L2 cache."""


def sum(input: Any, axis: int | None = None, keep_dims: bool = False, dtype: _dtype | None = None) -> _Tile:
    """Sum along `axis`, or of all elements.

    Integers below 32 bits are widened to 32; floats are not, so pass
    dtype=tl.float32 to add float16 or bfloat16 in float32."""


@overload
def max(input: Any, axis: int | None = None, return_indices: Literal[False] = False, return_indices_tie_break_left: bool = True, keep_dims: bool = False) -> _Tile:
    """Maximum along `axis`, or of all; with the lowest of its indices as int32 on request.

    That is so whatever `return_indices_tie_break_left` says, which leaves the choice open where it is False.

    Types below 32 bits widen to float32 or int32, with indices only bfloat16 does.
    NaN loses against numbers."""
@overload
def max(input: Any, axis: int | None, return_indices: Literal[True], return_indices_tie_break_left: bool = True, keep_dims: bool = False) -> builtins.tuple[_Tile, _Tile]:
    """Maximum along `axis`, or of all; with the lowest of its indices as int32 on request.

    That is so whatever `return_indices_tie_break_left` says, which leaves the choice open where it is False.

    Types below 32 bits widen to float32 or int32, with indices only bfloat16 does.
    NaN loses against numbers."""
@overload
def max(input: Any, axis: int | None = None, *, return_indices: Literal[True], return_indices_tie_break_left: bool = True, keep_dims: bool = False) -> builtins.tuple[_Tile, _Tile]:
    """Maximum along `axis`, or of all; with the lowest of its indices as int32 on request.

    That is so whatever `return_indices_tie_break_left` says, which leaves the choice open where it is False.

    Types below 32 bits widen to float32 or int32, with indices only bfloat16 does.
    NaN loses against numbers."""


@overload
def min(input: Any, axis: int | None = None, return_indices: Literal[False] = False, return_indices_tie_break_left: bool = True, keep_dims: bool = False) -> _Tile:
    """Minimum along `axis`, as max."""
@overload
def min(input: Any, axis: int | None, return_indices: Literal[True], return_indices_tie_break_left: bool = True, keep_dims: bool = False) -> builtins.tuple[_Tile, _Tile]:
    """Minimum along `axis`, as max."""
@overload
def min(input: Any, axis: int | None = None, *, return_indices: Literal[True], return_indices_tie_break_left: bool = True, keep_dims: bool = False) -> builtins.tuple[_Tile, _Tile]:
    """Minimum along `axis`, as max."""


def argmax(input: Any, axis: int | None, tie_break_left: bool = True, keep_dims: bool = False) -> _Tile:
    """Lowest index of the maximum along `axis`, whatever `tie_break_left` says."""


def argmin(input: Any, axis: int | None, tie_break_left: bool = True, keep_dims: bool = False) -> _Tile:
    """Lowest index of the minimum along `axis`, whatever `tie_break_left` says."""


def xor_sum(input: Any, axis: int | None = None, keep_dims: bool = False) -> _Tile:
    """Exclusive or along `axis`, of integers."""


def reduce_or(input: Any, axis: int | None, keep_dims: bool = False) -> _Tile:
    """Bitwise or along `axis`, of integers."""


def cumsum(input: Any, axis: int = 0, reverse: bool = False, dtype: _dtype | None = None) -> _Tile:
    """Running sum along `axis`; bfloat16 and narrow integers widen to 32 bits."""


def cumprod(input: Any, axis: int = 0, reverse: bool = False) -> _Tile:
    """Running product along `axis`; bfloat16 widens to float32."""


def flip(x: Any, dim: int | None = None) -> _Tile:
    """The elements in reverse order along `dim` (the last one if not given)."""


def sort(x: Any, dim: int | None = None, descending: bool = False) -> _Tile:
    """The elements in ascending order along the last dimension; NaN counts as the largest."""


def topk(x: Any, k: int, dim: int | None = None, descending: bool = True) -> _Tile:
    """The k largest elements (smallest with descending=False) along the last dimension, in order."""


def bitonic_merge(x: Any, dim: int | None = None, descending: bool = False) -> _Tile:
    """Sorts along the last dimension a tile that is bitonic there."""


def histogram(input: Any, num_bins: int, mask: Any = None) -> _Tile:
    """How many elements of a 1-D integer tile have the values 0 ... num_bins - 1, as int32."""


def gather(src: Any, index: Any, axis: int) -> _Tile:
    """out[..., i, ...] = src[..., index[..., i, ...], ...] along `axis`.

    An index outside the tile gives zero."""

__all__ = [
    "argmax", "argmin", "bitonic_merge", "cdiv", "cumprod", "cumsum", "flip", "gather", "histogram", "interleave",
    "max", "min", "ravel", "reduce_or", "sigmoid", "softmax", "sort", "sum", "swizzle2d", "topk", "xor_sum",
    "zeros", "zeros_like",
]
