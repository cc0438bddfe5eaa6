# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions, scans and products of the kernel language in NumPy (see numpy_language.py)."""

import builtins
import types

import numpy as np

from harness.numpy_values import Tile, cast, kind_of
from harness.element_types import NUMPY_TYPES, bits, is_unsigned

tl = types.SimpleNamespace()


def name_it(function):
    setattr(tl, function.__name__.rstrip("_"), function)
    return function


def widened(tile, floats=False):
    """Narrow integers are reduced as 32 bits; of the largest and smallest narrow floats, too."""
    if kind_of(tile.name) == "f":
        return cast(tile, "float32") if floats and bits(tile.name) < 32 else tile
    if bits(tile.name) >= 32:
        return tile
    return cast(tile, "uint32" if is_unsigned(tile.name) and not floats else "int32")


def along(tile, axis, keep_dims, function):
    data = function(tile.data.reshape(-1) if axis is None else tile.data, 0 if axis is None else axis)
    if keep_dims:
        data = data.reshape((1,) * tile.data.ndim) if axis is None else np.expand_dims(data, axis)
    return data


@name_it
def sum_(tile, axis=None, keep_dims=False, dtype=None):
    tile = cast(tile, dtype.name) if dtype is not None else widened(tile)
    wide = np.float64 if kind_of(tile.name) == "f" else tile.data.dtype
    data = along(tile, axis, keep_dims, lambda data, axis: np.sum(data.astype(wide), axis=axis, dtype=wide))
    return Tile(np.asarray(data).astype(tile.data.dtype), tile.name)


def extreme(function, place):
    def reduce_extreme(tile, axis=None, return_indices=False, return_indices_tie_break_left=True, keep_dims=False):
        if not return_indices:
            wide = widened(tile, floats=True)
            return Tile(np.asarray(along(wide, axis, keep_dims, lambda data, axis: function(data, axis=axis))), wide.name)
        wide = cast(tile, "float32") if tile.name == "bfloat16" else tile
        values = along(wide, axis, keep_dims, lambda data, axis: function(data, axis=axis))
        return Tile(np.asarray(values), wide.name), place(tile, axis, keep_dims=keep_dims)

    return reduce_extreme


def place_of(function):
    def arg(tile, axis, tie_break_left=True, keep_dims=False):
        return Tile(
            np.asarray(along(tile, axis, keep_dims, lambda data, axis: function(data, axis=axis))).astype(np.int32), "int32"
        )

    return arg


tl.argmax, tl.argmin = place_of(np.argmax), place_of(np.argmin)
tl.max, tl.min = extreme(np.max, tl.argmax), extreme(np.min, tl.argmin)


@name_it
def xor_sum(tile, axis=None, keep_dims=False):
    wide = widened(tile)
    return Tile(np.asarray(along(wide, axis, keep_dims, np.bitwise_xor.reduce)), wide.name)


def parts_of(value):
    return value if isinstance(value, tuple) else (value,)


def slices(tiles, axis, which):
    index = [slice(None)] * tiles[0].data.ndim
    index[axis] = which
    return tuple(Tile(tile.data[tuple(index)], tile.name) for tile in tiles)


@name_it
def reduce(value, axis, combine, keep_dims=False):
    tiles = parts_of(value)
    if axis is None:
        assert not keep_dims
        tiles, axis = tuple(Tile(tile.data.reshape(-1), tile.name) for tile in tiles), 0
    while (size := tiles[0].shape[axis]) > 1:
        pairs = (*slices(tiles, axis, slice(0, size, 2)), *slices(tiles, axis, slice(1, size, 2)))
        tiles = parts_of(combine(*pairs))
    if not keep_dims:
        tiles = slices(tiles, axis, 0)
    return tiles if isinstance(value, tuple) else tiles[0]


@name_it
def associative_scan(value, axis, combine, reverse=False):
    tiles = parts_of(value)
    places = list(builtins.range(tiles[0].shape[axis]))[:: -1 if reverse else 1]
    results = [slices(tiles, axis, slice(places[0], places[0] + 1))]
    for place in places[1:]:
        results.append(parts_of(combine(*results[-1], *slices(tiles, axis, slice(place, place + 1)))))
    results = results[::-1] if reverse else results
    done = tuple(
        Tile(np.concatenate([part[i].data for part in results], axis=axis), results[0][i].name)
        for i in builtins.range(len(tiles))
    )
    return done if isinstance(value, tuple) else done[0]


def cumulative(function):
    def scan(tile, axis=0, reverse=False):
        tile = cast(tile, "float32") if tile.name == "bfloat16" else tile
        data = np.flip(tile.data, axis) if reverse else tile.data
        data = function(data, axis=axis, dtype=tile.data.dtype)
        return Tile(np.flip(data, axis) if reverse else data, tile.name)

    return scan


tl.cumsum, tl.cumprod = cumulative(np.cumsum), cumulative(np.cumprod)


@name_it
def dot(left, right, acc=None, input_precision=None, allow_tf32=None, out_dtype=None, max_num_imprecise_acc=None):
    assert left.name == right.name or {left.name, right.name} <= {"float8e4nv", "float8e5"}
    name = {"int8": "int32", "float64": "float64"}.get(left.name, out_dtype.name if out_dtype else "float32")
    wide = np.int32 if name == "int32" else np.float64
    product = left.data.astype(wide) @ right.data.astype(wide)
    if acc is not None:
        assert acc.name == name
        product = product + acc.data.astype(wide)
    return Tile(product.astype(NUMPY_TYPES[name]), name)


@name_it
def dot_scaled(left, left_scale, left_format, right, right_scale, right_format):
    """Each group of 32 along K has a power of two, which is kept with a bias of 127."""
    operands = []
    for tile, scale, is_left in ((left, left_scale, True), (right, right_scale, False)):
        data = tile.data.astype(np.float64)
        if scale is not None:
            factors = np.repeat(2.0 ** (scale.data.astype(np.float64) - 127), 32, axis=1)
            data = data * (factors if is_left else factors.T)
        operands.append(data)
    return Tile((operands[0] @ operands[1]).astype(np.float32), "float32")
