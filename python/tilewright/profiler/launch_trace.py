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


def events_of(recording) -> list:
    """The events, times in microseconds from the beginning of the recording."""

    def microseconds(time):
        return (time - recording.begin) * 1e-3

    def slice_of(name, category, pid, tid, begin, end, **arguments):
        return {
            "ph": "X",
            "name": name,
            "cat": category,
            "pid": pid,
            "tid": tid,
            "ts": microseconds(begin),
            "dur": (end - begin) * 1e-3,
            "args": arguments,
        }

    events = [_name("process_name", _HOST, 0, "host")]
    named = set()
    for number, launch in enumerate(recording.launches):
        kernel = recording.kernels[launch.kernel]
        name = kernel.name if kernel is not None else "kernel"
        events.append(
            slice_of(
                f"launch {name}",
                "launch",
                _HOST,
                launch.thread,
                launch.called,
                launch.returned,
                compile_us=launch.missed * 1e-3,
            )
        )
        if launch.start is None:
            continue
        device = launch.device + 1
        if device not in named:
            named.add(device)
            events.append(_name("process_name", device, 0, f"GPU {launch.device}"))
        if (device, launch.stream) not in named:
            named.add((device, launch.stream))
            events.append(_name("thread_name", device, launch.stream, f"stream {launch.stream:#x}"))
        events.append(
            slice_of(
                name,
                "kernel",
                device,
                launch.stream,
                launch.start,
                launch.end,
                grid=list(launch.grid),
                configuration=configuration_of(kernel),
            )
        )
        arrow = {"cat": "launch", "name": "launch", "id": number}
        events.append({**arrow, "ph": "s", "pid": _HOST, "tid": launch.thread, "ts": microseconds(launch.submitted)})
        events.append({**arrow, "ph": "f", "bp": "e", "pid": device, "tid": launch.stream, "ts": microseconds(launch.start)})
    for tuning in recording.tunings:
        events.append(
            slice_of(
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
        )
    for run in recording.interpreted:
        events.append(slice_of(run.kernel, "interpreter", _HOST, run.thread, run.begin, run.end, grid=list(run.grid)))
    return events


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
