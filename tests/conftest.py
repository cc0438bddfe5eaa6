# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fixtures of every Python test.

The `device` fixture, which runs one test in the interpreter, assembled
for every target, and on a GPU; and the marks `e2e` and `gpu` that select them.
"""

import os
import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

# Tests see what the compiler does now; those of the cache turn it on for themselves.
os.environ["TILEWRIGHT_CACHE"] = "0"

from harness import devices  # noqa: E402

GPU_REQUIRED = os.environ.get("TILEWRIGHT_REQUIRE_GPU") == "1"


DEVICES = ["interpreter", "assemble", pytest.param("gpu", marks=pytest.mark.gpu)]


def pytest_generate_tests(metafunc):
    """Every test of a device runs on each; modules that say EMULATED on the emulator too."""
    if "device" in metafunc.fixturenames:
        is_emulated = getattr(metafunc.module, "EMULATED", False)
        emulators = [f"emulator-{target}" for target in devices.TARGETS] if is_emulated else []
        # For campaigns: every test again, as programs of so many blocks.
        if blocks := os.environ.get("TEST_NUM_CTAS"):
            emulators.append(f"clusters-{blocks}")
        metafunc.parametrize("device", DEVICES + emulators, indirect=True)


@pytest.fixture
def device(request):
    """A device of harness/devices.py. Use it as: array, run, numpy."""
    if request.param == "interpreter":
        return devices.Interpreter()
    if request.param.startswith("emulator-"):
        return devices.Emulator(request.param.removeprefix("emulator-"))
    if request.param.startswith("clusters-"):
        return devices.Emulator("sm_90a", num_ctas=int(request.param.removeprefix("clusters-")))
    problem = devices.gpu_problem()
    if request.param == "assemble":
        if not problem:
            pytest.skip("a GPU is here: the same kernel runs on it")
        return devices.Assemble()
    if problem and GPU_REQUIRED:
        pytest.fail(f"a GPU is required: {problem}")
    if problem:
        pytest.skip(problem)
    return devices.Gpu()


@pytest.fixture
def gpu():
    """The GPU, for tests that say nothing elsewhere."""
    problem = devices.gpu_problem()
    if problem and GPU_REQUIRED:
        pytest.fail(f"a GPU is required: {problem}")
    if problem:
        pytest.skip(problem)
    return devices.Gpu()


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    """A test on the assemble device ends where it asks for a result."""
    try:
        return (yield)
    except devices.Assembled:
        return True


def pytest_runtest_teardown(item):
    """Others run tests on the same GPU, which need what torch's allocator keeps of this one."""
    if item.get_closest_marker("gpu"):
        devices.release_memory()


def pytest_collection_modifyitems(items):
    for item in items:
        if "e2e" in Path(item.fspath).parts:
            item.add_marker(pytest.mark.e2e)


def pytest_terminal_summary(terminalreporter):
    """Skips by reason, one line each: what did not run is part of the result."""
    reasons = Counter()
    for report in terminalreporter.stats.get("skipped", []):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reasons[reason.removeprefix("Skipped: ")] += 1
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"skipped {count}: {reason}")


def pytest_report_header():
    problem = devices.gpu_problem()
    return f"tilewright: gpu tests {'skipped: ' + problem if problem else 'run'}"
