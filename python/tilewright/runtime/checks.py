# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which mistakes the interpreter looks for, in which order it runs programs, and whether all launches are checked."""

from __future__ import annotations

import functools

from .. import _core, errors, knobs, wiring
from ..user_objects import attribute

__all__ = ["CODES", "DEADLOCK", "order_of_programs", "scalars_in_scope", "selected", "session"]

#: The code of programs that all wait; this check has no name and cannot be turned off.
DEADLOCK = "E0414"

#: The codes of what the interpreter's checks find.
CODES = frozenset({DEADLOCK}.union(*(codes.split() for _, _, codes, _ in _core.interpreter_checks())))

# Beyond this many names a note is no help.
_MOST_SCALARS = 12


def scalars_in_scope(frame):
    """The numbers that the kernel's function in this Python frame knows by name: "pid = 3, n = 1000, BLOCK = 128"."""
    found = []
    for name, value in frame.f_locals.items():
        if name.startswith("_"):
            continue  # of the rewriter, or of no interest
        shape = attribute(value, "shape")
        if isinstance(value, (bool, int, float)):
            found.append(f"{name} = {value}")
        elif _core.kernel.is_tensor(value) and not shape and not value.dtype.is_ptr():
            found.append(f"{name} = {_core.kernel.scalar_text(value)}")
    more = len(found) - _MOST_SCALARS
    return ", ".join(found[:_MOST_SCALARS]) + (f" and {more} more" if more > 0 else "")


def session():
    """What `tilewright check` does with the launches of this process; None where it runs none of it."""
    folder = knobs.runtime.check_session
    return _session_of(folder) if folder else None


@functools.cache
def _session_of(folder):
    return wiring.ask("session of a checked program")(folder)


def selected(text):
    """What TILEWRIGHT_CHECK asks for: a dict from each check's name to whether it is made.

    A name adds its check to those that are on by default, `-name` leaves it out, `all` and `none` begin
    with every check or with none. Bounds are checked whatever it says: an access outside would take the process
    along. Raises E0701 for a name that is no check's, and for `-bounds`.
    """
    table = {name: is_default for name, is_default, *_ in _core.interpreter_checks()}
    chosen = dict(table)
    if "-bounds" in text.replace(" ", "").split(","):
        raise errors.make("E0701", X="CHECK", v=text, type="bounds among the checks, which are always made")
    for word in (word.strip() for word in text.split(",")):
        if word in ("all", "none"):
            chosen = dict.fromkeys(table, word == "all")
        elif word.removeprefix("-") in table:
            chosen[word.removeprefix("-")] = not word.startswith("-")
        elif word:
            raise errors.make("E0701", X="CHECK", v=word, type=f"all, none, or names with commas: {', '.join(table)}")
    return chosen


def order_of_programs(text):
    """What TILEWRIGHT_ORDER asks for: whether the order is reversed, and the seed of a random one, 0 for none."""
    text = text.strip()
    if text in ("", "0", "reverse"):
        return text == "reverse", 0
    if text.isdecimal() and int(text) < 2**64:
        return False, int(text)
    raise errors.make("E0701", X="ORDER", v=text, type="0, reverse, or a seed, a positive number below 2^64")
