# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds the optimisation that makes the difference, for `tilewright repro --bisect` and `tilewright replay --bisect`."""

from __future__ import annotations

from .. import _core


def optimisations() -> list[str]:
    """Passes that may be skipped, in the order in which each runs first."""
    return list(dict.fromkeys(name for name, may_be_skipped in _core.pipeline_passes() if may_be_skipped))


def find_culprit(is_wrong):
    """(name, skipped): the first optimisation with which `is_wrong(skipped)` becomes true, or None for the name.

    `skipped` are the passes after it, which is_wrong has last been asked with. With all optimisations it is known to
    be true. It may be true for a while and false again: the answer is still a pass with which it is true and without
    which, all later ones left out too, it is not.
    """
    names = optimisations()
    if is_wrong(names):
        return None, names
    right, wrong = 0, len(names)  # so many optimisations, from the first on
    while wrong - right > 1:
        middle = (right + wrong) // 2
        if is_wrong(names[middle:]):
            wrong = middle
        else:
            right = middle
    return names[right], names[wrong:]


def shrink(text, is_interesting, count_operations=None, shrink_module=None, tell=lambda left: None):
    """The smallest module that was found of which `is_interesting(text)` still is true, by leaving out operations.

    Halves first, then smaller and smaller pieces (delta debugging), until no single operation can go.
    """
    count_operations = count_operations or _core.count_operations
    shrink_module = shrink_module or _core.shrink_module
    size = max(1, count_operations(text) // 2)
    while True:
        position, found = 0, False
        while position < (number := count_operations(text)):
            # From the end: users before what they use.
            first = max(0, number - position - size)
            candidate = shrink_module(text, first, min(size, number - position))
            if candidate is not None and count_operations(candidate) < number and is_interesting(candidate):
                text, found = candidate, True
                tell(count_operations(text))
            else:
                position += size
        if size == 1 and not found:
            return text
        if not found or size > 1:
            size = max(1, size // 2)
