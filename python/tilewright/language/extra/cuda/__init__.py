# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NVIDIA's own functions."""

from .. import libdevice
from ...core import builtin, not_implemented


def _missing(name, documentation):

    def function(*args, **kwargs):
        raise not_implemented(f"tl.extra.cuda.{name}")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = documentation
    return builtin(function)


globaltimer = _missing("globaltimer", "Nanoseconds of the GPU's global clock.")
smid = _missing("smid", "Index of the multiprocessor.")
num_threads = _missing("num_threads", "Threads per program.")
num_warps = _missing("num_warps", "Warps per program.")
gdc_wait = _missing("gdc_wait", "Waits for the kernels that this launch depends on.")
gdc_launch_dependents = _missing("gdc_launch_dependents", "Lets dependent kernels start.")
