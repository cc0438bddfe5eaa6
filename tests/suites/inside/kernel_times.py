# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""pytest plugin: how long each kernel of a test takes on the GPU, by PyTorch's profiler.

KERNEL_TIMES is JSON: the file that gets one line per test and kernel, and what each line says besides. Kernels of
libraries are left out by their names. The shortest of several launches counts, so that of a tuned kernel the best
configuration does, and other processes on the GPU matter little. A short test that passed is run again for that
reason: the first launch of a kernel finds its instructions in no cache. Sizes that a test takes at random are the same
in all runs.
"""

import json
import os
import random
import time

import pytest

GIVEN = json.loads(os.environ.get("KERNEL_TIMES", "null"))
# Names that no kernel of either language can have.
MARKS = ("::", "<", " ", "nvjet", "cutlass", "sm80_", "sm90_", "cudnn", "ampere_", "hopper_")
# How often a test is run again, and for how many seconds at most.
REPETITIONS = 3
REPEATED_SECONDS = 1.0


def started():
    """A profiler that runs; None where there is no GPU to look at."""
    try:
        import torch
        from torch.profiler import ProfilerActivity, profile

        if not torch.cuda.is_available():
            return None
        profiler = profile(activities=[ProfilerActivity.CUDA], acc_events=False)
        profiler.__enter__()
        return profiler
    except (ImportError, RuntimeError):
        return None


def durations(profiler) -> dict:
    """Kernel -> nanoseconds of its launches, shortest first."""
    import torch

    torch.cuda.synchronize()
    profiler.__exit__(None, None, None)
    found: dict = {}
    for event in profiler.profiler.kineto_results.events():
        if str(event.device_type()).endswith("CUDA") and not any(mark in event.name() for mark in MARKS):
            found.setdefault(event.name(), []).append(event.duration_ns())
    return {name: sorted(times) for name, times in found.items()}


def repeat(item):
    """Runs a test again; that it was not written for this is no failure."""
    until = time.monotonic() + REPEATED_SECONDS
    for _ in range(REPETITIONS):
        random.seed(0)
        try:
            item.runtest()
        except (Exception, pytest.skip.Exception, pytest.fail.Exception) as error:
            print(f"{item.nodeid} does not run again: {error!r}")
            return
        if time.monotonic() > until:
            return


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    profiler = started() if GIVEN else None
    random.seed(0)
    outcome = yield
    if profiler is None:
        return
    if outcome.excinfo is None:
        repeat(item)
    try:
        found = durations(profiler)
    except RuntimeError as error:  # the test has spoiled the device
        found = {}
        print(f"no times of {item.nodeid}: {error}")
    with open(GIVEN["output"], "a") as file:
        for name, times in found.items():
            line = {"test": item.nodeid, "kernel": name, "launches": len(times), "ns": times[0]}
            file.write(json.dumps(GIVEN["line"] | line) + "\n")
