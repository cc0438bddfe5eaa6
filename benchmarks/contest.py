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
child, which notes what it is about to try; the parent kills it when it makes no
progress, marks that attempt as failed and starts a new child, which goes on with
the next one.
"""

import contextlib
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import peers

# Together the buffers that take turns are at least this large: four times the L2
# of an H200.
ROTATED_BYTES = 200e6
DEVICE = "cuda"
# Below this device time (s) the time per call is of interest as well.
SMALL = 200e-6
# A child that notes nothing for so long hangs. Compiling takes seconds.
SILENT_SECONDS = 45
# Until its first note: importing torch on a machine that has never done it.
STARTUP_SECONDS = 180
RESTARTS = 12
# Configurations of a kernel and compiler that take turns to be chosen from.
FINALISTS = 3


class Problem:
    """One row: inputs, peers, and how kernels are launched on them."""

    title = ""  # of the row
    family = ""  # rows of one family share compiled kernels and checks
    operations = 0  # floating-point (or integer) operations
    kernels: tuple = ()

    def make(self, seed: int):
        """A set of inputs and outputs, random or, for a check, with exact results."""
        raise NotImplementedError

    def bytes_of(self) -> int:
        """Bytes of one such set."""
        raise NotImplementedError

    def peers(self) -> dict:
        """Name -> function of a set."""
        raise NotImplementedError

    def configurations(self, kernel: str, thorough: bool) -> list[dict]:
        raise NotImplementedError

    def launch(self, compiler, kernel: str, config: dict, data, start):
        """Launches; `start(kernel, grid, *args, **kwargs)` does it. Returns what start returned, or a list of it."""
        raise NotImplementedError

    def outputs(self, data) -> list:
        """The tensors that a launch writes."""
        raise NotImplementedError

    def expected(self, data) -> list:
        """What they must be."""
        raise NotImplementedError

    def error_of(self, actual, expected) -> str:
        """What is wrong with an output, or nothing."""
        raise NotImplementedError

    def checks(self) -> list:
        """Small problems whose results are known."""
        return []


class Compiler:
    """A peer that compiles the kernels: its name, the kernels, its descriptors."""

    def __init__(self, name: str, path: Path, launch_options: dict):
        self.name = name
        self.launch_options = launch_options
        self.kernels = peers.load_kernels(name, path)
        if self.kernels:
            self.TensorDescriptor = importlib.import_module(name + ".tools.tensor_descriptor").TensorDescriptor
            self.asynchronous = getattr(importlib.import_module(name), "AsyncCompileMode", None)

    def run(self, kernel, grid, *args, **kwargs):
        return kernel[grid](*args, **kwargs, **self.launch_options)

    def compile_only(self, kernel, grid, *args, **kwargs):
        return kernel.warmup(*args, grid=grid, **kwargs, **self.launch_options)


def name_of(config: dict) -> str:
    """128x256x64 w8 s3 ... in the order in which the configuration was written."""
    tiles = "x".join(str(v) for k, v in config.items() if k.startswith("BLOCK"))
    short = {"num_warps": "w", "num_stages": "s", "GROUP_M": "g"}
    rest = []
    for key, value in config.items():
        if key in short:
            rest.append(f"{short[key]}{value}")
        elif isinstance(value, dict):
            rest.append(f"{key} ({name_of(value)})")
        elif isinstance(value, bool):
            rest += [key.lower()] if value else []
        elif not key.startswith("BLOCK"):
            rest.append(f"{key.lower()} {value}")
    return " ".join([tiles, *rest]).strip()


def first_lines(problem: BaseException) -> str:
    text = " ".join(str(problem).split())
    return f"{type(problem).__name__}: {text[:300]}"


# ---------------------------------------------------------------------------
# The child
# ---------------------------------------------------------------------------


class Notes:
    """What has been found so far, on disk after every step, so that a new child can go on."""

    def __init__(self, path: str):
        self.path = path
        self.data = {"current": None, "failed": {}, "resources": {}, "passed": [], "rows": [], "skipped": []}
        if os.path.exists(path):
            self.data = json.loads(Path(path).read_text())

    def write(self):
        temporary = self.path + ".new"
        Path(temporary).write_text(json.dumps(self.data))
        os.replace(temporary, self.path)

    @contextlib.contextmanager
    def attempt(self, key: str):
        """Something that may fail, hang or fault. A failure is noted and goes no further."""
        around = self.data["current"]
        self.data["current"] = key
        self.write()
        try:
            yield
        except Exception as problem:
            self.fail(key, first_lines(problem))
        self.data["current"] = around
        self.write()

    def fail(self, key: str, message: str):
        self.data["failed"][key] = message
        print(f"# FAILED {key}: {message}", flush=True)
        self.write()
        stop_if_context_is_lost()


def stop_if_context_is_lost():
    import torch

    try:
        torch.cuda.synchronize()
        torch.ones(1, device=DEVICE).item()
    except Exception:
        # Nothing works in this process any more: the parent starts another one.
        sys.stdout.flush()
        os._exit(75)


def attempts_of(problem: Problem, compilers: list, options) -> list[tuple]:
    """(key, compiler, kernel, configuration) of everything there is to try."""
    found = []
    for kernel in problem.kernels:
        if options.kernels and kernel not in options.kernels:
            continue
        for config in problem.configurations(kernel, options.configs == "full"):
            for compiler in compilers:
                key = f"{compiler.name} / {problem.family} / {kernel} / {name_of(config)}"
                found.append((key, compiler, kernel, config))
    return found


def compile_in_parallel(problem: Problem, attempts: list, notes: Notes):
    """Fills the compilers' caches on all cores, where a compiler can; failures show later."""
    checks = problem.checks()
    data = [check.make(0) for check in checks]
    for compiler in {id(a[1]): a[1] for a in attempts}.values():
        mine = [a for a in attempts if a[1] is compiler and a[0] not in notes.data["failed"]]
        if not compiler.asynchronous:
            continue
        start = time.perf_counter()
        with ThreadPoolExecutor(min(12, os.cpu_count())) as executor:
            try:
                with compiler.asynchronous(executor, ignore_errors=True):
                    for _, _, kernel, config in mine:
                        for check, inputs in zip(checks, data):
                            with contextlib.suppress(Exception):
                                check.launch(compiler, kernel, config, inputs, compiler.compile_only)
            except Exception as problem_:
                print(f"# {compiler.name}: compiling in parallel: {first_lines(problem_)}", flush=True)
        print(f"# {compiler.name}: {len(mine)} kernels compiled in parallel in {time.perf_counter() - start:.1f} s", flush=True)
        notes.write()


def check_attempts(problem: Problem, attempts: list, notes: Notes):
    """Runs every configuration on the small problems and notes its resources."""
    import torch

    checks = [(check, check.make(0)) for check in problem.checks()]
    checks = [(check, data, check.expected(data)) for check, data in checks]
    for key, compiler, kernel, config in attempts:
        if key in notes.data["failed"] or key in notes.data["passed"]:
            continue
        start = time.perf_counter()
        with notes.attempt(key):
            for check, data, expected in checks:
                for output in check.outputs(data):
                    output.fill_(77)
                handle = check.launch(compiler, kernel, config, data, compiler.run)
                torch.cuda.synchronize()
                for actual, right in zip(check.outputs(data), expected):
                    wrong = check.error_of(actual, right)
                    if wrong:
                        raise ValueError(f"wrong on {check.title}: {wrong}")
            notes.data["resources"][key] = resources_of(handle, time.perf_counter() - start)
            notes.data["passed"].append(key)


def resources_of(handle, seconds: float) -> dict:
    """Registers, spills and shared memory of the kernels of a launch, and how long the checks took."""
    facts = {"seconds": round(seconds, 3), "kernels": []}
    for one in handle if isinstance(handle, list) else [handle]:
        with contextlib.suppress(Exception):
            facts["kernels"].append([int(one.n_regs), int(one.n_spills), int(one.metadata.shared)])
    return facts


def short_resources(facts: dict) -> str:
    return " + ".join("/".join(map(str, numbers)) for numbers in facts.get("kernels", [])) or "-"


class Rotation:
    """Sets of buffers that take turns; each contender's way through them as a CUDA graph."""

    def __init__(self, problem: Problem):
        count = max(2, min(64, int(ROTATED_BYTES // problem.bytes_of()) + 1))
        self.sets = [problem.make(seed) for seed in range(count)]

    def graph_of(self, function):
        """One way through all sets as a graph; None where `function` cannot be captured."""
        import torch

        function(self.sets[0])
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph):
                for data in self.sets:
                    function(data)
        except Exception as problem:
            print(f"# not captured: {first_lines(problem)}", flush=True)
            stop_if_context_is_lost()
            return None
        return graph

    def replay(self, function, graph):
        if graph:
            graph.replay()
        else:
            for data in self.sets:
                function(data)

    def device_times(self, contenders: dict, seconds: float, least_rounds: int) -> dict[str, list[float]]:
        """Seconds per launch, one figure per round; contenders take turns."""
        import torch

        graphs = {name: self.graph_of(function) for name, function in contenders.items()}
        times = {name: [] for name in contenders}
        events = []
        for turn in range(1000):
            for name, function in contenders.items():
                start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                start.record()
                self.replay(function, graphs[name])
                end.record()
                events.append((name, turn, start, end))
            if turn == 0:  # the first round warms, the second tells how many are affordable
                torch.cuda.synchronize()
                began = time.perf_counter()
            elif turn == 1:
                torch.cuda.synchronize()
                rounds = max(least_rounds, min(60, int(seconds / max(1e-6, time.perf_counter() - began))))
            elif turn >= rounds:
                break
        torch.cuda.synchronize()
        for name, turn, start, end in events:
            if turn:
                times[name].append(start.elapsed_time(end) * 1e-3 / len(self.sets))
        return times

    def times_per_call(self, contenders: dict, calls: int = 128, rounds: int = 5) -> dict[str, float]:
        """Seconds per call as a program sees them, many calls in a row."""
        import torch

        times = {name: [] for name in contenders}
        for _ in range(rounds):
            for name, function in contenders.items():
                torch.cuda.synchronize()
                start = time.perf_counter()
                for i in range(calls):
                    function(self.sets[i % len(self.sets)])
                torch.cuda.synchronize()
                times[name].append((time.perf_counter() - start) / calls)
        return {name: statistics.median(values) for name, values in times.items()}


def tune(problem: Problem, rotation: Rotation, attempts: list, notes: Notes, seconds: float) -> dict:
    """(compiler's name, kernel) -> (seconds, key, launch) of the fastest configuration.

    A first look at each on its own cannot tell close ones apart: clocks move by
    several percent meanwhile. So the best of each kernel then take turns.
    """
    figures, launches, places = {}, {}, {}
    for key, compiler, kernel, config in attempts:
        if key in notes.data["failed"]:
            continue

        def function(data, compiler=compiler, kernel=kernel, config=config):
            return problem.launch(compiler, kernel, config, data, compiler.run)

        with notes.attempt(key):
            times = rotation.device_times({key: function}, seconds / 2 / len(attempts), least_rounds=3)[key]
            figures[key] = statistics.median(times)
            launches[key] = function
            places.setdefault((compiler.name, kernel), []).append(key)
    finalists = {place: sorted(keys, key=figures.get)[:FINALISTS] for place, keys in places.items()}
    with notes.attempt(f"choosing for {problem.title}"):
        final = rotation.device_times(
            {key: launches[key] for keys in finalists.values() for key in keys}, seconds / 2, least_rounds=5
        )
        figures.update({key: statistics.median(times) for key, times in final.items()})
    best = {}
    for place, keys in finalists.items():
        fastest = min(keys, key=figures.get)
        best[place] = (figures[fastest], fastest, launches[fastest])
    return best, figures


def verify(problem: Problem, rotation: Rotation, contenders: dict, notes: Notes):
    """Compares the outputs on the row's own random inputs; notes what is wrong."""
    import torch

    data = rotation.sets[0]
    expected = problem.expected(data)
    for key, function in contenders.items():
        with notes.attempt(key):
            for output in problem.outputs(data):
                output.fill_(77)
            function(data)
            torch.cuda.synchronize()
            for actual, right in zip(problem.outputs(data), expected):
                message = problem.error_of(actual, right)
                if message:
                    raise ValueError(f"wrong on {problem.title}: {message}")


def usable(rivals: dict, data) -> dict:
    """The peers that work here."""
    import torch

    found = {}
    for name, function in rivals.items():
        try:
            function(data)
            torch.cuda.synchronize()
            found[name] = function
        except Exception as problem:
            print(f"# {name}: {first_lines(problem)}", flush=True)
            stop_if_context_is_lost()
    if not found:
        raise RuntimeError("no peer works here")
    return found


def warm_clocks(function, data, seconds: float):
    """Runs a peer until the clocks have settled."""
    import torch

    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        for _ in range(4):
            function(data)
        torch.cuda.synchronize()


def measure(problem: Problem, attempts: list, notes: Notes, options):
    rotation = Rotation(problem)
    rivals = usable(problem.peers(), rotation.sets[0])
    warm_clocks(next(iter(rivals.values())), rotation.sets[0], options.warm)
    best, figures = tune(problem, rotation, attempts, notes, options.seconds)
    tuned = {key: function for _, key, function in best.values()}
    verify(problem, rotation, tuned, notes)
    contenders = dict(rivals)
    contenders.update({key: function for key, function in tuned.items() if key not in notes.data["failed"]})
    with notes.attempt(f"measuring {problem.title}"):
        times = rotation.device_times(contenders, options.seconds, least_rounds=5)
        device = {key: statistics.median(values) for key, values in times.items()}
        spread = {key: (max(values) - min(values)) / device[key] for key, values in times.items()}
        per_call = {}
        if min(device.values()) < SMALL:
            per_call = rotation.times_per_call(contenders)
        notes.data["rows"].append(
            {
                "title": problem.title,
                "family": problem.family,
                "operations": problem.operations,
                "peers": list(rivals),
                "device": device,
                "spread": spread,
                "per_call": per_call,
                "best": {f"{compiler} / {kernel}": key for (compiler, kernel), (_, key, _) in best.items()},
                "tuning": figures,
            }
        )
        for line in lines_of(notes.data["rows"][-1], notes.data["resources"]):
            print("# " + "  ".join(line), flush=True)


def work(problems: list, kernels: Path, options):
    """The child: goes through the problems, leaving out what the notes say is done or broken."""
    import torch

    notes = Notes(options.notes)
    notes.write()
    compilers = [Compiler("tilewright", kernels, {"arch": options.arch} if options.arch else {})]
    if not options.no_triton:
        compilers.append(Compiler("triton", kernels, {}))
    compilers = [c for c in compilers if c.kernels]
    seen = set()
    for problem in problems:
        if problem.title in [row["title"] for row in notes.data["rows"]] or problem.title in notes.data["skipped"]:
            continue
        if f"measuring {problem.title}" in notes.data["failed"]:
            continue
        attempts = attempts_of(problem, compilers, options)
        if problem.family not in seen:
            compile_in_parallel(problem, attempts, notes)
            check_attempts(problem, attempts, notes)
            seen.add(problem.family)
        if options.only_check:
            continue
        with notes.attempt(f"row {problem.title}"):
            measure(problem, attempts, notes, options)
        if f"row {problem.title}" in notes.data["failed"]:
            notes.data["skipped"].append(problem.title)
        torch.cuda.empty_cache()
    notes.data["environment"] = peers.environment()
    notes.write()


# ---------------------------------------------------------------------------
# The parent
# ---------------------------------------------------------------------------


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


def lines_of(row: dict, resources: dict) -> list[list[str]]:
    """One line of the table per kernel."""
    fastest = min(row["peers"], key=row["device"].get)
    lines = []

    def speed(times, key):
        return row["operations"] / times[key] * 1e-12 if times and key in times else float("nan")

    def cell(value, form):
        return format(value, form) if value == value else "-"

    for kernel in dict.fromkeys(place.split(" / ")[1] for place in row["best"]):
        ours, theirs = (row["best"].get(f"{name} / {kernel}") for name in ("tilewright", "triton"))
        peer = speed(row["device"], fastest)
        own, other = speed(row["device"], ours), speed(row["device"], theirs)
        facts = resources.get(ours, {})
        peer_call = max((speed(row["per_call"], name) for name in row["peers"]), default=float("nan"))
        lines.append(
            [
                row["title"],
                kernel,
                cell(peer, ".0f"),
                cell(other, ".0f"),
                cell(own, ".0f"),
                cell(own / peer, ".3f"),
                cell(own / other, ".3f"),
                cell(speed(row["per_call"], ours) / peer_call, ".3f"),
                cell(speed(row["per_call"], ours) / speed(row["per_call"], theirs), ".3f"),
                ours.split(" / ")[-1] if ours else "-",
                theirs.split(" / ")[-1] if theirs else "-",
                short_resources(facts),
            ]
        )
    return lines


HEADER = [
    "TFLOP/s",
    "kernel",
    "peer",
    "Triton",
    "Tilewright",
    "to peer",
    "to Triton",
    "call, to peer",
    "call, to Triton",
    "Tilewright's configuration",
    "Triton's configuration",
    "registers/spills/shared",
]


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


def failures(failed: dict) -> list[str]:
    """A line per message; configurations of one kernel that failed alike are counted."""
    groups = {}
    for key, message in failed.items():
        kernel, _, config = key.rpartition(" / ")
        groups.setdefault((kernel, message), []).append(config)
    return [
        f"FAILED {kernel} / {configs[0]}{f' and {len(configs) - 1} more' if configs[1:] else ''}: {message}"
        for (kernel, message), configs in groups.items()
    ]


def report(folder: str, name: str, title: str, notes: dict, lines: list):
    if lines:
        print(peers.plain_table(HEADER, lines))
    if not folder:
        return
    Path(folder).mkdir(parents=True, exist_ok=True)
    (Path(folder) / f"{name}.json").write_text(json.dumps(notes, indent=1) + "\n")
    facts = notes.get("environment", {})
    text = f"## {title}\n\n" + "; ".join(f"{key} {value}" for key, value in facts.items() if key != "command")
    text += f"; command `{facts.get('command', '')}`\n\n" + peers.markdown_table(HEADER, lines) + "\n"
    if notes["failed"]:
        text += "\nFailed:\n\n" + "".join(f"- {line}\n" for line in failures(notes["failed"]))
    (Path(folder) / f"{name}.md").write_text(text)
