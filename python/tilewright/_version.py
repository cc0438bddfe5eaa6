# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The version of the Python package; the native library carries the same."""

from . import _core

__version__ = "0.1.0"

# The release of Triton whose names and meanings are all present.
TRITON_VERSION = "3.9.0"


def compiler_key() -> str:
    """Identity of this compiler build, part of every key."""
    return f"tilewright-{__version__}-{_core.build_id()}"
