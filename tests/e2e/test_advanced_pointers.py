# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows that a loop loads through a pointer which it carries: they are loaded as their users hold them."""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.compare import assert_same
from harness.element_types import exact_values

EMULATED = True


@tilewright.jit
def recurrent_kernel(key_ptr, value_ptr, decay_ptr, out_ptr, last_ptr, trips, K, KEYS: tl.constexpr, VALUES: tl.constexpr):
    keys, values = tl.arange(0, KEYS), tl.arange(0, VALUES)
    valid = keys < K
    key_at, value_at, decay_at = key_ptr + keys, value_ptr + values, decay_ptr + keys
    state = tl.zeros((VALUES, KEYS), tl.float32)
    for trip in range(trips):
        key = tl.load(key_at, mask=valid, other=0.0).to(tl.float32)
        value = tl.load(value_at).to(tl.float32)
        decay = tl.load(decay_at, mask=valid, other=1.0)
        state = state * decay[None, :] + value[:, None] * key[None, :]
        tl.store(out_ptr + trip * VALUES + values, tl.sum(state, 1))
        key_at += K
        value_at += VALUES
        decay_at += K
    # The pointer is where the loop left it.
    tl.store(last_ptr + keys, tl.load(key_at, mask=valid, other=-1.0))


@pytest.mark.parametrize("trips", [0, 1, 3])
@pytest.mark.parametrize("warps", [1, 4, 8])
@pytest.mark.parametrize("shape", [(128, 128, 16), (30, 32, 64), (64, 64, 1)], ids=str)
def test_rows_by_a_carried_pointer(device, shape, warps, trips):
    count, keys, values = shape
    key = exact_values("float16", (trips + 1, count)) % 4
    value = exact_values("float16", (trips + 1, values), seed=1) % 4
    decay = (exact_values("int32", (trips + 1, count), seed=2) % 2).astype(np.float32)
    out, last = device.empty((max(trips, 1), values), np.float32), device.empty((keys,), np.float16)
    arrays = [device.array(x) for x in (key, value, decay)]
    device.run(recurrent_kernel, (1,), *arrays, out, last, trips, count, KEYS=keys, VALUES=values, num_warps=warps)
    state = np.zeros((values, count), np.float32)
    for trip in range(trips):
        state = state * decay[trip] + np.outer(value[trip], key[trip]).astype(np.float32)
        assert_same(device.numpy(out)[trip], state.sum(1))
    assert_same(device.numpy(last)[:count], key[trips])
    assert (device.numpy(last)[count:] == -1).all()
