# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An explanation for a terminal."""

from __future__ import annotations

from .findings import bytes_text, describe, findings, moved_bytes, severity

_MARKS = {"bad": "!", "good": "+", "": "."}


def _tile_text(tile) -> str:
    shape = "x".join(map(str, tile["shape"]))
    counts = ", ".join(
        f"{1 << len(tile[name])} {words}"
        for name, words in (("register", "elements a thread"), ("lane", "lanes"), ("warp", "warps"), ("block", "blocks"))
        if tile[name]
    )
    moved = moved_bytes(tile)
    return f"tile<{shape}x{tile['type']}> of {tile['op']}: {counts}{'' if moved is None else f'; {moved:,} bytes'}"


def _measured_text(row) -> list:
    share = row.get("roofline_share")
    if row.get("mean_seconds") is None:
        return []
    roof = "" if share is None else f", {share:.0%} of the roofline, limited by {row['limit']}"
    return ["", f"measured: {row['mean_seconds'] * 1e6:.1f} us a launch over {row['timed']} launches{roof}"]


def render(explanation, with_tiles=False) -> str:
    configuration = " ".join(f"{name}={value}" for name, value in explanation.configuration.items())
    resources = explanation.resources
    lines = [
        f"{explanation.name} for {explanation.target}: {configuration}",
        f"{resources['registers']} registers, {resources['spilled_bytes']} bytes spilled, "
        f"{resources['shared_bytes']:,} bytes shared, {resources['threads']} threads",
        "",
        "what stands out",
    ]
    for kind, number, sentence in findings(explanation):
        lines.append(f"  {_MARKS[kind]} {f'line {number}: ' if number else ''}{sentence}")
    lines += [
        *_measured_text(explanation.measured or {}),
        "",
        "work of one program",
        *(f"  {line}" for line in bytes_text(explanation.work)),
    ]
    for section in explanation.sections:
        lines += ["", f"{section.file}"]
        for line in section.lines:
            counts = f"{len(line.sass)} SASS" if line.sass else f"{len(line.ptx)} PTX" if line.ptx else ""
            alive = f", {line.registers} live" if line.registers is not None else ""
            lines.append(f"{line.number:>5}  {line.text:<80}  {counts}{alive}".rstrip())
            lines += [f"         {_MARKS[severity(remark)]} {remark['kind']}: {describe(remark)}" for remark in line.remarks]
            if with_tiles:
                lines += [f"         . {_tile_text(tile)}" for tile in line.tiles]
    if explanation.shared:
        lines += ["", "shared memory"]
        lines += [
            f"  {piece['offset']:>7,} to {piece['offset'] + piece['bytes']:>7,}  {piece['what']}"
            for piece in explanation.shared
        ]
    total = sum(count for _, count in explanation.mix) or 1
    lines += ["", f"instructions ({explanation.mix_of})"]
    lines += [f"  {count:>6}  {count / total:>4.0%}  {kind}" for kind, count in explanation.mix]
    return "\n".join(lines)
