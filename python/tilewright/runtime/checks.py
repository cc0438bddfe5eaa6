# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which mistakes the interpreter looks for, and in which order it runs programs."""

from __future__ import annotations

from .. import _core, errors

__all__ = ["order_of_programs", "selected"]


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


def order_of_programs(text):
    """What TILEWRIGHT_ORDER asks for: whether the order is reversed, and the seed of a random one, 0 for none."""
    text = text.strip()
    if text in ("", "0", "reverse"):
        return text == "reverse", 0
    if text.isdecimal() and int(text) < 2**64:
        return False, int(text)
    raise errors.make("E0701", X="ORDER", v=text, type="0, reverse, or a seed, a positive number below 2^64")
