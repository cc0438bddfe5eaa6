# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A space of configurations, declared by its choices instead of listed."""

from __future__ import annotations

import itertools
import math

from .. import _core
from .config import Config

_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")


class Space:
    """All combinations of ordered choices.

    `Space({"BLOCK_M": [32, 64, 128], "BLOCK_K": [32, 64]}, num_warps=[4, 8],
    where=lambda c: c["BLOCK_M"] >= c["BLOCK_K"])` in the place of a list of
    configurations. Up to `exhaustive` combinations are all measured; beyond that a
    coarse-to-fine search measures at most `max_points` of them. Give the choices in
    order: neighbours in a list are what the search tries next.
    """

    def __init__(
        self,
        choices,
        *,
        num_warps=(4,),
        num_stages=(3,),
        num_ctas=(1,),
        maxnreg=(None,),
        where=None,
        exhaustive=64,
        max_points=160,
        seed=0,
    ):
        self.meta = {name: list(values) for name, values in choices.items()}
        self.options = {name: list(values) for name, values in zip(_OPTIONS, (num_warps, num_stages, num_ctas, maxnreg))}
        self.where, self.exhaustive, self.max_points, self.seed = where, exhaustive, max_points, seed
        for name, values in (*self.meta.items(), *self.options.items()):
            if not values:
                raise ValueError(f"'{name}' has no choices")

    def __len__(self):
        """Combinations, before `where`."""
        return math.prod(len(v) for v in (*self.meta.values(), *self.options.values()))

    @property
    def dimensions(self):
        """Names and choices of what has more than one choice."""
        return {n: v for n, v in (*self.meta.items(), *self.options.items()) if len(v) > 1}

    def config_at(self, point):
        """The configuration at one index per dimension, or None where `where` excludes it."""
        chosen = {n: v[0] for n, v in (*self.meta.items(), *self.options.items())}
        chosen.update({name: values[i] for (name, values), i in zip(self.dimensions.items(), point)})
        if self.where is not None and not self.where(dict(chosen)):
            return None
        return Config({n: chosen[n] for n in self.meta}, **{n: chosen[n] for n in _OPTIONS})

    def configs(self):
        """Every configuration; for small spaces."""
        points = itertools.product(*(range(len(v)) for v in self.dimensions.values()))
        return [c for c in map(self.config_at, points) if c is not None]

    @property
    def is_small(self):
        return len(self) <= self.exhaustive

    def search(self):
        """The native search over the points of this space."""
        return _core.Search(
            [len(v) for v in self.dimensions.values()],
            self.max_points,
            self.seed,
            None if self.where is None else lambda p: self.config_at(p) is not None,
        )
