# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the tests of public repositories under Tilewright and, for what fails, under Triton.

    python tests/suites/run_suites.py CHECKOUTS --out FOLDER
    python tests/suites/run_suites.py CHECKOUTS --suite attorch --suite "triton-*" --sample all --triton all

CHECKOUTS has a folder `owner+name` per repository with a file COMMIT in it (pack.py makes them); the
sources are no part of this project. suites.toml says what is run of each. `import triton` means
Tilewright in every process of the first kind. FOLDER gets table.md, summary.json, failures.jsonl (one line
per failing test), findings.md (with --check), times.md (with --times), tests.jsonl.gz (every test) and ends.txt
(the last output of jobs that went wrong).
"""

import argparse
import collections
import fnmatch
import json
import queue
import shutil
import sys
import tempfile
import threading
import time
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from jobs import Job, Runner, Suite  # noqa: E402
from report import write_report  # noqa: E402
from time_table import read_times, table_of  # noqa: E402

# Failures of sixteen processes on one GPU that say nothing about the kernel: the test runs again, alone.
MEMORY_ERRORS = ("out of memory", "OutOfMemoryError", "CUBLAS_STATUS_ALLOC_FAILED", "CUBLAS_STATUS_NOT_INITIALIZED")
# Of the time: what is left after it belongs to the comparison with Triton and to tests that run again.
FIRST_SHARE = 0.72


def read_suites(patterns) -> list:
    with open(HERE / "suites.toml", "rb") as file:
        suites = [Suite(**entry) for entry in tomllib.load(file)["suite"]]
    if patterns:
        suites = [suite for suite in suites if any(fnmatch.fnmatch(suite.name, pattern) for pattern in patterns)]
    return suites


def jobs_of(suite: Suite, root: Path, implementation: str, sample, most_jobs: int) -> list:
    """Large files are shared by all jobs of a suite; small ones are dealt out."""
    files = suite.files(root)
    if not files:
        return []
    count = max(1, min(suite.jobs, most_jobs))
    folder = suite.checkout(root) / suite.folder
    sizes = {name: (folder / name).stat().st_size for name in files}
    limit = sum(sizes.values()) / count
    shared = [name for name in files if sizes[name] > limit] if count > 1 else []
    dealt = sorted((name for name in files if name not in shared), key=lambda name: -sizes[name])
    hands = [[] for _ in range(count)]
    for name in dealt:
        min(hands, key=lambda hand: sum(sizes[each] for each in hand)).append(name)
    if suite.scripts:  # one file of ours runs them all: the programs are the parts
        return [
            Job(suite, implementation, sorted(hand), part=index)
            for index, hand in enumerate([files[index::count] for index in range(count)])
        ]
    prefix = "" if not shared else None
    hands = [hand for hand in hands if hand or shared] if prefix is None else [hand for hand in hands if hand]
    return [
        Job(suite, implementation, shared + sorted(hand), whole=sorted(hand), part=index, parts=len(hands), sample=sample)
        for index, hand in enumerate(hands)
    ]


class Campaign:
    """The queue of jobs, the threads that take them, and what came out."""

    def __init__(self, arguments, suites, scratch: Path):
        self.arguments, self.suites = arguments, suites
        modes = ("collect", "interpret", "emulate", "check")
        mode = next((name for name in modes if getattr(arguments, name)), "run")
        began = time.monotonic()
        budget = arguments.budget_seconds or 10**9
        self.deadline = began + budget
        share = 1.0 if arguments.triton == "none" or arguments.times else FIRST_SHARE
        more = {"mode": mode, "smallest": arguments.smallest, "timeout": arguments.timeout, "keyword": arguments.keyword}
        more["times"] = arguments.times
        self.first = Runner(arguments.checkouts, scratch, began + budget * share, **more)
        self.second = Runner(arguments.checkouts, scratch, self.deadline, **more)
        self.waiting = queue.PriorityQueue()
        self.count = 0
        self.lock = threading.Lock()
        self.jobs = []
        self.open_jobs = 0

    def add(self, job: Job, priority: float):
        with self.lock:
            self.count += 1
            self.open_jobs += 1
            self.waiting.put((priority, self.count, job))

    def fill(self):
        """First jobs of all suites before second ones, so that a short budget sees something of each."""
        sample = self.arguments.sample
        for suite in self.suites:
            chosen = (suite.sample if sample == "suite" else 0 if sample == "all" else sample) or None
            implementations = ["triton"] if self.arguments.only_triton else ["tilewright"]
            if self.arguments.triton == "all" and not self.arguments.only_triton:
                implementations.append("triton")
            for implementation in implementations:
                found = jobs_of(suite, self.arguments.checkouts, implementation, chosen, self.arguments.jobs)
                for index, job in enumerate(found):
                    # Times are compared, so both get as far as the budget allows.
                    is_later = implementation == "triton" and not self.arguments.times
                    self.add(job, index / len(found) + is_later)

    def work(self, device):
        while True:
            try:
                _, _, job = self.waiting.get(timeout=0.2)
            except queue.Empty:
                if self.open_jobs == 0:
                    return
                continue
            try:
                runner = self.first if job.implementation == "tilewright" else self.second
                runner.run(job, device)
                self.after(job)
            finally:
                with self.lock:
                    self.jobs.append(job)
                    self.open_jobs -= 1

    def after(self, job: Job):
        outcomes = [line["outcome"] for line in job.results.values()]
        bad = [name for name, line in job.results.items() if line["outcome"] in ("failed", "crashed", "timeout")]
        print(
            f"{time.strftime('%H:%M:%S')} {job.name}: {job.selected} chosen, {outcomes.count('passed')} passed, "
            f"{len(bad)} failed, {outcomes.count('skipped')} skipped, {len(job.not_run)} not run, {job.seconds:.0f} s",
            flush=True,
        )
        if job.implementation == "tilewright" and bad and self.arguments.triton == "failed":
            # A file that cannot be imported names no tests: Triton is asked for the same selection of it.
            whole = any(job.results[name]["phase"] in ("collect", "process") and "::" not in name for name in bad)
            self.add(
                Job(job.suite, "triton", job.files, job.whole, job.part, job.parts, job.sample, only=None if whole else bad),
                2.0,
            )

    def run(self):
        self.fill()
        count = self.arguments.devices
        devices = [index % count if count > 1 else None for index in range(self.arguments.jobs)]
        threads = [threading.Thread(target=self.work, args=(device,)) for device in devices]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.again()

    def again(self):
        """What ran out of the memory that all processes share, one after another."""
        for job in list(self.jobs):
            short = [
                name
                for name, line in job.results.items()
                if line["outcome"] == "failed" and any(word in line["text"] for word in MEMORY_ERRORS)
            ]
            if not short or time.monotonic() > self.deadline:
                continue
            alone = Job(job.suite, job.implementation, job.files, sample=job.sample, only=short)
            self.second.run(alone)
            job.results.update(alone.results)


def collect_launches(scratch: Path, out: Path):
    """The lines of all processes in one file, and how many launches had which end."""
    lines = [line for path in sorted(scratch.glob("*.launches")) for line in path.read_text().splitlines()]
    (out / "launches.jsonl").write_text("".join(line + "\n" for line in lines))
    counts = collections.Counter(json.loads(line)["status"] for line in lines)
    print("launches:", ", ".join(f"{count} {status}" for status, count in counts.most_common()) or "none")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("--out", type=Path, default=Path("suites-out"))
    parser.add_argument("--suite", action="append", help="names or patterns; all where missing")
    parser.add_argument(
        "--sample",
        default="suite",
        type=lambda text: text if text in ("suite", "all") else 1 if text == "one-per-test" else int(text),
        help="cases of each test function: one-per-test, a number, all, or as suites.toml says (suite)",
    )
    parser.add_argument("--smallest", action="store_true", help="a sample takes the cases with the smallest numbers")
    parser.add_argument("--timeout", type=float, help="seconds that a test may take, where suites.toml has too few or too many")
    parser.add_argument("--keyword", help="what pytest chooses tests by (-k)")
    parser.add_argument("--triton", choices=["failed", "all", "none"], default="failed", help="what Triton runs as well")
    parser.add_argument("--both", dest="triton", action="store_const", const="all", help="the same as --triton all")
    parser.add_argument("--only-triton", action="store_true", help="what is wrong with a suite itself, or this machine")
    parser.add_argument("--collect", action="store_true", help="run no test: say what cannot be imported")
    parser.add_argument(
        "--interpret",
        action="store_true",
        help="on the CPU, in both interpreters: suites that know how (`interpreted` in suites.toml)",
    )
    parser.add_argument(
        "--emulate",
        action="store_true",
        help="on the CPU, where torch's CUDA device is the CPU; launches run on the PTX emulator as well (launches.jsonl)",
    )
    parser.add_argument("--check", action="store_true", help="under `tilewright check`: findings.md lists what it reports")
    parser.add_argument(
        "--times",
        action="store_true",
        help="time each kernel of each test on the GPU; with --both, times.md lists those that are slower here",
    )
    parser.add_argument("--jobs", type=int, default=16)
    parser.add_argument("--devices", type=int, default=1, help="GPUs that the jobs are shared out to")
    parser.add_argument(
        "--budget-seconds", "--budget", type=float, help="tests that have not begun by then are counted as not run"
    )
    parser.add_argument("--scratch", type=Path, help="where processes write; a folder that goes away where missing")
    parser.add_argument("--list", action="store_true", help="say what would run")
    return parser.parse_args()


def main() -> int:
    arguments = parse()
    arguments.checkouts = arguments.checkouts.resolve()
    suites = [suite for suite in read_suites(arguments.suite) if suite.interpreted or not arguments.interpret]
    if arguments.list:
        for suite in suites:
            print(f"{suite.name}: {len(suite.files(arguments.checkouts))} files of {suite.repository}")
        return 0
    missing = [suite.name for suite in suites if not suite.files(arguments.checkouts)]
    if missing:
        print(f"no test files for: {', '.join(missing)}", file=sys.stderr)
    scratch = arguments.scratch or Path(tempfile.mkdtemp(prefix="suites-"))
    scratch.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    campaign = Campaign(arguments, suites, scratch.resolve())
    try:
        campaign.run()
    finally:
        write_report(arguments, suites, campaign.jobs, time.monotonic() - began)
        if arguments.emulate:
            collect_launches(scratch, arguments.out)
        if arguments.times:
            (arguments.out / "times.md").write_text(table := table_of(read_times(scratch)))
            print(table)
        if not arguments.scratch:
            shutil.rmtree(scratch, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
