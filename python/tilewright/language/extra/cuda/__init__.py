# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NVIDIA's own functions."""

import time

from .. import libdevice
from ... import core
from ...core import builtin
from ...target_info import cuda_capability_geq
from .... import _core, errors

_language = _core.language


def _read(register, constraint, dtype, is_pure):
    """The value of a special register as a scalar."""
    suffix = "u64" if dtype.primitive_bitwidth == 64 else "u32"
    return core.inline_asm_elementwise(f"mov.{suffix} $0, %{register};", f"={constraint}", (), dtype, is_pure, 1)


@builtin
def globaltimer():
    """Nanoseconds of the GPU's global clock, as int64; of the host's in the interpreter."""
    if not _language.is_compiling():
        return core.full([], time.perf_counter_ns(), core.int64)
    return _read("globaltimer", "l", core.int64, is_pure=False)


@builtin
def smid():
    """Index of the multiprocessor that runs this program, as int32; 0 in the interpreter."""
    if not _language.is_compiling():
        return core.full([], 0, core.int32)
    return _read("smid", "r", core.int32, is_pure=True)


@builtin
def num_warps():
    """Warps per program, constexpr: what the launch asked for."""
    warps = _language.option("num_warps")
    if warps is None and _language.is_compiling():
        raise errors.make("E0112", n="num_warps", help="pass num_warps= to the launch; the compiler chooses it later")
    return core.constexpr(4 if warps is None else warps)


@builtin
def num_threads():
    """Threads per program, constexpr."""
    return core.constexpr(32 * core.unwrap(num_warps()))


def _dependency(name, instruction, documentation):

    def function():
        # In the interpreter and below sm_90 one kernel runs after the other: nothing to wait for.
        if _language.is_compiling() and cuda_capability_geq(9, 0):
            core.inline_asm_elementwise(f"griddepcontrol.{instruction}; // $0", "=r", (), core.int32, False, 1)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = documentation
    return builtin(function)


gdc_wait = _dependency("gdc_wait", "wait", "Waits for the kernels that this launch depends on (launch_pdl=True).")
gdc_launch_dependents = _dependency(
    "gdc_launch_dependents", "launch_dependents", "Lets kernels that depend on this one start (launch_pdl=True)."
)


@builtin
def convert_custom_float8_sm80(arg, dst_ty, fp_downcast_rounding=None):
    """`arg` converted to `dst_ty`, as by tl.cast, which knows what the GPU has for it."""
    return core.cast(arg, dst_ty, fp_downcast_rounding)


convert_custom_float8_sm70 = convert_custom_float8_sm80
