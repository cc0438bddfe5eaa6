# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that a library has marked itself, by the attribute of Triton's own functions."""

import types

import numpy as np

import tilewright
import tilewright.language as tl


def marked(function):
    function.__triton_builtin__ = True
    return function


@marked
def rounded_up(n: tl.constexpr, *, _builder: object = None) -> tl.constexpr:
    assert isinstance(n, tl.constexpr)
    return tl.constexpr(tilewright.next_power_of_2(n.value))


@marked
def unless_masked(mask, value, *, _builder: object = None):
    return tl.constexpr(None) if isinstance(mask, tl.constexpr) and mask.value is None else value


@marked
def doubled(x, *, _semantic=None):
    return x + x


helpers = types.ModuleType("helpers")
helpers.rounded_up, helpers.unless_masked = rounded_up, unless_masked


@tilewright.jit
def kernel(out_ptr, x_ptr, n, COUNT: tl.constexpr):
    BLOCK: tl.constexpr = helpers.rounded_up(COUNT)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=helpers.unless_masked(mask, 0.0))
    first = tl.load(x_ptr, None, other=helpers.unless_masked(None, 0.0))
    tl.store(out_ptr + offsets, doubled(x) + first, mask=mask)


def test_constants_are_constexpr_objects(device):
    x = np.arange(5, 18, dtype=np.float32)
    out = device.empty(13, np.float32)
    device.run(kernel, (1,), out, device.array(x), 13, COUNT=13)
    assert np.array_equal(device.numpy(out), 2 * x + 5)
