# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How the largest and smallest elements and their indices are found: the work of tl.max, tl.min and their kin."""

from __future__ import annotations

from . import core
from .core import unwrap


def _widened(input):
    """Elements that extrema are found of: of 32 bits at least."""
    if input.dtype.primitive_bitwidth >= 32:
        return input
    return core.cast(input, core.float32 if input.dtype.is_floating() else core.int32)


def _first_extremum(name, input, index, axis, keep_dims):
    """The best value along `axis` and the lowest of its indices, in two steps.

    A step on pairs would look at two values, two indices and NaN each time, and a program that asks for the value as
    well shares the first step.
    """
    wide = _widened(input)
    best = core.reduce(wide, axis, name)
    everywhere = core.expand_dims(best, axis)
    found = wide == everywhere
    if wide.dtype.is_floating():
        found = found | (everywhere != everywhere)  # all are NaN, which equals nothing
    first = core.reduce(core.where(found, index, input.shape[axis]), axis, "min", keep_dims)
    return core.cast(everywhere if unwrap(keep_dims) else best, input.dtype), first


def _arg_reduce(name, input, axis, keep_dims):
    """Best value and its index along `axis`; the flat index where axis is None."""
    axis, rank = unwrap(axis), len(input.shape)
    all_dims = axis is None
    if all_dims:
        input, axis = core.reshape(input, (input.numel,)), 0
    if not isinstance(axis, int) or not -len(input.shape) <= axis < len(input.shape):
        # The reduction has the message for it.
        return core.reduce(input, axis, name, keep_dims)
    axis %= len(input.shape)
    index = core.arange(0, input.shape[axis])
    for d in range(len(input.shape)):
        if d != axis:
            index = core.expand_dims(index, d)
    index = core.broadcast_to(index, input.shape)
    results = _first_extremum(name, input, index, axis, False if all_dims else keep_dims)
    if all_dims and unwrap(keep_dims):
        results = core.tuple(core.full((1,) * rank, r, r.dtype) for r in results)
    return core.tuple(results)


def find_extremum(name, input, axis, return_indices, keep_dims):
    """What tl.max and tl.min return; `name` is "max" or "min"."""
    if unwrap(return_indices):
        if input.dtype.is_bf16():
            input = core.cast(input, core.float32)
        return _arg_reduce(name, input, axis, keep_dims)
    return core.reduce(_widened(input), axis, name, keep_dims)
