# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The names of Triton's driver for AMD's GPUs."""

from ... import foreign

__all__ = ["HIPDriver"]


class HIPDriver:
    """Never active; E0125 when one is made."""

    def __init__(self):
        raise foreign.error("HIPDriver", "AMD GPUs", "use tilewright.backends.nvidia")

    @staticmethod
    def is_active() -> bool:
        return False
