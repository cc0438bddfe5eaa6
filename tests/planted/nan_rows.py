# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The first NaN, and infinities that come of a division, logarithm or root."""

import numpy as np

import tilewright as tw
import tilewright.language as tl
from planted.case import Case


@tw.jit
def masked_softmax(x, allowed, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    inside = offsets < n
    keep = (tl.load(allowed + row * n + offsets, mask=inside, other=0) != 0) & inside
    scores = tl.load(x + row * n + offsets, mask=keep, other=-float("inf"))
    largest = tl.max(scores, axis=0)
    weights = tl.exp(scores - largest)  # fault
    total = tl.sum(weights, axis=0)
    tl.store(out + row * n + offsets, weights / total, mask=inside)


@tw.jit
def masked_softmax_corrected(x, allowed, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    inside = offsets < n
    keep = (tl.load(allowed + row * n + offsets, mask=inside, other=0) != 0) & inside
    scores = tl.load(x + row * n + offsets, mask=keep, other=-float("inf"))
    largest = tl.maximum(tl.max(scores, axis=0), -1e30)
    weights = tl.exp(scores - largest)
    total = tl.maximum(tl.sum(weights, axis=0), 1e-30)
    tl.store(out + row * n + offsets, weights / total, mask=inside)


def launch_softmax(kernel):
    allowed = np.ones((3, 50), np.int8)
    allowed[1] = 0
    kernel[(3,)](np.ones((3, 50), np.float32), allowed, np.zeros((3, 50), np.float32), 50, BLOCK=64)


@tw.jit
def normalise(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    values = tl.load(x + row * n + offsets, mask=offsets < n, other=0.0)
    norm = tl.sqrt(tl.sum(values * values, axis=0))
    result = values / norm  # fault
    tl.store(out + row * n + offsets, result, mask=offsets < n)


@tw.jit
def normalise_corrected(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    values = tl.load(x + row * n + offsets, mask=offsets < n, other=0.0)
    norm = tl.sqrt(tl.sum(values * values, axis=0))
    result = values / tl.maximum(norm, 1e-12)
    tl.store(out + row * n + offsets, result, mask=offsets < n)


def launch_normalise(kernel):
    x = np.ones((3, 50), np.float32)
    x[2] = 0
    kernel[(3,)](x, np.zeros_like(x), 50, BLOCK=64)


@tw.jit
def cross_entropy(p, target, loss, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    label = tl.load(target + row)
    chosen = tl.load(p + row * n + label)
    logarithm = tl.log(chosen)  # fault
    tl.store(loss + row, -logarithm)


@tw.jit
def cross_entropy_corrected(p, target, loss, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    label = tl.load(target + row)
    chosen = tl.load(p + row * n + label)
    logarithm = tl.log(tl.maximum(chosen, 1e-20))
    tl.store(loss + row, -logarithm)


def launch_entropy(kernel):
    p = np.array([[0.5, 0.5], [1.0, 0.0]], np.float32)
    kernel[(2,)](p, np.array([0, 1], np.int32), np.zeros(2, np.float32), 2, BLOCK=2)


@tw.jit
def variance(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    values = tl.load(x + row * n + offsets, mask=mask, other=0.0)
    mean = tl.sum(values, axis=0) / n
    spread = tl.sum(values * values, axis=0) / n - mean * mean - 1e-6
    deviation = tl.sqrt(spread)  # fault
    tl.store(out + row, deviation)


@tw.jit
def variance_corrected(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    values = tl.load(x + row * n + offsets, mask=mask, other=0.0)
    mean = tl.sum(values, axis=0) / n
    centred = tl.where(mask, values - mean, 0.0)
    spread = tl.sum(centred * centred, axis=0) / n
    deviation = tl.sqrt(spread)
    tl.store(out + row, deviation)


def launch_variance(kernel):
    kernel[(2,)](np.full((2, 50), 0.5, np.float32), np.zeros(2, np.float32), 50, BLOCK=64)


@tw.jit
def merge_states(m, l, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    largest = tl.load(m + offsets)
    total = tl.load(l + offsets)
    inverse = 1.0 / total  # fault
    tl.store(out + offsets, inverse * tl.exp(largest))


@tw.jit
def merge_states_corrected(m, l, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    largest = tl.load(m + offsets)
    total = tl.load(l + offsets)
    inverse = tl.where(total > 0.0, 1.0 / tl.maximum(total, 1e-30), 0.0)
    tl.store(out + offsets, inverse * tl.exp(largest))


def launch_merge(kernel):
    kernel[(1,)](np.zeros(4, np.float32), np.array([1, 2, 0, 3], np.float32), np.zeros(4, np.float32), BLOCK=4)


CASES = [
    Case("softmax-of-masked-row", "nan", "E0419", masked_softmax, masked_softmax_corrected, launch_softmax, checks="nan"),
    Case("norm-of-zeros", "nan", "E0419", normalise, normalise_corrected, launch_normalise, checks="nan"),
    Case("log-of-zero", "nan", "E0419", cross_entropy, cross_entropy_corrected, launch_entropy, checks="nan"),
    Case("root-of-negative-variance", "nan", "E0419", variance, variance_corrected, launch_variance, checks="nan"),
    Case("inverse-of-empty-sum", "nan", "E0419", merge_states, merge_states_corrected, launch_merge, checks="nan"),
]
