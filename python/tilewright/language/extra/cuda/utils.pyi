# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by scripts/generate_stubs.py: do not edit; `make stubs` writes it again.
"""Triton's path to clocks and numbers of threads, and its conversions of 8-bit floats."""

from typing import Any

from . import convert_custom_float8_sm80 as convert_custom_float8_sm70
from . import convert_custom_float8_sm80 as convert_custom_float8_sm80
from . import globaltimer as globaltimer
from . import num_threads as num_threads
from . import num_warps as num_warps
from . import smid as smid
from ... import core as core
from ..._values import _Tile


def convert_custom_float8(arg: Any, dst_ty: Any, fp_downcast_rounding: str | None = None, has_minx2: Any = True) -> _Tile:
    """`arg` converted to `dst_ty`, as by tl.cast."""


def convert_fp8e4b15_to_float16(arg: Any, has_minx2: Any = True) -> _Tile:
    ...


def convert_float16_to_fp8e4b15(arg: Any, has_minx2: Any = True) -> _Tile:
    ...

__all__ = [
    "convert_custom_float8", "convert_custom_float8_sm70", "convert_custom_float8_sm80",
    "convert_float16_to_fp8e4b15", "convert_fp8e4b15_to_float16", "globaltimer", "num_threads", "num_warps", "smid",
]
