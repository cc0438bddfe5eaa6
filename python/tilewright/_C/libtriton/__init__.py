# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The names of Triton's native module that libraries ask for.

They are `ir`, `linear_layout`, `nvidia`, how a launch classifies an argument, and the environment variables that are
part of the keys of compiled code."""

from ...lazy_names import lazy_names

__all__ = ["get_cache_invalidating_env_vars", "ir", "linear_layout", "native_specialize_impl", "nvidia"]

__getattr__ = lazy_names(
    __name__,
    {
        "ir": "_C.libtriton.ir",
        "linear_layout": "_C.libtriton.linear_layout",
        "nvidia": "_C.libtriton.nvidia",
        "get_cache_invalidating_env_vars": "knobs:switches",
        "native_specialize_impl": "runtime.specialization:native_specialize_impl",
    },
)
