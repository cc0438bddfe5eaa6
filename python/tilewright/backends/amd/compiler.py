# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The names of Triton's compiler for AMD's GPUs. It takes its own targets alone, and compiles nothing."""

from ... import foreign
from ..compiler import BaseBackend, GPUTarget

__all__ = ["BaseBackend", "GPUTarget", "HIPBackend", "HIPOptions"]


def _refuse(name):
    raise foreign.error(name, "AMD GPUs", "use tilewright.backends.nvidia")


class HIPOptions:
    """E0125 when one is made."""

    def __init__(self, *args, **kwargs):
        _refuse("HIPOptions")


class HIPBackend(BaseBackend):
    """Says what it is for; E0125 when one is made."""

    def __init__(self, target):
        _refuse("HIPBackend")

    @staticmethod
    def supports_target(target: GPUTarget) -> bool:
        return target.backend == "hip"
