# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by scripts/generate_stubs.py: do not edit; `make stubs` writes it again.
"""NVIDIA's own functions."""

from typing import Any

from . import gdc as gdc
from . import libdevice as libdevice
from . import utils as utils
from ... import core as core
from .... import errors as errors
from ..._values import _Tile
from ...basics import builtin as builtin
from ...target_info import cuda_capability_geq as cuda_capability_geq


def globaltimer() -> _Tile:
    """Nanoseconds of the GPU's global clock, as int64; of the host's in the interpreter."""


def smid() -> _Tile:
    """Index of the multiprocessor that runs this program, as int32; 0 in the interpreter."""


def num_warps() -> int:
    """Warps per program, constexpr: what the launch asked for."""


def num_threads() -> int:
    """Threads per program, constexpr."""


def gdc_wait() -> None:
    """Waits for the kernels that this launch depends on (launch_pdl=True)."""


def gdc_launch_dependents() -> None:
    """Lets kernels that depend on this one start (launch_pdl=True)."""


def convert_custom_float8_sm80(arg: Any, dst_ty: Any, fp_downcast_rounding: str | None = None) -> _Tile:
    """`arg` converted to `dst_ty`, as by tl.cast, which knows what the GPU has for it."""


def convert_custom_float8_sm70(arg: Any, dst_ty: Any, fp_downcast_rounding: str | None = None) -> _Tile:
    """`arg` converted to `dst_ty`, as by tl.cast, which knows what the GPU has for it."""
