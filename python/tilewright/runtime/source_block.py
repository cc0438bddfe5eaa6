# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where a function ends in its file, and its text without what means nothing.

One pass over the text with one regular expression. The standard library's way
(`inspect.getsource`) tokenizes in Python and looks through all modules, which takes
longer than a kernel that is in the cache may take to its launch.
"""

from __future__ import annotations

import re

_QUOTED = r"""[rRbBuUfF]{0,2}(?:\"{3}(?:\\.|[^\\])*?\"{3}|'{3}(?:\\.|[^\\])*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')"""
_TOKEN = re.compile(rf"""
    (?P<string>{_QUOTED})
  | (?P<comment>\#[^\n]*)
  | (?P<joined>\\\r?\n[ \t\f]*)
  | (?P<newline>\r?\n[ \t\f]*)
  | (?P<open>[(\[{{])
  | (?P<close>[)\]}}])
  | (?P<space>[ \t\f]+)
  | (?P<word>\w+)
  | (?P<other>.)
""", re.VERBOSE | re.DOTALL)


def _width(space: str) -> int:
    return len(space.replace("\r", "").lstrip("\n").expandtabs(8))


def scan(lines, start) -> tuple[int, str]:
    """(number of lines of the function whose first line is `lines[start]`, its meaning).

    The meaning is the text from `def` on without comments, blank lines, the place and depth of the
    indentation, and spaces that separate nothing. Two texts of one meaning compile
    alike; a text with an f-string, whose nested quotes are not followed here, means
    itself.
    """
    text = "".join(lines[start:])
    indent = len(lines[start]) - len(lines[start].lstrip(" \t\f"))
    base = _width(text[:indent])
    depth, seen_def, start_of_def, last = 0, False, 0, 0
    at_line_start, indents, kept, exact = True, [base], [], True
    pending = base  # indentation of the logical line that starts
    for token in _TOKEN.finditer(text, indent):
        kind, value = token.lastgroup, token.group()
        if kind == "comment":
            continue
        if kind == "newline":
            if depth == 0:
                pending, at_line_start = _width(value), True
            elif kept[-1] != " ":
                kept.append(" ")
            continue
        if kind in ("space", "joined"):
            if kept and kept[-1] not in (" ", "\n"):
                kept.append(" ")
            continue
        if at_line_start:
            # A logical line starts: the first one not deeper than `def` ends it all.
            if seen_def and pending <= base:
                break
            # A lambda, say: what follows its line is something else.
            if not seen_def and kept and (value not in ("@", "def", "async") or kept[1] != "@"):
                break
            if kept:
                if kept[-1] == " ":
                    kept.pop()
                kept.append("\n")
            while len(indents) > 1 and pending < indents[-1]:
                indents.pop()
            if pending > indents[-1]:
                indents.append(pending)
            kept.append("\t" * (len(indents) - 1))
            if not seen_def and value in ("def", "async"):
                seen_def, start_of_def = True, token.start()
                kept.clear()  # decorators say how it is launched, not what it means
            at_line_start = False
        if kind == "open":
            depth += 1
        elif kind == "close":
            depth -= 1
        elif kind == "string" and "f" in value[:value.find(value[-1])].lower():
            exact = False
        kept.append(value)
        last = token.end()
    count = text.count("\n", 0, last) + 1
    return count, _tight("".join(kept).rstrip()) if exact else text[start_of_def:last]


# Spaces beside punctuation separate nothing; strings are passed over.
_SPACES = re.compile(rf"({_QUOTED}|\n\t*)|(?<=[^\w\s\"']) (?=\S)|(?<=[\w\"']) (?=[^\w\s\"'])", re.DOTALL)


def _tight(text: str) -> str:
    return _SPACES.sub(lambda m: m.group(1) or "", text)
