# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""T1 to T4 on a real GPU; `python tests/campaigns/run.py --gpu`. No framework needed.

The kernels really alias, fault, hang and are killed; what they must leave behind is
computed by one launch of the same kernel without the tuner, on a copy.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter

import numpy as np

import tilewright
import tilewright.language as tl
from tilewright import _core, errors
from tilewright.compiler import disk_cache
from tilewright.tuning import table

from .common import forget

ELEMENTS = 1024


class View:
    """A part of a buffer as an argument: frameworks' slices look like this."""

    def __init__(self, buffer, start, stop):
        self.buffer, self.start, self.size = buffer, start, stop - start
        self.device = buffer.device
        self.__cuda_array_interface__ = {
            "shape": (self.size,),
            "typestr": "<f4",
            "strides": None,
            "version": 3,
            "data": (buffer.data_ptr() + 4 * start, False),
        }

    dtype = "float32"

    def data_ptr(self):
        return self.buffer.data_ptr() + 4 * self.start


def buffer_of(values):
    buffer = _core.DeviceBuffer(values.nbytes, "float32", 0)
    buffer.copy_from(values)
    return buffer


def values_of(buffer):
    values = np.empty(buffer.nbytes // 4, np.float32)
    _core.synchronize(0)
    buffer.copy_to(values)
    return values


class Cache:
    """A cache of its own for one campaign."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="tilewright-campaign-")
        self.before = {n: os.environ.get(n) for n in ("TILEWRIGHT_CACHE", "TILEWRIGHT_CACHE_DIR")}
        os.environ.update(TILEWRIGHT_CACHE="1", TILEWRIGHT_CACHE_DIR=os.path.join(self.folder.name, "cache"))
        forget()
        return self

    def __exit__(self, *exception):
        for name, value in self.before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        forget()
        self.folder.cleanup()


def records(key=None):
    """Every record on disk by BLOCK, of one tuning key."""
    return {
        int(r["kwargs"]["BLOCK"]): r
        for _, header in table.all_tables()
        for r in header["records"].values()
        if key is None or header["key"].startswith(f"({key}")
    }


def configs(*blocks, **options):
    return [tilewright.Config({"BLOCK": b}, **options) for b in blocks]


# ---------------------------------------------------------------------------
# T1
# ---------------------------------------------------------------------------


@tilewright.jit
def aliased(x_ptr, y_ptr, z_ptr, n, KIND: tl.constexpr, BLOCK: tl.constexpr):
    # One program: everything is read before anything is written, whatever overlaps.
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, i < n)
    y = tl.load(y_ptr + i, i < n)
    z = tl.load(z_ptr)
    tl.debug_barrier()
    if KIND == 0:
        tl.store(x_ptr + i, x + y, i < n)
    elif KIND == 1:
        tl.store(y_ptr + i, y * 2 + 1, i < n)
    elif KIND == 2:
        tl.store(x_ptr + i, y + z, i < n)
    else:
        tl.atomic_add(x_ptr + i, y, i < n)


def _aliases(rng, base):
    half, size = ELEMENTS // 2, ELEMENTS
    (a, b), (c, d) = [
        ((0, size), (0, size)),
        ((0, half), (half, size)),
        ((0, half + 8), (half - 8, size)),
        ((0, size), (4, 20)),
        ((8, 24), (0, size)),
    ][rng.integers(5)]
    return View(base, a, b), View(base, c, d)


def run_in_place(trials=200):
    """T1: the result is that of one run on the original input."""
    with Cache():
        for number in range(trials):
            rng = np.random.default_rng(number)
            start, other = rng.random(ELEMENTS, np.float32), rng.random(16, np.float32)
            base, copy, z = buffer_of(start), buffer_of(start), buffer_of(other)
            x, y = _aliases(np.random.default_rng(number), base)
            x2, y2 = _aliases(np.random.default_rng(number), copy)
            # n differs from trial to trial, so that each is a key of its own.
            n, kind = min(x.size, y.size) - number % 7, number % 4
            aliased[(1,)](x2, y2, z, n, KIND=kind, BLOCK=ELEMENTS, num_warps=4)
            tuned = tilewright.autotune(configs(ELEMENTS, 2 * ELEMENTS, 4 * ELEMENTS), key=["n", "KIND"])(aliased)
            os.environ["TILEWRIGHT_TUNE_TABLES"] = "0"  # measured in every trial
            try:
                tuned[(1,)](x, y, z, n, KIND=kind)
            finally:
                del os.environ["TILEWRIGHT_TUNE_TABLES"]
            assert np.array_equal(values_of(base), values_of(copy)), f"trial {number}: another result than of one run"
            assert np.array_equal(values_of(z), other), f"trial {number}: an argument that is only read has changed"
    return f"T1 on the GPU: {trials} tunings of in-place kernels, each the result of one run on the original input"


# ---------------------------------------------------------------------------
# T2
# ---------------------------------------------------------------------------


@tilewright.constexpr_function
def slowly():
    time.sleep(0.2)
    return 0


@tilewright.jit
def planted(x_ptr, n, KIND: tl.constexpr, BAD: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = 2.0
    if BLOCK == BAD:
        if KIND == "fault":
            tl.store(x_ptr + i.to(tl.int64) * 100000007 + (1 << 44), 1.0)
        elif KIND == "hang":
            while tl.load(x_ptr + n - 1, volatile=True) < 1e30:
                tl.store(x_ptr, 1.0)
        elif KIND == "wrong":
            value = 3.0
        elif KIND == "crash":
            tl.static_assert(False, "planted")
        elif KIND == "slow":
            value = 2.0 + slowly()
        elif KIND == "resources":
            row, column = tl.arange(0, 256), tl.arange(0, 128)
            product = tl.zeros((256, 256), tl.float32)
            for k in range(0, n, 128):
                a = tl.load(x_ptr + row[:, None] * 128 + column[None, :] + k)
                b = tl.load(x_ptr + column[:, None] * 128 + row[None, :] + k)
                product += tl.dot(a, b)
            tl.store(x_ptr + row[:, None] * 256 + row[None, :], product)
    tl.store(x_ptr + i, value, i < n)


STATUS = {
    "fault": ("failed",),
    "hang": ("hung",),
    "wrong": ("wrong",),
    "crash": ("failed",),
    "slow": ("ok", "slow"),
    "resources": ("pruned",),
    "memory": ("failed",),
}


def run_planted(trials=20, kinds=tuple(STATUS)):
    """T2: what ends is the candidate; the others are measured and the context stays well."""
    blocks = (256, 512, 1024)
    outcome: Counter = Counter()
    before = os.environ.get("TILEWRIGHT_TUNE_TIMEOUT")
    os.environ["TILEWRIGHT_TUNE_TIMEOUT"] = "1"
    try:
        with Cache():
            for kind in kinds:
                for trial in range(trials):
                    _plant(kind, trial, blocks, outcome)
    finally:
        if before is None:
            del os.environ["TILEWRIGHT_TUNE_TIMEOUT"]
        else:
            os.environ["TILEWRIGHT_TUNE_TIMEOUT"] = before
    return f"T2 on the GPU: {len(kinds)} kinds x {trials}, recorded as " + ", ".join(
        f"{k}: {n}" for k, n in sorted(outcome.items())
    )


def _out_of_memory(arguments):
    _core.DeviceBuffer(1 << 50, "float32", 0)


def _plant(kind, trial, blocks, outcome):
    bad, n = blocks[trial % 3], 4096 + 32 * trial
    x = buffer_of(np.zeros(n, np.float32))
    candidates = [
        tilewright.Config({"BLOCK": b}, pre_hook=_out_of_memory if kind == "memory" and b == bad else None) for b in blocks
    ]
    tuned = tilewright.autotune(candidates, key=["n", "KIND"], isolate=kind in ("fault", "hang"))(planted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.TuneWarning)
        tuned[lambda meta: (tilewright.cdiv(n, meta["BLOCK"]),)](x, n, KIND=kind, BAD=bad)
    record = records(f"{n}, {kind!r}")[bad]
    assert record["status"] in STATUS[kind], (kind, trial, record["status"], record["reason"])
    outcome[f"{kind} {record['status']}"] += 1
    assert kind == "slow" or tuned.best_config.kwargs["BLOCK"] != bad, (kind, trial)
    assert (values_of(x) == 2).all(), (kind, trial, "the result is not that of the kernel")


# ---------------------------------------------------------------------------
# T3
# ---------------------------------------------------------------------------


@tilewright.jit
def busy(x_ptr, n, BLOCK: tl.constexpr, WORK: tl.constexpr):
    i = tl.program_id(0) * 1024 + tl.arange(0, 1024)
    x = tl.load(x_ptr + i)
    for _ in range(WORK):
        x = x * 0.999 + 0.001
    tl.store(x_ptr + i, x)


def run_noise(trials=200):
    """T3: of equal configurations the earlier choice stays; a faster one wins."""

    def config(block, work):
        return tilewright.Config({"BLOCK": block, "WORK": work}, num_warps=4)

    flips = wins = 0
    x = buffer_of(np.ones(1024 * 2112, np.float32))  # what the kernel leaves as it is, however often

    def tune(n, *candidates):
        tuned = tilewright.autotune(list(candidates), key=["n"])(busy)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.TuneWarning)
            tuned[(2112,)](x, n)
        return tuned.best_config.kwargs["BLOCK"]

    with Cache():
        for number in range(trials):
            tune(number, config(1, 4000), config(2, 8000))
            flips += tune(number, config(1, 4000), config(2, 8000), config(3, 4000)) != 1
            wins += tune(number, config(1, 4000), config(2, 8000), config(3, 4000), config(4, 3720)) == 4
    line = f"T3 on the GPU: {trials} trials, {flips} flips between equal configurations, the 7 % faster one won {wins}"
    assert flips <= trials * 0.05 and wins >= trials * 0.99, line
    return line


# ---------------------------------------------------------------------------
# T4
# ---------------------------------------------------------------------------


def tune_once():
    """The process that is killed: one tuning of ten configurations."""
    x = buffer_of(np.zeros(1 << 22, np.float32))
    tuned = tilewright.autotune(configs(*(1 << b for b in range(5, 13))), key=["n"])(planted)
    n = 1 << 22
    print("started", flush=True)
    tuned[lambda meta: (tilewright.cdiv(n, meta["BLOCK"]),)](x, n, KIND="none", BAD=0)
    assert (values_of(x) == 2).all()
    print("finished", flush=True)


def run_killed(trials=10, seed=4):
    """T4: killed at any moment, the next process goes on from what is on disk."""
    rng = random.Random(seed)
    command = [sys.executable, "-c", "from campaigns import tuning_gpu; tuning_gpu.tune_once()"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    interrupted = 0
    for number in range(trials):
        with Cache():
            environment["TILEWRIGHT_CACHE_DIR"], environment["TILEWRIGHT_CACHE"] = os.environ["TILEWRIGHT_CACHE_DIR"], "1"
            first = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
            assert first.stdout.readline() == "started\n"
            time.sleep(rng.random() * 0.4)
            first.send_signal(signal.SIGKILL)
            interrupted += first.communicate()[0] != "finished\n"
            disk_cache._stores.clear()
            before = records()
            running = [b for b, r in before.items() if r["status"] == "running"]
            assert len(running) <= 1, (number, running)
            done = subprocess.run(command, env=environment, capture_output=True, text=True)
            assert done.returncode == 0, (number, done.stderr[-2000:])
            after = records()
            assert len(after) == 8 and all(r["status"] in ("ok", "slow") for b, r in after.items() if b not in running), after
            assert all(
                r["samples"][: len(before[b]["samples"])] == before[b]["samples"]
                for b, r in after.items()
                if b in before and before[b]["status"] != "running" and len(r["samples"]) < 64
            ), "measured again"
    return f"T4 on the GPU: {trials} kills, {interrupted} in the middle, nothing measured twice"


GPU_CAMPAIGNS = {"T1": (run_in_place, 200), "T2": (run_planted, 20), "T3": (run_noise, 200), "T4": (run_killed, 10)}
