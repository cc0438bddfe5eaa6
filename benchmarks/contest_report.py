# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a contest has found, as lines of a table and as files."""

import json
from pathlib import Path

import peers


def short_resources(facts: dict) -> str:
    return " + ".join("/".join(map(str, numbers)) for numbers in facts.get("kernels", [])) or "-"


def lines_of(row: dict, resources: dict) -> list[list[str]]:
    """One line of the table per kernel."""
    fastest = min(row["peers"], key=row["device"].get)
    lines = []

    def speed(times, key):
        return row["operations"] / times[key] * 1e-12 if times and key in times else float("nan")

    def cell(value, form):
        return format(value, form) if value == value else "-"

    for kernel in dict.fromkeys(place.split(" / ")[1] for place in row["best"]):
        ours, theirs = (row["best"].get(f"{name} / {kernel}") for name in ("tilewright", "triton"))
        peer = speed(row["device"], fastest)
        own, other = speed(row["device"], ours), speed(row["device"], theirs)
        facts = resources.get(ours, {})
        peer_call = max((speed(row["per_call"], name) for name in row["peers"]), default=float("nan"))
        lines.append(
            [
                row["title"],
                kernel,
                cell(peer, ".0f"),
                cell(other, ".0f"),
                cell(own, ".0f"),
                cell(own / peer, ".3f"),
                cell(own / other, ".3f"),
                cell(speed(row["per_call"], ours) / peer_call, ".3f"),
                cell(speed(row["per_call"], ours) / speed(row["per_call"], theirs), ".3f"),
                ours.split(" / ")[-1] if ours else "-",
                theirs.split(" / ")[-1] if theirs else "-",
                short_resources(facts),
            ]
        )
    return lines


HEADER = [
    "TFLOP/s",
    "kernel",
    "peer",
    "Triton",
    "Tilewright",
    "to peer",
    "to Triton",
    "call, to peer",
    "call, to Triton",
    "Tilewright's configuration",
    "Triton's configuration",
    "registers/spills/shared",
]


def failures(failed: dict) -> list[str]:
    """A line per message; configurations of one kernel that failed alike are counted."""
    groups = {}
    for key, message in failed.items():
        kernel, _, config = key.rpartition(" / ")
        groups.setdefault((kernel, message), []).append(config)
    return [
        f"FAILED {kernel} / {configs[0]}{f' and {len(configs) - 1} more' if configs[1:] else ''}: {message}"
        for (kernel, message), configs in groups.items()
    ]


def report(folder: str, name: str, title: str, notes: dict, lines: list):
    if lines:
        print(peers.plain_table(HEADER, lines))
    if not folder:
        return
    Path(folder).mkdir(parents=True, exist_ok=True)
    (Path(folder) / f"{name}.json").write_text(json.dumps(notes, indent=1) + "\n")
    facts = notes.get("environment", {})
    text = f"## {title}\n\n" + "; ".join(f"{key} {value}" for key, value in facts.items() if key != "command")
    text += f"; command `{facts.get('command', '')}`\n\n" + peers.markdown_table(HEADER, lines) + "\n"
    if notes["failed"]:
        text += "\nFailed:\n\n" + "".join(f"- {line}\n" for line in failures(notes["failed"]))
    (Path(folder) / f"{name}.md").write_text(text)
