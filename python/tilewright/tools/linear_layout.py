# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Linear layouts as programs compute with them: Triton's `LinearLayout` on the host.

A layout maps coordinates with names to coordinates with names, bit by bit: the result
is the exclusive or of the images of the bits that are set. The image of one bit is a
basis, a tuple with one number per result dimension. The compiler's own layouts are of
the same kind (docs/layouts.md), in C++ and with one dimension on the right.

Inside, a basis is one integer: its numbers side by side, the first dimension lowest.
"""

from __future__ import annotations

__all__ = ["LinearLayout"]


def _log2(size, what) -> int:
    if size < 1 or size & (size - 1):
        raise ValueError(f"{what} is {size}, which is no power of two")
    return size.bit_length() - 1


class _Space:
    """Linear combinations of columns, of which each is remembered with what it was made of."""

    def __init__(self, columns):
        self.reduced = {}  # highest bit -> (vector, combination of columns that gives it)
        self.independent = 0
        for position, column in enumerate(columns):
            rest, combination = self.express(column)
            if rest:
                self.reduced[rest.bit_length()] = (rest, combination ^ (1 << position))
                self.independent += 1

    def express(self, vector):
        """(what no combination reaches, the combination that gives the remainder)."""
        combination = 0
        while vector and vector.bit_length() in self.reduced:
            reduced, made_of = self.reduced[vector.bit_length()]
            vector, combination = vector ^ reduced, combination ^ made_of
        return vector, combination


class LinearLayout:
    """`bases`: [(dimension, [image of bit 0, image of bit 1, ...]), ...]; `out_dims`: [(dimension, size), ...]."""

    def __init__(self, bases=(), out_dims=(), require_surjective=True):
        self._in = {name: len(images) for name, images in bases}
        self._out = {name: _log2(size, f"dimension '{name}'") for name, size in out_dims}
        self._columns = [self._packed(image) for _, images in bases for image in images]
        if require_surjective and not self.is_surjective():
            raise ValueError("the layout does not reach all of its result")

    @classmethod
    def _made(cls, in_bits, out_bits, columns):
        layout = cls()
        layout._in, layout._out, layout._columns = dict(in_bits), dict(out_bits), list(columns)
        return layout

    @classmethod
    def identity_1d(cls, size, inDim, outDim):
        return cls.strided_1d(size, 1, inDim, outDim)

    @classmethod
    def strided_1d(cls, size, stride, inDim, outDim):
        bits, shift = _log2(size, "the size"), _log2(stride, "the stride")
        return cls._made({inDim: bits}, {outDim: bits + shift if bits else 0}, [1 << shift + bit for bit in range(bits)])

    @classmethod
    def zeros_1d(cls, size, inDim, outDim, outDimSize=1):
        bits = _log2(size, "the size")
        return cls._made({inDim: bits}, {outDim: _log2(outDimSize, "the size")}, [0] * bits)

    @classmethod
    def from_bases(cls, bases, out_dim_names, out_dim_sizes=None, require_surjective=True):
        """Without sizes each dimension is just large enough."""
        if out_dim_sizes is None:
            if not require_surjective:
                raise ValueError("out_dim_sizes must be provided when require_surjective is false")
            largest = [max([0, *(image[d] for _, images in bases for image in images)]) for d in range(len(out_dim_names))]
            out_dim_sizes = [1 << number.bit_length() for number in largest]
        if len(out_dim_sizes) != len(out_dim_names):
            raise ValueError("out_dim_names and out_dim_sizes must have the same length")
        return cls(bases, list(zip(out_dim_names, out_dim_sizes)), require_surjective)

    # -- form -----------------------------------------------------------------

    def _packed(self, image):
        """The numbers of a basis as one."""
        if len(image) != len(self._out):
            raise ValueError(f"a basis has {len(image)} numbers, the result {len(self._out)} dimensions")
        packed = shift = 0
        for number, (name, bits) in zip(image, self._out.items()):
            if not 0 <= number < 1 << bits:
                raise ValueError(f"basis {list(image)} is outside dimension '{name}' of size {1 << bits}")
            packed, shift = packed | number << shift, shift + bits
        return packed

    def _parted(self, packed):
        parts = {}
        for name, bits in self._out.items():
            parts[name] = packed & (1 << bits) - 1
            packed >>= bits
        return parts

    def _columns_of(self):
        """(input dimension, its columns) in order."""
        first = 0
        for name, bits in self._in.items():
            yield name, self._columns[first : first + bits]
            first += bits

    @property
    def bases(self):
        return [(name, [list(self._parted(c).values()) for c in columns]) for name, columns in self._columns_of()]

    @property
    def out_dims(self):
        return [(name, 1 << bits) for name, bits in self._out.items()]

    @property
    def num_in_dims(self) -> int:
        return len(self._in)

    @property
    def num_out_dims(self) -> int:
        return len(self._out)

    def get_in_dim_names(self):
        return list(self._in)

    def get_out_dim_names(self):
        return list(self._out)

    def get_matrix_view(self):
        """One row per bit of the result, one column per bit of the input."""
        return [[column >> row & 1 for column in self._columns] for row in range(sum(self._out.values()))]

    def __eq__(self, other):
        if not isinstance(other, LinearLayout):
            return NotImplemented
        return (list(self._in.items()), list(self._out.items()), self._columns) == (
            list(other._in.items()),
            list(other._out.items()),
            other._columns,
        )

    __hash__ = None  # `*=` changes the object

    def __repr__(self):
        lines = [
            f" - {name}={1 << position} -> {tuple(image)}"
            for name, images in self.bases
            for position, image in enumerate(images)
        ]
        sizes = ", ".join(f"{name} (size {size})" for name, size in self.out_dims)
        return "\n".join([*lines, f"where out dims are: [{sizes}]"])

    # -- meaning --------------------------------------------------------------

    def _is_rank(self, rank) -> bool:
        return _Space(self._columns).independent == rank

    def is_surjective(self) -> bool:
        return self._is_rank(sum(self._out.values()))

    def is_injective(self) -> bool:
        return self._is_rank(len(self._columns))

    def is_invertible(self) -> bool:
        return self.is_surjective() and self.is_injective()

    def apply(self, inputs):
        """The result's coordinates, by name."""
        if set(inputs) != set(self._in):
            raise ValueError(f"the dimensions are {list(self._in)}, not {list(inputs)}")
        result = 0
        for name, columns in self._columns_of():
            for bit, column in enumerate(columns):
                if inputs[name] >> bit & 1:
                    result ^= column
        return self._parted(result)

    def __mul__(self, other):
        """Both side by side; in a dimension that both have, `other` takes the higher bits."""
        columns = dict(self._columns_of())
        in_names = dict.fromkeys([*self._in, *other._in])
        out = {name: self._out.get(name, 0) + other._out.get(name, 0) for name in dict.fromkeys([*self._out, *other._out])}
        result = LinearLayout._made({n: self._in.get(n, 0) + other._in.get(n, 0) for n in in_names}, out, [])
        second = dict(other._columns_of())
        for name in in_names:
            for column in columns.get(name, ()):
                parts = self._parted(column)
                result._columns.append(result._packed([parts.get(n, 0) for n in out]))
            for column in second.get(name, ()):
                parts = other._parted(column)
                result._columns.append(result._packed([parts.get(n, 0) << self._out.get(n, 0) for n in out]))
        return result

    def __imul__(self, other):
        product = self * other
        self._in, self._out, self._columns = product._in, product._out, product._columns
        return self

    def compose(self, outer):
        """`outer` after this one: it takes what this one gives."""
        if set(self._out) != set(outer._in) or any(bits > outer._in[name] for name, bits in self._out.items()):
            raise ValueError(f"a layout over {self.out_dims} does not go into one from {list(outer._in.items())}")
        columns = [LinearLayout._packed(outer, list(outer.apply(self._parted(c)).values())) for c in self._columns]
        return LinearLayout._made(self._in, outer._out, columns)

    def invert(self):
        if not self.is_invertible():
            raise ValueError("the layout has no inverse")
        return self.pseudoinvert()

    def pseudoinvert(self):
        """A coordinate for each point of the result; of several the one with the lowest bits."""
        if not self.is_surjective():
            raise ValueError("the layout does not reach all of its result")
        space = _Space(self._columns)
        columns = [space.express(1 << bit)[1] for bit in range(sum(self._out.values()))]
        return LinearLayout._made(self._out, self._in, columns)

    def invert_and_compose(self, outer):
        """From this layout's coordinates to those with which `outer` gives the same point."""
        if list(self._out) != list(outer._out):
            raise ValueError("the layouts have different results")
        space, columns = _Space(outer._columns), []
        for _, own in self._columns_of():
            for column in own:
                parts = self._parted(column)
                rest, combination = space.express(LinearLayout._packed(outer, [parts[name] for name in outer._out]))
                if rest:
                    raise ValueError("the other layout does not reach all that this one does")
                columns.append(combination)
        return LinearLayout._made(self._in, outer._in, columns)
