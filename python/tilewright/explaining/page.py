# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An explanation as one HTML page: style, script and data are inside."""

from __future__ import annotations

import html
import json
import os

from .findings import bytes_text, describe, findings, moved_bytes, severity

_FOLDER = os.path.dirname(os.path.abspath(__file__))
_MOST_INSTRUCTIONS = 400  # of a line that are shown


def _asset(name) -> str:
    with open(os.path.join(_FOLDER, name), encoding="utf-8") as file:
        return file.read()


def _e(value) -> str:
    return html.escape(str(value))


# ---------------------------------------------------------------------------
# Parts
# ---------------------------------------------------------------------------


def _cards(explanation) -> str:
    resources, occupancy = explanation.resources, explanation.occupancy
    cards = [("registers", resources["registers"], f"{resources['spilled_bytes'] or 0} bytes spilled"),
             ("shared memory", f"{resources['shared_bytes']:,}", "bytes of a block"),
             ("threads", resources["threads"], f"{resources['threads'] // 32} warps"),
             ("blocks at once", occupancy["blocks"], "limited by " + ", ".join(occupancy["limited_by"]).replace("_", " "))]
    measured = explanation.measured or {}
    if measured.get("mean_seconds") is not None:
        share = measured.get("roofline_share")
        cards.append(("measured", f"{measured['mean_seconds'] * 1e6:.1f} us",
                      "a launch" if share is None else f"{share:.0%} of the roofline ({measured['limit']})"))
    return "".join(f'<div class="card"><small>{_e(name)}</small><b>{_e(value)}</b><span>{_e(note)}</span></div>'
                   for name, value, note in cards)


def _findings(explanation) -> str:
    rows = []
    for kind, number, sentence in findings(explanation):
        place = f'<a href="#L{number}">line {number}</a> ' if number else ""
        rows.append(f'<li class="{kind or "plain"}">{place}{_e(sentence)}</li>')
    return f"<ul class='findings'>{''.join(rows)}</ul>"


def _instructions(name, lines) -> str:
    if not lines:
        return ""
    shown = "\n".join(lines[:_MOST_INSTRUCTIONS])
    more = f"\n... and {len(lines) - _MOST_INSTRUCTIONS} more" if len(lines) > _MOST_INSTRUCTIONS else ""
    return f"<details><summary>{name}, {len(lines)} instructions</summary><pre>{_e(shown + more)}</pre></details>"


def _tile(tile, numbers) -> str:
    """The drawing is made by the script when it is unfolded; equal layouts share their data."""
    shape, count = "x".join(map(str, tile["shape"])), moved_bytes(tile)
    moved = "" if count is None else f", {count:,} bytes"
    layout = json.dumps([tile["shape"], *(tile[name] for name in ("register", "lane", "warp", "block"))], separators=(",", ":"))
    number = numbers.setdefault(layout, len(numbers))
    return (f'<details class="tile"><summary>{_e(tile["op"])}: tile&lt;{shape}x{_e(tile["type"])}&gt;{moved}</summary>'
            f'<canvas data-layout="{number}"></canvas><p class="hover"></p></details>')


def _line(line, numbers) -> str:
    remarks = "".join(f'<li class="{severity(r) or "plain"}"><b>{_e(r["kind"])}</b> {_e(describe(r))}</li>' for r in line.remarks)
    details = "".join((f"<ul>{remarks}</ul>" if remarks else "", "".join(_tile(tile, numbers) for tile in line.tiles),
                       _instructions("PTX", line.ptx), _instructions("SASS", line.sass)))
    worst = next((kind for kind in ("bad", "good") if any(severity(r) == kind for r in line.remarks)), "")
    count = len(line.sass) or len(line.ptx)
    alive = "" if line.registers is None else f'<i title="registers alive">{line.registers}</i>'
    badges = f'<span class="badges">{alive}{f"<i title=instructions>{count}</i>" if count else ""}</span>'
    code = f'<span class="no">{line.number}</span><code>{_e(line.text) or " "}</code>{badges}'
    if not details:
        return f'<div class="line" id="L{line.number}"><div class="head">{code}</div></div>'
    return (f'<details class="line {worst}" id="L{line.number}"><summary class="head">{code}</summary>'
            f'<div class="body">{details}</div></details>')


def _shared(explanation) -> str:
    """Shared memory over the program: time to the right, addresses downwards."""
    pieces = explanation.shared
    if not pieces:
        return "<p>The kernel uses no shared memory.</p>"
    top = max(piece["offset"] + piece["bytes"] for piece in pieces)
    shapes = []
    for number, piece in enumerate(pieces):
        x, width = 1000 * piece["first"] / explanation.positions, 1000 * (piece["last"] - piece["first"] + 1) / explanation.positions
        y, height = 240 * piece["offset"] / top, 240 * piece["bytes"] / top
        title = f"{piece['what']}: bytes {piece['offset']:,} to {piece['offset'] + piece['bytes']:,}, {piece['place']}"
        shapes.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 2):.1f}" height="{max(height, 1.5):.1f}" '
                      f'class="c{number % 6}"><title>{_e(title)}</title></rect>')
    rows = "".join(f'<tr><td class="c{n % 6}"></td><td>{p["offset"]:,}</td><td>{p["bytes"]:,}</td><td>{_e(p["what"])}</td></tr>'
                   for n, p in enumerate(pieces))
    return (f'<svg viewBox="0 0 1000 240" preserveAspectRatio="none" class="shared">{"".join(shapes)}</svg>'
            "<p class='note'>The program's operations run from left to right, addresses from top to bottom.</p>"
            f"<div class='scroll'><table><tr><th></th><th>offset</th><th>bytes</th><th>what</th></tr>{rows}</table></div>")


def _mix(explanation) -> str:
    total = sum(count for _, count in explanation.mix) or 1
    rows = "".join(f'<tr><td>{_e(kind)}</td><td>{count}</td><td class="bar"><span style="width:{100 * count / total:.1f}%"></span></td></tr>'
                   for kind, count in explanation.mix)
    return f"<div class='scroll'><table>{rows}</table></div><p class='note'>Counted in {explanation.mix_of}, loops once.</p>"


def _work(explanation) -> str:
    return f"<ul>{''.join(f'<li>{_e(line)}</li>' for line in bytes_text(explanation.work))}</ul>"


# ---------------------------------------------------------------------------
# The page
# ---------------------------------------------------------------------------


def render(explanation) -> str:
    numbers: dict = {}
    configuration = ", ".join(f"{name}={value}" for name, value in explanation.configuration.items())
    source = "".join(f'<h3>{_e(section.name)} <small>{_e(section.file)}</small></h3><div class="source">{"".join(_line(l, numbers) for l in section.lines)}</div>'
                     for section in explanation.sections)
    layouts = "[" + ",".join(numbers) + "]"
    signature = ", ".join(f"{name}: {kind}" for name, kind in explanation.signature.items())
    parts = (("What stands out", _findings(explanation)), ("Line by line", "<p class='note'>Lines with a mark unfold: what was decided "
             "there, tiles with their threads, code. On the right: registers alive where nvdisasm tells them, and instructions.</p>" + source),
             ("Work of one program", _work(explanation)), ("Shared memory", _shared(explanation)), ("Instructions", _mix(explanation)))
    body = "".join(f"<section><h2>{title}</h2>{content}</section>" for title, content in parts)
    return ("<!doctype html><html lang='en'><head><meta charset='utf-8'><meta name='viewport' content='width=device-width, initial-scale=1'>"
            f"<title>{_e(explanation.name)}, {_e(explanation.target)}</title><style>{_asset('page.css')}</style></head><body><main>"
            f"<h1>{_e(explanation.name)} <small>for {_e(explanation.target)}</small></h1><p class='note'>{_e(configuration)}<br>{_e(signature)}</p>"
            f"<div class='cards'>{_cards(explanation)}</div>{body}</main><script>const layouts={layouts};{_asset('page.js')}</script></body></html>")
