# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which mistakes the interpreter looks for, and whether all launches of this program are checked."""

from __future__ import annotations

import functools

from .. import _core, errors, knobs

__all__ = ["selected", "session"]


def session():
    """What `tilewright check` does with the launches of this process; None where it runs none of it."""
    folder = knobs.runtime.check_session
    return _session_of(folder) if folder else None


@functools.cache
def _session_of(folder):
    # Only programs that are checked pay for its modules.
    from ..checking.session import Session

    return Session(folder)


def selected(text):
    """What TILEWRIGHT_CHECK asks for: a dict from each check's name to whether it is made.

    A name adds its check to those that are on by default, `-name` leaves it out, `all` and `none` begin
    with every check or with none. Raises E0701 for a name that is no check's.
    """
    table = {name: is_default for name, is_default, _ in _core.interpreter_checks()}
    chosen = dict(table)
    for word in (word.strip() for word in text.split(",")):
        if word in ("all", "none"):
            chosen = dict.fromkeys(table, word == "all")
        elif word.removeprefix("-") in table:
            chosen[word.removeprefix("-")] = not word.startswith("-")
        elif word:
            raise errors.make("E0701", X="CHECK", v=word, type=f"all, none, or names with commas: {', '.join(table)}")
    return chosen
