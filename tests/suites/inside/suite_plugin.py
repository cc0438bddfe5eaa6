# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""pytest plugin inside the processes that run other people's suites.

It keeps the tests that a job names, and writes one line of JSON when a test starts
and one when it is done, so that whoever reads the file knows what ran even if the
process dies. After a test that leaves the device unusable (an illegal access spoils
the whole CUDA context) the process ends at once: the tests that remain belong into a
fresh one.

The file named by SUITE_JOB holds: output, sample, smallest, parts, part, whole, done, only, absent, stand_ins.
"""

import gc
import importlib
import importlib.machinery
import json
import os
import sys
import time
import types
import zlib
from unittest import mock

import pytest

BROKEN_DEVICE = 77  # exit code: the last test has spoiled the device
# Memory that a test's framework keeps for later is taken from fifteen others that run on the same GPU.
KEPT_BYTES = 2 << 30
# A report is read by people and grouped by its first and last lines: the middle is dropped.
REPORT_CHARACTERS = 6000
# Where a sample is run, a test function with more cases than this is thinned out before its items are made: one suite
# has a function of 200 000 cases, and collecting them takes minutes.
MOST_CASES = 1500


class Recorder:
    """One suite job: what is selected, and the file that tells what became of it."""

    def __init__(self, job):
        self.job = job
        self.file = open(job["output"], "a", buffering=1)
        self.began = {}
        self.seen = set()

    def write(self, **line):
        self.file.write(json.dumps(line) + "\n")

    # Selection.

    def wanted(self, items):
        """The items of this job, of one stable choice per test function."""
        if self.job.get("only") is not None:
            only = set(self.job["only"])
            chosen = [item for item in items if item.nodeid in only]
        else:
            chosen = self.part(self.sampled(items))
        done = set(self.job.get("done", ()))
        return [item for item in chosen if item.nodeid not in done]

    def sampled(self, items):
        sample = self.job.get("sample")
        if sample is None:
            return items
        groups = {}
        for item in items:
            name = getattr(item, "originalname", None) or item.name
            groups.setdefault((item.parent.nodeid, name), []).append(item)
        kept = set()
        size = case_size if self.job.get("smallest") else lambda item: 0
        for group in groups.values():
            ranked = sorted(
                group, key=lambda item: (is_skipped(item), size(item), zlib.crc32(item.nodeid.encode()), item.nodeid)
            )
            kept.update(id(item) for item in ranked[:sample])
        return [item for item in items if id(item) in kept]

    def part(self, items):
        """Files named `whole` belong to this job alone; of the others every so-manyth test does."""
        parts, part, whole = self.job.get("parts", 1), self.job.get("part", 0), set(self.job.get("whole", ()))
        shared = [item for item in items if item.nodeid.split("::")[0] not in whole]
        mine = {id(item) for index, item in enumerate(shared) if index % parts == part % parts}
        return [item for item in items if item.nodeid.split("::")[0] in whole or id(item) in mine]

    @pytest.hookimpl(trylast=True)
    def pytest_generate_tests(self, metafunc):
        calls = metafunc._calls
        if self.job.get("sample") and len(calls) > MOST_CASES:
            calls[:] = calls[:: len(calls) // MOST_CASES]

    # What pytest tells.

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config, items):
        kept = self.wanted(items)
        identities = {id(item) for item in kept}
        config.hook.pytest_deselected(items=[item for item in items if id(item) not in identities])
        self.write(event="selected", count=len(kept), of=len(items), ids=[item.nodeid for item in kept])
        items[:] = kept

    def pytest_collectreport(self, report):
        if report.failed:
            self.write(
                event="end",
                id=report.nodeid,
                outcome="failed",
                phase="collect",
                seconds=0.0,
                text=shortened(report.longreprtext),
            )

    def pytest_runtest_logstart(self, nodeid):
        self.began[nodeid] = time.monotonic()
        self.write(event="start", id=nodeid, time=time.time())

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item):
        outcome = yield
        if outcome.excinfo is None:
            error = device_error()
            if error is not None:
                outcome.force_exception(error)

    def pytest_runtest_logreport(self, report):
        """The first report that decides: a failure anywhere, a skip, or the call's success."""
        decides = report.failed or report.skipped or report.when == "call"
        if not decides or report.nodeid in self.seen:
            return
        self.seen.add(report.nodeid)
        outcome = "failed" if report.failed else report.outcome
        seconds = time.monotonic() - self.began.get(report.nodeid, time.monotonic())
        text = report.longreprtext if report.failed else ""
        if report.skipped and isinstance(report.longrepr, tuple):
            text = str(report.longrepr[2])
        self.write(
            event="end", id=report.nodeid, outcome=outcome, phase=report.when, seconds=round(seconds, 3), text=shortened(text)
        )

    def pytest_runtest_logfinish(self, nodeid):
        if device_error() is not None:
            self.write(event="broken", id=nodeid)
            self.file.flush()
            os._exit(BROKEN_DEVICE)
        free_device_memory()

    def pytest_sessionfinish(self):
        self.write(event="finished")


def is_skipped(item) -> bool:
    """Whether the marks of a test already say that it will not run here."""
    try:
        from _pytest.skipping import evaluate_skip_marks

        return evaluate_skip_marks(item) is not None
    except Exception:  # a condition of the suite's own may raise anything
        return False


def case_size(item) -> int:
    """The product of the whole numbers in a case's parameters: its shapes are most of them."""
    size = 1
    waiting = list(item.callspec.params.values()) if hasattr(item, "callspec") else []
    while waiting:
        value = waiting.pop()
        if isinstance(value, (tuple, list)):
            waiting.extend(value)
        elif isinstance(value, dict):
            waiting.extend(value.values())
        elif type(value) is int:
            size *= max(abs(value), 1)
    return size


def shortened(text: str) -> str:
    half = REPORT_CHARACTERS // 2
    return text if len(text) <= REPORT_CHARACTERS else text[:half] + "\n[...]\n" + text[-half:]


def initialised_torch():
    torch = sys.modules.get("torch")
    try:
        # A test may replace the first question to say that there is no GPU; `synchronize` would fail then.
        return torch if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized() else None
    except Exception:
        return None


def device_error():
    torch = initialised_torch()
    if torch is None:
        return None
    try:
        torch.cuda.synchronize()
    except Exception as error:
        return error
    return None


def free_device_memory():
    torch = initialised_torch()
    if torch is not None and torch.cuda.memory_reserved() > KEPT_BYTES:
        gc.collect()
        torch.cuda.empty_cache()


def add_absent(names):
    """Questions that a suite imports from Triton and that only its own fork or a newer release has: the answer is no."""
    for name in names:
        module, _, function = name.rpartition(".")
        try:
            module = importlib.import_module(module)
        except Exception:  # the suite will say so itself
            continue
        if not hasattr(module, function):
            setattr(module, function, lambda *args, **kwargs: False)


class StandIn(types.ModuleType):
    """A module, a package also, in which everything is found: decorators, types and functions that nobody calls."""

    __path__ = ()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return mock.MagicMock(name=f"{self.__name__}.{name}")


class StandInFinder:
    """Finds stand-ins for these modules and what is below them."""

    def __init__(self, names):
        self.names = names

    def find_spec(self, name, path=None, target=None):
        if any(name == known or name.startswith(known + ".") for known in self.names):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return StandIn(spec.name)

    def exec_module(self, module):
        pass


def stand_in(names):
    """For modules that lack here, such as another language's beside the kernels that are tested."""
    missing = []
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError:
            missing.append(name)
    sys.meta_path.insert(0, StandInFinder(missing))


def job_of_this_process():
    path = os.environ.get("SUITE_JOB")
    if not path:
        return None
    with open(path) as file:
        return json.load(file)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests():
    """A conftest.py may import what lacks as well, and is read before anything is configured."""
    if job := job_of_this_process():
        add_absent(job["absent"])
        stand_in(job["stand_ins"])


def pytest_configure(config):
    # Processes that a test starts with pytest inside are no job.
    if not hasattr(config, "workerinput") and (job := job_of_this_process()):
        del os.environ["SUITE_JOB"]
        config.pluginmanager.register(Recorder(job), "suite-recorder")
