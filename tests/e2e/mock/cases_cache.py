# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches of kernels from the disk, on the recording driver; run by test_cache.py."""

import importlib.util
import os
import sys
import time

import pytest

from harness.mock_driver import FakeCompiler, FakeTensor, Mock
from tilewright import _core, errors
from tilewright.compiler import disk_cache

if "MOCK_CASES" not in os.environ:
    pytest.skip("needs the mock driver; see test_cache.py", allow_module_level=True)

TEXT = """
import tilewright
class constexpr:
    def __init__(self, value): self.value = value
SIZE = constexpr(4)
UNUSED = constexpr(5)
@tilewright.jit
def helper(a):
    return a * SIZE
@tilewright.jit
def kernel(x, n, BLOCK: constexpr):
    if BLOCK > 100:
        x = x * UNUSED
    return helper(x) + n
kernel.fn.__tilewright_helpers__ = [(helper, "SIZE")]
"""


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE", "1")
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    # A module of the same size, written in the same second, would be taken for the one before.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    disk_cache._stores.clear()
    Mock().reset()


@pytest.fixture
def compiler(monkeypatch):
    fake = FakeCompiler()
    monkeypatch.setattr(_core, "compile_kernel", fake, raising=False)
    return fake


def fresh_module(tmp_path, text=TEXT):
    """The module as another process would import it."""
    path = tmp_path / "module.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("module", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_launch_from_the_disk(tmp_path, compiler):
    fresh_module(tmp_path).kernel[(1,)](FakeTensor(), 7, BLOCK=64)
    kernel = fresh_module(tmp_path).kernel
    kernel[(2,)](FakeTensor(), 7, BLOCK=64)
    assert len(compiler.calls) == 1 and Mock().launch().grid == (2, 1, 1)
    kernel[(1,)](FakeTensor(), 16, BLOCK=64)
    assert len(compiler.calls) == 2


def test_frozen_globals_are_watched(tmp_path, compiler):
    fresh_module(tmp_path).kernel[(1,)](FakeTensor(), 7, BLOCK=64)
    module = fresh_module(tmp_path)
    module.kernel[(1,)](FakeTensor(), 7, BLOCK=64)
    assert len(compiler.calls) == 1
    # What the cached code did not read may change, what it read may not.
    module.UNUSED = module.constexpr(6)
    module.kernel[(1,)](FakeTensor(), 7, BLOCK=64)
    module.SIZE = module.constexpr(5)
    with pytest.raises(RuntimeError, match="Global variable SIZE has changed"):
        module.kernel[(1,)](FakeTensor(), 7, BLOCK=64)


def test_changed_global_is_another_kernel(tmp_path, compiler):
    fresh_module(tmp_path).kernel[(1,)](FakeTensor(), 7, BLOCK=64)
    fresh_module(tmp_path, TEXT.replace("constexpr(4)", "constexpr(8)")).kernel[(1,)](FakeTensor(), 7, BLOCK=64)
    assert len(compiler.calls) == 2
    # Changed after the first specialisation was compiled, before the second is.
    module = fresh_module(tmp_path)
    module.kernel[(1,)](FakeTensor(), 7, BLOCK=128)
    module = fresh_module(tmp_path)
    module.UNUSED = module.constexpr(50)
    module.kernel[(1,)](FakeTensor(), 7, BLOCK=128)
    assert len(compiler.calls) == 4


def test_wrong_machine_code_is_refused(tmp_path, compiler):
    fresh_module(tmp_path).kernel[(1,)](FakeTensor(), 7, BLOCK=64)
    store = disk_cache.store_of()
    ((key, _, _),) = store.native.list()
    header, sections, _, _ = store.native.load(key)
    store.native.store(key, header, {**sections, "cubin": b"#!/bin/sh"})
    with pytest.warns(errors.CacheWarning, match="W0501"):
        fresh_module(tmp_path).kernel[(1,)](FakeTensor(), 7, BLOCK=64)
    assert len(compiler.calls) == 2


def test_first_launch_from_the_disk_is_quick(tmp_path, compiler):
    """Generous here, where machines are shared; benchmarks/host_side.py has the figure."""
    fresh_module(tmp_path).kernel[(1,)](FakeTensor(), 7, BLOCK=64)
    times = []
    for _ in range(7):
        kernel, x = fresh_module(tmp_path).kernel, FakeTensor()
        start = time.perf_counter()
        kernel[(1,)](x, 7, BLOCK=64)
        times.append(time.perf_counter() - start)
    assert len(compiler.calls) == 1 and min(times) < 0.02, times
