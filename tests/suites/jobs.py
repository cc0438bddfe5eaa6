# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One job of a suite: a pytest process that is watched, and started anew when it dies.

A process that dies (a fault of the compiler, a spoiled device) or hangs costs the test that it
was at; the tests that remain run in the next process. What ran is known from the lines
that suite_plugin.py writes.
"""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

INSIDE = Path(__file__).resolve().parent / "inside"  # what the processes of suites import
BROKEN_DEVICE = 77  # as in inside/suite_plugin.py
COLLECTION_SECONDS = 180
EXIT_SECONDS = 15  # for the end of a process whose tests are done: some wait for threads of their own
MOST_PROCESSES = 40  # of one job; a suite that dies more often is broken as a whole
TAIL_CHARACTERS = 2500
CHECKED_PROGRAMS = 64  # of each launch: the interpreter is slower than a GPU by far


@dataclass
class Suite:
    """One entry of suites.toml."""

    name: str
    repository: str
    area: str
    tests: list
    revision: str = ""  # HEAD where empty
    folder: str = "."
    path: list = field(default_factory=list)
    keep: list = field(default_factory=list)
    ignore: list = field(default_factory=list)
    arguments: list = field(default_factory=list)
    environment: dict = field(default_factory=dict)
    metadata: dict = field(default_factory=dict)
    added: dict = field(default_factory=dict)
    edits: dict = field(default_factory=dict)
    absent: list = field(default_factory=list)
    stand_ins: list = field(default_factory=list)
    sample: int = 1  # 0: all
    jobs: int = 1
    timeout: float = 60.0
    interpreted: list = field(default_factory=list)
    scripts: str = ""  # "process" or "inside": the tests are programs, see script_cases.py

    def checkout(self, root: Path) -> Path:
        return root / (self.repository.replace("/", "+") + (f"@{self.revision}" if self.revision else ""))

    def files(self, root: Path) -> list:
        """Test files, as pytest names them from the folder it runs in."""
        folder = self.checkout(root) / self.folder
        found = []
        for pattern in self.tests:
            found += sorted(str(path.relative_to(folder)) for path in folder.glob(pattern) if path.suffix == ".py")
        ignored = {str(path.relative_to(folder)) for pattern in self.ignore for path in folder.glob(pattern)}
        return [name for name in dict.fromkeys(found) if name not in ignored]


@dataclass
class Job:
    """Tests of one suite that one process runs after another, under `implementation`."""

    suite: Suite
    implementation: str  # "tilewright" or "triton"
    files: list
    whole: list = field(default_factory=list)
    part: int = 0
    parts: int = 1
    sample: int | None = None
    only: list | None = None
    results: dict = field(default_factory=dict)
    not_run: list = field(default_factory=list)
    selected: int = 0
    output_tail: str = ""
    seconds: float = 0.0
    device: int | None = None
    # What `tilewright check` said of each of its processes.
    checked: list = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"{self.suite.name}-{self.implementation}-{self.part}" + ("-again" if self.only is not None else "")


@dataclass
class Progress:
    """What the lines of one process say so far."""

    selected: list | None = None
    ended: dict = field(default_factory=dict)
    current: str | None = None
    since: float = 0.0
    is_finished: bool = False

    def read(self, line: dict):
        event = line.pop("event")
        if event == "selected":
            self.selected = line["ids"]
            self.since = time.monotonic()
        elif event == "start":
            self.current, self.since = line["id"], time.monotonic()
        elif event == "end":
            self.ended[line["id"]] = line
            if line["phase"] != "collect":
                self.since = time.monotonic()
                self.current = None
        elif event == "finished":
            self.is_finished = True


class Runner:
    """Runs jobs' processes: environment, watching, restarts."""

    def __init__(
        self, root: Path, scratch: Path, deadline: float, mode="run", smallest=False, timeout=None, keyword=None, times=False
    ):  # fmt: skip
        self.root, self.scratch, self.deadline = root, scratch, deadline
        self.smallest, self.timeout, self.keyword = smallest, timeout, keyword
        self.mode = mode  # "run", "collect", "interpret", "emulate" or "check"
        self.times = times  # whether kernels are timed on the GPU

    def run(self, job: Job, device: int | None = None):
        """Runs the job on the GPU of this number; on all that there are where it is None."""
        began = time.monotonic()
        job.device = device
        for attempt in range(MOST_PROCESSES):
            if time.monotonic() > self.deadline:
                job.not_run = job.only or ["(the whole job)"] if not job.results else job.not_run
                break
            if self.run_process(job, attempt):
                break
        job.seconds = time.monotonic() - began

    # One process.

    def command(self, job: Job, stem: Path) -> list:
        pytest = [
            "-m",
            "pytest",
            "-p",
            "suite_plugin",
            "-o",
            "addopts=",
            "-p",
            "no:cacheprovider",
            "-q",
            "--tb=short",
            "--continue-on-collection-errors",
            "-W",
            "ignore",
        ]
        more = {"run": [], "collect": ["--collect-only", "-p", "pretend_gpu"], "interpret": job.suite.interpreted, "check": []}
        more["emulate"] = ["-p", "cuda_on_cpu", "-p", "emulated_launches"]
        arguments = pytest + job.suite.arguments + more[self.mode] + (["-p", "kernel_times"] if self.times else [])
        if self.keyword:
            arguments += ["-k", self.keyword]
        if job.suite.scripts:
            arguments += ["--noconftest", str(INSIDE / "script_cases.py")]
        else:
            arguments += job.files
        if job.implementation == "triton":
            return [sys.executable, *arguments]
        verb = ["check", "--limit", str(CHECKED_PROGRAMS), "--json", f"{stem}.checked"] if self.mode == "check" else ["run"]
        return [sys.executable, "-m", "tilewright", *verb, *arguments]

    def environment(self, job: Job, job_file: Path) -> dict:
        checkout = job.suite.checkout(self.root)
        paths = [str(INSIDE), *(str((checkout / path).resolve()) for path in job.suite.path)]
        if os.environ.get("PYTHONPATH"):
            paths.append(os.environ["PYTHONPATH"])
        environment = dict(os.environ)
        # Fixed hashes, because parameters that come from a set name the tests; no look-ups on a network.
        environment.update(
            PYTHONPATH=os.pathsep.join(paths),
            SUITE_JOB=str(job_file),
            PYTHONHASHSEED="0",
            MPLBACKEND="Agg",
            HF_HUB_OFFLINE="1",
            TRANSFORMERS_OFFLINE="1",
            TOKENIZERS_PARALLELISM="false",
            OMP_NUM_THREADS="2",
            TORCHINDUCTOR_COMPILE_THREADS="1",
            TRITON_CACHE_DIR=str(self.scratch / "cache-triton"),
            TILEWRIGHT_CACHE_DIR=str(self.scratch / "cache-tilewright"),
            TORCHINDUCTOR_CACHE_DIR=str(self.scratch / f"inductor-{job.implementation}"),
        )
        if job.device is not None:
            environment["CUDA_VISIBLE_DEVICES"] = str(job.device)
        environment.pop("TILEWRIGHT_AS_TRITON", None)
        if job.implementation == "tilewright":
            environment["TILEWRIGHT_AS_TRITON"] = "1"
        if self.mode in ("interpret", "emulate"):
            environment.update(TRITON_INTERPRET="1", TILEWRIGHT_INTERPRET="1")
        if self.mode == "emulate" and job.implementation == "tilewright":
            environment["EMULATED_OUT"] = str(job_file.with_suffix(".launches"))
        if self.times:
            line = {"suite": job.suite.name, "under": job.implementation}
            environment["KERNEL_TIMES"] = json.dumps({"output": str(job_file.with_suffix(".times")), "line": line})
        if job.suite.scripts:
            folder = checkout / job.suite.folder
            environment["SUITE_SCRIPTS"] = json.dumps([str(folder / name) for name in job.files])
            environment["SUITE_SCRIPT_SECONDS"] = str(job.suite.timeout)
            environment["SUITE_SCRIPT_PLACE"] = job.suite.scripts
        environment.update({name: str(value) for name, value in job.suite.environment.items()})
        return environment

    def run_process(self, job: Job, attempt: int) -> bool:
        """Whether the job is done."""
        stem = self.scratch / f"{job.name}-{attempt}"
        description = {
            "output": f"{stem}.jsonl",
            "sample": job.sample,
            "smallest": self.smallest,
            "part": job.part,
            "parts": job.parts,
            "absent": job.suite.absent,
            "stand_ins": job.suite.stand_ins,
            "whole": job.whole,
            "only": job.only,
            "done": list(job.results),
        }
        Path(f"{stem}.job").write_text(json.dumps(description))
        Path(f"{stem}.jsonl").write_text("")
        with open(f"{stem}.out", "wb") as output:
            process = subprocess.Popen(
                self.command(job, stem),
                cwd=job.suite.checkout(self.root) / job.suite.folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=self.environment(job, Path(f"{stem}.job")),
            )
            progress, ending = self.watch(process, Path(f"{stem}.jsonl"), self.timeout or job.suite.timeout)
        job.output_tail = read_tail(Path(f"{stem}.out"))
        if Path(f"{stem}.checked").exists():
            job.checked.append(json.loads(Path(f"{stem}.checked").read_text()))
        return self.take(job, progress, ending)

    def watch(self, process, lines: Path, timeout: float):
        """Until the process ends, a test takes too long, or the time is over: what it did, and how it ended."""
        progress = Progress(since=time.monotonic())
        unfinished = b""
        with open(lines, "rb") as file:
            while True:
                code = process.poll()
                *whole, unfinished = (unfinished + file.read()).split(b"\n")
                for line in whole:
                    progress.read(json.loads(line))
                if code is not None:
                    return progress, ("exit", code)
                now = time.monotonic()
                limit = timeout if progress.selected is not None else COLLECTION_SECONDS
                limit = EXIT_SECONDS if progress.is_finished else limit
                if now > self.deadline or now - progress.since > limit + 5:
                    kill(process)
                    return progress, ("deadline" if now > self.deadline else "timeout", None)
                time.sleep(0.05)

    def take(self, job: Job, progress: Progress, ending) -> bool:
        how, code = ending
        if progress.selected is not None and not job.selected:
            job.selected = len(progress.selected)
        new = {name: line for name, line in progress.ended.items() if name not in job.results}
        job.results.update(new)
        if how == "deadline":
            job.not_run = [name for name in progress.selected or ["(the whole job)"] if name not in job.results]
            return True
        if progress.is_finished:
            return True
        if how == "exit" and code == BROKEN_DEVICE and new:
            return False
        lost = progress.current
        if lost is None and progress.selected is None:
            lost = f"{job.files[0] if len(job.files) == 1 else job.name} (while it was collected)"
        elif lost is None:
            lost = next((name for name in progress.selected if name not in job.results), None)
        if lost is None:
            return True
        limit = self.timeout or job.suite.timeout
        text = f"no end after {limit:.0f} s" if how == "timeout" else f"the process died: {describe(code)}"
        job.results[lost] = {
            "id": lost,
            "outcome": "crashed" if how == "exit" else "timeout",
            "phase": "process",
            "seconds": round(time.monotonic() - progress.since, 3),
            "text": text + "\n" + job.output_tail,
        }
        return progress.selected is None


def describe(code: int) -> str:
    if code < 0:
        try:
            return signal.Signals(-code).name
        except ValueError:
            return f"signal {-code}"
    return f"exit code {code}"


def kill(process):
    """The process and what it has started: the whole session."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def read_tail(path: Path) -> str:
    data = path.read_bytes()[-TAIL_CHARACTERS:]
    return data.decode(errors="replace")
