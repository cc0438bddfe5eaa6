# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by scripts/generate_stubs.py: do not edit; `make stubs` writes it again.
"""Counter-based random numbers: Philox 4x32-10 and 4x64-10, with Triton's streams."""

import builtins
from typing import Any

from ._known_to_the_compiler import N_ROUNDS_DEFAULT as N_ROUNDS_DEFAULT  # type: ignore
from . import core as core
from . import math as math
from .. import errors as errors
from ._values import _Tile
from ._values import unwrap as unwrap
from .basics import builtin as builtin


def philox_impl(c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any, n_rounds: Any = ...) -> builtins.tuple[_Tile, _Tile, _Tile, _Tile]:
    """The rounds on counters c0 ... c3 and keys k0, k1, all uint32 or all uint64."""


def philox(seed: Any, c0: Any, c1: Any, c2: Any, c3: Any, n_rounds: Any = ...) -> builtins.tuple[_Tile, _Tile, _Tile, _Tile]:
    """Four random words for a 64-bit seed and four counters of 32 or 64 bits."""


def randint4x(seed: Any, offset: Any, n_rounds: Any = ...) -> builtins.tuple[_Tile, _Tile, _Tile, _Tile]:
    """Four uint32 tiles in the shape of `offset`; the cheapest per number."""


def randint(seed: Any, offset: Any, n_rounds: Any = ...) -> _Tile:
    """A uint32 tile in the shape of `offset`."""


def uint_to_uniform_float(x: Any) -> _Tile:
    """Random integers of 32 or 64 bits as float32 in [0, 1)."""


def rand(seed: Any, offset: Any, n_rounds: Any = ...) -> _Tile:
    """Uniform float32 in [0, 1) in the shape of `offset`."""


def rand4x(seed: Any, offsets: Any, n_rounds: Any = ...) -> builtins.tuple[_Tile, _Tile, _Tile, _Tile]:
    """Four tiles of uniform float32 in [0, 1)."""


def pair_uniform_to_normal(u1: Any, u2: Any) -> builtins.tuple[_Tile, _Tile]:
    """Two uniform tiles as two normal ones (Box-Muller)."""


def randn(seed: Any, offset: Any, n_rounds: Any = ...) -> _Tile:
    """Normal float32 (mean 0, variance 1) in the shape of `offset`."""


def randn4x(seed: Any, offset: Any, n_rounds: Any = ...) -> builtins.tuple[_Tile, _Tile, _Tile, _Tile]:
    """Four tiles of normal float32."""

__all__ = [
    "pair_uniform_to_normal", "philox", "philox_impl", "rand", "rand4x", "randint", "randint4x", "randn", "randn4x",
    "uint_to_uniform_float",
]
