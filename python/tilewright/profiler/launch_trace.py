# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A recording as a file of Chrome's trace format: host threads, streams, and arrows from launches to kernels."""

from __future__ import annotations

import json

from .names import configuration_of

_HOST = 0  # the process of the host; device n is process n + 1
_MOST_DEVICES = 1000  # numbers that a process takes


def _name(kind, pid, tid, name):
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": {"name": name}}


class _Events:
    """The events of one recording, times in microseconds from its beginning."""

    def __init__(self, recording):
        self.recording = recording
        self.events = [_name("process_name", _HOST, 0, "host")]
        self.named = set()  # devices, and (device, stream)

    def microseconds(self, time):
        return (time - self.recording.begin) * 1e-3

    def slice(self, name, category, pid, tid, begin, end, **arguments):
        self.events.append(
            {
                "ph": "X",
                "name": name,
                "cat": category,
                "pid": pid,
                "tid": tid,
                "ts": self.microseconds(begin),
                "dur": (end - begin) * 1e-3,
                "args": arguments,
            }
        )

    def launch(self, number, launch):
        """The call on the host and, where it is known, the run on the GPU with an arrow to it."""
        kernel = self.recording.kernels[launch.kernel]
        name = kernel.name if kernel is not None else "kernel"
        missed = launch.missed * 1e-3
        self.slice(f"launch {name}", "launch", _HOST, launch.thread, launch.called, launch.returned, compile_us=missed)
        if launch.start is None:
            return
        device = launch.device + 1
        self.name_stream(device, launch)
        facts = {"grid": list(launch.grid), "configuration": configuration_of(kernel)}
        self.slice(name, "kernel", device, launch.stream, launch.start, launch.end, **facts)
        arrow = {"cat": "launch", "name": "launch", "id": number}
        submitted, started = self.microseconds(launch.submitted), self.microseconds(launch.start)
        self.events.append({**arrow, "ph": "s", "pid": _HOST, "tid": launch.thread, "ts": submitted})
        self.events.append({**arrow, "ph": "f", "bp": "e", "pid": device, "tid": launch.stream, "ts": started})

    def name_stream(self, device, launch):
        if device not in self.named:
            self.named.add(device)
            self.events.append(_name("process_name", device, 0, f"GPU {launch.device}"))
        if (device, launch.stream) not in self.named:
            self.named.add((device, launch.stream))
            self.events.append(_name("thread_name", device, launch.stream, f"stream {launch.stream:#x}"))

    def tuning(self, tuning):
        self.slice(
            f"tune {tuning.kernel}",
            "tuning",
            _HOST,
            tuning.thread,
            tuning.begin,
            tuning.end,
            key=tuning.key,
            configuration=tuning.config,
            configurations=tuning.configurations,
        )


def events_of(recording) -> list:
    """The events, times in microseconds from the beginning of the recording."""
    made = _Events(recording)
    for number, launch in enumerate(recording.launches):
        made.launch(number, launch)
    for tuning in recording.tunings:
        made.tuning(tuning)
    for run in recording.interpreted:
        made.slice(run.kernel, "interpreter", _HOST, run.thread, run.begin, run.end, grid=list(run.grid))
    return made.events


def of_child(recording, child) -> list:
    """The events of a child process beside those of `recording`: each process of the trace gets a number of its own."""
    later = (child["begin"] - recording.begin) * 1e-3
    prefix = f"process {child['process']}: "
    events = []
    for event in child["events"]:
        moved = {**event, "pid": child["process"] * _MOST_DEVICES + event["pid"]}
        if "ts" in event:
            moved["ts"] = event["ts"] + later
        if "id" in event:
            moved["id"] = f"{child['process']}.{event['id']}"
        if event["name"] == "process_name":
            moved["args"] = {"name": prefix + event["args"]["name"]}
        events.append(moved)
    return events


def write(recording, path, others=()):
    """Writes the recording's events, and `others`, which are finished already."""
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"traceEvents": [*events_of(recording), *others], "displayTimeUnit": "ns"}, file, default=str)
