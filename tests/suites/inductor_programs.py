# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs compiled by torch.compile, each compared with eager mode.

    tilewright run tests/suites/inductor_programs.py --json tilewright.json
    python tests/suites/inductor_programs.py --json triton.json
    python tests/suites/inductor_programs.py --compare triton.json tilewright.json

Each group runs in a process of its own with empty caches; where a program takes its process down, or exceeds
its time, the rest of the group goes on in another one. `-k TEXT` selects by name, `--list` shows the names.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))

STATES = ("passed", "differs", "failed", "crashed", "timeout", "skipped")


def read_lines(path: Path) -> list[dict]:
    """The whole lines of a worker's file; the last one may be half written."""
    if not path.exists():
        return []
    lines = path.read_text().splitlines()
    records = []
    for line in lines:
        try:
            records.append(json.loads(line))
        except ValueError:
            break
    return records


def start_worker(names, out, log, options):
    environment = dict(os.environ)
    if options.jobs > 1:  # every worker has a pool of its own
        environment.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "4")
    # Times of compilation are those of a first run: nothing may come from an earlier one.
    if not options.keep_caches:
        for variable, folder in (
            ("TORCHINDUCTOR_CACHE_DIR", "inductor"),
            ("TRITON_CACHE_DIR", "triton"),
            ("TILEWRIGHT_CACHE_DIR", "tilewright"),
        ):
            environment[variable] = str(Path(options.scratch) / folder / str(os.urandom(4).hex()))
    command = [
        sys.executable,
        __file__,
        "--worker",
        out,
        "--device",
        options.device,
        "--backend",
        options.backend,
        "--names",
        ",".join(names),
    ]
    return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment, start_new_session=True)


class Lines:
    """What a worker has written so far: results are reported as they come."""

    def __init__(self, path: Path, report, facts):
        self.path, self.report, self.facts = path, report, facts
        self.count, self.started, self.done = 0, None, set()

    def read(self) -> bool:
        """Takes in what is new; whether there was anything."""
        records = read_lines(self.path)[self.count :]
        for record in records:
            if "facts" in record:
                self.facts.update(record["facts"])
            elif "start" in record:
                self.started = record["start"]
            else:
                self.done.add(record["name"])
                self.report(record)
        self.count += len(records)
        return bool(records)


def wait(process, lines: Lines, limit: float, deadline: float) -> str:
    """Until the worker has ended, or one program has run for longer than the limit, or the whole run."""
    since = time.monotonic()
    while process.poll() is None:
        time.sleep(0.2)
        if lines.read():
            since = time.monotonic()
        if time.monotonic() - since > limit or time.monotonic() > deadline:
            # The group of this worker's own session: its compile workers go with it.
            os.killpg(process.pid, 9)
            process.wait()
            return "timeout"
    lines.read()
    return "crashed" if process.returncode else ""


def run_group(names: list[str], options, report, facts) -> None:
    """All programs of a group, in as many processes as it takes."""
    left = list(names)
    while left and time.monotonic() < options.deadline:
        out = Path(options.scratch) / f"lines-{os.urandom(4).hex()}.json"
        log_path = out.with_suffix(".log")
        lines = Lines(out, report, facts)
        with open(log_path, "wb") as log:
            process = start_worker(left, str(out), log, options)
            ending = wait(process, lines, options.timeout, options.deadline)
        if (ending and lines.started not in lines.done) or not lines.done:
            # The one that took the process down, or a worker that did nothing: neither is tried again.
            victim = lines.started or left[0]
            tail = log_path.read_bytes().decode(errors="replace")[-3000:]
            report(
                {
                    "name": victim,
                    "group": victim.split(".")[0],
                    "status": ending or "crashed",
                    "message": f"exit status {process.returncode}",
                    "log": tail,
                }
            )
            lines.done.add(victim)
        left = [name for name in left if name not in lines.done]


def select(options) -> tuple[list, list]:
    """Programs in portions for one process each: those that may run side by side, and those that are timed."""
    from inductor.registry import load_all

    programs = load_all()
    names = [
        n
        for n, p in programs.items()
        if (options.k is None or options.k in n) and (options.device == "cuda" or not p.gpu or options.backend != "inductor")
    ]
    together, alone = collections.defaultdict(list), collections.defaultdict(list)
    for name in names:
        (alone if programs[name].timed and options.jobs > 1 else together)[programs[name].group].append(name)
    size = 100 if options.jobs == 1 else 12
    return [group[i : i + size] for group in together.values() for i in range(0, len(group), size)], list(alone.values())


def run_all(options) -> int:
    together, alone = select(options)
    if options.list:
        print("\n".join(name for names in (*together, *alone) for name in names))
        return 0
    results, facts, start, lock = [], {}, time.monotonic(), threading.Lock()
    options.deadline = start + options.budget

    def report(record):
        with lock:
            results.append(record)
            print(
                f"{record['status']:8} {record['name']:60} {record.get('seconds', 0):7.1f} s  "
                f"{record.get('message', '')[:150]}",
                flush=True,
            )
            if options.json:
                Path(options.json).write_text(json.dumps({"facts": facts, "results": results}, indent=1))

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        options.scratch = scratch
        with ThreadPoolExecutor(options.jobs) as pool:
            for done in [pool.submit(run_group, names, options, report, facts) for names in together]:
                done.result()
        for names in alone:
            run_group(names, options, report, facts)
    counts = collections.Counter(record["status"] for record in results)
    counts["not run"] = sum(len(names) for names in (*together, *alone)) - len(results)
    compiling = sum(record.get("first_seconds", 0) for record in results)
    print(facts)
    print(
        ", ".join(f"{counts[state]} {state}" for state in (*STATES, "not run")),
        f"of {len(results) + counts['not run']}; "
        f"first calls {compiling:.0f} s; {sum(r.get('kernels') or 0 for r in results)} kernels; "
        f"{time.monotonic() - start:.0f} s in all",
    )
    if options.json:
        Path(options.json).write_text(json.dumps({"facts": facts, "counts": counts, "results": results}, indent=1))
    return 0 if counts["passed"] + counts["skipped"] == len(results) else 1


def compare(first: str, second: str) -> int:
    """Two runs side by side: what only one of them passes, and times."""
    runs = [{r["name"]: r for r in json.loads(Path(p).read_text())["results"]} for p in (first, second)]
    both = [n for n in runs[0] if n in runs[1]]
    for name in both:
        states = [run[name]["status"] for run in runs]
        if states[0] != states[1]:
            worse = next(run[name] for run in runs if run[name]["status"] != "passed")
            print(f"{name:60} {states[0]:8} {states[1]:8} {worse.get('message', '')[:200]}")
    good = [n for n in both if all(run[n]["status"] == "passed" for run in runs)]
    for name in good:
        times = [run[name].get("warm_ms") for run in runs]
        if None not in times:
            print(
                f"{name:60} warm {times[0]:9.3f} ms {times[1]:9.3f} ms, {times[0] / times[1]:.2f}; "
                f"first {runs[0][name]['first_seconds']:.2f} s {runs[1][name]['first_seconds']:.2f} s"
            )
    totals = [sum(run[n].get("first_seconds", 0) for n in good) for run in runs]
    passed = [sum(r["status"] == "passed" for r in run.values()) for run in runs]
    print(
        f"passed: {passed[0]} and {passed[1]} of {len(both)}; "
        f"first calls of what both pass: {totals[0]:.1f} s and {totals[1]:.1f} s"
    )
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", help="file for the results; written after every program")
    parser.add_argument("-k", help="only names with this text")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--backend", default="inductor", help="another one, such as aot_eager, tries the programs themselves")
    parser.add_argument("--timeout", type=float, default=300, help="seconds for one program")
    parser.add_argument("--jobs", type=int, default=1, help="processes side by side; timed programs run alone after the others")
    parser.add_argument("--budget", type=float, default=1e9, help="seconds for everything; what is left then is not run")
    parser.add_argument("--keep-caches", action="store_true", help="use the caches of this user")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--compare", nargs=2, metavar="JSON")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--names", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.compare:
        return compare(*options.compare)
    if options.worker:
        from inductor import worker

        worker.main(options.names.split(","), options.worker, options.device, options.backend)
        return 0
    return run_all(options)


if __name__ == "__main__":
    sys.exit(main())
