# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernel language in NumPy, as far as the random kernels of the campaigns use it.

`evaluate` runs the text of a kernel as ordinary Python, one program after the other, with `tl`
from here. It shares no code with the product, so a mistake in what both evaluators of the
product use is noticed. Sums are computed in double precision or in the integer's own type:
kernels that are compared with it must have sums that are exact in every order.
"""

import ast
import builtins
import types

import numpy as np

from harness import numpy_library, numpy_reductions
from harness.numpy_values import TYPES, BlockPointer, Descriptor, Pointer, Tile, as_tile, binary, cast, extended, pair_of
from harness.element_types import bits

tl = types.SimpleNamespace(constexpr=object, **TYPES, **vars(numpy_reductions.tl))
_program = {"id": (0, 0, 0), "grid": (1, 1, 1)}


def name_it(function):
    setattr(tl, function.__name__.rstrip("_"), function)
    return function


def int32(value):
    return Tile(np.int32(value), "int32")


# ---------------------------------------------------------------------------
# Programs, loops, hints
# ---------------------------------------------------------------------------


@name_it
def program_id(axis):
    return int32(_program["id"][axis])


@name_it
def num_programs(axis):
    return int32(_program["grid"][axis])


def range_(*bounds, **_):
    """The counter is a run-time number."""
    return (int32(i) for i in builtins.range(*[int(bound) for bound in bounds]))


tl.range = range_
tl.static_range = lambda *bounds: builtins.range(*[int(bound) for bound in bounds])
tl.multiple_of = tl.max_contiguous = tl.max_constancy = lambda value, _: value
tl.assume = tl.static_assert = tl.debug_barrier = lambda *_: None

# ---------------------------------------------------------------------------
# Creation and shape
# ---------------------------------------------------------------------------


@name_it
def arange(start, end):
    return Tile(np.arange(start, end, dtype=np.int32), "int32")


@name_it
def full(shape, value, dtype):
    return Tile(np.full([int(size) for size in shape], cast(as_tile(value), dtype.name).data), dtype.name)


@name_it
def zeros(shape, dtype):
    return full(shape, 0, dtype)


@name_it
def zeros_like(tile):
    return Tile(np.zeros_like(tile.data), tile.name)


@name_it
def cast_(tile, dtype, **keywords):
    return as_tile(tile).to(dtype, **keywords)


@name_it
def broadcast_to(tile, *shape):
    shape = shape[0] if isinstance(shape[0], (tuple, list)) else shape
    return Tile(np.broadcast_to(tile.data, shape), tile.name)


@name_it
def broadcast(left, right):
    shape = np.broadcast_shapes(left.shape, right.shape)
    return broadcast_to(left, shape), broadcast_to(right, shape)


@name_it
def expand_dims(tile, axis):
    return Tile(np.expand_dims(tile.data, axis), tile.name)


@name_it
def reshape(tile, *shape):
    shape = shape[0] if isinstance(shape[0], (tuple, list)) else shape
    return Tile(np.ascontiguousarray(tile.data).reshape(shape), tile.name)


@name_it
def ravel(tile):
    return reshape(tile, tile.data.size)


@name_it
def permute(tile, *axes):
    axes = axes[0] if isinstance(axes[0], (tuple, list)) else axes
    return Tile(tile.data.transpose(axes), tile.name)


@name_it
def trans(tile, *axes):
    return permute(tile, *axes) if axes else Tile(np.swapaxes(tile.data, -1, -2), tile.name)


def of_one_type(left, right):
    left, right = pair_of(left, right)
    return broadcast(left, cast(right, left.name))


@name_it
def cat(left, right, can_reorder=False, dim=0):
    return Tile(np.concatenate([left.data, right.data], axis=dim), left.name)


@name_it
def join(left, right):
    left, right = of_one_type(left, right)
    return Tile(np.stack([left.data, right.data], axis=-1), left.name)


@name_it
def interleave(left, right):
    joined = join(left, right)
    return reshape(joined, (*joined.shape[:-2], -1))


@name_it
def split(tile):
    return Tile(tile.data[..., 0], tile.name), Tile(tile.data[..., 1], tile.name)


@name_it
def flip(tile, dim=None):
    return Tile(np.flip(tile.data, -1 if dim is None else dim), tile.name)


@name_it
def gather(source, index, axis):
    return Tile(np.take_along_axis(source.data, index.data.astype(np.int64), axis), source.name)


@name_it
def sort(tile, dim=None, descending=False):
    data = np.sort(tile.data, axis=-1)
    return Tile(np.flip(data, -1) if descending else data, tile.name)


@name_it
def topk(tile, k, dim=None):
    return Tile(sort(tile, descending=True).data[..., :k], tile.name)


@name_it
def histogram(tile, bins, mask=None):
    data = tile.data.astype(np.int64)
    return Tile(np.bincount(data if mask is None else data[mask.data], minlength=bins).astype(np.int32), "int32")


@name_it
def swizzle2d(i, j, size_i, size_j, size_g):
    number = i * size_j + j
    group = size_g * size_j
    first = number // group * size_g
    size_g = minimum(size_i - first, size_g)
    number = number % group
    return first + number % size_g, number // size_g


# ---------------------------------------------------------------------------
# Elements
# ---------------------------------------------------------------------------


def combined(shapes):
    rank = max(len(shape) for shape in shapes)
    return np.broadcast_shapes(*[(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes])


@name_it
def where(condition, left, right):
    if isinstance(left, Pointer):
        shape = combined([condition.shape, left.offsets.shape, right.offsets.shape])
        assert left.array is right.array
        return Pointer(left.array, np.where(np.broadcast_to(condition.data, shape), left.offsets, right.offsets))
    condition, (left, right) = as_tile(condition), pair_of(left, right)
    # The common type as that of a sum, without a sum of values.
    common = binary(
        "mul", Tile(np.zeros((), left.data.dtype), left.name), Tile(np.zeros((), right.data.dtype), right.name)
    ).name
    parts = [condition.data, cast(left, common).data, cast(right, common).data]
    rank = max(part.ndim for part in parts)
    return Tile(np.where(*[extended(part, rank) for part in parts]), common)


@name_it
def minimum(left, right, **_):
    return binary("minimum", as_tile(left), as_tile(right))


@name_it
def maximum(left, right, **_):
    return binary("maximum", as_tile(left), as_tile(right))


@name_it
def clamp(tile, low, high):
    return minimum(maximum(tile, low), high)


@name_it
def fma(x, y, z):
    return x * y + z


@name_it
def abs_(tile):
    return Tile(np.abs(tile.data), tile.name)


@name_it
def cdiv(left, right):
    return -(-left // right) if not isinstance(left, Tile) else (left + (right - 1)) // right


@name_it
def umulhi(left, right):
    left, right = pair_of(left, right)
    width = bits(left.name)
    a, b = (part.astype(f"uint{width}").astype(object) for part in (left.data, right.data))
    return Tile(np.asarray((a * b) >> width).astype(f"uint{width}").astype(left.data.dtype), left.name)


def elementwise(function):
    def apply(tile):
        with np.errstate(all="ignore"):
            return Tile(function(tile.data).astype(tile.data.dtype), tile.name)

    return apply


for _name, _function in (
    ("floor", np.floor),
    ("ceil", np.ceil),
    ("exp2", np.exp2),
    ("exp", np.exp),
    ("log2", np.log2),
    ("sqrt", np.sqrt),
    ("sqrt_rn", np.sqrt),
    ("sigmoid", lambda x: 1 / (1 + np.exp(-x))),
):
    setattr(tl, _name, elementwise(_function))


@name_it
def div_rn(left, right):
    return binary("truediv", left, right)


@name_it
def randint(seed, offset):
    return Tile(numpy_library.philox(int(seed), offset.data)[0], "uint32")


@name_it
def map_elementwise(function, *tiles):
    """The function of each element; its branches are real ones."""
    shape = tiles[0].shape
    flat = [tile.data.reshape(-1) for tile in tiles]
    results = [function(*[Tile(data[i], tile.name) for data, tile in zip(flat, tiles)]) for i in builtins.range(flat[0].size)]
    return Tile(np.array([result.data for result in results], results[0].data.dtype).reshape(shape), results[0].name)


# ---------------------------------------------------------------------------
# Memory
# ---------------------------------------------------------------------------


@name_it
def load(pointer, mask=None, other=None, boundary_check=(), padding_option="", **_):
    if isinstance(pointer, BlockPointer):
        return pointer.load(boundary_check, padding_option)
    return pointer.load(mask, other)


@name_it
def store(pointer, value, mask=None, boundary_check=(), **_):
    if isinstance(pointer, BlockPointer):
        return pointer.store(value, boundary_check)
    return pointer.store(value, mask)


@name_it
def make_block_ptr(base, shape, strides, offsets, block_shape, order):
    return BlockPointer(base, shape, strides, offsets, block_shape, order)


@name_it
def advance(pointer, offsets):
    return pointer.advanced(offsets)


@name_it
def make_tensor_descriptor(base, shape, strides, block_shape, padding_option="zero"):
    return Descriptor(base, shape, strides, block_shape, padding_option)


def atomic(update):
    def apply(pointer, value, mask=None, sem=None, scope=None):
        offsets, mask = pointer.lanes(mask)
        values = np.broadcast_to(cast(as_tile(value), pointer.name).data, offsets.shape)
        old = np.zeros(offsets.shape, pointer.array.dtype)
        for place in np.ndindex(offsets.shape):
            if mask[place]:
                old[place] = pointer.flat[offsets[place]]
                with np.errstate(all="ignore"):
                    pointer.flat[offsets[place]] = update(old[place], values[place])
        return Tile(old, pointer.name)

    return apply


for _name, _function in (
    ("add", np.add),
    ("max", np.maximum),
    ("min", np.minimum),
    ("and", np.bitwise_and),
    ("or", np.bitwise_or),
    ("xor", np.bitwise_xor),
    ("xchg", lambda old, new: new),
):
    setattr(tl, f"atomic_{_name}", atomic(_function))


@name_it
def atomic_cas(pointer, expected, value, sem=None, scope=None):
    expected = np.broadcast_to(as_tile(expected).data, pointer.offsets.shape)
    old = np.asarray(pointer.load().data).copy()
    pointer.store(value, Tile(old == expected, "int1"))
    return Tile(old, pointer.name)


# ---------------------------------------------------------------------------
# Running a kernel's text
# ---------------------------------------------------------------------------


def atomic_through(name):
    def apply(descriptor, offsets, value):
        pointer, mask = descriptor.block(offsets).lanes(builtins.range(len(offsets)))
        getattr(tl, name)(pointer, value, mask)

    return apply


for _name in ("atomic_add", "atomic_max", "atomic_min", "atomic_and", "atomic_or", "atomic_xor"):
    setattr(Descriptor, _name, atomic_through(_name))


class Numbers(ast.NodeTransformer):
    """A number that is assigned to a name becomes a run-time number, except to one that is annotated constexpr."""

    def visit_Assign(self, node):
        value = node.value
        if isinstance(value, ast.Constant) and isinstance(value.value, (int, float)):
            node.value = ast.copy_location(ast.Call(ast.Name("_number", ast.Load()), [value], []), value)
        return node


def evaluate(text, grid, arguments, constants):
    """Runs `kernel` of a module's text for all programs of a grid; arrays are changed in place."""
    tree = ast.parse(text)
    tree.body = [node for node in tree.body if not isinstance(node, (ast.Import, ast.ImportFrom))]
    module = types.SimpleNamespace(jit=lambda function=None, **_: function or (lambda function: function))
    names = {
        "tl": tl,
        "libdevice": numpy_library.libdevice,
        "tilewright": module,
        "range": range_,
        "min": minimum,
        "max": maximum,
        "_number": as_tile,
    }
    exec(compile(ast.fix_missing_locations(Numbers().visit(tree)), "<kernel>", "exec"), names)
    given = [value_of(argument) for argument in arguments]
    grid = (*grid, 1, 1)[:3]
    for z, y, x in np.ndindex(grid[::-1]):
        _program.update(id=(x, y, z), grid=grid)
        names["kernel"](*given, **constants)


class One(int):
    """The number 1 as an argument: a constant that has the methods of a value."""

    def to(self, dtype):
        return as_tile(int(self), dtype.name)


def value_of(argument):
    """What a kernel gets for an argument of a launch: 1 is a constant, other numbers are not."""
    if isinstance(argument, np.ndarray):
        return Pointer(argument)
    if isinstance(argument, tuple):
        return tuple(value_of(part) for part in argument)
    if isinstance(argument, int) and not isinstance(argument, bool):
        return One(1) if argument == 1 else as_tile(argument)
    if isinstance(argument, float):
        return as_tile(argument)
    if hasattr(argument, "block_shape"):
        return Descriptor(Pointer(argument.base), argument.shape, argument.strides, argument.block_shape, argument.padding)
    return argument
