# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Alias of tl.extra.libdevice, where Triton has it for CUDA."""

from ..libdevice import *
