# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Triton's path to the driver classes."""

from ..runtime.driver import CudaDriver, DriverBase

from typing import Callable

GPUDriver = CudaDriver
Benchmarker = Callable  # bench(call, *, quantiles) -> timings

__all__ = ["Benchmarker", "CudaDriver", "DriverBase", "GPUDriver"]
