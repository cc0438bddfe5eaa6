# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tuning beyond `@autotune`: spaces, sweeps over many processes, reports."""

import importlib

__all__ = ["GpuPool", "Space", "sweep"]
_HOMES = {"GpuPool": "executors", "sweep": "executors", "Space": "space"}


def __getattr__(name):
    # When asked for: the machinery of processes takes longer to import than a launch
    # whose choice is on disk may take.
    if name not in _HOMES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
