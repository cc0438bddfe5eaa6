# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Records what the front end looks up while it compiles a launch of this thread."""

from __future__ import annotations

import contextlib
import threading

# `.kernel`: the function whose launch this thread is compiling; `.lookups`: the
# (function, name) pairs that its compilation has looked up.
compiling = threading.local()


@contextlib.contextmanager
def recorded_lookups():
    """Collects what the front end looks up in this thread inside the block."""
    before = getattr(compiling, "lookups", None)
    compiling.lookups = lookups = set()
    try:
        yield lookups
    finally:
        compiling.lookups = before


@contextlib.contextmanager
def compilation_of(kernel):
    """Inside the block this thread compiles a launch of `kernel`, which watches the globals that are read."""
    before = getattr(compiling, "kernel", None)
    compiling.kernel = kernel
    try:
        yield
    finally:
        compiling.kernel = before
