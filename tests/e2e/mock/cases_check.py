# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The compiled side of checked programs on the recording driver, whose memory is the host's; run by test_launch_mock.py."""

import os
import struct
from dataclasses import asdict

import numpy as np
import pytest

import tilewright
from harness.mock_driver import FakeTensor
from tilewright.checking import compiled, journal, replay
from tilewright.checking.saved import SavedLaunch
from tilewright.checking.session import Options, Session
from tilewright.pytest_plugin import CompiledMode

if "MOCK_CASES" not in os.environ:
    pytest.skip("needs the mock driver; see test_launch_mock.py", allow_module_level=True)

pytest_plugins = ["harness.launch_cases"]


def make_kernel():
    import tilewright.language as tl

    @tilewright.jit
    def copy(x, out, n, BLOCK: tl.constexpr):
        o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + o, tl.load(x + o, o < n), o < n)

    return copy


@pytest.fixture
def checked(tmp_path, monkeypatch):
    """A kernel of a checked program, as its process declares it."""
    folder = tmp_path / "journal"
    folder.mkdir()
    journal.create(folder, asdict(Options(only=("another",))))
    monkeypatch.setenv("TILEWRIGHT_CHECK_SESSION", str(folder))
    kernel = make_kernel()
    kernel.records = lambda: journal.read(folder)
    return kernel


def test_what_is_not_checked_is_launched(mock, checked):
    x, out = FakeTensor(), FakeTensor(0x20000000000)
    assert checked.interpreted
    result = checked[(4,)](x, out, 1000, BLOCK=256, num_warps=8)
    assert mock.count == 1
    launch = mock.launch()
    assert launch.grid == (4, 1, 1) and launch.threads == 256
    assert struct.unpack_from("<QQi", launch.parameters) == (x.address, out.address, 1000)
    assert [(r["status"], r["reason"]) for r in checked.records()] == [("unchecked", "left out by --only")]
    assert result.asm["ptx"] == "// ptx" and result.metadata.num_warps == 8
    assert mock.count == 1  # asking the kernel for something launches nothing


def test_warmup_and_precompile_are_those_of_the_compiled_kernel(mock, checked, compiler):
    x = FakeTensor()
    assert checked.warmup(x, x, 1000, BLOCK=256, grid=(1,)).asm["ptx"] == "// ptx"
    assert checked.precompile(x, x, 1000, BLOCK=256).asm["ptx"] == "// ptx"
    assert mock.count == 0 and compiler.calls


def test_arrays_of_the_host_stay_there(mock, checked):
    x, out = np.ones(10, np.float32), np.zeros(10, np.float32)
    checked[(1,)](x, out, 10, BLOCK=16)
    assert mock.count == 0 and out.all()


def test_a_saved_launch_gets_memory_of_the_driver(mock, tmp_path):
    folder = tmp_path / "journal"
    folder.mkdir()
    path = tmp_path / "launch.zip"
    journal.create(folder, asdict(Options(compare=True, save=str(path))))
    # The other side does nothing, so that what the interpreter writes differs.
    memory = np.arange(64, dtype=np.float32)
    x, out = memory[1:21], np.zeros(20, np.float32)
    Session(folder, lambda *_: None).launch(make_kernel(), (1,), {"x": x, "out": out, "n": 20, "BLOCK": 32}, {})
    saved = SavedLaunch(path)
    computed = replay.run_compiled(saved)
    assert mock.count == 1 and struct.unpack_from("<QQi", mock.launch().parameters)[2] == 20
    # Each array lies at the place within 256 bytes that it had.
    for argument, array in zip(struct.unpack_from("<QQ", mock.launch().parameters), (x, out)):
        assert argument % 256 == array.ctypes.data % 256
    # The mock's kernel writes nothing either.
    assert np.array_equal(computed[0].view(np.float32), x) and not computed[1].any()
    _, interpreted, _ = replay.run_interpreted(saved)
    (difference,) = replay.differences(saved, interpreted, computed)
    assert (difference.array, difference.index, difference.count) == ("out", (0,), 20)


def test_the_fixtures_arrays_on_the_device(mock):
    mode = CompiledMode()
    values = np.arange(12, dtype=np.int16).reshape(3, 4)
    array = mode.array(values)
    assert array.shape == (3, 4) and array.stride() == (4, 1) and array.stride(0) == 4
    assert np.array_equal(mode.numpy(array), values)
    assert mode.numpy(mode.empty((0, 3), "float32")).shape == (0, 3)
    make_kernel()[(1,)](array, mode.zeros(12, "int16"), 12, BLOCK=16)
    assert struct.unpack_from("<Q", mock.launch().parameters)[0] == array.data_ptr()


def test_there_is_a_gpu():
    assert compiled.has_gpu()
