# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The place of the running code in the tree of a session."""

from .session import chosen, path


def depth(session=0):
    """How many scopes are around it; None without a session."""
    return None if session is None or not chosen(session) else len(path.get())
