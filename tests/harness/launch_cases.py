# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the cases of launches share: the recording driver, a compiler that notes what it is asked, a kernel, tensors.

A file of cases names this one in `pytest_plugins`, so that each of its tests has the fixtures.
"""

import pytest

import tilewright
from harness.mock_driver import FakeCompiler, FakeTensor, Mock
from tilewright import _core

DEVICE0, DEVICE1 = 0x10000000000, 0x20000000000


@pytest.fixture(autouse=True)
def mock():
    result = Mock()
    result.reset()
    return result


@pytest.fixture(autouse=True)
def compiler(monkeypatch):
    fake = FakeCompiler()
    monkeypatch.setattr(_core, "compile_kernel", fake, raising=False)
    return fake


class constexpr:
    """The annotation alone; the language package is not needed for launches."""


def make_kernel():

    @tilewright.jit
    def add(x, y, out, n, BLOCK: constexpr):
        pass

    return add


def tensors(count=3, **kwargs):
    return [FakeTensor(DEVICE0 + 4096 * i, **kwargs) for i in range(count)]
