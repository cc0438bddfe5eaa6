# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays of CuPy and of others with __cuda_array_interface__, against the recording driver; run by test_launch_mock.py."""

import os
import sys
import types

import numpy as np
import pytest

import tilewright
from harness.launch_cases import DEVICE0, DEVICE1, constexpr
from harness.mock_driver import FakeTensor
from tilewright import errors

if "MOCK_CASES" not in os.environ:
    pytest.skip("needs the mock driver; see test_launch_mock.py", allow_module_level=True)

pytest_plugins = ["harness.launch_cases"]


class Interface:
    """An array of some library's that tells its address by the interface alone."""

    def __init__(self, address=DEVICE0, dtype=np.float32, read_only=False, **more):
        self.dtype = np.dtype(dtype)
        self.__cuda_array_interface__ = {
            "data": (address, read_only),
            "shape": (64,),
            "strides": None,
            "typestr": self.dtype.str,
            "version": 3,
            **more,
        }


class CupyArray(Interface):
    """As cupy.ndarray: the device is an object with an id."""

    __module__ = "cupy"

    def __init__(self, address=DEVICE0, device=0, **more):
        super().__init__(address, **more)
        self.device = types.SimpleNamespace(id=device)


@pytest.fixture
def current(monkeypatch):
    """A cupy whose current stream is `current.ptr`."""
    stream = types.SimpleNamespace(ptr=0x77)
    module = types.ModuleType("cupy")
    module.cuda = types.SimpleNamespace(get_current_stream=lambda: stream)
    monkeypatch.setitem(sys.modules, "cupy", module)
    return stream


@pytest.fixture
def kernel():

    @tilewright.jit
    def add(x, y, n, BLOCK: constexpr):
        pass

    return add


def test_address_type_device_and_stream(mock, current, kernel, compiler):
    kernel[(3,)](CupyArray(DEVICE1 + 256, 1), CupyArray(DEVICE1 + 4, 1, dtype=np.float16), 10, BLOCK=64)
    launch = mock.launch()
    assert (launch.device, launch.stream, launch.grid) == (1, 0x77, (3, 1, 1))
    assert launch.unpack("QQi") == (DEVICE1 + 256, DEVICE1 + 4, 10)
    assert compiler.last["signature"] == {"x": "*fp32", "y": "*fp16", "n": "i32"}
    assert compiler.last["divisibility"] == {"x": 16}


def test_the_stream_is_asked_for_at_each_launch(mock, current, kernel):
    bound = kernel[(1,)].bind(CupyArray(), CupyArray(), 10, BLOCK=64)
    for ptr in (0, 0x88, 0x99):
        current.ptr = ptr
        kernel[(1,)](CupyArray(), CupyArray(), 10, BLOCK=64)
        assert mock.launch().stream == ptr
        bound()
        assert mock.launch().stream == ptr


def test_arrays_on_two_devices(current, kernel):
    with pytest.raises(errors.TilewrightError, match="E0202"):
        kernel[(1,)](CupyArray(DEVICE0, 0), CupyArray(DEVICE1, 1), 10, BLOCK=64)


def test_the_first_array_decides_whose_stream_it_is(mock, current, kernel):
    kernel[(1,)](Interface(stream=0x55), CupyArray(), 10, BLOCK=64)
    assert mock.launch().stream == 0x55
    kernel[(1,)](CupyArray(), Interface(stream=0x55), 10, BLOCK=64)
    assert mock.launch().stream == 0x77
    kernel[(1,)](FakeTensor(), CupyArray(), 10, BLOCK=64)
    assert mock.launch().stream == 0x77


def test_other_arrays_by_their_interface(mock, kernel):
    kernel[(1,)](Interface(DEVICE1), Interface(DEVICE1 + 64, stream=None), 10, BLOCK=64)
    assert (mock.launch().device, mock.launch().stream) == (1, 0)


def test_arrays_that_may_not_be_written(mock, current, kernel, compiler):
    compiler.metadata = {"written_args": ["y"]}
    kernel[(1,)](CupyArray(read_only=True), CupyArray(), 10, BLOCK=64)
    with pytest.raises(errors.TilewrightError, match="E0216.*'y'"):
        kernel[(1,)](CupyArray(), CupyArray(read_only=True), 10, BLOCK=64)
    assert mock.count == 1
