# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names that libraries import from Triton's backend packages."""

from ..lazy_names import lazy_names
from .compiler import BaseBackend, GPUTarget

__getattr__ = lazy_names(
    __name__,
    {
        "Backend": "backends.registry:Backend",
        "backends": "backends.registry:backends",
        "DriverBase": "runtime.driver:DriverBase",
    },
)

__all__ = ["BaseBackend", "GPUTarget", "backends"]
