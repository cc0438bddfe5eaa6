# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tuning beyond `@autotune`: spaces, sweeps over many processes, reports."""

from ..lazy_names import lazy_names

__all__ = ["GpuPool", "RayExecutor", "Space", "sweep"]

# The machinery of processes takes longer to import than a launch whose choice is on disk may take.
__getattr__ = lazy_names(
    __name__,
    {
        "GpuPool": "tuning.executors:GpuPool",
        "RayExecutor": "tuning.executors:RayExecutor",
        "sweep": "tuning.sweeping:sweep",
        "Space": "tuning.space:Space",
    },
)
