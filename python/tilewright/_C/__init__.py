# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Triton's path to its native module, for the names that libraries ask for."""

from ..lazy_names import lazy_names

__all__ = ["libtriton"]

__getattr__ = lazy_names(__name__, {"libtriton": "_C.libtriton"})
