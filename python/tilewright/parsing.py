# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Python's parser, made safe for several threads.

Early releases of CPython 3.11 (3.11.7 is one) count the depth of a tree that they make into objects
in one place for all threads. Where a garbage collection in the middle lets another thread parse, ast.parse raises
SystemError ("AST constructor recursion depth mismatch"), though nothing is wrong with the text
(https://github.com/python/cpython/issues/106905).
"""

from __future__ import annotations

import ast

# The chance that it happens is small, and each time it happens anew.
_MOST_TRIES = 8


def parse(source, filename="<unknown>", mode="exec") -> ast.AST:
    """As ast.parse; raises what it raises."""
    for _ in range(_MOST_TRIES - 1):
        try:
            return ast.parse(source, filename, mode)
        except SystemError:
            continue
    return ast.parse(source, filename, mode)
