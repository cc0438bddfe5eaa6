# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An explanation as one HTML page: style, script and data are inside."""

from __future__ import annotations

import html
import json
import os

from . import findings as found
from .findings import bytes_text, describe, moved_bytes, severity

_FOLDER = os.path.dirname(os.path.abspath(__file__))
_MOST_INSTRUCTIONS = 400  # of a line that are shown


def _asset(name) -> str:
    with open(os.path.join(_FOLDER, name), encoding="utf-8") as file:
        return file.read()


def escaped(value) -> str:
    return html.escape(str(value))


# ---------------------------------------------------------------------------
# Parts
# ---------------------------------------------------------------------------


def figure_cards(explanation) -> str:
    resources, occupancy = explanation.resources, explanation.occupancy
    cards = [
        ("registers", resources["registers"], f"in a thread; {resources['spilled_bytes'] or 0} bytes spilled"),
        ("shared memory", f"{resources['shared_bytes']:,}", "bytes of a block"),
        ("threads", resources["threads"], f"{resources['threads'] // 32} warps"),
        ("blocks at once", occupancy["blocks"], "limited by " + ", ".join(occupancy["limited_by"]).replace("_", " ")),
    ]
    measured = explanation.measured or {}
    if measured.get("mean_seconds") is not None:
        share = measured.get("roofline_share")
        cards.append(
            (
                "measured",
                f"{measured['mean_seconds'] * 1e6:.1f} us",
                "a launch" if share is None else f"{share:.0%} of the roofline ({measured['limit']})",
            )
        )
    return "".join(
        f'<div class="card"><small>{escaped(name)}</small><b>{escaped(value)}</b><span>{escaped(note)}</span></div>'
        for name, value, note in cards
    )


def what_stands_out(explanation, side="") -> str:
    rows = []
    for kind, number, sentence in found.findings(explanation):
        place = f'<a href="#L{side}{number}">line {number}</a> ' if number else ""
        rows.append(f'<li class="{kind or "plain"}">{place}{escaped(sentence)}</li>')
    return f"<ul class='findings'>{''.join(rows)}</ul>"


def _instructions(name, lines) -> str:
    if not lines:
        return ""
    shown = "\n".join(lines[:_MOST_INSTRUCTIONS])
    more = f"\n... and {len(lines) - _MOST_INSTRUCTIONS} more" if len(lines) > _MOST_INSTRUCTIONS else ""
    return f"<details><summary>{name}, {len(lines)} instructions</summary><pre>{escaped(shown + more)}</pre></details>"


def _tile(tile, numbers) -> str:
    """The drawing is made by the script when it is unfolded; equal layouts share their data."""
    shape, count = "x".join(map(str, tile["shape"])), moved_bytes(tile)
    moved = "" if count is None else f", {count:,} bytes"
    layout = json.dumps([tile["shape"], *(tile[name] for name in ("register", "lane", "warp", "block"))], separators=(",", ":"))
    number = numbers.setdefault(layout, len(numbers))
    return (
        f'<details class="tile"><summary>{escaped(tile["op"])}: tile&lt;{shape}x{escaped(tile["type"])}&gt;{moved}</summary>'
        f'<canvas data-layout="{number}"></canvas><p class="hover"></p></details>'
    )


def source_line(line, numbers, side="", mark="") -> str:
    """`side` tells the lines of two explanations on one page apart, `mark` is a class more."""
    remarks = "".join(
        f'<li class="{severity(r) or "plain"}"><b>{escaped(r["kind"])}</b> {escaped(describe(r))}</li>' for r in line.remarks
    )
    details = "".join(
        (
            f"<ul>{remarks}</ul>" if remarks else "",
            "".join(_tile(tile, numbers) for tile in line.tiles),
            _instructions("PTX", line.ptx),
            _instructions("SASS", line.sass),
        )
    )
    worst = next((kind for kind in ("bad", "good") if any(severity(r) == kind for r in line.remarks)), "")
    count = len(line.sass) or len(line.ptx)
    alive = "" if line.registers is None else f'<i title="registers alive">{line.registers}</i>'
    badges = f'<span class="badges">{alive}{f"<i title=instructions>{count}</i>" if count else ""}</span>'
    code = f'<span class="no">{line.number}</span><code>{escaped(line.text) or " "}</code>{badges}'
    if not details:
        return f'<div class="line {mark}" id="L{side}{line.number}"><div class="head">{code}</div></div>'
    return (
        f'<details class="line {worst} {mark}" id="L{side}{line.number}"><summary class="head">{code}</summary>'
        f'<div class="body">{details}</div></details>'
    )


def shared_memory(explanation) -> str:
    """Shared memory over the program: time to the right, addresses downwards."""
    pieces = explanation.shared
    if not pieces:
        return "<p>The kernel uses no shared memory.</p>"
    top = max(piece["offset"] + piece["bytes"] for piece in pieces)
    shapes = []
    for number, piece in enumerate(pieces):
        x, width = (
            1000 * piece["first"] / explanation.positions,
            1000 * (piece["last"] - piece["first"] + 1) / explanation.positions,
        )
        y, height = 240 * piece["offset"] / top, 240 * piece["bytes"] / top
        title = f"{piece['what']}: bytes {piece['offset']:,} to {piece['offset'] + piece['bytes']:,}, {piece['place']}"
        shapes.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 2):.1f}" height="{max(height, 1.5):.1f}" '
            f'class="c{number % 6}"><title>{escaped(title)}</title></rect>'
        )
    rows = "".join(
        f'<tr><td class="c{n % 6}"></td><td>{p["offset"]:,}</td><td>{p["bytes"]:,}</td><td>{escaped(p["what"])}</td></tr>'
        for n, p in enumerate(pieces)
    )
    return (
        f'<svg viewBox="0 0 1000 240" preserveAspectRatio="none" class="shared">{"".join(shapes)}</svg>'
        "<p class='note'>The program's operations run from left to right, addresses from top to bottom.</p>"
        f"<div class='scroll'><table><tr><th></th><th>offset</th><th>bytes</th><th>what</th></tr>{rows}</table></div>"
    )


def instruction_mix(explanation) -> str:
    total = sum(count for _, count in explanation.mix) or 1
    rows = "".join(
        f"<tr><td>{escaped(kind)}</td><td>{count}</td>"
        f'<td class="bar"><span style="width:{100 * count / total:.1f}%"></span></td></tr>'
        for kind, count in explanation.mix
    )
    return f"<div class='scroll'><table>{rows}</table></div><p class='note'>Counted in {explanation.mix_of}, loops once.</p>"


def work_of_program(explanation) -> str:
    return f"<ul>{''.join(f'<li>{escaped(line)}</li>' for line in bytes_text(explanation.work))}</ul>"


# ---------------------------------------------------------------------------
# The page
# ---------------------------------------------------------------------------


def configuration_text(explanation) -> str:
    return ", ".join(f"{name}={value}" for name, value in explanation.configuration.items())


def document(title, body, numbers, kind="") -> str:
    """A whole page; `numbers` has the layouts that it draws."""
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{escaped(title)}</title><style>{_asset('page.css')}</style></head><body><main class='{kind}'>"
        f"{body}</main><script>const layouts=[{','.join(numbers)}];{_asset('page.js')}</script></body></html>"
    )


def section(title, content) -> str:
    return f"<section><h2>{title}</h2>{content}</section>"


def render(explanation) -> str:
    numbers: dict = {}
    source = "".join(
        f"<h3>{escaped(part.name)} <small>{escaped(part.file)}</small></h3>"
        f'<div class="source">{"".join(source_line(l, numbers) for l in part.lines)}</div>'
        for part in explanation.sections
    )
    signature = ", ".join(f"{name}: {kind}" for name, kind in explanation.signature.items())
    parts = (
        ("What stands out", what_stands_out(explanation)),
        (
            "Line by line",
            "<p class='note'>Lines with a mark unfold: what was decided there, tiles with their threads, code. "
            "On the right: registers alive where nvdisasm tells them, and instructions.</p>" + source,
        ),
        ("Work of one program", work_of_program(explanation)),
        ("Shared memory", shared_memory(explanation)),
        ("Instructions", instruction_mix(explanation)),
    )
    body = (
        f"<h1>{escaped(explanation.name)} <small>for {escaped(explanation.target)}</small></h1>"
        f"<p class='note'>{escaped(configuration_text(explanation))}<br>{escaped(signature)}</p>"
        f"<div class='cards'>{figure_cards(explanation)}</div>"
    )
    return document(f"{explanation.name}, {explanation.target}", body + "".join(section(*part) for part in parts), numbers)
