# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Triton's path to the CUDA driver object."""

from ...runtime.driver import CudaDriver, CudaUtils

__all__ = ["CudaDriver", "CudaUtils"]
