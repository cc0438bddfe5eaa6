# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops of constant length that have a slot for each iteration: all copies start before the loop, so that their
memory is waited for once, and none is left in it."""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.assemble import assemble_for
from harness.compare import assert_same
from harness.devices import Emulator

BLOCK = 64


@tilewright.jit
def product(a, b, rows, places, out, last, STEPS: tl.constexpr, KIND: tl.constexpr, BLOCK: tl.constexpr):
    m, k = tl.arange(0, BLOCK), tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    place = 0
    for step in range(STEPS):
        place = step
        if KIND == "places":
            place = tl.load(places + step)
        at = place * BLOCK + k
        x = tl.load(a + m[:, None] * (STEPS * BLOCK) + at[None, :])
        y = tl.load(b + at[:, None] * BLOCK + m[None, :])
        if KIND == "computed":
            x = (x * tl.load(rows + place * BLOCK + m)[:, None]).to(x.dtype)
        if KIND == "rows":
            total += tl.dot(x, y) * tl.load(rows + place * BLOCK + m)[:, None]
        else:
            total = tl.dot(x, y, total)
    tl.store(out + m[:, None] * BLOCK + m[None, :], total)
    tl.store(last, place)


@tilewright.jit
def product_of_descriptors(a, b, out, STEPS: tl.constexpr, BLOCK: tl.constexpr):
    left = tl.make_tensor_descriptor(a, (BLOCK, STEPS * BLOCK), (STEPS * BLOCK, 1), (BLOCK, BLOCK))
    right = tl.make_tensor_descriptor(b, (STEPS * BLOCK, BLOCK), (BLOCK, 1), (BLOCK, BLOCK))
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for step in range(STEPS):
        total = tl.dot(left.load([0, step * BLOCK]), right.load([step * BLOCK, 0]), total)
    m = tl.arange(0, BLOCK)
    tl.store(out + m[:, None] * BLOCK + m[None, :], total)


@tilewright.jit
def stream(a, out, length, STEPS: tl.constexpr, STAGES: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for step in tl.range(STEPS, num_stages=STAGES):
        total = total * 2 + tl.load(a + step * BLOCK + at, mask=step * BLOCK + at < length, other=3.0)
    tl.store(out + at, total)


def operands(steps):
    rng = np.random.default_rng(steps)
    a = rng.integers(-2, 3, (BLOCK, steps * BLOCK)).astype(np.float16)
    b = rng.integers(-2, 3, (steps * BLOCK, BLOCK)).astype(np.float16)
    rows = np.exp2(rng.integers(-1, 2, (steps, BLOCK))).astype(np.float32)
    places = rng.permutation(steps).astype(np.int32)
    return a, b, rows, places


def check_product(device, kind, steps, num_stages):
    a, b, rows, places = operands(steps)
    out, last = device.array(np.full((BLOCK, BLOCK), 7, np.float32)), device.array(np.full(1, -1, np.int32))
    arrays = [device.array(x) for x in (a, b, rows, places)]
    device.run(product, (1,), *arrays, out, last, STEPS=steps, KIND=kind, BLOCK=BLOCK, num_stages=num_stages)
    scale = np.repeat(rows.T, BLOCK, axis=1) if kind in ("rows", "computed") else 1
    assert_same(device.numpy(out), (a.astype(np.float32) * scale) @ b.astype(np.float32))
    assert device.numpy(last)[0] == (places[-1] if kind == "places" else steps - 1)


def check_descriptors(device, steps, num_stages):
    a, b, *_ = operands(steps)
    out = device.array(np.full((BLOCK, BLOCK), 7, np.float32))
    arrays = [device.array(x) for x in (a, b)]
    device.run(product_of_descriptors, (1,), *arrays, out, STEPS=steps, BLOCK=BLOCK, num_stages=num_stages)
    assert_same(device.numpy(out), a.astype(np.float32) @ b.astype(np.float32))


def check_stream(device, steps, stages):
    a = np.arange(steps * 1024, dtype=np.float32) % 13
    length = a.size - 700
    out = device.array(np.zeros(1024, np.float32))
    device.run(stream, (1,), device.array(a), out, length, STEPS=steps, STAGES=stages, BLOCK=1024)
    masked = np.where(np.arange(a.size) < length, a, np.float32(3)).reshape(steps, 1024)
    expected = np.zeros(1024, np.float32)
    for row in masked:
        expected = expected * 2 + row
    assert_same(device.numpy(out), expected)


KINDS = ["plain", "rows", "computed", "places"]
# Fewer iterations than slots, as many, and more.
LENGTHS = [(2, 2), (2, 4), (3, 3), (3, 2), (1, 3)]


@pytest.mark.parametrize("steps, num_stages", LENGTHS)
@pytest.mark.parametrize("kind", KINDS)
def test_products(device, kind, steps, num_stages):
    check_product(device, kind, steps, num_stages)


@pytest.mark.parametrize("steps, num_stages", LENGTHS)
def test_products_of_descriptors(device, steps, num_stages):
    check_descriptors(device, steps, num_stages)


@pytest.mark.parametrize("steps, stages", LENGTHS)
def test_streams(device, steps, stages):
    check_stream(device, steps, stages)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("steps, num_stages", LENGTHS)
def test_in_the_emulator(steps, num_stages, target):
    for kind in KINDS:
        check_product(Emulator(target), kind, steps, num_stages)
    check_descriptors(Emulator(target), steps, num_stages)
    check_stream(Emulator(target), steps, num_stages)


@pytest.mark.parametrize("steps, num_stages", LENGTHS[:4])
@pytest.mark.parametrize("kind", KINDS)
def test_copies_start_before_the_loop(kind, steps, num_stages):
    a, b, rows, places = operands(steps)
    options = {"STEPS": steps, "KIND": kind, "BLOCK": BLOCK, "num_stages": num_stages}
    arguments = [a, b, rows, places, np.empty((BLOCK, BLOCK), np.float32), np.empty(1, np.int32)]
    compiled = assemble_for(product, "sm_90a", arguments, options)
    (remark,) = [line for line in compiled.remarks if "pipeline: applied" in line]
    is_ahead = steps <= num_stages
    assert ("all before the loop" in remark) == is_ahead, remark
    assert f"slots={min(steps, num_stages)}," in remark
    _, *after_products = compiled.asm["ptx"].split("wgmma.mma_async")
    assert any("cp.async.cg" in part for part in after_products) != is_ahead
