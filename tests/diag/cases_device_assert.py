# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The error of a failed device assertion; run by test_launch_errors.py on the mock driver, in a process of its own."""

import os

import pytest

import tilewright
from harness.mock_driver import FakeCompiler, FakeTensor, Mock
from tilewright import _core, errors

if "MOCK_CASES" not in os.environ:
    pytest.skip("needs the mock driver; see test_launch_errors.py", allow_module_level=True)


@tilewright.jit
def add(x, n):
    pass


def test_a_failed_assertion_has_the_words_that_programs_look_for(monkeypatch):
    monkeypatch.setattr(_core, "compile_kernel", FakeCompiler())
    add[(1,)](FakeTensor(), 5)
    Mock().library.mockFailNextLaunch(710)
    with pytest.raises(RuntimeError, match="device-side assert triggered") as info:
        add[(1,)](FakeTensor(), 5)
    assert type(info.value) is errors.DeviceAssert and info.value.code == "E0403"
    assert info.value.message.startswith("a device assertion failed in or before kernel 'add' launched at ")
