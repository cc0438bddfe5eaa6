# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What libraries ask of Triton's native module: `ir`, `linear_layout`, `nvidia`, and what a launch makes of an argument."""

from ...lazy_names import lazy_names

__all__ = ["ir", "linear_layout", "native_specialize_impl", "nvidia"]

__getattr__ = lazy_names(__name__, {
    "ir": "_C.libtriton.ir", "linear_layout": "_C.libtriton.linear_layout", "nvidia": "_C.libtriton.nvidia",
    "native_specialize_impl": "runtime.specialization:native_specialize_impl",
})
