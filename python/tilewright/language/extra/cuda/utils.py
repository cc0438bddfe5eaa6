# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Triton's path to clocks and numbers of threads, and its conversions of 8-bit floats."""

from ... import core
from . import convert_custom_float8_sm70, convert_custom_float8_sm80, globaltimer, num_threads, num_warps, smid


@core.builtin
def convert_custom_float8(arg, dst_ty, fp_downcast_rounding=None, has_minx2=True):
    """`arg` converted to `dst_ty`, as by tl.cast."""
    return core.cast(arg, dst_ty, fp_downcast_rounding)


@core.builtin
def convert_fp8e4b15_to_float16(arg, has_minx2=True):
    return core.cast(arg, core.float16)


@core.builtin
def convert_float16_to_fp8e4b15(arg, has_minx2=True):
    return core.cast(arg, core.float8e4b15)


__all__ = [
    "convert_custom_float8",
    "convert_custom_float8_sm70",
    "convert_custom_float8_sm80",
    "convert_float16_to_fp8e4b15",
    "convert_fp8e4b15_to_float16",
    "globaltimer",
    "num_threads",
    "num_warps",
    "smid",
]
