# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pictures of "How it works", one for each phase, as SVG that takes the colours of the page.

A page marks a picture by a comment, `<!-- picture: launch -->`, above its form in
characters, which everybody else sees; the site shows the SVG in its place.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field

UNIT = 10  # pixels; boxes are placed on a grid of these
FONT = "font-family=\"system-ui, 'DejaVu Sans', sans-serif\""


@dataclass
class Picture:
    """Boxes `name: (x, y, width, height, text, style)` and arrows `(from, to, words)`.

    Lines of a text are separated by "|"; the first one is bold. A style is "" for an
    ordinary box, "strong" for one that is meant, "data" for what goes in or comes out.
    """

    about: str
    boxes: dict[str, tuple]
    arrows: list[tuple] = field(default_factory=list)

    def size(self) -> tuple[int, int]:
        return (
            max(x + w for x, y, w, h, *_ in self.boxes.values()) * UNIT + 10,
            max(y + h for x, y, w, h, *_ in self.boxes.values()) * UNIT + 10,
        )

    def svg(self) -> str:
        width, height = self.size()
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img" '
            f'{FONT} font-size="13">',
            f"<title>{html.escape(self.about)}</title>",
            '<defs><marker id="tw-head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
            '<path d="M0,0 L8,4 L0,8 z" fill="currentColor"/></marker></defs>',
        ]
        parts += [self._arrow(*arrow) for arrow in self.arrows]
        parts += [_box(*box) for box in self.boxes.values()]
        return "".join([*parts, "</svg>"])

    def _arrow(self, start: str, end: str, words: str = "") -> str:
        """A straight line between the nearest sides, or with one corner where the boxes share no row and no column."""
        x0, y0, w0, h0 = (value * UNIT for value in self.boxes[start][:4])
        x1, y1, w1, h1 = (value * UNIT for value in self.boxes[end][:4])
        left, right = max(x0, x1), min(x0 + w0, x1 + w1)
        top, bottom = max(y0, y1), min(y0 + h0, y1 + h1)
        if left < right:  # one below the other
            x = (left + right) / 2
            points = [(x, y0 + h0 if y0 < y1 else y0), (x, y1 if y0 < y1 else y1 + h1)]
        elif top < bottom:  # side by side
            y = (top + bottom) / 2
            points = [(x0 + w0 if x0 < x1 else x0, y), (x1 if x0 < x1 else x1 + w1, y)]
        else:
            corner = (x1 + w1 / 2, y0 + h0 / 2)
            points = [(x0 + w0 if x0 < x1 else x0, corner[1]), corner, (corner[0], y1 if y0 < y1 else y1 + h1)]
        line = " ".join(f"{x:g},{y:g}" for x, y in points)
        drawn = f'<polyline points="{line}" fill="none" stroke="currentColor" stroke-width="1.4" marker-end="url(#tw-head)"/>'
        if not words:
            return drawn
        (ax, ay), (bx, by) = points[0], points[1]
        place = (
            f'x="{(ax + bx) / 2 + 6:g}" y="{(ay + by) / 2 + 4:g}"'
            if ax == bx
            else f'x="{(ax + bx) / 2:g}" y="{ay - 5:g}" text-anchor="middle"'
        )
        return drawn + f'<text {place} fill="currentColor" font-size="11.5" opacity=".85">{html.escape(words)}</text>'


STYLES = {
    "": 'fill="currentColor" fill-opacity=".05"',
    "strong": 'fill="#12a594" fill-opacity=".28"',
    "data": 'fill="#7c8cc4" fill-opacity=".22" stroke-dasharray="5 3"',
}


def _box(x, y, w, h, text, style="") -> str:
    lines = text.split("|")
    middle, first = (x + w / 2) * UNIT, (y + h / 2) * UNIT - (len(lines) - 1) * 8 + 4.5
    drawn = (
        f'<rect x="{x * UNIT}" y="{y * UNIT}" width="{w * UNIT}" height="{h * UNIT}" rx="6" stroke="currentColor" '
        f'stroke-width="1.1" {STYLES[style]}/>'
    )
    for i, line in enumerate(lines):
        weight = 'font-weight="600"' if i == 0 else 'font-size="11.5" opacity=".85"'
        drawn += (
            f'<text x="{middle:g}" y="{first + i * 16:g}" text-anchor="middle" fill="currentColor" {weight}>'
            f"{html.escape(line)}</text>"
        )
    return drawn


def flow(about: str, *texts: str, widths: int = 12, height: int = 6, styles: dict[int, str] | None = None) -> Picture:
    """Boxes from left to right, each with an arrow to the next."""
    boxes = {str(i): (1 + i * (widths + 3), 1, widths, height, text, (styles or {}).get(i, "")) for i, text in enumerate(texts)}
    return Picture(about, boxes, [(str(i), str(i + 1)) for i in range(len(texts) - 1)])


def _overview() -> Picture:
    steps = [
        "1 Launch|classifies arguments",
        "2 Cache|machine code on disk",
        "3 Front end|Python to tile IR",
        "4 Tile level|fewer ops, warps, units",
        "5 Layout level|who holds which element",
        "6 Asynchrony|copies ahead of their use",
        "7 Resources|shared memory, barriers",
        "8 Code generation|LLVM",
        "9 Assembler|PTX to machine code",
    ]
    boxes = {str(i): (1, 1 + i * 7, 22, 5, text, "strong" if i in (3, 4, 5, 6) else "") for i, text in enumerate(steps)}
    boxes["run"] = (35, 1, 16, 5, "cuLaunchKernelEx|the GPU runs", "data")
    boxes["load"] = (35, 8, 16, 5, "load|the machine code", "data")
    boxes["interpreter"] = (35, 15, 16, 5, "3b Interpreter|computes instead", "")
    boxes["end"] = (35, 57, 16, 5, "load and launch|and keep on disk", "data")
    arrows = [(str(i), str(i + 1), words) for i, words in enumerate(["new arguments", "new kernel", "", "", "", "", "", ""])]
    arrows += [
        ("0", "run", "known arguments"),
        ("1", "load", "on disk"),
        ("2", "interpreter", "NumPy"),
        ("load", "run"),
        ("8", "end"),
    ]
    return Picture("The way of a kernel through nine phases", boxes, arrows)


PICTURES = {
    "overview": _overview(),
    "launch": Picture(
        "A launch: arguments become a key, the key finds the kernel",
        {
            "arguments": (1, 1, 11, 6, "arguments|x, y, out, n", "data"),
            "bind": (15, 1, 9, 6, "bind|names"),
            "classify": (27, 1, 11, 6, "classify|types, alignment"),
            "key": (41, 1, 9, 6, "key|fixed size"),
            "table": (53, 1, 14, 6, "table|of kernels", "strong"),
            "compile": (27, 11, 23, 5, "compile|or load from the cache on disk"),
            "launch": (53, 11, 14, 5, "launch|cuLaunchKernelEx", "data"),
        },
        [
            ("arguments", "bind"),
            ("bind", "classify"),
            ("classify", "key"),
            ("key", "table"),
            ("table", "launch", "known"),
            ("key", "compile", "unknown"),
            ("compile", "launch"),
        ],
    ),
    "cache": flow(
        "The cache: a key names a file, which is checked before it is used",
        "request|source, types, options",
        "key|a digest",
        "file|one entry",
        "checks|marks, digest, fields",
        "machine code|and metadata",
        widths=14,
        styles={3: "strong", 4: "data"},
    ),
    "front-end": Picture(
        "The front end: one meaning, two evaluators",
        {
            "ast": (1, 5, 12, 6, "Python's ast|of the kernel", "data"),
            "walk": (16, 5, 13, 6, "frontend/ast|names, calls"),
            "semantic": (32, 5, 15, 6, "frontend/semantic|types, shapes, errors", "strong"),
            "emit": (52, 1, 16, 6, "frontend/emit|makes MLIR"),
            "cpu": (52, 9, 16, 6, "interpreter|computes"),
        },
        [("ast", "walk"), ("walk", "semantic"), ("semantic", "emit"), ("semantic", "cpu")],
    ),
    "interpreter": Picture(
        "The interpreter: the kernel runs as a Python function, and each access is checked",
        {
            "function": (1, 1, 13, 6, "kernel|your function", "data"),
            "rewrite": (17, 1, 15, 6, "rewriter|changes little"),
            "semantic": (35, 1, 15, 6, "semantic layer|the same meaning", "strong"),
            "tiles": (53, 1, 14, 6, "tiles on the CPU|one op at a time"),
            "checks": (53, 11, 14, 6, "checks|bounds, races, marks", "strong"),
            "report": (35, 11, 15, 6, "report|line, program, lane", "data"),
        },
        [("function", "rewrite"), ("rewrite", "semantic"), ("semantic", "tiles"), ("tiles", "checks"), ("checks", "report")],
    ),
    "tile-level": Picture(
        "Tile level: the IR has shapes and no layouts, and gets smaller",
        {
            "in": (1, 1, 14, 6, "tile IR|tensor<1024xf32>", "data"),
            "hints": (18, 1, 14, 6, "hints, masks|a body for full rows"),
            "combine": (35, 1, 14, 6, "combine|constants, CSE"),
            "hoist": (52, 1, 15, 6, "loops|invariants out"),
            "warps": (52, 10, 15, 6, "warps|how many", "strong"),
            "unit": (35, 10, 14, 6, "unit|of each product", "strong"),
            "out": (18, 10, 14, 6, "fewer ops|still no layout", "data"),
        },
        [("in", "hints"), ("hints", "combine"), ("combine", "hoist"), ("hoist", "warps"), ("warps", "unit"), ("unit", "out")],
    ),
    "layout-level": Picture(
        "Layout level: accesses decide who holds which element, and everything else follows",
        {
            "in": (1, 1, 14, 6, "tile IR|no layout", "data"),
            "facts": (18, 1, 16, 6, "AxisInfo|runs, multiples"),
            "assign": (37, 1, 18, 6, "AssignLayouts|accesses decide", "strong"),
            "out": (58, 1, 12, 6, "layouts|in every type", "data"),
            "remove": (37, 10, 18, 6, "RemoveConversions|drops exchanges"),
            "verify": (58, 10, 12, 6, "verifier|one layout a tile"),
        },
        [("in", "facts"), ("facts", "assign"), ("assign", "out"), ("assign", "remove"), ("remove", "verify")],
    ),
    "asynchrony": Picture(
        "Asynchrony: copies fill the slots of a ring, iterations ahead of their use",
        {
            f"{row}-{slot}": (15 + slot * 13, 1 + row * 5, 12, 4, text, style)
            for row, cells in enumerate(
                [
                    [("fill|iteration k", "strong"), ("empty", ""), ("empty", "")],
                    [("ready|iteration k", ""), ("fill|iteration k+1", "strong"), ("empty", "")],
                    [("use|iteration k", "data"), ("ready|iteration k+1", ""), ("fill|iteration k+2", "strong")],
                    [("fill|iteration k+3", "strong"), ("use|iteration k+1", "data"), ("ready|iteration k+2", "")],
                ]
            )
            for slot, (text, style) in enumerate(cells)
        }
        | {f"round-{row}": (1, 1 + row * 5, 12, 4, f"round {row}") for row in range(4)},
    ),
    "resources": Picture(
        "Resources: places in shared memory by live ranges, then barriers",
        {
            "scratch": (1, 1, 15, 4, "scratch of ops"),
            "buffers": (1, 6, 15, 4, "buffers, rings"),
            "mbarriers": (1, 11, 15, 4, "mbarriers"),
            "allocate": (20, 5, 15, 6, "AllocateShared|by live ranges", "strong"),
            "offsets": (38, 5, 11, 6, "offsets|in bytes", "data"),
            "barriers": (52, 5, 16, 6, "InsertBarriers|barriers, fences", "strong"),
        },
        [
            ("buffers", "allocate"),
            ("scratch", "allocate"),
            ("mbarriers", "allocate"),
            ("allocate", "offsets"),
            ("offsets", "barriers"),
        ],
    ),
    "code-generation": flow(
        "Code generation: a tile becomes a list of registers",
        "tile|with its layout",
        "table|beside the IR",
        "registers|r0, r1, ... r7",
        "LLVM|one value a register",
        widths=15,
        styles={0: "data", 1: "strong", 3: "data"},
    ),
    "assembler": Picture(
        "The assembler: LLVM makes PTX, nvJitLink machine code",
        {
            "llvm": (1, 1, 13, 6, "LLVM IR|its own passes"),
            "order": (17, 1, 14, 6, "OrderByStores|loads near uses"),
            "ptx": (34, 1, 11, 6, "PTX|text", "data"),
            "link": (48, 1, 13, 6, "nvJitLink|assembles", "strong"),
            "cubin": (48, 11, 13, 5, "cubin|machine code", "data"),
            "again": (17, 11, 28, 5, "once more with a limit|where registers leave too few threads resident"),
        },
        [("llvm", "order"), ("order", "ptx"), ("ptx", "link"), ("link", "cubin"), ("again", "ptx"), ("cubin", "again")],
    ),
    "tuner": flow(
        "The tuner: candidates race, the winner is kept on disk",
        "configurations|a list or a space",
        "prune|what cannot fit",
        "compile|all at once",
        "race|round by round",
        "winner|table on disk",
        widths=14,
        styles={0: "data", 3: "strong", 4: "data"},
    ),
}

PICTURES |= {
    "checking": Picture(
        "Checking looks at a run, proving at all runs",
        {
            "program": (1, 1, 13, 6, "program|as it is", "data"),
            "check": (17, 1, 15, 6, "tilewright check|every launch", "strong"),
            "findings": (35, 1, 15, 6, "findings|by code and line", "data"),
            "compare": (53, 1, 15, 6, "--compare|compiled code, too"),
            "ir": (1, 10, 13, 6, "tile IR|of the front end", "data"),
            "prove": (17, 10, 15, 6, "tilewright prove|questions to z3", "strong"),
            "answers": (35, 10, 15, 6, "proved, outside|or refuted", "data"),
            "witness": (53, 10, 15, 6, "witness|run again"),
        },
        [
            ("program", "check"),
            ("check", "findings"),
            ("compare", "findings"),
            ("ir", "prove"),
            ("prove", "answers"),
            ("answers", "witness"),
        ],
    ),
    "profiling": Picture(
        "Profiling times launches, explaining shows what was compiled",
        {
            "launches": (1, 1, 13, 6, "launches|of a program", "data"),
            "log": (17, 1, 15, 6, "LaunchLog, Cupti|times", "strong"),
            "table": (35, 1, 15, 6, "table|beside the roofline", "data"),
            "pipeline": (1, 10, 13, 6, "pipeline|its decisions", "data"),
            "facts": (17, 10, 15, 6, "KernelFacts|JSON, PTX, SASS", "strong"),
            "page": (35, 10, 15, 6, "page|line by line", "data"),
        },
        [("launches", "log"), ("log", "table"), ("pipeline", "facts"), ("facts", "page")],
    ),
}

MARK = re.compile(r"<!-- picture: ([\w-]+) -->\n\n((?: {4}.*\n|\n(?= {4}))+|```text\n(?:.*\n)*?```\n)")


def put_into(markdown: str) -> str:
    """The page with each marked picture in characters replaced by its SVG."""
    return MARK.sub(lambda match: f'<div class="tw-picture">{PICTURES[match.group(1)].svg()}</div>\n\n', markdown)
