# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions that reductions combine by, and parts of sorting, under the names of Triton's library.

They are not public there, but programs pass them to tl.reduce and build sorts of their own.
"""

from __future__ import annotations

from . import core, standard
from .core import builtin, unwrap
from .standard import flip, sort, topk


@builtin
def _sum_combine(a, b):
    return a + b


@builtin
def _prod_combine(a, b):
    return a * b


@builtin
def _xor_combine(a, b):
    return a ^ b


@builtin
def _or_combine(a, b):
    return a | b


@builtin
def _elementwise_max(a, b):
    return core.maximum(a, b)


@builtin
def _elementwise_min(a, b):
    return core.minimum(a, b)


def _arg_combine(is_maximum, tie_break_left):
    @builtin
    def combine(value1, index1, value2, index2):
        first = value1 > value2 if is_maximum else value1 < value2
        if tie_break_left:
            first = first | ((value1 == value2) & (index1 < index2))
        return core.where(first, value1, value2), core.where(first, index1, index2)

    return combine


_argmax_combine_tie_break_left, _argmax_combine_tie_break_fast = _arg_combine(True, True), _arg_combine(True, False)
_argmin_combine_tie_break_left, _argmin_combine_tie_break_fast = _arg_combine(False, True), _arg_combine(False, False)


@builtin
def _argmax_combine(value1, index1, value2, index2, tie_break_left):
    combine = _argmax_combine_tie_break_left if unwrap(tie_break_left) else _argmax_combine_tie_break_fast
    return combine(value1, index1, value2, index2)


@builtin
def _argmin_combine(value1, index1, value2, index2, tie_break_left):
    combine = _argmin_combine_tie_break_left if unwrap(tie_break_left) else _argmin_combine_tie_break_fast
    return combine(value1, index1, value2, index2)


@builtin
def _is_power_of_two(i):
    number = unwrap(i)
    return core.constexpr(number > 0 and number & (number - 1) == 0)


@builtin
def _get_flip_dim(dim, shape):
    dim, rank = unwrap(dim), len(shape)
    return core.constexpr(rank - 1 if dim is None else dim + rank if dim < 0 else dim)


@builtin
def _indicator(n_dims, j):
    """0 and 1 along axis `j` of `n_dims` axes of extent 2."""
    rank, axis = unwrap(n_dims), unwrap(j)
    shape = [1] * rank
    shape[axis] = 2
    return core.reshape(core.arange(0, 2), shape)


@builtin
def _pick_sum_dtype(in_dtype, dtype=None):
    """The type that a sum is made in: integers of fewer than 32 bits are widened."""
    dtype, given = unwrap(dtype), unwrap(in_dtype)
    if dtype is not None:
        return dtype
    if given.is_int_signed():
        return core.int32 if given.int_bitwidth < 32 else None
    if given.is_int_unsigned():
        return core.uint32 if given.int_bitwidth < 32 else None
    return None


@builtin
def sort_impl(x, k=None, dim=None, descending=False):
    """tl.sort, or tl.topk where `k` is given."""
    return sort(x, dim, descending) if unwrap(k) is None else topk(x, k, dim, descending)


@builtin
def _compare_and_swap(x, flip_order, i):
    """Orders each pair of the flattened `x` whose positions differ in bit log2(n) - 1 - i; ascending where
    `flip_order` is 0."""
    count, position = x.numel, unwrap(i)
    count = unwrap(count)
    steps = count.bit_length() - 1
    pairs = core.reshape(x, (2**position, 2, 2 ** (steps - position - 1)))
    other = core.reshape(flip(pairs, 1), x.shape)
    is_second = core.broadcast_to(core.reshape(core.arange(0, 2), (1, 2, 1)), pairs.shape)
    is_second = core.reshape(is_second, x.shape) != 0
    takes_larger = is_second ^ (flip_order != 0)
    swaps = core.where(takes_larger, other > x, other < x)
    return core.where(swaps, other, x)


@builtin
def _bitonic_merge(x, stage, order, n_dims):
    """One merge of a bitonic sort: `order` 0 ascending, 1 descending, 2 alternating by stage."""
    stage, order, steps = unwrap(stage), unwrap(order), unwrap(n_dims)
    count = unwrap(x.numel)
    flip_order = order
    if order == 2:
        outer = count >> steps
        shape = (outer * 2 ** (steps - 1 - stage), 2, 2**stage)
        flip_order = core.reshape(core.broadcast_to(core.reshape(core.arange(0, 2), (1, 2, 1)), shape), x.shape)
    total = count.bit_length() - 1
    for i in range(stage):
        x = _compare_and_swap(x, flip_order, i + (total - stage))
    return x


for _name, _value in list(globals().items()):
    # `tl.standard` is where programs look for them.
    if getattr(_value, "__tilewright_builtin__", False) and not hasattr(standard, _name):
        setattr(standard, _name, _value)
