# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What libraries ask of Triton's native module: `ir`, `linear_layout`, `nvidia`, what a launch makes of an argument,
and the environment variables that keys of compiled code are made of."""

from ...knobs import variables_set as get_cache_invalidating_env_vars
from ...runtime.specialization import native_specialize_impl
from . import ir, linear_layout, nvidia

__all__ = ["get_cache_invalidating_env_vars", "ir", "linear_layout", "native_specialize_impl", "nvidia"]
