# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The launches of data/exported/program.cpp, made from Python against the recording driver, and compared.

Run by test_exporting.py in a process of its own; $EXPORTED_LAUNCHES names what the program's launches were.
"""

import math
import os

import numpy as np
import pytest

from harness.mock_driver import ROOT, Mock
from tilewright.kernel_arguments import load_function
from tilewright.tools.tensor_descriptor import TensorDescriptor

if "MOCK_CASES" not in os.environ:
    pytest.skip("run by test_exporting.py", allow_module_level=True)

mock = Mock()
ELEMENTS, ROWS, COLUMNS, SIDE, DEPTH, HEADS, LENGTH, HEAD_SIZE = 98432, 300, 1000, 1024, 512, 4, 512, 64


class Array:
    """An array that says its extent: a launch compiles the form for arrays that overlap where it knows none."""

    def __init__(self, number, *shape, kind="<f2"):
        address = 0x10000000000 + 0x1000000 * number
        self.shape, self.dtype = shape, np.dtype(kind)
        self.__cuda_array_interface__ = {
            "data": (address, False),
            "shape": shape,
            "typestr": kind,
            "strides": None,
            "version": 3,
        }


def kernel(name):
    return load_function(str(ROOT / "tutorials" / name))


def add():
    x, y, out = (Array(number, ELEMENTS, kind="<f4") for number in range(3))
    kernel("01_vector_add.py:add_kernel")[math.ceil(ELEMENTS / 1024),](x, y, out, ELEMENTS, BLOCK=1024)


def softmax():
    kernel("02_fused_softmax.py:softmax_kernel")[ROWS,](
        *(Array(number, ROWS, COLUMNS, kind="<f4") for number in (3, 4)), COLUMNS, COLUMNS, COLUMNS, BLOCK=1024
    )


def matrices():
    return [(Array(number, *shape), *shape) for number, shape in ((5, (SIDE, DEPTH)), (6, (DEPTH, SIDE)), (7, (SIDE, SIDE)))]


def matmul():
    blocks = ([128, 64], [64, 128], [128, 64])
    descriptors = [
        TensorDescriptor(base, [rows, columns], [columns, 1], block) for (base, rows, columns), block in zip(matrices(), blocks)
    ]
    kernel("09_persistent_matmul.py:host_descriptor_kernel")[64,](
        *descriptors, SIDE, SIDE, DEPTH, 128, 128, 64, 8, True, num_warps=8
    )


def matmul_device():
    arrays = [base for base, _, _ in matrices()]
    kernel("09_persistent_matmul.py:device_descriptor_kernel")[64,](
        *arrays, SIDE, SIDE, DEPTH, 128, 128, 64, 8, True, num_warps=8
    )


def attention():
    arrays = [Array(number, HEADS, LENGTH, HEAD_SIZE) for number in range(8, 12)]
    kernel("06_fused_attention.py:forward_kernel")[LENGTH // 128, HEADS](
        *arrays,
        Array(12, HEADS, LENGTH, kind="<f4"),
        1 / math.sqrt(HEAD_SIZE),
        LENGTH,
        BLOCK_M=128,
        BLOCK_N=64,
        HEAD_DIM=HEAD_SIZE,
        CAUSAL=True,
        num_warps=8,
    )


@pytest.mark.parametrize(
    "number, launch", list(enumerate((add, softmax, matmul, matmul_device, attention))), ids=lambda value: str(value)
)
def test_launch(number, launch):
    with open(os.environ["EXPORTED_LAUNCHES"], encoding="utf-8") as file:
        words = file.read().splitlines()[number].split()
    mock.reset()
    launch()
    numbers = list(map(int, words[2:12]))
    made = mock.launch()
    assert list(made.grid) == numbers[:3]
    assert [made.threads, made.shared, made.stream, made.device, made.cluster] == numbers[3:8]
    assert [made.cooperative, made.programmatic] == list(map(bool, numbers[8:]))
    assert made.parameters.hex() == words[12] and made.parameters
