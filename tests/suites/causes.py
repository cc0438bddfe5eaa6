# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a failed test says, made small: its error's first line, its code, and a cause that alike failures share."""

import re
from collections import Counter

CODE = re.compile(r"\bE0\d{3}\b")
# pytest marks the lines of an error with "E   ".
ERROR_LINE = re.compile(r"^E\s{3,}(?P<text>\S.*)$", re.MULTILINE)
LAST_ERROR = re.compile(r"^(?P<text>[A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Failure|OutOfResources)\b.*)$", re.MULTILINE)
LONGEST_LINE = 300


def first_line(text: str) -> str:
    """The line that says what went wrong."""
    lines = [match["text"] for match in ERROR_LINE.finditer(text)]
    if lines:
        # An error that was raised while another was handled stands last and is the one that the test saw.
        starts = [line for line in lines if re.match(r"[A-Za-z_][\w.]*(Error|Exception|Failure|OutOfResources|Skipped)?:", line)]
        return (starts[-1] if starts else lines[0])[:LONGEST_LINE]
    named = [match["text"] for match in LAST_ERROR.finditer(text)]
    if named:
        return named[-1][:LONGEST_LINE]
    return next((line.strip() for line in text.splitlines() if line.strip()), "")[:LONGEST_LINE]


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
        group = groups.setdefault(key, {"code": key[0], "cause": key[1], "count": 0, "suites": Counter(), "example": failure["id"]})
        group["count"] += 1
        group["suites"][failure["suite"]] += 1
    ordered = sorted(groups.values(), key=lambda group: -group["count"])
    return [{**group, "suites": dict(group["suites"])} for group in ordered]
