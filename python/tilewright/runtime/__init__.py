# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launching, tuning and the driver, under the names that libraries import."""

import importlib as _importlib

from ..errors import InterpreterError, OutOfResources
from .jit import JITFunction, KernelInterface, MockTensor, TensorWrapper, reinterpret

_lazy = {
    "Autotuner": "autotuner", "Config": "autotuner", "Heuristics": "autotuner", "autotune": "autotuner",
    "heuristics": "autotuner", "set_allocator": "allocation", "driver": "driver", "cache": "cache",
    "autotuner": "autotuner", "errors": "errors", "interpreter": "interpreter", "build": "build",
    "_allocation": "_allocation", "_async_compile": "_async_compile", "RemoteCacheBackend": "cache",
    "RedisRemoteCacheBackend": "cache",
}

__all__ = [
    "Autotuner", "Config", "Heuristics", "InterpreterError", "JITFunction", "KernelInterface", "MockTensor",
    "OutOfResources", "TensorWrapper", "autotune", "driver", "heuristics", "jit", "reinterpret", "set_allocator",
]


def __getattr__(name):
    if name not in _lazy:
        raise AttributeError(f"module 'tilewright.runtime' has no attribute '{name}'")
    module = _importlib.import_module("." + _lazy[name], __name__)
    if name == "driver":
        # Triton's `runtime.driver` is the object that owns `active`.
        value = module.driver
    else:
        value = module if _lazy[name] == name else getattr(module, name)
    globals()[name] = value
    return value
