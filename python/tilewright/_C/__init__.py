# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Triton's path to its native module, for what libraries ask of it."""

from . import libtriton

__all__ = ["libtriton"]
