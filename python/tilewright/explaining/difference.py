# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The differences of two explanations: of two configurations of a kernel, or of two versions of it."""

from __future__ import annotations

from .findings import describe


def _figures(explanation) -> dict:
    occupancy = explanation.occupancy
    figures = {
        **explanation.configuration,
        **{name.replace("_", " "): value for name, value in explanation.resources.items() if name != "assembler"},
        "blocks at once": occupancy["blocks"],
        "limited by": ", ".join(occupancy["limited_by"]).replace("_", " "),
    }
    return {**figures, **{f"instructions: {kind}": count for kind, count in explanation.mix}}


def _decisions(explanation) -> dict:
    """{(text of the line, decision): line number}"""
    return {
        (line.text.strip(), f"{remark['kind']}: {describe(remark)}"): line.number
        for line in explanation.lines()
        for remark in line.remarks
    }


def figures(first, second) -> list:
    """[(name, the first's, the second's)] of the figures that differ, as texts."""
    before, after = _figures(first), _figures(second)
    return [
        (name, _shown(before.get(name)), _shown(after.get(name)))
        for name in {**before, **after}
        if before.get(name) != after.get(name)
    ]


def render(first, second) -> str:
    """Figures and decisions that only one of the two has."""
    rows = figures(first, second)
    width = max((len(name) for name, _, _ in rows), default=0)
    lines = [f"{first.name} for {first.target} against {second.name} for {second.target}", ""]
    lines += [f"  {name:<{width}}  {before:>12}  {after:>12}" for name, before, after in rows]
    ours, theirs = _decisions(first), _decisions(second)
    changed = [(number, "-", decision) for decision, number in ours.items() if decision not in theirs]
    changed += [(number, "+", decision) for decision, number in theirs.items() if decision not in ours]
    last = None
    for number, sign, (text, decision) in sorted(changed, key=lambda row: (row[0], row[2][0], row[1] == "+")):
        if (number, text) != last:
            lines += ["", f"{number:>5}  {text}"]
            last = (number, text)
        lines.append(f"       {sign} {decision}")
    return "\n".join(lines if rows or changed else [*lines, "  nothing differs"])


def _shown(value) -> str:
    return "-" if value is None else f"{value:,}" if type(value) is int else str(value)
