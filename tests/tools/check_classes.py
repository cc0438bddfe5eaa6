# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How much a class of passes/ may hold.

    python tests/tools/check_classes.py [--table]

Short functions hide wide classes: what interacts by fields is read together, however short its
parts are. So a class or struct of passes/ has at most 25 methods and 10 fields. Counted is what
its body declares, constructors included; constants, types and friends are not. `--table` prints
the widest classes of all folders.
"""

import re
import sys

from tools.sources import files, read

METHODS, FIELDS = 25, 10

_HEAD = re.compile(r"^ *(?:template <[^{;]*> )?(?:class|struct)\s+(\w+)\b[^;{()=]*\{", re.MULTILINE)
_NO_MEMBER = re.compile(r"(using|friend|typedef|enum|static_assert|static constexpr|struct|class|union)\b")
_SILENT = re.compile(r'//[^\n]*|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)\'')


def _end_of_block(text: str, start: int) -> int:
    """The place after the brace that closes the one before `start`."""
    depth = 1
    while depth and start < len(text):
        depth += {"{": 1, "}": -1}.get(text[start], 0)
        start += 1
    return start


def _without_arguments(text: str) -> str:
    """A declaration without the arguments of its templates."""
    before = None
    while before != text:
        before, text = text, re.sub(r"<[^<>]*>", "", text)
    return text


def declarations(body: str):
    """The declarations of a class, with empty braces for the bodies of functions and types."""
    position, current = 0, ""
    while position < len(body):
        letter = body[position]
        position += 1
        current += letter
        if letter == "{":
            position = _end_of_block(body, position)
            current += "}"
            # A body ends the function; an initialiser or a type goes on to the semicolon.
            if "(" not in _without_arguments(current).partition("=")[0] or body[position : position + 1] in (";", ","):
                continue
        elif letter != ";":
            continue
        text = " ".join(re.sub(r"\b(?:public|private|protected):", "", current).split())
        if text.strip("; "):
            yield text
        current = ""


def members_of(body: str) -> tuple[int, int]:
    """Methods and fields that the body of a class declares."""
    methods = fields = 0
    for text in declarations(body):
        plain = _without_arguments(text)
        if _NO_MEMBER.match(re.sub(r"^template ", "", plain)):
            continue
        if "(" in plain.partition("=")[0] or "operator" in plain:
            methods += 1
        else:
            fields += re.sub(r"\{\}|=[^,;]*", "", plain).count(",") + 1
    return methods, fields


def classes_of(text: str):
    """(name, methods, fields) of each class and struct of a file, nested ones too."""
    text = _SILENT.sub(lambda found: "" if found[0].startswith("//") else '""', text)
    for head in _HEAD.finditer(text):
        yield (head[1], *members_of(text[head.end() : _end_of_block(text, head.end()) - 1]))


def problems_in(path, text: str) -> list[str]:
    return [
        f"{path}: {name} has {methods} methods and {fields} fields, {METHODS} and {FIELDS} at most"
        for name, methods, fields in classes_of(text)
        if methods > METHODS or fields > FIELDS
    ]


def problems() -> list[str]:
    return [p for path in files(".h", ".cpp", folders=["passes"]) for p in problems_in(path, read(path))]


def print_table():
    rows = [(row[1:], row[0], path) for path in files(".h", ".cpp") for row in classes_of(read(path))]
    for order in (0, 1):
        for counts, name, path in sorted(rows, key=lambda row: -row[0][order])[:10]:
            print(f"| {path}: {name} | {counts[0]} | {counts[1]} |")


if __name__ == "__main__":
    if "--table" in sys.argv:
        print_table()
        sys.exit()
    found = problems()
    print("\n".join(found) or "classes: ok")
    sys.exit(bool(found))
