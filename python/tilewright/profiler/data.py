# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The records of a session so far."""

from .session import chosen


def get(session=0, phase=0):
    """The tree of a session and the facts of its devices, as a .hatchet file has them."""
    return None if session is None else chosen(session)[0].tree()


def clear(session=0):
    """Forgets what was recorded."""
    for each in chosen(session):
        each.settle()
        each.root.children.clear()
        each.root.metrics.clear()
        each.trace.clear()
