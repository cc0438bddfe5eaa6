# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which mistakes the interpreter looks for."""

from __future__ import annotations

from .. import _core, errors

__all__ = ["selected"]


def selected(text):
    """What TILEWRIGHT_CHECK asks for: a dict from each check's name to whether it is made.

    A name adds its check to those that are on by default, `-name` leaves it out, `all` and `none` begin
    with every check or with none. Bounds are checked whatever it says: an access outside would take the process
    along. Raises E0701 for a name that is no check's, and for `-bounds`.
    """
    table = {name: is_default for name, is_default, _ in _core.interpreter_checks()}
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
