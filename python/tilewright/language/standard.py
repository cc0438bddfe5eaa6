# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Library functions that are made of other functions of the language.

They are plain Python over tensors and run while a kernel is evaluated, so messages
name the line of the kernel that called them, and none costs a parse of its own.
"""

from __future__ import annotations

import builtins

from .. import errors
from . import core, math
from .core import builtin, method, unwrap
from .extrema import find_extremum

__all__ = [
    "argmax",
    "argmin",
    "bitonic_merge",
    "cdiv",
    "cumprod",
    "cumsum",
    "flip",
    "gather",
    "histogram",
    "interleave",
    "max",
    "min",
    "ravel",
    "reduce_or",
    "sigmoid",
    "softmax",
    "sort",
    "sum",
    "swizzle2d",
    "topk",
    "xor_sum",
    "zeros",
    "zeros_like",
]

# ---------------------------------------------------------------------------
# Elementwise and creation
# ---------------------------------------------------------------------------


@method
@builtin
def cdiv(x, div):
    """x / div rounded up, for non-negative integers."""
    x, div = unwrap(x), unwrap(div)
    return (x + (div - 1)) // div


@method
@builtin
def sigmoid(x):
    """1 / (1 + exp(-x))."""
    return 1 / (1 + math.exp(-x))


@method
@builtin
def softmax(x, dim=None, keep_dims=False, ieee_rounding=False):
    """exp(x) over its sum along `dim` (0 if not given), shifted by the maximum.

    Without keep_dims only dimension 0 broadcasts back as it should.
    """
    axis = 0 if unwrap(dim) is None else unwrap(dim)
    rank = len(x.shape)
    if rank > 1 and axis % rank != 0 and not unwrap(keep_dims):
        raise errors.make(
            "E0121",
            message=f"tl.softmax along dimension {axis} of {x.type.short_name} needs keep_dims=True",
            help="pass keep_dims=True",
        )
    shifted = math.exp(x - max(x, axis, keep_dims=keep_dims))
    return math.fdiv(shifted, sum(shifted, axis, keep_dims=keep_dims), ieee_rounding)


@builtin
def zeros(shape, dtype):
    """A tile of zeros."""
    return core.full(shape, 0, dtype)


@builtin
def zeros_like(input):
    """Zeros in the shape and type of `input`."""
    return core.full(input.shape, 0, input.dtype)


@method
@builtin
def ravel(x, can_reorder=False):
    """The elements in one dimension."""
    return core.reshape(x, (x.numel,), can_reorder=can_reorder)


@builtin
def interleave(a, b):
    """The elements of a and b in turns along the last dimension."""
    pairs = core.join(a, b)
    if len(pairs.shape) == 1:
        return pairs
    return core.reshape(pairs, (*pairs.shape[:-2], 2 * pairs.shape[-2]))


@builtin
def swizzle2d(i, j, size_i, size_j, size_g):
    """Row-major indices (i, j) regrouped: `size_g` rows at a time, column by column.

    Neighbouring programs then share rows and columns, which stay in the L2 cache.
    """
    i, j, size_i, size_j, size_g = map(unwrap, (i, j, size_i, size_j, size_g))
    linear = i * size_j + j
    group_elements = size_g * size_j
    first_row = linear // group_elements * size_g
    # The last group may have fewer rows.
    rows = core.minimum(size_i - first_row, size_g)
    in_group = linear % group_elements
    return first_row + in_group % rows, in_group // rows


# ---------------------------------------------------------------------------
# Reductions
# ---------------------------------------------------------------------------


def _accumulator_dtype(dtype, requested):
    """Integers narrower than 32 bits add up in 32; floats stay."""
    if unwrap(requested) is not None:
        return unwrap(requested)
    if dtype.is_int() and dtype.int_bitwidth < 32:
        return core.int32 if dtype.is_int_signed() else core.uint32
    return None


@method
@builtin
def sum(input, axis=None, keep_dims=False, dtype=None):
    """Sum along `axis`, or of all elements.

    Integers below 32 bits are widened to 32; floats are not, so pass
    dtype=tl.float32 to add float16 or bfloat16 in float32.
    """
    wide = _accumulator_dtype(input.dtype, dtype)
    if wide is not None:
        input = core.cast(input, wide)
    return core.reduce(input, axis, "sum", keep_dims)


@method
@builtin
def max(input, axis=None, return_indices=False, return_indices_tie_break_left=True, keep_dims=False):
    """Maximum along `axis`, or of all; with the lowest of its indices as int32 on request.

    That is so whatever `return_indices_tie_break_left` says, which leaves the choice open where it is False.

    Types below 32 bits widen to float32 or int32, with indices only bfloat16 does.
    NaN loses against numbers.
    """
    return find_extremum("max", input, axis, return_indices, keep_dims)


@method
@builtin
def min(input, axis=None, return_indices=False, return_indices_tie_break_left=True, keep_dims=False):
    """Minimum along `axis`, as max."""
    return find_extremum("min", input, axis, return_indices, keep_dims)


@method
@builtin
def argmax(input, axis, tie_break_left=True, keep_dims=False):
    """Lowest index of the maximum along `axis`, whatever `tie_break_left` says."""
    return find_extremum("max", input, axis, True, keep_dims)[1]


@method
@builtin
def argmin(input, axis, tie_break_left=True, keep_dims=False):
    """Lowest index of the minimum along `axis`, whatever `tie_break_left` says."""
    return find_extremum("min", input, axis, True, keep_dims)[1]


def _require_integers(name, input):
    if not input.dtype.is_int():
        raise errors.make(
            "E0120",
            message=f"tl.{name} only supported for integers, got {input.type.short_name}",
            help="cast or reinterpret it as an integer type",
        )


@method
@builtin
def xor_sum(input, axis=None, keep_dims=False):
    """Exclusive or along `axis`, of integers."""
    _require_integers("xor_sum", input)
    return core.reduce(input, axis, "xor", keep_dims)


@method
@builtin
def reduce_or(input, axis, keep_dims=False):
    """Bitwise or along `axis`, of integers."""
    _require_integers("reduce_or", input)
    return core.reduce(input, axis, "or", keep_dims)


@method
@builtin
def cumsum(input, axis=0, reverse=False, dtype=None):
    """Running sum along `axis`; bfloat16 and narrow integers widen to 32 bits."""
    if input.dtype.is_bf16() and unwrap(dtype) is None:
        input = core.cast(input, core.float32)
    wide = _accumulator_dtype(input.dtype, dtype)
    if wide is not None:
        input = core.cast(input, wide)
    return core.associative_scan(input, axis, "sum", reverse)


@method
@builtin
def cumprod(input, axis=0, reverse=False):
    """Running product along `axis`; bfloat16 widens to float32."""
    if input.dtype.is_bf16():
        input = core.cast(input, core.float32)
    return core.associative_scan(input, axis, "prod", reverse)


# ---------------------------------------------------------------------------
# Order
# ---------------------------------------------------------------------------


def _log2(n):
    """Exponent of a power of two."""
    return unwrap(n).bit_length() - 1


_log2.__tilewright_builtin__ = True


def _dimension(name, dim, shape):
    """`dim` counted from the front; the last one where None."""
    dim = len(shape) - 1 if unwrap(dim) is None else unwrap(dim)
    if not -len(shape) <= dim < len(shape):
        raise errors.make(
            "E0117",
            message=f"tl.{name}: dimension {dim} is out of range for {len(shape)} dimensions",
            help="name a dimension of the tile",
        )
    return dim % len(shape)


def _last_dimension(name, dim, shape):
    if _dimension(name, dim, shape) != len(shape) - 1:
        raise errors.make(
            "E0117",
            message=f"tl.{name} works along the last dimension only, got {unwrap(dim)}",
            help="move that dimension to the end with tl.permute",
        )


def _bits(x):
    """The elements as integers of their width, to be moved by exclusive or."""
    if x.dtype.is_bool():
        return core.cast(x, core.int8)
    return core.cast(x, core.get_int_dtype(x.dtype.primitive_bitwidth, True), bitcast=True)


def _from_bits(bits, dtype):
    return core.cast(bits, dtype, bitcast=not dtype.is_bool())


def _swap_halves(bits, axis):
    """Exchanges the two elements along an axis of extent 2: a ^ (a ^ b) is b."""
    return bits ^ xor_sum(bits, axis, keep_dims=True)


def _flip_negatives(bits):
    """Float bits as signed integers of the same order, and back: NaN sorts last."""
    width = bits.dtype.int_bitwidth
    return bits ^ ((bits >> (width - 1)) & ((1 << (width - 1)) - 1))


def _sort_keys(x):
    """Integers in the order of the elements."""
    if x.dtype.is_floating():
        return _flip_negatives(_bits(x))
    return core.cast(x, core.int8) if x.dtype.is_bool() else x


def _from_sort_keys(keys, dtype):
    if dtype.is_floating():
        return core.cast(_flip_negatives(keys), dtype, bitcast=True)
    return core.cast(keys, dtype)


@method
@builtin
def flip(x, dim=None):
    """The elements in reverse order along `dim` (the last one if not given)."""
    axis = _dimension("flip", dim, x.shape)
    steps = _log2(x.shape[axis])
    bits = core.reshape(_bits(x), (*x.shape[:axis], *([2] * steps), *x.shape[axis + 1 :])) if steps else _bits(x)
    for step in builtins.range(steps):
        bits = _swap_halves(bits, axis + step)
    return _from_bits(core.reshape(bits, x.shape), x.dtype)


def _position_bit(rank, axis):
    """int1 tile that is true in the second half along `axis` of a hypercube."""
    bit = core.arange(0, 2) == 1
    for d in builtins.range(rank):
        if d != axis:
            bit = core.expand_dims(bit, d)
    return bit


def _compare_exchange(keys, axis, descending):
    """Orders the two elements along a hypercube axis; `descending` is a bool or an int1 tile."""
    other = _swap_halves(keys, axis)
    keeps_larger = _position_bit(len(keys.shape), axis) ^ descending
    return core.where((keys > other) ^ keeps_larger, other, keys)


def _merge(x, steps, descending):
    """Sorts bitonic runs of 2^steps along the innermost axes of a hypercube."""
    rank = len(x.shape)
    for step in builtins.range(steps):
        x = _compare_exchange(x, rank - steps + step, descending)
    return x


def _sort_runs(x, log_run, log_all, descending):
    """Sorts runs of 2^log_run; neighbouring runs alternate unless there is one."""
    rank = len(x.shape)
    for steps in builtins.range(1, log_run + 1):
        alternates = steps < log_all
        x = _merge(x, steps, _position_bit(rank, rank - 1 - steps) if alternates else descending)
    return x


def _hypercube(x):
    """Sort keys of all elements, one dimension per bit of the position."""
    keys = _sort_keys(x)
    return core.reshape(keys, [2] * _log2(x.numel) if x.numel > 1 else [1])


@method
@builtin
def sort(x, dim=None, descending=False):
    """The elements in ascending order along the last dimension; NaN counts as the largest."""
    _last_dimension("sort", dim, x.shape)
    log_all = _log2(x.shape[-1])
    keys = _sort_runs(_hypercube(x), log_all, log_all, bool(unwrap(descending)))
    return _from_sort_keys(core.reshape(keys, x.shape), x.dtype)


@builtin
def topk(x, k, dim=None, descending=True):
    """The k largest elements (smallest with descending=False) along the last dimension, in order."""
    _last_dimension("topk", dim, x.shape)
    k, descending = unwrap(k), bool(unwrap(descending))
    if not 0 < k <= x.shape[-1] or k & (k - 1):
        raise errors.make("E0117", message=f"tl.topk: k is {k}", help=f"use a power of two from 1 to {x.shape[-1]}")
    log_k, log_all = _log2(k), _log2(x.shape[-1])
    keys = _sort_runs(_hypercube(x), log_k, log_all, descending)
    for steps in builtins.range(log_k + 1, log_all + 1):
        # Take two runs in opposite order: the better elements of all pairs form a bitonic run
        # that holds the best k.
        keys = core.reduce(keys, len(keys.shape) - 1 - log_k, "max" if descending else "min")
        rank = len(keys.shape)
        keys = _merge(keys, log_k, _position_bit(rank, rank - 1 - log_k) if steps < log_all else descending)
    return _from_sort_keys(core.reshape(keys, (*x.shape[:-1], k)), x.dtype)


@builtin
def bitonic_merge(x, dim=None, descending=False):
    """Sorts along the last dimension a tile that is bitonic there."""
    _last_dimension("bitonic_merge", dim, x.shape)
    keys = _merge(_hypercube(x), _log2(x.shape[-1]), bool(unwrap(descending)))
    return _from_sort_keys(core.reshape(keys, x.shape), x.dtype)


# ---------------------------------------------------------------------------
# Lookup by comparison: every pair of element and bin, so for small tiles
# ---------------------------------------------------------------------------


@method
@builtin
def histogram(input, num_bins, mask=None):
    """How many elements of a 1-D integer tile have the values 0 ... num_bins - 1, as int32."""
    _require_integers("histogram", input)
    if len(input.shape) != 1:
        raise errors.make(
            "E0121", message=f"tl.histogram needs one dimension, got {input.type.short_name}", help="use x.ravel()"
        )
    if unwrap(mask) is not None:
        mask = core.broadcast_to(core.to_tensor(mask), input.shape)
    if input.dtype.primitive_bitwidth < 32:
        input = core.cast(input, core.int32)
    bins = core.arange(0, num_bins)  # which says what is no number of bins
    return _counts(input, mask, bins.shape[0])


# The most bytes of a tile that a gather or a histogram has in shared memory.
_MOST_SHARED_BYTES = 32768


def _counts(input, mask, num_bins):
    if 4 * num_bins > _MOST_SHARED_BYTES:
        beyond = core.sub(input, num_bins // 2, sanitize_overflow=False)  # in no bin where it wraps
        return core.cat(_counts(input, mask, num_bins // 2), _counts(beyond, mask, num_bins // 2))
    found = core.count_words(input, mask, num_bins)
    return _equal_pairs(input, mask, num_bins, _piece_of(input.numel * num_bins)) if found is None else found


def _piece_of(pairs):
    """How many pairs to look at in one tile: all of them, or an eighth of the most that a tile may have."""
    return pairs if pairs <= core.TRITON_MAX_TENSOR_NUMEL else core.TRITON_MAX_TENSOR_NUMEL // 8


def _halves(x, axis):
    """A tile cut in two along `axis`."""
    rank = len(x.shape)
    parted = core.reshape(x, (*x.shape[:axis], 2, x.shape[axis] // 2, *x.shape[axis + 1 :]))
    order = [d for d in builtins.range(rank + 1) if d != axis]
    return core.split(core.permute(parted, (*order, axis)))


def _equal_pairs(input, mask, num_bins, piece):
    if input.shape[0] * num_bins > piece and input.shape[0] > 1:
        parts = _halves(input, 0)
        masks = (None, None) if mask is None else _halves(mask, 0)
        return _equal_pairs(parts[0], masks[0], num_bins, piece) + _equal_pairs(parts[1], masks[1], num_bins, piece)
    hits = core.expand_dims(input, 1) == core.expand_dims(core.arange(0, num_bins), 0)
    if mask is not None:
        hits = hits & core.expand_dims(mask, 1)
    return sum(core.cast(hits, core.int32), 0)


@method
@builtin
def gather(src, index, axis):
    """out[..., i, ...] = src[..., index[..., i, ...], ...] along `axis`.

    An index outside the tile gives zero.
    """
    _require_integers("gather", index)
    rank = len(src.shape)
    axis = _dimension("gather", axis, src.shape)
    same = len(index.shape) == rank and builtins.all(d == axis or index.shape[d] == src.shape[d] for d in builtins.range(rank))
    if not same:
        raise errors.make(
            "E0121",
            message=f"tl.gather: {src.type.short_name} by an index of {index.type.short_name}",
            help="the shapes must match but for the gathered axis",
        )
    if index.dtype.primitive_bitwidth < 32:
        index = core.cast(index, core.int32)
    return _from_bits(_chosen(_bits(src), index, axis), src.dtype)


def _chosen(bits, index, axis):
    """The words at `index`, zero where that is outside the tile."""
    if bits.numel * bits.dtype.primitive_bitwidth // 8 <= _MOST_SHARED_BYTES:
        found = core.gather_words(bits, index, axis)
        if found is not None:
            return found
    if bits.shape[axis] == 1:
        return core.where(index == 0, core.broadcast_to(bits, index.shape), 0)
    low, high = _halves(bits, axis)
    beyond = core.sub(index, low.shape[axis], sanitize_overflow=False)  # no index of `high` where it wraps
    return _chosen(low, index, axis) | _chosen(high, beyond, axis)
