# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Triton's path to the driver classes."""

from ..runtime.driver import CudaDriver, DriverBase

GPUDriver = CudaDriver

__all__ = ["CudaDriver", "DriverBase", "GPUDriver"]
