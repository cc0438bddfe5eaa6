# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Accesses outside of an array."""

import numpy as np

import tilewright as tw
import tilewright.language as tl
from planted.case import Case


@tw.jit
def add_tail(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    a = tl.load(x + offsets, mask=mask)
    b = tl.load(y + offsets)  # fault
    tl.store(out + offsets, a + b, mask=mask)


@tw.jit
def add_tail_corrected(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    a = tl.load(x + offsets, mask=mask)
    b = tl.load(y + offsets, mask=mask)
    tl.store(out + offsets, a + b, mask=mask)


def launch_add(kernel):
    x, y = np.ones(1000, np.float32), np.ones(1000, np.float32)
    kernel[(tw.cdiv(1000, 128), )](x, y, np.zeros_like(x), 1000, BLOCK=128)


@tw.jit
def softmax(x, out, columns, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets <= columns
    values = tl.load(x + row * stride + offsets, mask=mask, other=-float("inf"))  # fault
    shifted = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * stride + offsets, shifted / tl.sum(shifted, axis=0), mask=offsets < columns)


@tw.jit
def softmax_corrected(x, out, columns, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    values = tl.load(x + row * stride + offsets, mask=mask, other=-float("inf"))
    shifted = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * stride + offsets, shifted / tl.sum(shifted, axis=0), mask=offsets < columns)


def launch_softmax(kernel):
    x = np.random.default_rng(0).standard_normal((5, 100), np.float32)
    kernel[(5, )](x, np.zeros_like(x), 100, 100, BLOCK=128)


CASES = [
    Case("add-tail", "bounds", "E0407", add_tail, add_tail_corrected, launch_add),
    Case("softmax-off-by-one", "bounds", "E0407", softmax, softmax_corrected, launch_softmax),
]
