# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by scripts/generate_stubs.py: do not edit; `make stubs` writes it again.
"""The target that the kernel is compiled for, as compile-time values (`tl.target_info`)."""

from typing import Any

from ..backends.compiler import GPUTarget as GPUTarget
from ._values import _Tile
from ._values import unwrap as unwrap
from .basics import builtin as builtin


def current_target() -> Any:
    """The target as the back ends describe it; None outside kernels and in the interpreter."""


def is_cuda() -> bool:
    """Whether the kernel runs on an NVIDIA GPU."""


def cuda_capability_geq(major: int, minor: int = 0) -> bool:
    """Whether the GPU has at least this compute capability."""


def is_hip() -> bool:
    """False: AMD GPUs are no target."""


def is_hip_cdna3() -> _Tile:
    """False: AMD GPUs are no target."""


def is_hip_cdna4() -> _Tile:
    """False: AMD GPUs are no target."""


def is_hip_gfx1250() -> _Tile:
    """False: AMD GPUs are no target."""
