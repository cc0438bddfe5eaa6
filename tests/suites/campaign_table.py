# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The summary of a compile campaign's results."""

import json
import re
import statistics
from collections import Counter
from pathlib import Path

SLOW_SECONDS = 3.0


def read_results(path) -> list[dict]:
    """Every whole line; a campaign that was ended may leave half of one."""
    path = Path(path)
    results = []
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            results.append(json.loads(line))
        except ValueError:
            continue
    return results


def key_of(line):
    return line["repository"], line["file"], line["kernel"]


def _general(message) -> str:
    """A message without its names and numbers, so that like ones are counted together."""
    first = re.split(r"\n|, (?:which|where|but)", message)[0]
    return re.sub(r"'[^']*'|\"[^\"]*\"|\d[\d,.x]*", "_", first)[:110]


def _percentile(values, fraction):
    return sorted(values)[min(len(values) - 1, int(fraction * len(values)))]


def _per_repository(results) -> list[str]:
    lines = [f"{'repository':<45}{'kernels':>8}{'compiled':>9}{'refused':>8}{'error':>6}{'import':>7}{'crash':>6}{'time':>5}"]
    names = sorted({r["repository"] for r in results})
    for name in [*names, None]:
        best = worst_per_kernel([r for r in results if name in (None, r["repository"])])
        counts = Counter(best.values())
        lines.append(
            f"{name or 'all':<45}{len(best):>8}{counts['compiled']:>9}{counts['refused']:>8}{counts['error']:>6}"
            f"{counts['import']:>7}{counts['crash'] + counts['memory']:>6}{counts['timeout']:>5}"
        )
    return lines


def worst_per_kernel(results) -> dict:
    """The worst status of each kernel over its configurations."""
    order = ["compiled", "import", "refused", "error", "memory", "timeout", "crash"]
    worst = {}
    for line in results:
        key = key_of(line)
        worst[key] = max(worst.get(key, "compiled"), line["status"], key=order.index)
    return worst


def _refusals(results, peer) -> list[str]:
    """Refusals by code and message: kernels, and how many of those Triton takes."""
    taken = {key_of(r): r["status"] == "compiled" for r in peer}
    groups = {}
    for line in results:
        if line["status"] in ("refused", "error", "import"):
            name = (line["status"], line.get("code") or line.get("kind", ""), _general(line.get("message", "")))
            groups.setdefault(name, set()).add(key_of(line))
    lines = [f"{'kernels':>8}{'asked':>7}{'taken by Triton':>17}  reason"]
    for (status, code, message), keys in sorted(groups.items(), key=lambda g: -len(g[1])):
        asked = [taken[key] for key in keys if key in taken]
        lines.append(f"{len(keys):>8}{len(asked):>7}{sum(asked):>17}  {status} {code} {message}")
    return lines


def table(results, peer=()) -> str:
    """The whole summary as text."""
    lines = _per_repository(results)
    compiled = [r for r in results if r["status"] == "compiled"]
    tried = [r for r in results if "target" in r]
    lines.append("")
    for target, stages in sorted({(r["target"], r["stages"]) for r in tried}):
        counts = Counter(r["status"] for r in tried if (r["target"], r["stages"]) == (target, stages))
        lines.append(
            f"{target} at {stages} stages: " + ", ".join(f"{count} {status}" for status, count in counts.most_common())
        )
    if compiled:
        seconds = [r["seconds"] for r in compiled]
        slow = sorted((r for r in compiled if r["seconds"] > SLOW_SECONDS), key=lambda r: -r["seconds"])
        lines.append(
            f"seconds of {len(seconds)} compilations: median {statistics.median(seconds):.3f}, "
            f"95 % {_percentile(seconds, 0.95):.2f}, 99 % {_percentile(seconds, 0.99):.2f}, longest {max(seconds):.1f}; "
            f"{len(slow)} ({len(slow) / len(seconds):.2%}) above {SLOW_SECONDS:.0f}"
        )
        lines += [
            f"  {r['seconds']:7.1f}  {r['repository']}/{r['file']}:{r['kernel']} {r['target']} "
            f"{r['stages']} stages {r.get('steps')}"
            for r in slow[:25]
        ]
        assembled = [r for r in compiled if r.get("registers") is not None]
        if assembled:
            spilled = [r for r in assembled if r["spills"]]
            lines.append(
                f"assembled: {len(assembled)}, registers median {statistics.median(r['registers'] for r in assembled):.0f}, "
                f"{len(spilled)} ({len(spilled) / len(assembled):.2%}) spill"
            )
    for line in results:
        if line["status"] in ("crash", "timeout", "memory") or line.get("code") == "E0900":
            lines.append(
                f"{line['status']} {line.get('code', '')} {line['repository']}/{line['file']}:{line['kernel']} "
                f"{line.get('target')} {line.get('stages')} stages: {line.get('message', '')[:150]}"
            )
    return "\n".join([*lines, "", *_refusals(results, peer)])
