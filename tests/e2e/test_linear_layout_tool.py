# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tools.LinearLayout` against its definition, over random layouts."""

import itertools
import random

import pytest

from tilewright._C.libtriton.linear_layout import LinearLayout as under_tritons_path
from tilewright.tools import LinearLayout


def points(layout):
    """Every coordinate of a layout's input."""
    sizes = [1 << len(images) for _, images in layout.bases]
    for numbers in itertools.product(*map(range, sizes)):
        yield dict(zip(layout.get_in_dim_names(), numbers))


def random_layout(seed, surjective=True):
    choose = random.Random(seed)
    out = [("row", 4), ("column", 8)]
    while True:
        bases = [
            (name, [[choose.randrange(size) for _, size in out] for _ in range(bits)])
            for name, bits in (("register", 2), ("lane", 3), ("warp", 1 if surjective else 0))
        ]
        layout = LinearLayout.from_bases(bases, ["row", "column"], [4, 8], require_surjective=False)
        if layout.is_surjective() == surjective:
            return layout


@pytest.mark.parametrize("seed", range(20))
def test_ranks_and_inverses(seed):
    layout = random_layout(seed)
    images = [tuple(layout.apply(point).values()) for point in points(layout)]
    assert len(set(images)) == 32 and layout.is_injective() == (len(images) == 32)
    back = layout.pseudoinvert()
    for image in set(images):
        assert tuple(layout.apply(back.apply(dict(zip(("row", "column"), image)))).values()) == image
    # The way there and back is the identity.
    there = back.compose(layout)
    assert all(there.apply(point) == point for point in points(there))
    other = random_layout(seed + 100)
    between = layout.invert_and_compose(other)
    assert all(other.apply(between.apply(point)) == layout.apply(point) for point in points(layout))


def test_matrix_and_form():
    layout = random_layout(7)
    assert under_tritons_path is LinearLayout and layout.num_in_dims == 3 and layout.num_out_dims == 2
    assert LinearLayout.from_bases(layout.bases, layout.get_out_dim_names(), [4, 8]) == layout
    matrix = layout.get_matrix_view()
    for column, (name, bit) in enumerate((name, bit) for name, images in layout.bases for bit in range(len(images))):
        image = layout.apply({n: (1 << bit if n == name else 0) for n in layout.get_in_dim_names()})
        packed = image["row"] | image["column"] << 2
        assert [row[column] for row in matrix] == [packed >> bit & 1 for bit in range(5)]
    assert "register=1 ->" in repr(layout) and "column (size 8)" in repr(layout)


def test_products():
    both = LinearLayout.identity_1d(4, "lane", "x") * LinearLayout.strided_1d(4, 2, "lane", "x")
    assert [both.apply({"lane": n})["x"] for n in range(16)] == [(n & 3) | (n >> 2) << 3 for n in range(16)]
    apart = LinearLayout.identity_1d(4, "lane", "x")
    apart *= LinearLayout.zeros_1d(2, "warp", "y", 2)
    assert apart.apply({"lane": 3, "warp": 1}) == {"x": 3, "y": 0}
    assert not apart.is_surjective() and not apart.is_injective()


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: LinearLayout.identity_1d(6, "a", "b"), "no power of two"),
        (lambda: LinearLayout.from_bases([("a", [[4]])], ["x"], [4]), "outside dimension 'x' of size 4"),
        (lambda: LinearLayout.from_bases([("a", [[1]])], ["x"], [4]), "does not reach all of its result"),
        (lambda: LinearLayout.from_bases([("a", [[1, 2]])], ["x"], [4]), "a basis has 2 numbers, the result 1 dimensions"),
        (lambda: LinearLayout.from_bases([("a", [[1]])], ["x"], require_surjective=False), "out_dim_sizes must be provided"),
        (lambda: LinearLayout.zeros_1d(4, "a", "x").invert(), "has no inverse"),
        (lambda: LinearLayout.identity_1d(4, "a", "x").compose(LinearLayout.identity_1d(4, "y", "z")), "does not go into"),
        (lambda: LinearLayout.identity_1d(4, "a", "x").apply({"b": 1}), r"the dimensions are \['a'\]"),
    ],
)
def test_mistakes(make, message):
    with pytest.raises(ValueError, match=message):
        make()
