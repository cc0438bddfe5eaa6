# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The child of a contest: checks, tunes and measures, and notes what it is about to try.

contest.py has the order of things, and the parent that starts it again.
"""

import contextlib
import json
import os
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import peers
from contest_problem import DEVICE, Compiler, Problem, first_lines, name_of
from contest_report import lines_of

# Together the buffers that take turns are at least this large: four times the L2
# of an H200.
ROTATED_BYTES = 200e6

# Below this device time (s) the time per call is of interest as well.
SMALL = 200e-6

# Configurations of a kernel and compiler that take turns to be chosen from.
FINALISTS = 3


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
