# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The summary of a checked program: launches, kernels, findings by code and line."""

from __future__ import annotations

from collections import Counter

from .._version import __version__
from .finding import finding_lines


class Report:
    """What the processes of one program saw, put together."""

    def __init__(self, records, command, status):
        self.command, self.status = command, status
        self.launches = [r for r in records if r["kind"] == "launch"]
        self.groups = _grouped([r for r in records if r["kind"] == "finding"])

    @property
    def exit_status(self) -> int:
        """1 where something was found; else the program's own, as a shell tells it of a signal."""
        if self.groups:
            return 1
        return self.status if self.status >= 0 else 128 - self.status

    def as_json(self) -> dict:
        return {
            "version": __version__,
            "command": self.command,
            "exit_status": self.status,
            "launches": self.launches,
            "findings": self.groups,
            "kernels": [
                {"kernel": kernel, "file": file, "line": line, **counts}
                for (kernel, file, line), counts in self._by_kernel().items()
            ],
        }

    def _by_kernel(self):
        """(kernel, file, line) -> how many launches had which outcome."""
        kernels: dict = {}
        for launch in self.launches:
            counts = kernels.setdefault((launch["kernel"], launch["file"], launch["line"]), Counter())
            counts[launch["status"]] += 1
        return {key: dict(counts) for key, counts in kernels.items()}

    # -- text -----------------------------------------------------------------

    def text(self) -> str:
        lines = [self._headline()]
        for group in self.groups:
            lines += ["", *_group_lines(group)]
        left_out = self._left_out()
        if left_out:
            lines += ["", *left_out]
        if self.status < 0:
            lines += ["", f"the program was ended by signal {-self.status}"]
        return "\n".join(lines)

    def _headline(self):
        checked = [r for r in self.launches if r["status"] in ("checked", "compared", "cut")]
        kernels = {(r["kernel"], r["file"], r["line"]) for r in checked}
        programs = sum(r["programs"] for r in checked)
        compared = sum(r["status"] == "compared" for r in checked)
        head = (
            f"tilewright check: {_count(len(checked), 'launch', 'launches')} of {_count(len(kernels), 'kernel')}, "
            f"{_count(programs, 'program')}"
        )
        if compared:
            head += f"; {compared:,} compared with the compiled kernel"
        processes = len({r["process"] for r in self.launches})
        if processes > 1:
            head += f", in {processes} processes"
        if not self.launches:
            return "tilewright check: nothing was checked, as the program launched no kernel"
        return head + f": {_count(len(self.groups), 'finding') if self.groups else 'nothing found'}"

    def _left_out(self):
        lines = []
        reasons: Counter = Counter()
        for launch in self.launches:
            if launch["status"] in ("unchecked", "failed", "uncompared"):
                reasons[launch["kernel"], launch["status"], launch["reason"]] += 1
        words = {"unchecked": "not checked", "failed": "failed", "uncompared": "not compared"}
        for (kernel, status, reason), count in sorted(reasons.items()):
            lines.append(f"  {words[status]}: {kernel}, {_count(count, 'launch', 'launches')}: {reason}")
        if cut := [r for r in self.launches if r["status"] == "cut"]:
            lines.append(
                f"  {_count(len(cut), 'launch', 'launches')} ran only the programs that --limit allows: "
                "what the others would have written is missing"
            )
        return lines


def _count(number, one, many=None):
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _grouped(findings):
    """One entry per code and line, in the order in which they were first seen."""
    groups: dict = {}
    for record in findings:
        place = (record["frames"][0]["file"], record["frames"][0]["line"]) if record["frames"] else ("", 0)
        key = (record["code"], *place, record["kernel"])
        group = groups.get(key)
        if group is None:
            groups[key] = {**{k: v for k, v in record.items() if k != "kind"}, "launches": 1}
        else:
            group["count"] += record["count"]
            group["launches"] += 1
    return list(groups.values())


def _group_lines(group):
    times = f"{_count(group['count'], 'time')} in {_count(group['launches'], 'launch', 'launches')}"
    program = ", ".join(map(str, group["program"]))
    return [*finding_lines(group), f"  seen {times}, first in launch {group['launch']}, program ({program})"]
