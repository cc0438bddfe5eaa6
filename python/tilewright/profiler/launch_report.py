# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table and the JSON of a recording: a row per kernel, configuration and device."""

from __future__ import annotations

import functools
import statistics
from collections import defaultdict

from .. import _core
from .names import configuration_of
from .specs import max_bps
from .work import Roof, amounts_of

_VERSION = 1  # of the JSON


class Row:
    """The launches of one kernel in one configuration on one device."""

    def __init__(self, name, configuration, device):
        self.name, self.configuration, self.device = name, configuration, device
        self.calls = self.captured = self.timed = 0
        self.seconds = 0.0  # of those that were timed
        self.least_seconds = 0.0  # of a device at its best, for those whose amounts are known
        self.counted_seconds = 0.0  # of those
        self.limits: dict = defaultdict(float)  # "memory" or "compute" -> seconds
        self.bytes = self.requested_bytes = self.operations = 0
        self.byte_seconds = self.operation_seconds = 0.0
        self.unknown: set = set()
        self.overheads: list = []
        self.compile_seconds = 0.0
        self.resources: dict = {}

    def add(self, launch, amounts, roof):
        self.calls += 1
        self.captured += launch.is_captured
        self.compile_seconds += launch.missed * 1e-9
        if not launch.missed:
            self.overheads.append(launch.overhead * 1e-9)
        self.unknown |= amounts.unknown
        seconds = launch.seconds
        if seconds is None:
            return
        self.timed += 1
        self.seconds += seconds
        if "bytes" not in amounts.unknown:
            self.bytes += amounts.least_bytes
            self.requested_bytes += amounts.requested_bytes
            self.byte_seconds += seconds
        if "operations" not in amounts.unknown:
            self.operations += amounts.operations
            self.operation_seconds += seconds
        least = roof.least_seconds(amounts) if roof is not None else None
        if least is not None:
            self.least_seconds += least[0]
            self.limits[least[1]] += least[0]
            self.counted_seconds += seconds

    @property
    def share(self):
        """The part of the roofline that is reached, 1 at best; None where it is not known."""
        return self.least_seconds / self.counted_seconds if self.counted_seconds else None

    @property
    def limit(self):
        return max(self.limits, key=self.limits.get) if self.limits else None

    @property
    def bytes_per_second(self):
        return self.bytes / self.byte_seconds if self.byte_seconds and self.bytes else None

    @property
    def operations_per_second(self):
        return self.operations / self.operation_seconds if self.operation_seconds else None

    @property
    def overhead(self):
        """Median of the host's time in seconds, without launches that compiled."""
        return statistics.median(self.overheads) if self.overheads else None

    def as_json(self):
        return {
            "kernel": self.name,
            "configuration": self.configuration,
            "device": self.device,
            "calls": self.calls,
            "captured": self.captured,
            "timed": self.timed,
            "seconds": self.seconds,
            "mean_seconds": self.seconds / self.timed if self.timed else None,
            "bytes_per_second": self.bytes_per_second,
            "operations_per_second": self.operations_per_second,
            "bytes": self.bytes,
            "requested_bytes": self.requested_bytes,
            "operations": self.operations,
            "unknown": sorted(self.unknown),
            "roofline_share": self.share,
            "limit": self.limit,
            "launch_seconds": self.overhead,
            "compile_seconds": self.compile_seconds,
            **self.resources,
        }


@functools.lru_cache(64)
def roof_of(device):
    """What a device does at best, or None where its peaks are not known."""
    facts = _core.device_properties(device)
    rates = _core.peak_rates(facts["capability"], facts["multiprocessor_count"], facts["sm_clock_rate"])
    if not rates["elements32"]:
        return None
    return Roof(max_bps("CUDA", str(facts["capability"]), facts["mem_bus_width"], facts["mem_clock_rate"]), rates)


class Report:
    """What a recording adds up to."""

    def __init__(self, recording):
        self.recording = recording
        self.rows: dict = {}
        self.tuning_launches = 0
        known_amounts: dict = {}
        for launch in recording.launches:
            if recording.is_of_tuning(launch):
                self.tuning_launches += 1
                continue
            same = (launch.kernel, launch.grid, launch.words)
            if same not in known_amounts:
                known_amounts[same] = self._amounts(launch)
            self._row(launch).add(launch, known_amounts[same], self._roof(launch))

    def _amounts(self, launch):
        kernel = self.recording.kernels[launch.kernel]
        return amounts_of(kernel.metadata.work if kernel is not None else None, self.recording.values_of(launch), launch.grid)

    def _roof(self, launch):
        return roof_of(launch.device)

    def _row(self, launch):
        kernel = self.recording.kernels[launch.kernel]
        name = kernel.name if kernel is not None else "(kernel that is gone)"
        key = (name, configuration_of(kernel), launch.device)
        row = self.rows.get(key)
        if row is None:
            row = self.rows[key] = Row(*key)
            if kernel is not None:
                row.resources = {"registers": kernel.n_regs, "spills": kernel.n_spills, "shared_bytes": kernel.shared}
        return row

    def sorted_rows(self, by="time"):
        order = {"time": lambda row: -row.seconds, "calls": lambda row: -row.calls, "name": lambda row: row.name}[by]
        return sorted(self.rows.values(), key=order)

    # -- other sums -----------------------------------------------------------

    def interpreted(self):
        """[(kernel, calls, seconds)] of the interpreter, longest first."""
        sums = defaultdict(lambda: [0, 0.0])
        for run in self.recording.interpreted:
            sums[run.kernel][0] += 1
            sums[run.kernel][1] += (run.end - run.begin) * 1e-9
        return sorted(((name, *both) for name, both in sums.items()), key=lambda row: -row[2])

    def tunings(self):
        """{kernel: (times tuned, seconds, configurations measured)}"""
        sums = defaultdict(lambda: [0, 0.0, 0])
        for tuning in self.recording.tunings:
            entry = sums[tuning.kernel]
            entry[0] += 1
            entry[1] += (tuning.end - tuning.begin) * 1e-9
            entry[2] += tuning.configurations
        return {name: tuple(entry) for name, entry in sums.items()}

    @property
    def seconds(self):
        return (self.recording.end - self.recording.begin) * 1e-9

    @property
    def source(self):
        return "cupti" if self.recording.cupti else "events" if self.recording.launches else "interpreter"

    # -- forms ------------------------------------------------------------------

    def as_json(self) -> dict:
        recording = self.recording
        devices = {row.device for row in self.rows.values()}
        return {
            "version": _VERSION,
            "source": self.source,
            "library": recording.cupti,
            "seconds": self.seconds,
            "launches": len(recording.launches) + recording.uncounted,
            "uncounted": recording.uncounted,
            "tuning_launches": self.tuning_launches,
            "kernels": [row.as_json() for row in self.sorted_rows()],
            "tunings": [
                {
                    "kernel": t.kernel,
                    "key": t.key,
                    "configuration": t.config,
                    "configurations": t.configurations,
                    "seconds": (t.end - t.begin) * 1e-9,
                }
                for t in recording.tunings
            ],
            "interpreter": [
                {"kernel": name, "calls": calls, "seconds": seconds} for name, calls, seconds in self.interpreted()
            ],
            "others": [
                {"kernel": name, "in_graph": in_graph, "calls": count, "seconds": nanoseconds * 1e-9}
                for name, in_graph, count, nanoseconds in recording.others
            ],
            "devices": {str(device): self._device_json(device) for device in sorted(devices)},
        }

    @staticmethod
    def _device_json(device):
        facts, roof = _core.device_properties(device), roof_of(device)
        return {
            "name": facts["name"],
            "capability": facts["capability"],
            "bytes_per_second": roof.bytes_per_second if roof else None,
            "operations_per_second": roof.rates if roof else None,
        }

    def text(self, sort="time", limit=20) -> str:
        lines = [self._title()]
        if self.rows:
            lines += ["", *_table(self.sorted_rows(sort)[:limit], self.seconds_on_device())]
            left_out = len(self.rows) - limit
            if left_out > 0:
                lines.append(f"  and {left_out} more rows; --top {len(self.rows)} shows all")
        for name, (times, seconds, count) in sorted(self.tunings().items()):
            lines.append(f"  {name} was tuned {times} times in {seconds:.2f} s, {count} configurations measured")
        if self.interpreted():
            lines += ["", "  interpreted kernel                    calls        time"]
            lines += [
                f"  {name:<36} {calls:>6}  {_seconds(seconds):>10}" for name, calls, seconds in self.interpreted()[:limit]
            ]
        lines += self._others(limit)
        return "\n".join(lines)

    def seconds_on_device(self):
        return sum(row.seconds for row in self.rows.values())

    def _title(self):
        how = {"cupti": "timed by CUPTI", "events": "timed by events", "interpreter": "in the interpreter"}[self.source]
        count = len(self.recording.launches) + self.recording.uncounted + len(self.recording.interpreted)
        line = f"{count} launches in {self.seconds:.2f} s, {how}"
        if self.rows:
            share = self.seconds_on_device() / self.seconds if self.seconds else 0.0
            line += f"; kernels {_seconds(self.seconds_on_device())}, {share:.0%} of the time"
        if self.tuning_launches:
            line += f"; {self.tuning_launches} of them to tune"
        return line

    def _others(self, limit):
        others = sorted(self.recording.others, key=lambda other: -other[3])
        if not others:
            return []
        lines = ["", "  other kernels                         calls        time"]
        for name, in_graph, count, nanoseconds in others[:limit]:
            shown = name if len(name) <= 36 else name[:33] + "..."
            lines.append(f"  {shown:<36} {count:>6}  {_seconds(nanoseconds * 1e-9):>10}{'  in graphs' if in_graph else ''}")
        return lines


# ---------------------------------------------------------------------------
# Words and columns
# ---------------------------------------------------------------------------


def _seconds(value):
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= scale:
            return f"{value / scale:.2f} {unit}"
    return f"{value * 1e9:.0f} ns"


def _figure(value, scale, digits):
    return "unknown" if value is None else f"{value / scale:.{digits}f}"


def _cells(row, whole):
    share = "unknown" if row.share is None else f"{row.share:.0%} {row.limit}"
    return (
        row.name,
        row.configuration,
        str(row.calls),
        _seconds(row.seconds) if row.timed else "-",
        f"{row.seconds / whole:.0%}" if whole and row.timed else "-",
        _seconds(row.seconds / row.timed) if row.timed else "-",
        _figure(row.bytes_per_second, 1e9, 0),
        _figure(row.operations_per_second, 1e12, 2),
        share,
        "-" if row.overhead is None else _seconds(row.overhead),
        _seconds(row.compile_seconds) if row.compile_seconds else "-",
    )


_HEADS = ("kernel", "configuration", "calls", "time", "share", "mean", "GB/s", "TFLOP/s", "roofline", "launch", "compile")
_LEFT = (0, 1, 8)  # columns of words


def _table(rows, whole):
    cells = [_HEADS, *(_cells(row, whole) for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(_HEADS))]
    return [
        "  "
        + "  ".join(
            text.ljust(width) if column in _LEFT else text.rjust(width)
            for column, (text, width) in enumerate(zip(line, widths))
        ).rstrip()
        for line in cells
    ]
