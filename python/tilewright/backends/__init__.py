# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names that libraries import from Triton's backend packages."""

from .compiler import BaseBackend, GPUTarget


class Backend:
    def __init__(self, compiler, driver):
        self.compiler, self.driver = compiler, driver


def __getattr__(name):
    if name == "DriverBase":
        from ..runtime.driver import DriverBase

        return DriverBase
    if name != "backends":
        raise AttributeError(f"module 'tilewright.backends' has no attribute '{name}'")
    from ..runtime.driver import CudaDriver
    from .nvidia.compiler import CUDABackend

    return {"nvidia": Backend(CUDABackend, CudaDriver)}


__all__ = ["BaseBackend", "GPUTarget", "backends"]
