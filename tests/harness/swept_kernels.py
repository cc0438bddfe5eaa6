# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the workers of swept cases run: simulated kernels (simulated.py) that take real time and note who ran them.

`tune` is the function of a sweep. Its problem says how many configurations there are, how long a
run takes, and what happens in one of them; each run is a line of the file in SWEPT_LOG.
"""

import os
import pathlib
import signal
import time
from collections import defaultdict

import tilewright
from tilewright import tuning
from harness import simulated
from harness.simulated import Array, Simulated
from tilewright.runtime.autotuner import Autotuner
from tilewright.tuning import bench

bench.DeviceBench = simulated.Bench
TARGET = f"{__file__}:tune"
_tuners: dict = {}


@tilewright.jit
def identity(x, n, BLOCK):
    """What the simulated kernels are tables for: a content that has a digest."""


def _note(text):
    with open(os.environ["SWEPT_LOG"], "a", encoding="ascii") as log:
        log.write(f"{os.getpid()} {text}\n")


def _dies(deadly, always):
    """Whether the process ends here: the first that comes by, or each."""
    if not deadly:
        return
    mark = pathlib.Path(f"{os.environ['SWEPT_LOG']}.{deadly}")
    if always or not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)


def tune(n=1, configurations=24, seconds=0.0, best=3, apart=0.15, deadly=0, always=False, fails="", wrong=()):
    """Configuration `best` is the fastest, and each step away from it costs the fraction `apart`.

    Those in `wrong` write another result than the others.
    """
    if fails:
        raise ValueError(fails)

    def body(arguments):
        _note(arguments["BLOCK"])
        if arguments["BLOCK"] == deadly:
            _dies(deadly, always)
        time.sleep(seconds)
        arguments["x"].values[:] = 3.0 if arguments["BLOCK"] in wrong else 4.0

    kernel = Simulated(body, ["x", "n"], lambda a: 2.0 * (1 + apart * abs(a["BLOCK"] - best)), jit=identity)
    made = Autotuner(kernel, ["x", "n"], simulated.configs(*range(1, configurations + 1)), ["n"])
    # As in a module of kernels, a worker meets the same tuner in each turn.
    tuner = _tuners.setdefault((os.environ["SWEPT_LOG"], n, configurations, seconds, best, apart, deadly, always, *wrong), made)
    tuner.run(Array([1.0]), n, grid=(1,), warmup=False)


def add_configurations(number):
    for block in range(number * 10 + 1, number * 10 + 6):
        kernel = Simulated(lambda a: None, ["x", "n"], lambda a: float(a["BLOCK"]), jit=identity)
        tuner = Autotuner(kernel, ["x", "n"], simulated.configs(block, 1000), ["n"])
        tuner.run(Array([1.0]), 5, grid=(1,), warmup=False)


def seconds_of_one_and_two(executors, first_key, attempts=5) -> list:
    """Seconds of a sweep of 24 configurations by one worker and by two, whose processes are awake.

    Other programs on the machine can only add to them: a ratio that is too high is looked at again.
    """
    seconds = []
    for attempt in range(attempts):
        seconds = []
        for workers, executor in zip((1, 2), executors, strict=True):
            start = time.monotonic()
            outcome = tuning.sweep(
                TARGET, [{"n": first_key + 2 * attempt + workers, "seconds": 0.02}], executor, workers=workers
            )
            seconds.append(time.monotonic() - start)
            assert outcome == [""]
        if seconds[1] <= 0.65 * seconds[0]:
            break
    print(f"figures: 24 configurations, {seconds[0]:.2f} s by one worker, {seconds[1]:.2f} s by two")
    return seconds


def processes_by_block(log) -> dict:
    """Which processes have run each configuration."""
    found = defaultdict(set)
    for line in pathlib.Path(log).read_text(encoding="ascii").splitlines():
        process, block = line.split()
        found[int(block)].add(int(process))
    return found
