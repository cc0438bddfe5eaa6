# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes docs/errors.md and docs/knobs.md from the tables of the C++ sources.

    python scripts/generate_docs.py          # or: make docs

tests/tools/test_docs.py fails when a page is not what this script would write.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from tools.check_messages import catalogue, text_of  # noqa: E402

GROUPS = [
    ("E01", "The kernel breaks a rule of the language"),
    ("W01", "The kernel breaks a rule of the language"),
    ("E02", "The launch is wrong"),
    ("E03", "It does not fit, or cannot be assembled"),
    ("E04", "At run time"),
    ("W05", "The cache"),
    ("E05", "The cache"),
    ("E06", "Tuning"),
    ("W06", "Tuning"),
    ("E07", "Settings and installation"),
    ("W07", "Settings and installation"),
    ("E08", "IR given as text"),
    ("E09", "Our own mistakes"),
]

KNOB = re.compile(
    r'TILEWRIGHT_KNOB\(\s*(\w+),\s*(\w+),\s*("[^"]*"),\s*("[^"]*"),\s*("[^"]*"),\s*("[^"]*"),'
    r'\s*((?:"(?:[^"\\]|\\.)*"\s*)+)\)'
)


def errors_page(text: str) -> str:
    """Every code with its class, first line and help."""
    lines = [
        "# Errors",
        "",
        "<!-- Written by scripts/generate_docs.py from ir/support/ErrorCatalogue.def: do not edit. -->",
        "",
        "An error prints its class and code with one sentence, the line of the kernel with a caret, the call chain, and one",
        "thing to do. Words in braces stand for values. Codes that start with W are warnings, issued once per cause.",
        "",
    ]
    seen = None
    for code, name, message, help in catalogue(text):
        title = next(title for prefix, title in GROUPS if code.startswith(prefix))
        if title != seen:
            lines += [f"## {title}", ""]
            seen = title
        lines += [f"### {code}", "", f"`{name}[{code}] {message}`", "", f"Help: {help}", ""]
    return "\n".join(lines)


def knobs_page(text: str) -> str:
    """Every switch: environment variable, Python attribute, default, meaning."""
    lines = [
        "# Switches",
        "",
        "<!-- Written by scripts/generate_docs.py from ir/support/Knobs.def: do not edit. -->",
        "",
        "Each is an environment variable and an attribute of `tilewright.knobs`. "
        "Where the meaning is the same, Triton's name of the",
        "variable works too. A value of the wrong type is an error, an unknown variable with our prefix a warning.",
        "",
        "| variable | `tilewright.knobs` | type | default | meaning |",
        "|---|---|---|---|---|",
    ]
    for name, kind, default, group, attribute, alias, meaning in KNOB.findall(text):
        default, group, attribute, alias, meaning = map(text_of, (default, group, attribute, alias, meaning))
        variable = f"`TILEWRIGHT_{name}`" + (f", `{alias}`" if alias else "")
        lines.append(
            f"| {variable} | `{group}.{attribute}` | {kind.lower()} | {f'`{default}`' if default else ''} | {meaning} |"
        )
    return "\n".join(lines) + "\n"


def pages() -> dict[str, str]:
    """Path below the root -> text."""
    support = ROOT / "ir" / "support"
    return {
        "docs/errors.md": errors_page((support / "ErrorCatalogue.def").read_text()),
        "docs/knobs.md": knobs_page((support / "Knobs.def").read_text()),
    }


if __name__ == "__main__":
    for path, text in pages().items():
        (ROOT / path).write_text(text)
        print(path)
