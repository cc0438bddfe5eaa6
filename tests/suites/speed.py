# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times functions of public repositories under Tilewright and under Triton, turn by turn on one GPU.

    python tests/suites/speed.py CHECKOUTS --out speed.json [--case "liger *"] [--configs 4] [--budget 300]

Each case has two processes, one for each implementation. So many cases as `--at-once` says are made side by side, which
compiles and tunes; the time of that is the first call's. Then the two of a case take turns, one measurement
after the other and nothing beside it, so that both see the same clocks. A measurement hides the processor's part:
the calls are queued while the GPU sleeps, and events around them give the device's time.

`--configs N` leaves every tuner N of its configurations, evenly chosen and the same for both: what is compared
then is the code, and a run takes minutes instead of hours.
"""

import argparse
import fnmatch
import json
import math
import os
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

IMPLEMENTATIONS = ("tilewright", "triton")
SLEEP_CYCLES = 12_000_000  # of the GPU, about 6 ms: calls are queued meanwhile
MEASURED_SECONDS = 0.02


# -- in the workers ----------------------------------------------------------------------


def device_milliseconds(function, calls) -> float:
    """Device time of one call, of so many in a row."""
    import torch

    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    torch.cuda._sleep(SLEEP_CYCLES)
    begin.record()
    for _ in range(calls):
        function()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) / calls


def limit_configurations(count):
    """Every tuner gets so many of its configurations; all where `count` is 0."""
    import triton

    original = triton.autotune

    def autotune(configs, *args, **kwargs):
        configs = list(configs)
        step = max(1, len(configs) // count) if count else 1
        return original(configs[::step][: count or None], *args, **kwargs)

    triton.autotune = triton.runtime.autotune = autotune


def work():
    """Reads commands as lines of JSON, and answers each with one."""
    answers, sys.stdout = sys.stdout, sys.stderr
    import torch

    limit_configurations(int(os.environ["SPEED_CONFIGS"]))

    from speed_cases import CASES

    made, counts = {}, {}

    def make(name):
        torch.manual_seed(0)
        began = time.monotonic()
        for part, function in CASES[name].make().items():
            function()
            torch.cuda.synchronize()
            made[f"{name}: {part}"] = function
            took = device_milliseconds(function, 3)
            counts[f"{name}: {part}"] = max(1, min(50, int(MEASURED_SECONDS * 1e3 / max(took, 1e-3))))
        # All cases stay while they take turns, and share one GPU's memory.
        torch.cuda.empty_cache()
        return {"seconds": time.monotonic() - began, "parts": [key for key in made if key.startswith(name + ": ")]}

    for line in sys.stdin:
        command = json.loads(line)
        try:
            if "make" in command:
                answer = make(command["make"])
            else:
                answer = {"ms": device_milliseconds(made[command["measure"]], counts[command["measure"]])}
        except BaseException as error:  # noqa: BLE001 - the answer says what went wrong
            answer = {"error": f"{type(error).__name__}: {error}"[:600]}
        print(json.dumps(answer), file=answers, flush=True)


# -- in the parent -----------------------------------------------------------------------


class Worker:
    """One process of one implementation."""

    def __init__(self, implementation, arguments, log, device):
        command = [sys.executable, str(HERE / "speed.py"), "--worker"]
        environment = {
            **os.environ,
            "SPEED_CHECKOUTS": str(arguments.checkouts.resolve()),
            "CUDA_VISIBLE_DEVICES": str(device),
            "SPEED_CONFIGS": str(arguments.configs),
            "OMP_NUM_THREADS": "2",
        }
        environment.pop("TILEWRIGHT_AS_TRITON", None)
        if implementation == "tilewright":
            command[1:1] = ["-m", "tilewright", "run"]
            environment["TILEWRIGHT_AS_TRITON"] = "1"
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, env=environment
        )

    def ask(self, **command) -> dict:
        try:
            self.process.stdin.write(json.dumps(command) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except (BrokenPipeError, OSError):
            line = ""
        return json.loads(line) if line else {"error": "the process died"}

    def end(self):
        self.process.kill()
        self.process.wait()


class Pair:
    """Both implementations' workers of one case."""

    def __init__(self, name, arguments, log, device):
        self.name, self.device = name, device
        self.workers = {each: Worker(each, arguments, log, device) for each in IMPLEMENTATIONS}
        self.made = {each: {"error": "not made in time"} for each in IMPLEMENTATIONS}

    def prepare(self, deadline):
        def run(implementation):
            answer = self.workers[implementation].ask(make=self.name)
            if time.monotonic() < deadline:
                self.made[implementation] = answer

        threads = {each: threading.Thread(target=run, args=(each,)) for each in IMPLEMENTATIONS}
        for thread in threads.values():
            thread.start()
        for each, thread in threads.items():
            thread.join(max(0.0, deadline - time.monotonic()))
            if thread.is_alive():  # nothing may run beside what is timed
                self.workers[each].end()
                thread.join()

    def results(self, rounds, deadline):
        problems = {each: answer["error"] for each, answer in self.made.items() if "error" in answer}
        if problems:
            yield {"case": self.name, "errors": problems}
            return
        seconds = {each: round(answer["seconds"], 2) for each, answer in self.made.items()}
        for part in self.made["tilewright"]["parts"]:
            if time.monotonic() > deadline:
                return
            times = {each: [] for each in IMPLEMENTATIONS}
            for index in range(rounds):
                for each in IMPLEMENTATIONS if index % 2 else IMPLEMENTATIONS[::-1]:
                    times[each].append(self.workers[each].ask(measure=part).get("ms"))
            if any(None in found for found in times.values()):
                yield {"case": part, "errors": {each: "no time" for each, found in times.items() if None in found}}
                continue
            median = {each: statistics.median(found) for each, found in times.items()}
            yield {
                "case": part,
                "first_call_seconds": seconds,
                "ms": {each: round(value, 5) for each, value in median.items()},
                "times": times,
                "ratio": round(median["triton"] / median["tilewright"], 4),
            }


def results_of(names, arguments, log, ready_by, deadline) -> list[dict]:
    """Makes these cases side by side, then times them, and ends their processes."""
    pairs = [Pair(name, arguments, log, index % arguments.devices) for index, name in enumerate(names)]
    waiting = [threading.Thread(target=pair.prepare, args=(ready_by,)) for pair in pairs]
    for thread in waiting:
        thread.start()
    for thread in waiting:
        thread.join()
    lines: list = []
    lock = threading.Lock()

    def time_on(device):
        for pair in pairs[device :: arguments.devices]:
            for line in pair.results(arguments.rounds, deadline):
                with lock:
                    lines.append(line)
                    print(
                        line.get("ratio", line.get("errors")),
                        line["case"],
                        line.get("ms", ""),
                        line.get("first_call_seconds", ""),
                        flush=True,
                    )

    timing = [threading.Thread(target=time_on, args=(device,)) for device in range(arguments.devices)]
    for thread in timing:
        thread.start()
    for thread in timing:
        thread.join()
    for pair in pairs:
        for each in pair.workers.values():
            each.end()
    return lines


def positive(text) -> int:
    if int(text) < 1:
        raise argparse.ArgumentTypeError(f"at least 1 is needed, got {text}")
    return int(text)


def ratios_of(lines) -> list[float]:
    return [line["ratio"] for line in lines if "ratio" in line]


def summary(lines) -> str:
    ratios = ratios_of(lines)
    if not ratios:
        return "nothing was measured"
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    return (
        f"{len(ratios)} measured; geometric mean of Triton's time to ours {mean:.3f}; least {min(ratios):.3f}; "
        f"{sum(r < 0.95 for r in ratios)} below 0.95"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", nargs="?", type=Path)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--case", action="append", help="names or patterns; all where missing")
    parser.add_argument("--configs", type=int, default=0, help="configurations that each tuner keeps; all where it is 0")
    parser.add_argument(
        "--devices", type=positive, default=1, help="GPUs to share the cases out to; timed by one pair each at a time"
    )
    parser.add_argument(
        "--at-once", type=positive, default=12, help="cases that a GPU holds and tunes at a time; its memory has to do for them"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--budget", type=float, default=1e9, help="seconds for everything; two thirds of them for making the cases at most"
    )
    parser.add_argument("--out", type=Path, default=Path("speed.json"))
    arguments = parser.parse_args()
    if arguments.worker:
        return work()
    from speed_cases import CASES

    names = [name for name in CASES if not arguments.case or any(fnmatch.fnmatch(name, each) for each in arguments.case)]
    began = time.monotonic()
    at_once = arguments.at_once * arguments.devices
    batches = [names[first : first + at_once] for first in range(0, len(names), at_once)]
    lines: list = []
    with open(arguments.out.with_suffix(".log"), "w") as log:
        for index, batch in enumerate(batches):
            now = time.monotonic()
            share = (began + arguments.budget - now) / (len(batches) - index)
            lines += results_of(batch, arguments, log, ready_by=now + 0.66 * share, deadline=now + share)
    print(summary(lines))
    arguments.out.write_text(
        json.dumps({"seconds": round(time.monotonic() - began, 1), "summary": summary(lines), "lines": lines}, indent=1)
    )
    return 0 if ratios_of(lines) else 1


if __name__ == "__main__":
    sys.exit(main())
