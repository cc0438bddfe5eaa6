# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which form of a kernel is launched for arrays that overlap, on the recording driver; run by test_launch_mock.py."""

import os

import pytest

import tilewright
from harness.launch_cases import make_kernel
from harness.mock_driver import FakeTensor
from tilewright.tools.tensor_descriptor import TensorDescriptor

if "MOCK_CASES" not in os.environ:
    pytest.skip("needs the mock driver; see test_launch_mock.py", allow_module_level=True)

pytest_plugins = ["harness.launch_cases"]

START = 0x10000000000


class Shaped(FakeTensor):
    """Tells its extent, as torch's tensors do."""

    def __init__(self, address, shape, strides=None):
        super().__init__(address)
        self.shape, self.strides_in_elements = shape, strides
        if strides is None:
            self.strides_in_elements = [1] * len(shape)
            for dim in reversed(range(len(shape) - 1)):
                self.strides_in_elements[dim] = self.strides_in_elements[dim + 1] * shape[dim + 1]

    def stride(self):
        return tuple(self.strides_in_elements)

    def element_size(self):
        return 4


class Silent(FakeTensor):
    """Raises whatever is asked beyond the address, as the user's objects may."""

    @property
    def shape(self):
        raise RuntimeError("not now")


@pytest.fixture(autouse=True)
def compiler(compiler):
    compiler.metadata = {"needs_distinct_arguments": True, "written_args": ["out"]}
    return compiler


def forms(compiler):
    """Of each compilation, whether arguments may overlap."""
    return [bool(call["options"]["arguments_may_overlap"]) for call in compiler.calls]


def array(elements, offset=0):
    return Shaped(START + 4 * offset, (elements,))


APART = (array(1024), array(1024, 1024), array(1024, 2048))


@pytest.mark.parametrize(
    "arguments, overlap",
    [
        (APART, False),
        # Inputs may share what they like.
        ((array(1024), array(1024), array(1024, 1024)), False),
        ((array(1024), array(1024, 1024), array(1024)), True),
        ((array(1024), array(1024, 1024), array(1024, 2047)), True),
        ((array(1024, 2048), array(1024, 4096), array(1025, 1024)), True),
        ((array(1024, 2048), array(1024, 4096), array(1024, 1024)), False),
        # Rows that are apart reach further than they have elements.
        ((Shaped(START, (4, 16), (1024, 1)), array(16, 8192), array(16, 3000)), True),
        ((Shaped(START, (4, 16), (1024, 1)), array(16, 8192), array(16, 3 * 1024 + 16)), False),
        # No elements, no overlap but for an equal address.
        ((Shaped(START, (4, 0)), array(16, 8192), array(16, 8)), False),
        # Nobody knows where they end.
        ((FakeTensor(START), array(16, 8192), array(16, 4096)), True),
        ((Silent(START), array(16, 8192), array(16, 4096)), True),
        ((FakeTensor(START + 65536), array(16, 8192), array(16, 4096)), False),
    ],
)
def test_the_form_follows_the_arguments(mock, compiler, arguments, overlap):
    make_kernel()[(1,)](*arguments, 1024, BLOCK=64)
    assert forms(compiler) == [False, True][: 1 + overlap]
    assert mock.count == 1


def test_both_forms_are_kept(mock, compiler):
    kernel, same = make_kernel(), (APART[0], APART[1], APART[0])
    for _ in range(3):
        first = kernel[(1,)](*APART, 1024, BLOCK=64)
        second = kernel[(1,)](*same, 1024, BLOCK=64)
    assert forms(compiler) == [False, True] and mock.count == 6
    assert first is not second
    assert kernel[(1,)](*same, 1024, BLOCK=64) is second


def test_kernels_that_need_nothing_are_not_asked(mock, compiler):
    compiler.metadata["needs_distinct_arguments"] = False
    make_kernel()[(1,)](APART[0], APART[1], APART[0], 1024, BLOCK=64)
    assert forms(compiler) == [False]


def test_unknown_writes_count_as_writes(mock, compiler):
    compiler.metadata["written_args"] = None
    make_kernel()[(1,)](APART[0], APART[0], APART[1], 1024, BLOCK=64)
    assert forms(compiler) == [False, True]


def test_bound_launches_have_their_form(mock, compiler):
    step = make_kernel()[(1,)].bind(APART[0], APART[1], APART[0], 1024, BLOCK=64)
    step()
    step()
    assert forms(compiler) == [False, True] and mock.count == 2


def test_the_option_asks_for_the_safe_form_at_once(mock, compiler):
    compiler.metadata["needs_distinct_arguments"] = False
    make_kernel()[(1,)](*APART, 1024, BLOCK=64, arguments_may_overlap=True)
    assert forms(compiler) == [True]


def test_tuned_kernels(mock, compiler):
    tuned = tilewright.autotune([tilewright.Config({"BLOCK": 64})], key=["n"])(make_kernel())
    same = (APART[0], APART[1], APART[0])
    for _ in range(3):
        tuned[(1,)](*APART, 1024)
        tuned[(1,)](*same, 1024)
    assert forms(compiler) == [False, True] and mock.count == 6


@pytest.mark.parametrize("shift, overlap", [(0, True), (15 * 64 + 32, True), (15 * 64 + 64, False)])
def test_descriptors(mock, compiler, shift, overlap):
    x = TensorDescriptor(Shaped(START, (16, 64)), [16, 64], [64, 1], [16, 32])
    make_kernel()[(1,)](x, array(16, 8192), Shaped(START + 4 * shift, (16, 64)), 1024, BLOCK=64)
    assert forms(compiler) == [False, True][: 1 + overlap]


def test_tuples_of_arrays_count_as_written(mock, compiler):
    make_kernel()[(1,)]((APART[0], 5), APART[1], APART[2], 1024, BLOCK=64)
    assert forms(compiler) == [False, True]
    compiler.calls.clear()
    make_kernel()[(1,)]((7, 5, (1.5, None)), APART[1], APART[2], 1024, BLOCK=64)
    assert forms(compiler) == [False]
