# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the GPU's time goes: kernels by the scopes in which they are launched.

    import tilewright.profiler as proton

    proton.start("matmul", hook="triton")
    with proton.scope("layer 1", {"flops16": 2 * M * N * K}):
        kernel[grid](...)
    proton.finalize()                       # writes matmul.hatchet

Under the names of Triton's profiler. Times are those of events around each launch of
Tilewright's; work of others (cuBLAS through torch, say) is seen where a scope holds
nothing else, as the time between events around the scope. `profiler.viewer` shows a file.

`record` is Tilewright's own: it times every launch at a fraction of the cost, with bytes,
operations and the share of the roofline. `tilewright profile SCRIPT` does that for a program (docs/profiling.md).
"""

from ..lazy_names import lazy_names
from . import context, data, flags, mode, specs
from .profile import DEFAULT_PROFILE_NAME, activate, deactivate, finalize, profile, start
from .scope import cpu_timed_scope, enter_scope, exit_scope, scope
from .state import enter_state, exit_state, metadata_state, state

__all__ = [
    "DEFAULT_PROFILE_NAME",
    "activate",
    "context",
    "cpu_timed_scope",
    "data",
    "deactivate",
    "enter_scope",
    "enter_state",
    "exit_scope",
    "exit_state",
    "finalize",
    "flags",
    "metadata_state",
    "mode",
    "profile",
    "record",
    "scope",
    "specs",
    "start",
    "state",
]

# It brings NumPy, which a program that only asks for help does without.
__getattr__ = lazy_names(__name__, {"record": "profiler.launches:record"})
