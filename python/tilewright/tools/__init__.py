# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tools around compiled kernels."""

from .linear_layout import LinearLayout

__all__ = ["LinearLayout"]
