# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shows a tuning to people: progress, a table of text, a page of HTML.

The page is one file without scripts and without anything from a network. Every
text in it is escaped: names of kernels and configurations are the user's.
"""

from __future__ import annotations

import sys
import time

from ..user_objects import printable

_ORDER = {"ok": 0, "slow": 1, "wrong": 2, "pruned": 3, "failed": 4, "hung": 5, "skipped": 6}


def ordered(records):
    """Records, the fastest first, then those without a time by what became of them."""
    return sorted(records, key=lambda r: (_ORDER.get(r["status"], 9), r.get("median") or 0.0, r["config"]))


def text_table(records) -> str:
    lines = [f"  {'ms':>10} {'interval':>19}  {'regs':>4} {'shared':>7}  configuration"]
    for r in ordered(records):
        if r.get("median") is None:
            lines.append(
                f"  {r['status']:>10} {'':>19}  {_number(r, 'registers'):>4} {_number(r, 'shared'):>7}  "
                f"{printable(r['config'])}: {printable(r['reason'])}"
            )
            continue
        interval = f"{r['low']:.4f} .. {r['high']:.4f}" if r.get("low") is not None else ""
        note = "" if r["status"] == "ok" else f" ({r['status']}: {printable(r['reason'])})"
        lines.append(
            f"  {r['median']:>10.4f} {interval:>19}  {_number(r, 'registers'):>4} {_number(r, 'shared'):>7}  "
            f"{printable(r['config'])}{note}"
        )
    return "\n".join(lines)


def _number(record, name):
    value = record.get(name)
    return "" if value is None else str(value)


class Progress:
    """One line on the terminal that is written over."""

    def __init__(self, name, stream):
        self.name, self.stream = printable(name), stream
        self.last = 0.0

    @classmethod
    def if_wanted(cls, name):
        return cls(name, sys.stderr) if sys.stderr is not None and sys.stderr.isatty() else None

    def update(self, session, batch):
        if time.monotonic() - self.last < 0.1:
            return
        self.last = time.monotonic()
        measured = [c for c in session.candidates if c.samples]
        ended = sum(not c.runs for c in session.candidates)
        best = min(measured, default=None, key=lambda c: sum(c.samples) / len(c.samples))
        text = f"tuning {self.name}: {len(measured) + ended} of {len(session.candidates)}, {session.elapsed():.1f} s"
        if best is not None:
            text += f", best {sum(best.samples) / len(best.samples):.4f} ms with {printable(best.config)}"
        self.stream.write("\r\x1b[2K" + text[:150])
        self.stream.flush()

    def close(self):
        self.stream.write("\r\x1b[2K")
        self.stream.flush()


# ---------------------------------------------------------------------------
# The page
# ---------------------------------------------------------------------------

_STYLE = """
body { font: 14px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 76em; padding: 0 1em; color: #222; background: #fff }
h1 { font-size: 1.5em } h2 { font-size: 1.15em; margin-top: 2.2em }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
th, td { text-align: left; padding: .2em .6em; border-bottom: 1px solid #ddd; vertical-align: top }
td.n, th.n { text-align: right } td:first-child { min-width: 19em } td.n { white-space: nowrap } .muted { color: #777 }
tr.best { background: #e8f4ea; font-weight: 600 } code { font: 12.5px ui-monospace, monospace }
.bar { fill: #4a7fb5 } .best .bar { fill: #2e8b57 } .whisker { stroke: #222; stroke-width: 1.5 }
@media (prefers-color-scheme: dark) { body { background: #16181c; color: #ddd } th, td { border-color: #333 }
tr.best { background: #1d3325 } .whisker { stroke: #eee } }
"""


def _bar(record, scale, best) -> str:
    """The median as a bar, its interval as a line."""
    width = 260

    def x(value):
        return f"{max(0.0, min(value / scale, 1.0)) * width:.1f}"

    whisker = ""
    if record.get("low") is not None:
        whisker = f'<line class="whisker" x1="{x(record["low"])}" x2="{x(record["high"])}" y1="8" y2="8"/>'
    return (
        f'<svg width="{width}" height="16" role="img" aria-label="{record["median"]:.4f} ms">'
        f'<rect class="bar" width="{x(record["median"])}" height="10" y="3" rx="2"/>{whisker}</svg>'
    )


def _row(record, scale, best, peak) -> str:
    import html  # pages are few, and the module is large

    esc = html.escape
    has_time = record.get("median") is not None
    cells = [
        f"<td><code>{esc(printable(record['config']))}</code></td>",
        f"<td class=n>{record['median']:.4f}</td>" if has_time else "<td class=n>-</td>",
        f"<td>{_bar(record, scale, best)}</td>" if has_time else "<td></td>",
        f"<td class=n>{best['median'] / record['median'] * 100:.0f} %</td>" if has_time and best else "<td></td>",
    ]
    if peak is not None:
        cells.append(f"<td class=n>{peak / record['median'] * 100:.0f} %</td>" if has_time else "<td></td>")
    for name in ("registers", "spills", "shared", "blocks"):
        cells.append(f"<td class=n>{esc(_number(record, name))}</td>")
    text = "" if record["status"] == "ok" else f"{record['status']}: {printable(record['reason'])}"
    cells.append(f"<td class=muted>{esc(text)}</td>")
    return f"<tr{' class=best' if record is best else ''}>{''.join(cells)}</tr>"


def _section(header) -> str:
    import html  # pages are few, and the module is large

    esc = html.escape
    records = ordered(header["records"].values())
    timed = [r for r in records if r.get("median") is not None]
    best = next((r for i, r in header["records"].items() if i == (header.get("pinned") or header.get("best"))), None)
    scale = max((r["median"] for r in timed), default=1.0)
    # The time that moving every tensor argument once would take at least.
    peak = header.get("roof_ms")
    counts = {}
    for record in records:
        counts[record["status"]] = counts.get(record["status"], 0) + 1
    fields = header["fields"]
    ran_on = f"{printable(fields.get('device', ''))}, {printable(fields.get('driver', ''))}"
    ends = ", ".join(f"{count} {status}" for status, count in counts.items())
    roof = "<th class=n>of memory roof</th>" if peak is not None else ""
    note = (
        f"<p class=muted>Roofline: moving the tensor arguments once through memory takes at least {peak:.4f} ms here.</p>"
        if peak is not None
        else ""
    )
    clocks = header.get("clocks")
    if clocks:
        note += f"<p class=muted>Clocks when it began: {esc(', '.join(f'{k} {v} MHz' for k, v in clocks.items()))}.</p>"
    rows = "\n".join(_row(r, scale, best, peak) for r in records)
    return f"""<h2><code>{esc(printable(header.get("kernel", "?")))}</code> for {esc(printable(header.get("key", "")))}</h2>
<p>{esc(ran_on)}; {esc(ends)}
{"; pinned" if header.get("pinned") else ""}</p>{note}
<table><thead><tr><th>configuration</th><th class=n>ms</th><th>median and 95 % interval</th><th class=n>of best</th>{roof}
<th class=n>registers</th><th class=n>spills</th><th class=n>shared</th><th class=n>blocks</th><th></th></tr></thead>
<tbody>{rows}</tbody></table>"""


def html_page(headers) -> str:
    """One self-contained page about the given tables."""
    sections = "\n".join(_section(h) for h in headers) or "<p>No table.</p>"
    made = time.strftime("%Y-%m-%d %H:%M")
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Tilewright tuning report</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>{_STYLE}</style></head><body>
<h1>Tuning report</h1><p class=muted>{len(headers)} table{"" if len(headers) == 1 else "s"}, written {made}</p>
{sections}
</body></html>
"""
