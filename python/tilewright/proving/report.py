# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The answers of a proof, as a table and as plain values."""

from __future__ import annotations

__all__ = ["row", "text"]

_COLUMNS = ("line", "access", "array", "bounds", "races", "mask", "wraps")


def place(access):
    """The line of an access, and those of the calls that led to it: "44 < 87"."""
    return " < ".join(str(frame[2]) for frame in access.frames)


def row(finding):
    """The answers about one access as plain values."""
    access = finding.access
    answers = {}
    for name in ("bounds", "races", "wraps"):
        outcome = getattr(finding, name)
        answers[name] = {"verdict": outcome.verdict}
        if outcome.reason:
            answers[name]["reason"] = outcome.reason
        if outcome.witness:
            answers[name]["witness"] = outcome.witness
    file, function, line, column = access.frames[0] if access.frames else ("", "", 0, 0)
    return {
        "file": file,
        "function": function,
        "line": line,
        "column": column,
        "called_from": [f[2] for f in access.frames[1:]],
        "access": access.kind,
        "array": ", ".join(access.arrays),
        "mask": finding.mask,
        **answers,
        "seconds": round(finding.seconds, 3),
    }


def _cells(finding):
    wraps = {"proved": "no", "refuted": "yes"}.get(finding.wraps.verdict, finding.wraps.verdict)
    return (
        place(finding.access),
        finding.access.kind,
        ", ".join(finding.access.arrays) or "?",
        finding.bounds.verdict,
        finding.races.verdict,
        finding.mask,
        wraps,
    )


def _numbers(values):
    return "(" + ", ".join(map(str, values)) + ")"


def _example(witness):
    """A witness in one sentence."""
    parts = []
    if witness["sizes"]:
        parts.append(", ".join(f"{name} = {value}" for name, value in witness["sizes"].items()))
    parts.append(f"grid {_numbers(witness['grid'])}")
    where = f"program {_numbers(witness['program'])}"
    parts.append(where + (f", lane {_numbers(witness['lane'])}" if witness["lane"] else ""))
    if "other program" in witness:
        parts.append(f"program {_numbers(witness['other program'])} at line {witness['other line']}")
    if "size" in witness:
        parts.append(f"'{witness['array']}'[{witness['element']}] of {witness['size']} elements")
    elif "array" in witness:
        parts.append(f"'{witness['array']}'[{witness['element']}]")
    if "number" in witness:
        parts.append(f"{witness['number']} in {witness['bits']} bits at line {witness['line']}")
    if witness.get("confirmed"):
        parts.append("the interpreter finds it: " + witness["report"])
    elif "confirmed" in witness and witness["confirmed"] is None:
        parts.append("too large to be run")
    return "; ".join(parts)


def _notes(finding):
    """What the table has no room for."""
    for name in ("bounds", "races", "wraps"):
        outcome = getattr(finding, name)
        if outcome.verdict == "refuted" and outcome.witness:
            yield f"{name}: {_example(outcome.witness)}"
        elif outcome.reason:
            yield f"{name}: {outcome.reason}"
    if finding.mask == "superfluous":
        yield "mask: always true"


def text(proof):
    """The table of a proof, with a note for each answer that is not "proved"."""
    rows = [_COLUMNS, *(_cells(finding) for finding in proof.findings)]
    widths = [max(len(cells[i]) for cells in rows) for i in range(len(_COLUMNS))]
    lines = [f"{proof.kernel}: {proof.about} ({proof.seconds:.1f} s)"]
    for number, cells in enumerate(rows):
        lines.append("  " + "  ".join(cell.ljust(width) for cell, width in zip(cells, widths)).rstrip())
        if number:
            lines += [f"      {note}" for note in dict.fromkeys(_notes(proof.findings[number - 1]))]
    return "\n".join(lines)
