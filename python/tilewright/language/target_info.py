# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The target that the kernel is compiled for, as compile-time values (`tl.target_info`)."""

from __future__ import annotations

import re

from .. import _core
from ..backends.compiler import GPUTarget
from ._values import unwrap
from .core import builtin


def _capability():
    """(9, 0) for sm_90a; None in the interpreter."""
    match = re.fullmatch(r"sm_(\d+)(\d)[a-z]?", _core.language.target_name())
    return (int(match[1]), int(match[2])) if match else None


@builtin
def current_target():
    """The target as the back ends describe it; None outside kernels and in the interpreter."""
    if not _core.language.in_kernel() or _capability() is None:
        return None
    major, minor = _capability()
    return GPUTarget("cuda", major * 10 + minor, 32)


@builtin
def is_cuda():
    """Whether the kernel runs on an NVIDIA GPU."""
    return _core.language.in_kernel() and _capability() is not None


@builtin
def cuda_capability_geq(major, minor=0):
    """Whether the GPU has at least this compute capability."""
    return is_cuda() and _capability() >= (unwrap(major), unwrap(minor))


@builtin
def is_hip():
    """False: AMD GPUs are no target."""
    return False


is_hip_cdna3 = is_hip_cdna4 = is_hip_gfx1250 = is_hip
