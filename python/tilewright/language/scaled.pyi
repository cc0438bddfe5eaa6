# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by scripts/generate_stubs.py: do not edit; `make stubs` writes it again.
"""Products of block-scaled operands (`tl.dot_scaled`), on top of `tl.dot`."""

from typing import Any

from . import core as core
from .. import errors as errors
from ._values import _Tile
from ._values import unwrap as unwrap
from .basics import builtin as builtin
from .core import dtype
from .core import dtype as _dtype, pointer_type as _pointer_type


def dot_scaled(lhs: Any, lhs_scale: Any, lhs_format: str, rhs: Any, rhs_scale: Any, rhs_format: str, acc: Any = None, fast_math: bool = False, lhs_k_pack: bool = True, rhs_k_pack: bool = True, out_dtype: _dtype = ...) -> _Tile:
    """Matrix product of [M, K] and [K, N], each multiplied by its scales, plus `acc`.

    Formats: "e2m1" (two elements per uint8, the first in the lower half, packed along
    K or, with k_pack=False, along M or N), "e4m3" and "e5m2" (fp8 or its bits in
    uint8), "bf16", "fp16". lhs_scale is [M, K / 32], rhs_scale [N, K / 32] (not
    transposed): exponents of two with bias 127 (E8M0) as uint8, or float8e4nv, then
    one per 16 elements; None for an operand without scales. An exponent of 255 is NaN;
    with fast_math that is not looked at. `acc` and the result are float32."""
