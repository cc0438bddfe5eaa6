# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What libraries ask of Triton's native module: `ir`, `linear_layout`, `nvidia`, and what a launch makes of an argument."""

from ...runtime.specialization import native_specialize_impl
from . import ir, linear_layout, nvidia

__all__ = ["ir", "linear_layout", "native_specialize_impl", "nvidia"]
