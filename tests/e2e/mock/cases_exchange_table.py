# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors read through DLPack's C exchange table of a stand-in for torch; run by test_launch_mock.py."""

import os
import sys

import pytest

if "MOCK_CASES" not in os.environ:
    pytest.skip("needs the mock driver; see test_launch_mock.py", allow_module_level=True)

pytest_plugins = ["harness.launch_cases"]

from harness import dlpack  # noqa: E402
from harness.dlpack import Parameter, Tensor  # noqa: E402

# Before the first launch of the process, which looks for torch.
sys.modules["torch"] = dlpack.fake_torch(int(os.environ.get("TABLE_VERSION", "1")))

import tilewright  # noqa: E402
from harness.launch_cases import DEVICE0, DEVICE1  # noqa: E402
from tilewright import errors  # noqa: E402

HAS_TABLE = os.environ.get("TABLE_VERSION", "1") == "1"


@pytest.fixture(autouse=True)
def mock(mock):
    Tensor.calls.update(table=0, accessors=0)
    return mock


def make_kernel():

    @tilewright.jit
    def f(a, b):
        pass

    return f


def test_the_table_is_used_where_its_version_is_known(mock):
    make_kernel()[(1,)](Tensor(DEVICE0), Parameter(DEVICE0 + 64))
    assert Tensor.calls == ({"table": 2, "accessors": 0} if HAS_TABLE else {"table": 0, "accessors": 2})
    assert mock.launch().unpack("QQ") == (DEVICE0, DEVICE0 + 64)


@pytest.mark.skipif(not HAS_TABLE, reason="the table is of another version")
@pytest.mark.parametrize(
    "code,bits,name",
    [
        (0, 8, "i8"),
        (0, 16, "i16"),
        (0, 32, "i32"),
        (0, 64, "i64"),
        (1, 8, "u8"),
        (1, 16, "u16"),
        (1, 32, "u32"),
        (1, 64, "u64"),
        (2, 16, "fp16"),
        (2, 32, "fp32"),
        (2, 64, "fp64"),
        (4, 16, "bf16"),
        (6, 8, "i1"),
        (10, 8, "fp8e4nv"),
        (11, 8, "fp8e4b8"),
        (12, 8, "fp8e5"),
        (13, 8, "fp8e5b16"),
    ],
)
def test_types(compiler, code, bits, name):
    make_kernel()[(1,)](Tensor(DEVICE0, code, bits), 5)
    assert compiler.last["signature"]["a"] == f"*{name}" and Tensor.calls["accessors"] == 0


@pytest.mark.parametrize("code,bits,lanes", [(5, 64, 1), (14, 8, 1), (17, 4, 2), (2, 32, 4), (2, 8, 1), (99, 32, 1)])
def test_types_that_are_unknown_are_asked_for_by_name(compiler, code, bits, lanes):
    with pytest.raises(errors.TilewrightError, match=r"\[E0206\] argument 'a' has dtype torch.strange"):
        make_kernel()[(1,)](Tensor(DEVICE0, code, bits, lanes, dtype="torch.strange"), 5)
    make_kernel()[(1,)](Tensor(DEVICE0, code, bits, lanes, dtype="torch.int16"), 5)
    assert compiler.last["signature"]["a"] == "*i16"


def test_a_tensor_that_the_table_refuses_is_read_by_its_methods(mock, compiler):
    make_kernel()[(1,)](Tensor(DEVICE0 + 8, fails=True, dtype="torch.float64"), 5)
    assert Tensor.calls["accessors"] == 1 and compiler.last["signature"]["a"] == "*fp64"
    assert mock.launch().unpack("Qi") == (DEVICE0 + 8, 5)


def test_offset_and_alignment(mock, compiler):
    make_kernel()[(1,)](Tensor(DEVICE0, offset=4), Tensor(DEVICE0, offset=32))
    assert mock.launch().unpack("QQ") == (DEVICE0 + 4, DEVICE0 + 32)
    assert compiler.last["divisibility"] == {"b": 16}


def test_devices(mock):
    kernel = make_kernel()
    kernel[(1,)](Tensor(DEVICE1, device=1), Tensor(DEVICE1, device=1))
    assert mock.launch().device == 1
    with pytest.raises(errors.InvalidArgument, match=r"\[E0202\].*'a' on cuda:0, 'b' on cuda:1"):
        kernel[(1,)](Tensor(DEVICE0), Tensor(DEVICE1, device=1))


@pytest.mark.parametrize("device_type", [dlpack.CPU, dlpack.PINNED])
def test_memory_of_the_host(mock, device_type):
    kernel = make_kernel()
    with pytest.raises(errors.InvalidArgument, match=r"\[E0201\] argument 'a' is on the CPU"):
        kernel[(1,)](Tensor(0x5000, device_type=device_type), 5)
    mock.library.mockSetPinned(0x5000)
    kernel[(1,)](Tensor(0x5000, device_type=device_type), 5)
    assert mock.launch().unpack("Qi") == (0x6000, 5)


def test_subclasses_may_say_something_else(mock):

    class Shifted(Tensor):
        device = None

        def data_ptr(self):
            return self.facts[0] + 0x100

    make_kernel()[(1,)](Shifted(DEVICE0), 5)
    assert mock.launch().unpack("Qi") == (DEVICE0 + 0x100, 5) and Tensor.calls["table"] == 0


@pytest.mark.parametrize(
    "offset, step, overlap", [(0, 1, True), (60, 1, True), (64, 1, False), (124, 2, False), (120, 2, True), (64, 2, True)]
)
def test_extents_come_from_the_table_or_from_methods(compiler, offset, step, overlap):
    compiler.metadata = {"needs_distinct_arguments": True, "written_args": ["b"]}
    Tensor.calls["extents"] = 0
    make_kernel()[(1,)](Tensor(DEVICE0, step=step), Tensor(DEVICE0 + offset))
    assert len(compiler.calls) == 1 + overlap
    # Of two different addresses only the lower array's extent is asked for.
    assert Tensor.calls["extents"] == (0 if HAS_TABLE or offset == 0 else 1)
