# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scopes inside kernels, under the names of Triton's profiler. A kernel with them compiles and runs; no times are taken."""

from __future__ import annotations

from .. import _utils
from ..language.core import builtin, unwrap

_semantics: set = set()


def enable_semantic(semantic_name: str):
    """Takes note of the name of a language whose scopes a program wants."""
    _semantics.add(semantic_name)


def disable_semantic(semantic_name: str):
    _semantics.discard(semantic_name)


def record(is_start, scope_name, semantic=None):
    """The beginning or the end of a scope: nothing happens, and a warning says so once."""
    _utils.warn_once(f"scope '{unwrap(scope_name)}' inside a kernel: only whole launches are timed")


@builtin
def enter_scope(name):
    """The beginning of a scope."""
    record(True, name)


@builtin
def exit_scope(name):
    """The end of a scope."""
    record(False, name)


class scope:
    """Both, as a context manager for functions that are not compiled."""

    def __init__(self, name: str, _semantic=None):
        self.name = name

    def __enter__(self):
        enter_scope(self.name)

    def __exit__(self, *details):
        exit_scope(self.name)
