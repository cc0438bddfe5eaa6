# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tuner's cases share: a device that is recorded, kernels that are tables of times."""

import os
import random

import pytest

import tilewright
from harness import simulated
from harness.mock_driver import Mock
from harness.simulated import Simulated
from tilewright import errors
from tilewright.compiler import disk_cache
from tilewright.runtime.autotuner import Autotuner
from tilewright.tuning import table


# More than the ordinary counts, for tests/campaigns/run.py.
TRIALS = int(os.environ.get("CAMPAIGN_TRIALS", "0"))


@tilewright.jit
def identity(x, n, BLOCK):
    """What the simulated kernels are tables for: a content that has a digest."""


@pytest.fixture(autouse=True)
def simulated_device(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE", "1")
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    disk_cache._stores.clear()
    table._files.clear()
    errors._warned.clear()
    Mock().reset()
    simulated.install(monkeypatch)


def tuned(body, times, names=("x", "n"), key=("n",), configs=None, resources=lambda c: {}, jit=identity, **options):
    """A tuner over a simulated kernel; `times` maps BLOCK to milliseconds."""
    kernel = Simulated(body, names, lambda a: times[a["BLOCK"]] * (1 + random.random() * 0.01), resources, jit)
    configs = simulated.configs(*times) if configs is None else configs
    return Autotuner(kernel, list(names), configs, list(key), **options)


def nothing(arguments):
    pass


def outputs_only(config):
    """Resources of a kernel that writes `x` and reads nothing."""
    return {"written_args": ["x"], "read_args": []}


def launch(tuner, *args, **kwargs):
    return tuner.run(*args, grid=(1,), warmup=False, **kwargs)


def records():
    """Every record on disk by BLOCK."""
    return {r["kwargs"]["BLOCK"]: r for _, header in table.all_tables() for r in header["records"].values()}


class Planted(RuntimeError):
    pass
