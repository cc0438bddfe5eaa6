# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launching, tuning and the driver, under the names that libraries import."""

from ..lazy_names import lazy_names as _lazy_names

__all__ = [
    "Autotuner",
    "Config",
    "Heuristics",
    "InterpreterError",
    "JITFunction",
    "KernelInterface",
    "MockTensor",
    "OutOfResources",
    "TensorWrapper",
    "autotune",
    "driver",
    "heuristics",
    "jit",
    "reinterpret",
    "set_allocator",
]


__getattr__ = _lazy_names(
    __name__,
    {
        **{
            name: f"runtime.jit:{name}"
            for name in ("JITFunction", "KernelInterface", "MockTensor", "TensorWrapper", "reinterpret")
        },
        **{name: f"runtime.autotuner:{name}" for name in ("Autotuner", "Config", "Heuristics", "autotune", "heuristics")},
        **{name: f"errors:{name}" for name in ("InterpreterError", "OutOfResources")},
        **{name: f"runtime.cache:{name}" for name in ("RemoteCacheBackend", "RedisRemoteCacheBackend")},
        "set_allocator": "runtime.allocation:set_allocator",
        # Triton's `runtime.driver` is the object that owns `active`.
        "driver": "runtime.driver:driver",
        **{
            name: f"runtime.{name}"
            for name in ("cache", "autotuner", "errors", "interpreter", "build", "jit", "_allocation", "_async_compile")
        },
    },
)
