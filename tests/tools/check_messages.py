# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every message that the code can raise has a test that matches its text.

    python tests/tools/check_messages.py

The catalogue is ir/support/ErrorCatalogue.def. A code is raised where C++ names
ErrorCode::E0106 or Python passes "E0106" to errors.make or errors.warn. A test of
it names the code and holds the longest literal piece of its first line. Codes that
nothing raises yet stand in NOT_RAISED: one that is raised must leave the table.
"""

import re
import sys

from tools.sources import ROOT, files, read

# Codes of the catalogue that no code raises yet.
NOT_RAISED: set[str] = set()

ROW = re.compile(r'TILEWRIGHT_ERROR\(\s*([EW]\d{4}),\s*"(\w+)",\s*((?:"(?:[^"\\]|\\.)*"\s*)+),\s*((?:"(?:[^"\\]|\\.)*"\s*)+)\)')
# In C++ by the enumeration, or as a call of Python's function by its name; in Python by a call.
RAISED = re.compile(r"ErrorCode::([EW]\d{4})\b|\b(?:make|warn|from_native)(?:\"\))?\(\s*[\"']([EW]\d{4})[\"']")


def text_of(literals: str) -> str:
    """Adjacent C string literals as one text."""
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literals)).replace('\\"', '"')


def catalogue(text: str) -> list[tuple[str, str, str, str]]:
    """Rows: code, class, first line, help."""
    return [(code, name, text_of(message), text_of(help)) for code, name, message, help in ROW.findall(text)]


def longest_literal(message: str) -> str:
    """The longest piece of a pattern between its placeholders."""
    return max((piece.strip() for piece in re.split(r"\{[^}]*\}", message)), key=len)


def raised_in(text: str) -> set[str]:
    return {a or b for a, b in RAISED.findall(text)}


def message_problems(rows, raised: set[str], tests: dict[str, str], not_raised=NOT_RAISED) -> list[str]:
    problems = []
    known = {row[0] for row in rows}
    problems += [f"{code} is raised but not in the catalogue" for code in sorted(raised - known)]
    problems += [f"NOT_RAISED lists {code}, which is not in the catalogue" for code in sorted(not_raised - known)]
    for code, _, message, _ in rows:
        if code not in raised:
            if code not in not_raised:
                problems.append(f"{code} is raised nowhere: list it in NOT_RAISED")
            continue
        if code in not_raised:
            problems.append(f"{code} is raised now: take it out of NOT_RAISED")
        literal = longest_literal(message)
        # Tests may escape the text for a regular expression.
        if not any(code in text and literal in text.replace("\\", "") for text in tests.values()):
            problems.append(f'{code} has no test that names it and holds "{literal}"')
    return problems


def problems() -> list[str]:
    rows = catalogue((ROOT / "ir/support/ErrorCatalogue.def").read_text())
    raised: set[str] = set()
    for path in files(".cpp", ".h", ".py", folders=["frontend", "ir", "passes", "codegen", "runtime", "autotune", "python"]):
        raised |= raised_in(read(path))
    tests = {str(path): read(path) for path in files(".py", ".cpp", ".mlir", folders=["tests"])
             if not path.name.startswith("check_")}
    return message_problems(rows, raised, tests)


if __name__ == "__main__":
    found = problems()
    print("\n".join(found) or "messages: ok")
    sys.exit(bool(found))
