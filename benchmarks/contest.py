# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tuned kernels against peers: check, tune, measure, report.

For benchmarks whose kernels have configurations (matmul.py, attention.py). A
`Problem` is one row of the table. What happens to it:

  1. Every configuration of every kernel is compiled by every compiler and run on
     the small problems of `Problem.checks()`, whose results are known. A wrong or
     failing one is reported and takes no further part.
  2. The rest is timed on the row itself; the three best of each kernel and compiler
     then take turns, and the best of them goes on.
  3. Those and the peers take turns, round after round, on random inputs; outputs
     are compared once more. Device time is that of a CUDA graph that goes once
     through buffers larger together than the L2; below SMALL the time per call
     that a Python program sees is measured too, descriptors made in each call.

A kernel that hangs or faults takes its process with it. So the work is done in a
child (contest_child.py), which notes what it is about to try; the parent kills it when it makes no
progress, marks that attempt as failed and starts a new child, which goes on with
the next one.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from contest_child import Notes, work
from contest_report import failures, lines_of, report, short_resources


# A child that notes nothing for so long hangs. Compiling takes seconds.
SILENT_SECONDS = 45

# Until its first note: importing torch on a machine that has never done it.
STARTUP_SECONDS = 180

RESTARTS = 12


def supervise(options) -> dict:
    """Runs children until one reaches the end. Returns the notes."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "notes.json")
        command = [sys.executable, *sys.argv, "--notes", path]
        for attempt in range(RESTARTS):
            child = subprocess.Popen(command)
            began = time.time()
            hung = False
            while child.poll() is None:
                time.sleep(0.2)
                heard = os.path.getmtime(path) if os.path.exists(path) else 0
                limit = SILENT_SECONDS if heard > began else STARTUP_SECONDS
                if time.time() - max(heard, began) > limit:
                    hung = True
                    child.kill()
                    child.wait()
            notes = Notes(path).data
            if child.returncode == 0:
                break
            reason = f"no progress for {limit} s" if hung else f"the process ended with {child.returncode}"
            current = notes["current"]
            print(f"# child {attempt}: {reason} at {current}", flush=True)
            if current is None or current in notes["failed"] and not hung and child.returncode != 75:
                break  # not a kernel's fault: it would happen again
            notes["failed"].setdefault(current, reason)
            if current.startswith("row "):
                notes["skipped"].append(current[len("row ") :])
            notes["current"] = None
            Path(path).write_text(json.dumps(notes))
        return notes


def add_options(parser):
    parser.add_argument("--kernels", nargs="*", default=[], help="only these kernels")
    parser.add_argument("--configs", choices=["quick", "full"], default="quick", help="how many configurations to tune")
    parser.add_argument("--quick", action="store_true", help="the first two rows, half a second each: a check, not a figure")
    parser.add_argument("--only-check", action="store_true", help="run every configuration on small inputs, time none")
    parser.add_argument("--no-triton", action="store_true", help="leave Triton out")
    parser.add_argument("--arch", default="", help="compile Tilewright's kernels for this target, as sm_90: without wgmma")
    parser.add_argument("--seconds", type=float, default=1.5, help="time for tuning, and again for measuring, a row")
    parser.add_argument("--warm", type=float, default=1.0, help="seconds of a peer before each row")
    parser.add_argument("--out", default="", help="folder for the JSON and Markdown reports")
    parser.add_argument("--notes", default="", help="used inside: makes this process the one that does the work")


def main(name: str, title: str, problems: list, kernels: Path, options) -> int:
    if options.quick:
        problems, options.seconds, options.warm = problems[:2], 0.5, 0.5
    if options.notes:
        work(problems, kernels, options)
        return 0
    notes = supervise(options)
    lines = [line for row in notes["rows"] for line in lines_of(row, notes["resources"])]
    mine = {key: message for key, message in notes["failed"].items() if key.startswith("tilewright")}
    report(options.out, name, title, notes, lines)
    print(
        f"\n{len(notes['passed'])} kernels passed the checks, {len(notes['failed'])} attempts failed, "
        f"{len(mine)} of them Tilewright's"
    )
    for line in failures(notes["failed"]):
        print(line)
    if options.only_check:
        for key in notes["passed"]:
            facts = notes["resources"].get(key, {})
            print(f"ok {key}: {short_resources(facts)} registers/spills/shared, {facts.get('seconds')} s")
    measured = {row["title"] for row in notes["rows"]}
    missing = [] if options.only_check else [p.title for p in problems if p.title not in measured]
    if missing:
        print("not measured: " + ", ".join(missing))
    return 1 if mine or missing else 0
