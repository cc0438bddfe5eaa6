# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tuning beyond `@autotune`: spaces, sweeps over many processes, reports."""

from .executors import GpuPool, sweep
from .space import Space

__all__ = ["GpuPool", "Space", "sweep"]
