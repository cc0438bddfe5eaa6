# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a failed test says, made small: its error's first line, its code, and a cause that alike failures share."""

import re
from collections import Counter

CODE = re.compile(r"\bE0\d{3}\b")
# pytest marks the lines of an error with "E   ".
MARKED = re.compile(r"^E\s{3,}(?P<text>\S.*)$", re.MULTILINE)
NAMED = re.compile(r"^[A-Za-z_][\w.]*(Error|Exception|Interrupt|Failure|Exit|Timeout|OutOfResources|Unsupported\w*)\b")
# Of a compiler's message: what it says, not where and not the advice.
PLACE_OR_ADVICE = re.compile(r"^(help|note|Hint|at \d+|-->|\d+ \||\^|\.\.\.)")
LONGEST_LINE = 300


def first_line(text: str) -> str:
    """The line that says what went wrong."""
    marked = [match["text"] for match in MARKED.finditer(text)]
    lines = marked or [line.strip() for line in text.splitlines() if line.strip()]
    told = [line for line in lines if not PLACE_OR_ADVICE.match(line)]
    # An error that was raised while another was handled stands last, and is the one that the test saw.
    named = [line for line in told if NAMED.match(line)]
    if named:
        after = lines[lines.index(named[-1]) + 1 :]
        # A compiler's error is often told below its name.
        if after and named[-1].rstrip(":").split(":")[-1].strip().startswith("at ") or named[-1].endswith(":"):
            named[-1] += " " + next((line for line in reversed(after) if not PLACE_OR_ADVICE.match(line)), "")
        return named[-1][:LONGEST_LINE]
    if text.startswith("exit code"):  # a program's last words
        return (told or lines)[-1][:LONGEST_LINE]
    return (told or lines or [""])[0][:LONGEST_LINE]


def error_code(text: str) -> str:
    found = CODE.findall(text)
    return found[-1] if found else ""


def cause(text: str) -> str:
    """A failure's first line without what differs between alike failures: numbers, addresses, quoted names, paths."""
    line = first_line(text)
    line = re.sub(r"0x[0-9a-fA-F]+", "0x..", line)
    line = re.sub(r"(/[\w.+-]+)+/", "", line)
    line = re.sub(r"-?\d+(\.\d+)?([eE][+-]?\d+)?", "#", line)
    line = re.sub(r"(tensor|array)\(.*", r"\1(..)", line)
    return line[:160]


def grouped(failures) -> list:
    """[{cause, code, count, suites, example}], the largest first."""
    groups = {}
    for failure in failures:
        key = (failure["code"], failure["cause"])
        group = groups.setdefault(
            key, {"code": key[0], "cause": key[1], "count": 0, "suites": Counter(), "example": failure["id"]}
        )
        group["count"] += 1
        group["suites"][failure["suite"]] += 1
    ordered = sorted(groups.values(), key=lambda group: -group["count"])
    return [{**group, "suites": dict(group["suites"])} for group in ordered]
