# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every op of the dialect says what it means, with an example that is a test.

    python tests/tools/check_ops.py

For each op of ir/dialect/*.td: a summary that is more than its name, a description,
and in the description, indented, at least one line with the op. These lines stand in the
round-trip tests, tests/lit/dialect/roundtrip*.mlir, as they are but for the names of values.
"""

import re
import sys

from tools.sources import files, read

OP = re.compile(r'^def TW_\w+Op : \w+<"(\w+)"', re.MULTILINE)
SUMMARY = re.compile(r'^  let summary = "([^"]*)";', re.MULTILINE)
DESCRIPTION = re.compile(r"^  let description = \[\{(.*?)\}\];", re.MULTILINE | re.DOTALL)
EXAMPLE = re.compile(r"^ {8,}(\S.*)$", re.MULTILINE)


def normal(line: str) -> str:
    """A line of IR without the names of values."""
    return " ".join(re.sub(r"%\w+", "%", line).split())


def op_problems(name: str, text: str, tested: set[str]) -> list[str]:
    """`text` is the op's definition, `tested` the lines of the tests."""
    summary, description = SUMMARY.search(text), DESCRIPTION.search(text)
    if not summary or summary.group(1).replace(" ", "_") in ("", name):
        return [f"tw.{name} has no summary"]
    if not description:
        return [f"tw.{name} has no description"]
    meaning, examples = EXAMPLE.sub("", description.group(1)), EXAMPLE.findall(description.group(1))
    problems = []
    if not meaning.strip():
        problems.append(f"tw.{name}: the description says nothing beside its example")
    lines = [line for line in examples if re.search(rf"\btw\.{name}\b", line)]
    if not lines:
        problems.append(f"tw.{name} has no example")
    return problems + [f"tw.{name}: no round-trip test has the example: {line}" for line in lines if normal(line) not in tested]


def table_problems(table: str, tests: list[str]) -> list[str]:
    tested = {normal(line) for test in tests for line in test.splitlines()}
    starts = list(OP.finditer(table))
    if not starts:
        return ["the table has no ops"]
    ends = [found.start() for found in starts[1:]] + [len(table)]
    problems = []
    for found, end in zip(starts, ends, strict=True):
        problems += op_problems(found.group(1), table[found.start() : end], tested)
    return problems


def problems() -> list[str]:
    tests = [read(path) for path in files(".mlir", folders=["tests/lit/dialect"]) if path.name.startswith("roundtrip")]
    return table_problems("".join(read(path) for path in files(".td", folders=["ir/dialect"])), tests)


if __name__ == "__main__":
    found = problems()
    print("\n".join(found) or "ops: ok")
    sys.exit(bool(found))
