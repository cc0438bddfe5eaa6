# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by scripts/generate_stubs.py: do not edit; `make stubs` writes it again.
"""Functions beyond the portable language."""


from . import cuda as cuda
from . import hip as hip
from . import libdevice as libdevice
