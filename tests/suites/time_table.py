# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that take longer here than under Triton in the same test (run_suites.py --times)."""

import json
import math
from pathlib import Path

# Shorter launches tell of little but the launch.
SHORTEST_NS = 3000
SLOWER = 1.1


def read_times(scratch: Path) -> dict:
    """For each implementation: (suite, test, kernel) -> its line."""
    times: dict = {"tilewright": {}, "triton": {}}
    for path in sorted(scratch.glob("*.times")):
        for text in path.read_text().splitlines():
            line = json.loads(text)
            kernels = times[line["under"]]
            key = (line["suite"], line["test"], line["kernel"])
            if key not in kernels or line["ns"] < kernels[key]["ns"]:
                kernels[key] = line
    return times


def table_of(times: dict) -> str:
    """Markdown: how many kernels were compared, and the slower ones, each in the test where it is slowest."""
    ours, theirs = times["tilewright"], times["triton"]
    ratios = {key: ours[key]["ns"] / theirs[key]["ns"] for key in ours if key in theirs and theirs[key]["ns"] >= SHORTEST_NS}
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios)) if ratios else math.nan
    lines = [
        f"{len(ratios)} kernels of tests took at least {SHORTEST_NS / 1000:.0f} us under Triton; "
        f"geometric mean of the time here by the time there: {mean:.3f}",
        "",
        "| suite | kernel | here, us | Triton, us | ratio | launches here, there | test |",
        "|---|---|---|---|---|---|---|",
    ]
    told = set()
    for key in sorted(ratios, key=lambda key: -ratios[key]):
        suite, test, kernel = key
        if ratios[key] < SLOWER or (suite, kernel) in told:
            continue
        told.add((suite, kernel))
        mine, other = ours[key], theirs[key]
        lines.append(
            f"| {suite} | {kernel} | {mine['ns'] / 1000:.1f} | {other['ns'] / 1000:.1f} | {ratios[key]:.2f} "
            f"| {mine['launches']}, {other['launches']} | {test} |"
        )
    return "\n".join(lines) + "\n"
