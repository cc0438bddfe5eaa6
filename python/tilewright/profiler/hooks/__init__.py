# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hooks that sessions call around launches."""

from .hook import Hook, HookManager
from .launch import LaunchHook

__all__ = ["Hook", "HookManager", "LaunchHook"]
