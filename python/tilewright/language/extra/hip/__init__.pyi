# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by scripts/generate_stubs.py: do not edit; `make stubs` writes it again.
"""AMD's own functions: programs that are for several GPUs import them, and call them on AMD's alone."""


from . import libdevice as libdevice
from . import utils as utils
from .utils import memrealtime as memrealtime

__all__ = [
    "libdevice", "memrealtime",
]
