# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What libraries ask of Triton's native module: `ir`."""

from . import ir

__all__ = ["ir"]
