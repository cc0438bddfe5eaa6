# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Remarks in words, and a choice of those that matter most."""

from __future__ import annotations

import math
import re

_SECTOR_BYTES, _LANES = 32, 32
_WELL_COALESCED = 0.6  # a part of it; below that most of what memory moves is not used


def _least_sectors(remark) -> float:
    """The fewest sectors that one access of a warp can touch."""
    return remark["numbers"]["widthInBits"] * _LANES / 8 / _SECTOR_BYTES


def coalescing(remark):
    """The part of the bytes that an access of a warp moves and uses, 0 to 1; None for other remarks."""
    sectors = remark["numbers"].get("sectorsPerWarpAccess") if remark["kind"] == "vector-width" else None
    return min(1.0, _least_sectors(remark) / sectors) if sectors else None


def _is_narrow(remark) -> bool:
    """Whether an access was refused vectors and moves less than a register at a time."""
    return remark["kind"] == "vector-width" and not remark["applied"] and remark["numbers"]["widthInBits"] < 32


def conflicts(remark) -> int:
    """Wavefronts of shared memory beyond the fewest that an access of a warp can take; each is a bank conflict."""
    return remark["numbers"]["extraWavefronts"] if remark["kind"] == "bank-conflicts" else 0


def describe(remark) -> str:
    """One sentence without a place."""
    numbers = remark["numbers"]
    share = coalescing(remark)
    if share is not None:
        sectors = numbers["sectorsPerWarpAccess"]
        return (
            f"{_memory_of(remark)}vectors of {numbers['elements']} ({numbers['widthInBits']} bits), {share:.0%} coalesced: "
            f"{sectors} {'sector' if sectors == 1 else 'sectors'} of {_SECTOR_BYTES} bytes per access of a warp; "
            f"{remark['reason']}"
        )
    if extra := conflicts(remark):
        return f"{remark['reason']}, in {numbers['wavefronts']} wavefronts where {numbers['wavefronts'] - extra} would do"
    shown = ", ".join(f"{_words(name)} {value:,}" for name, value in numbers.items())
    done = "" if remark["applied"] else "refused: "
    return f"{done}{remark['reason']}" + (f" ({shown})" if shown and remark["reason"] else shown)


def _memory_of(remark) -> str:
    """ "x_ptr: " of an access of that parameter's memory."""
    return f"{remark['parameter']}: " if remark.get("parameter") else ""


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


def occupancy_sentences(explanation) -> list:
    """How many blocks fit a multiprocessor and why, and with what one block more would fit."""
    occupancy, resources = explanation.occupancy, explanation.resources
    blocks, rows, limited_by = occupancy["blocks"], occupancy["resources"], occupancy["limited_by"]
    shared = rows.get("shared_memory", {"takes": 0})["takes"] - resources["shared_bytes"]
    each = rows["registers"]["takes"] // resources["threads"] if "registers" in rows else 0
    rounded = "" if each == resources["registers"] else f", rounded up to {each}"
    notes = {
        "registers": f" ({resources['registers']} in each of {resources['threads']} threads{rounded})",
        "shared_memory": f" ({resources['shared_bytes']:,} of the kernel and {shared:,} of the system)",
    }
    units = {"registers": "registers", "shared_memory": "bytes of shared memory", "threads": "threads", "blocks": "places"}
    uses = " and ".join(
        f"{rows[name]['takes']:,} of {rows[name]['has']:,} {units[name]}{notes.get(name, '')}" for name in limited_by
    )
    rest = ", ".join(
        f"{_LIMIT_NAMES[name]} would allow {count}" for name, count in occupancy["limits"].items() if name not in limited_by
    )
    first = (
        f"{blocks} {'block fits' if blocks == 1 else 'blocks fit'} a multiprocessor, limited by "
        f"{' and '.join(_LIMIT_NAMES[name] for name in limited_by)}: a block takes {uses}"
        + (f"; {rest}" if rest else "")
        + f". That is {occupancy['threads']:,} of {occupancy['max_threads']:,} threads."
    )
    if "blocks" in limited_by:
        return [first]
    asks = {
        "registers": "registers in a thread",
        "shared_memory": "bytes of shared memory in a block",
        "threads": "threads in a block",
    }
    needed = " and ".join(f"{rows[name]['limit']:,} {asks[name]}" for name in limited_by)
    return [first, f"{blocks + 1} blocks would fit with at most {needed}"]


def _coalescing_summary(explanation) -> list:
    """Whether every access of global memory is coalesced; nothing where there is no access that says it."""
    shares = [share for line in explanation.lines() for r in line.remarks if (share := coalescing(r)) is not None]
    bad = sum(share < _WELL_COALESCED for share in shares)
    if bad:
        verb = "is" if bad == 1 else "are"
        return [("bad", None, f"{bad} of {len(shares)} accesses of global memory {verb} not coalesced")]
    if not shares:
        return []
    least = f"a warp uses {'all' if min(shares) == 1 else f'at least {min(shares):.0%} of the'} bytes that it moves"
    return [("", None, f"every access of global memory is coalesced: {least}")]


def _conflict_summary(explanation) -> list:
    """Whether there are bank conflicts, as code generation counted them."""
    counts = next((r["numbers"] for r in explanation.remarks if r["kind"] == "shared-accesses"), None)
    if counts is None:
        return [("", None, "no bank conflicts: no thread reads or writes shared memory")]
    left = counts["unexamined"]
    others = f"; {left} more move partial results, or what an index names, and were not examined" if left else ""
    tiles = f"{counts['tiles']} {'access' if counts['tiles'] == 1 else 'accesses'} of tiles in shared memory"
    if counts["conflicting"]:
        return [("bad", None, f"bank conflicts in {counts['conflicting']} of {tiles}{others}")]
    return [("", None, f"no bank conflicts in {tiles}{others}")]


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
    rows = [("", None, sentence) for sentence in occupancy_sentences(explanation)]
    rows += _pressure(explanation) + _conflict_summary(explanation) + _coalescing_summary(explanation)
    if explanation.resources["spilled_bytes"]:
        rows.append(("bad", None, f"{explanation.resources['spilled_bytes']} bytes of registers are spilled to memory"))
    for line in explanation.lines():
        for remark in line.remarks:
            share = coalescing(remark)
            name = _memory_of(remark)
            if share is not None and _is_narrow(remark):
                bits = remark["numbers"]["widthInBits"]
                rows.append(("bad", line.number, f"{name}an access moves {bits} bits at a time: {remark['reason']}"))
            elif share is not None and severity(remark) == "bad":
                rows.append(("bad", line.number, f"{name}an access is only {share:.0%} coalesced: {remark['reason']}"))
            elif conflicts(remark):
                rows.append(("bad", line.number, f"bank conflicts: {describe(remark)}"))
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
