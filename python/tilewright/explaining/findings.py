# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Remarks in words, and a choice of those that matter most."""

from __future__ import annotations

import math
import re

_EXTRA = re.compile(r"(\d+) extra wavefronts")
_SECTOR_BYTES, _LANES = 32, 32
_WELL_COALESCED = 0.6  # a part of it; below that most of what memory moves is not used


def coalescing(remark):
    """The part of the bytes that an access of a warp moves and uses, 0 to 1; None for other remarks."""
    numbers = remark["numbers"]
    if remark["kind"] != "vector-width" or not numbers.get("sectorsPerWarpAccess"):
        return None
    least = numbers["widthInBits"] * _LANES / 8 / _SECTOR_BYTES
    return min(1.0, least / numbers["sectorsPerWarpAccess"])


def _is_narrow(remark) -> bool:
    """Whether an access was refused vectors and moves less than a register at a time."""
    return remark["kind"] == "vector-width" and not remark["applied"] and remark["numbers"]["widthInBits"] < 32


def conflicts(remark) -> int:
    """Wavefronts of shared memory beyond the least; each is a bank conflict."""
    return sum(map(int, _EXTRA.findall(remark["reason"])))


def describe(remark) -> str:
    """One sentence without a place."""
    numbers = remark["numbers"]
    share = coalescing(remark)
    if share is not None:
        return (
            f"vectors of {numbers['elements']} ({numbers['widthInBits']} bits), {share:.0%} coalesced: "
            f"{numbers['sectorsPerWarpAccess']} sectors per access of a warp; {remark['reason']}"
        )
    shown = ", ".join(f"{_words(name)} {value:,}" for name, value in numbers.items())
    done = "" if remark["applied"] else "refused: "
    return f"{done}{remark['reason']}" + (f" ({shown})" if shown and remark["reason"] else shown)


def _words(name) -> str:
    """largestTileBytes as words."""
    return re.sub(r"(?<=[a-z])([A-Z])", lambda m: " " + m[1].lower(), name)


def severity(remark) -> str:
    """Says "bad" for what costs time, "good" for what saves some, "" for the rest."""
    share = coalescing(remark)
    if share is not None:
        return "bad" if share < _WELL_COALESCED or _is_narrow(remark) else ""
    if conflicts(remark) or remark["kind"] in ("register-spills", "wgmma-serialized"):
        return "bad"
    if remark["kind"] in ("pipeline", "async-load", "tma", "overlap"):
        return "good" if remark["applied"] else "bad"
    return ""


_LIMIT_NAMES = {"registers": "registers", "shared_memory": "shared memory", "threads": "threads", "blocks": "places for blocks"}


def occupancy_sentence(explanation) -> str:
    occupancy, resources = explanation.occupancy, explanation.resources
    blocks = occupancy["blocks"]
    limited = " and ".join(_LIMIT_NAMES[name] for name in occupancy["limited_by"])
    uses = {
        "registers": f"{resources['registers']} registers in each of {resources['threads']} threads",
        "shared_memory": f"{resources['shared_bytes']:,} bytes of shared memory",
        "threads": f"{resources['threads']} threads",
        "blocks": "one place",
    }
    rest = ", ".join(
        f"{_LIMIT_NAMES[name]} would allow {count}"
        for name, count in occupancy["limits"].items()
        if name not in occupancy["limited_by"]
    )
    block = "block fits" if blocks == 1 else "blocks fit"
    return (
        f"{blocks} {block} a multiprocessor, limited by {limited}: a block takes "
        f"{' and '.join(uses[name] for name in occupancy['limited_by'])}"
        + (f"; {rest}" if rest else "")
        + f". That is {occupancy['threads']:,} of {occupancy['max_threads']:,} threads."
    )


def _pressure(explanation) -> list:
    """Where most registers are needed, and for what, as the compiler forecasts it."""
    use = explanation.pressure
    if not use["line"]:
        return []
    return [
        (
            "",
            use["line"],
            f"most registers are needed here: {use['data']} for tiles, {use['addresses']} for indices and addresses, "
            f"{use['scalars']} for scalars; {use['forecast']} were forecast",
        )
    ]


def findings(explanation) -> list:
    """[(severity, line number or None, sentence)] of what a reader should look at first."""
    rows = [("", None, occupancy_sentence(explanation)), *_pressure(explanation)]
    if explanation.resources["spilled_bytes"]:
        rows.append(("bad", None, f"{explanation.resources['spilled_bytes']} bytes of registers are spilled to memory"))
    for line in explanation.lines():
        for remark in line.remarks:
            share = coalescing(remark)
            if share is not None and _is_narrow(remark):
                rows.append(
                    (
                        "bad",
                        line.number,
                        f"an access moves {remark['numbers']['widthInBits']} bits at a time: {remark['reason']}",
                    )
                )
            elif share is not None and severity(remark) == "bad":
                rows.append(("bad", line.number, f"an access is only {share:.0%} coalesced: {remark['reason']}"))
            elif conflicts(remark):
                rows.append(("bad", line.number, f"bank conflicts: {conflicts(remark)} extra wavefronts ({remark['kind']})"))
            elif severity(remark) and remark["kind"] != "vector-width":
                rows.append((severity(remark), line.number, f"{remark['kind']}: {describe(remark)}"))
    unique = list(dict.fromkeys(rows))
    return sorted(unique, key=lambda row: (row[1] is not None, row[0] != "bad"))


_ACCESSES = ("tw.load", "tw.store", "tw.async_copy", "tw.descriptor_load", "tw.descriptor_store")


def moved_bytes(tile):
    """Bytes of global memory that a program moves for a tile; None where it is no access."""
    bits = re.search(r"\d+", tile["type"])
    if tile["op"] not in _ACCESSES or bits is None:
        return None
    return math.prod(tile["shape"]) * max(int(bits[0]), 8) // 8


def bytes_text(work) -> list:
    """["x: reads 4,096 bytes a program, times (K / 32 rounded up)", ...]"""
    lines = []
    for row in work:
        unit = "bytes" if row["what"] in ("read", "write") else f"operations on {row['type']}"
        name = {"read": "reads", "write": "writes", "products": "products,", "elements": "arithmetic,"}[row["what"]]
        owner = f"{row.get('parameter') or 'memory'} " if unit == "bytes" else ""
        times = "".join(f" x {formula(factor)}" for factor in row["times"])
        lines.append(f"{owner}{name} {row['amount']:,} {unit}{times}")
    return lines


_INFIX = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "//",
    "rem": "%",
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
}


def formula(expression) -> str:
    """An expression of WorkCount.h as text."""
    if expression is None:
        return "unknown"
    if isinstance(expression, int):
        return str(expression)
    name, *rest = expression
    if name == "parameter":
        return rest[0]
    if name in ("program", "programs"):
        return f"{'program_id' if name == 'program' else 'num_programs'}({rest[0]})"
    parts = list(map(formula, rest))
    if name == "trips":
        return f"len(range({', '.join(parts)}))"
    return f"({parts[0]} {_INFIX[name]} {parts[1]})" if name in _INFIX else f"{name}({', '.join(parts)})"
