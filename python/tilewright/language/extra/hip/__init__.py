# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""AMD's own functions: programs that are for several GPUs import them, and call them on AMD's alone."""

from . import libdevice
from .utils import memrealtime

__all__ = ["libdevice", "memrealtime"]
