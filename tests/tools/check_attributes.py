# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What stands in the IR is written by one place and read by another.

    python tests/tools/check_attributes.py

For each attribute that C++ names (`constexpr llvm::StringLiteral fooAttr = "tw.foo"`): code
asks for it by a function such as getAttr, getAttrOfType, getArgAttr or hasAttr, and some other use
writes it. An attribute without a reader promises something that no pass keeps. No attribute
is spelt out where it is used.

The same for what the description of a target says: a fact that no code asks for promises
instructions that are never made.
"""

import re
import sys

from tools.sources import files, read

FOLDERS = ["frontend", "ir", "passes", "codegen", "python/bindings"]

NAME = re.compile(r'\bconstexpr llvm::StringLiteral (\w+Attr)\s*=\s*"(tw\.\w+)";')
SPELT = re.compile(r'\b(?:get|has|set|remove)\w*Attr\w*(?:<[^<>;]*>)?\(\s*(?:[^;"()]*,\s*)?"(tw\.\w+)"')
TARGET = "ir/support/TargetInfo.h"
FACT = re.compile(r"^  (?:bool|int|int64_t|std::string|Multiprocessor) (\w+)(?: = [^;()]+)?;", re.MULTILINE)
_COMMENT = re.compile(r"//[^\n]*")


def attribute_problems(texts: dict[str, str]) -> list[str]:
    """`texts` are sources by path."""
    code = "\n".join(_COMMENT.sub("", text) for text in texts.values())
    names = NAME.findall(code)
    if not names:
        return ["no attribute has a name"]
    code = NAME.sub("", code)
    problems = []
    for name, attribute in names:
        reader = rf"\b(?:get|has)\w*Attr\w*(?:<[^<>;]*>)?\([^;{{}}]*\b{name}\b"
        if not re.search(reader, code):
            problems.append(f"{attribute} ({name}) has no reader")
        if not re.search(rf"\b{name}\b", re.sub(reader, "", code)):
            problems.append(f"{attribute} ({name}) has no writer")
    problems += [f"{path}: use the name of {found}" for path, text in texts.items() for found in SPELT.findall(text)]
    return problems


def fact_problems(description: str, texts: dict[str, str]) -> list[str]:
    """`description` is the header with the struct TargetInfo, `texts` are other sources by path."""
    start = description.find("struct TargetInfo {")
    facts = FACT.findall(description[start:]) if start >= 0 else []
    if not facts:
        return ["the target has no facts"]
    code = "\n".join(_COMMENT.sub("", text) for text in texts.values())
    return [f"{fact} of TargetInfo has no reader" for fact in facts if not re.search(rf"(?:\.|->){fact}\b(?!\s*=[^=])", code)]


def problems() -> list[str]:
    texts = {path.as_posix(): read(path) for path in files(".h", ".cpp", folders=FOLDERS)}
    description = texts.pop(TARGET)
    return attribute_problems(texts | {TARGET: description}) + fact_problems(description, texts)


if __name__ == "__main__":
    found = problems()
    print("\n".join(found) or "attributes: ok")
    sys.exit(bool(found))
