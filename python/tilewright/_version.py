# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The version of the Python package; the native library carries the same."""

__version__ = "0.1.0"
