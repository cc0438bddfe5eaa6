# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The backends by name, as Triton lists them; there is one."""

from ..runtime.driver import CudaDriver
from .nvidia.compiler import CUDABackend

__all__ = ["Backend", "backends"]


class Backend:
    def __init__(self, compiler, driver):
        self.compiler, self.driver = compiler, driver


backends = {"nvidia": Backend(CUDABackend, CudaDriver)}
