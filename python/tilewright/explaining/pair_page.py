# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two explanations on one HTML page, side by side: of the parts of page.py, with the lines of both aligned by their text."""

from __future__ import annotations

import difflib

from . import difference, page


def _titles(first, second) -> tuple:
    """What tells the two apart, for the heads of the columns."""
    ours, theirs = first.configuration, second.configuration
    names = [name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)]
    if first.name != second.name or not names:
        return tuple(f"{side.name}: {page.configuration_text(side)}" for side in (first, second))
    return tuple(", ".join(f"{name}={side.get(name, '-')}" for name in names) for side in (ours, theirs))


def _figures(first, second, titles) -> str:
    rows = "".join(
        f"<tr><td>{page.escaped(name)}</td><td>{page.escaped(before)}</td><td>{page.escaped(after)}</td></tr>"
        for name, before, after in difference.figures(first, second)
    )
    if not rows:
        return "<p>No figure differs.</p>"
    head = "".join(f"<th>{page.escaped(title)}</th>" for title in titles)
    return f"<div class='scroll'><table><tr><th></th>{head}</tr>{rows}</table></div>"


def _columns(left: str, right: str) -> str:
    return f"<div class='pair'><div>{left}</div><div>{right}</div></div>"


def _aligned(left: list, right: list):
    """(line or None, line or None) in the order of the texts."""
    matcher = difflib.SequenceMatcher(
        None, [line.text.strip() for line in left], [line.text.strip() for line in right], autojunk=False
    )
    for _, first, last, other_first, other_last in matcher.get_opcodes():
        ours, theirs = left[first:last], right[other_first:other_last]
        for position in range(max(len(ours), len(theirs))):
            yield (ours[position] if position < len(ours) else None), (theirs[position] if position < len(theirs) else None)


def _decisions(line) -> set:
    return set() if line is None else {str(sorted(remark.items(), key=str)) for remark in line.remarks}


def _lines(left: list, right: list, numbers: dict) -> str:
    rows = []
    for ours, theirs in _aligned(left, right):
        mark = "" if _decisions(ours) == _decisions(theirs) else "differs"
        cells = (
            "" if line is None else page.source_line(line, numbers, side, mark) for line, side in ((ours, "A"), (theirs, "B"))
        )
        rows.append(_columns(*cells))
    return "".join(rows)


def _source(first, second, numbers) -> str:
    """The functions of both, in the order of the first; one that only the other has stands last."""
    others = {part.name: part for part in second.sections}
    if first.sections and second.sections and first.sections[0].name != second.sections[0].name:
        others[first.sections[0].name] = others.pop(second.sections[0].name)  # two versions of the kernel
    parts = [(part.name, part.lines, others[part.name].lines if part.name in others else []) for part in first.sections]
    ours = {part.name for part in first.sections}
    parts += [(name, [], part.lines) for name, part in others.items() if name not in ours]
    return "".join(
        f"<h3>{page.escaped(name)}</h3><div class='source'>{_lines(left, right, numbers)}</div>" for name, left, right in parts
    )


def render(first, second) -> str:
    """The page of `tilewright explain --diff OTHER -o PAGE`."""
    numbers: dict = {}
    titles = _titles(first, second)
    targets = first.target if first.target == second.target else f"{first.target} and {second.target}"
    names = first.name if first.name == second.name else f"{first.name} and {second.name}"
    head = _columns(
        *(
            f"<h2>{page.escaped(title)}</h2><p class='note'>{page.escaped(page.configuration_text(side))}</p>"
            f"<div class='cards'>{page.figure_cards(side)}</div>"
            for title, side in zip(titles, (first, second))
        )
    )
    parts = [
        ("Figures that differ", _figures(first, second, titles)),
        ("What stands out", _columns(page.what_stands_out(first, "A"), page.what_stands_out(second, "B"))),
        (
            "Line by line",
            "<p class='note'>Lines with a mark unfold. Where the decisions at a line differ, it has a coloured ground.</p>"
            + _source(first, second, numbers),
        ),
    ]
    parts += [
        (title, _columns(part(first), part(second)))
        for title, part in (
            ("Work of one program", page.work_of_program),
            ("Shared memory", page.shared_memory),
            ("Instructions", page.instruction_mix),
        )
    ]
    body = f"<h1>{page.escaped(names)} <small>for {page.escaped(targets)}, side by side</small></h1>{head}"
    return page.document(f"{names}, side by side", body + "".join(page.section(*part) for part in parts), numbers, "wide")
