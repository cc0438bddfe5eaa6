# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tools around compiled kernels."""

from ..lazy_names import lazy_names

__all__ = ["LinearLayout"]

# Every tuner comes by here, and few programs ask for layouts.
__getattr__ = lazy_names(__name__, {"LinearLayout": "tools.linear_layout:LinearLayout"})
