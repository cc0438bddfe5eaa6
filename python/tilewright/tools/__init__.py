# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tools around compiled kernels."""

__all__ = ["LinearLayout"]


def __getattr__(name):
    # Every tuner comes by here, and few programs ask for layouts.
    if name == "LinearLayout":
        from .linear_layout import LinearLayout

        return LinearLayout
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
