# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops without products that ask for stages: what they load is copied ahead, each thread for itself."""

import re

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.assemble import assemble_for
from harness.compare import assert_near, assert_same
from harness.devices import Emulator
from harness.element_types import exact_values, random_values

EMULATED = True


@tilewright.jit
def sum_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in tl.range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK, num_stages=STAGES):
        mask = start + offsets < n
        x = tl.load(x_ptr + start + offsets, mask=mask, other=0.0)
        total += x.to(tl.float32) * tl.load(y_ptr + start + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + tl.program_id(0), tl.sum(total, axis=0))


@pytest.mark.parametrize("n", [0, 1, 512, 513, 1536, 5000])
@pytest.mark.parametrize("stages", [1, 2, 3, 5])
@pytest.mark.parametrize("name", ["float16", "float32"])
def test_sum(device, name, stages, n):
    x, y = exact_values(name, max(n, 1)), exact_values(name, max(n, 1), seed=1)
    out = device.empty((2,), np.float32)
    device.run(sum_kernel, (2,), device.array(x), device.array(y), out, n, BLOCK=512, STAGES=stages)
    products = x.astype(np.float64)[:n] * y.astype(np.float64)[:n]
    blocks = [products[start : start + 512] for start in range(0, n, 512)]
    expected = [sum(block.sum() for block in blocks[program::2]) for program in range(2)]
    assert_same(device.numpy(out), np.array(expected, np.float32), signed_zeros=False)


@tilewright.jit
def softmax_rows_kernel(x_ptr, out_ptr, rows, columns, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    # As in Triton's tutorial: programs walk over rows.
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=STAGES):
        x = tl.load(x_ptr + row * columns + offsets, mask=mask, other=-float("inf"))
        e = tl.exp(x - tl.max(x, axis=0))
        tl.store(out_ptr + row * columns + offsets, e / tl.sum(e, axis=0), mask=mask)


def softmax(x):
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("rows, columns", [(1, 100), (3, 1000), (9, 1024)])
@pytest.mark.parametrize("stages", [2, 4])
def test_softmax_of_rows(device, stages, rows, columns):
    x = random_values("float32", (rows, columns)) - np.float32(3)
    out = device.empty(x.shape, x.dtype)
    device.run(softmax_rows_kernel, (2,), device.array(x), out, rows, columns, BLOCK=1024, STAGES=stages)
    assert_near(device.numpy(out), softmax(x), ulps=8, absolute=1e-7)


@tilewright.jit
def scale_in_place_kernel(x_ptr, n, BLOCK: tl.constexpr):
    # An iteration reads what the one before has written.
    offsets = tl.arange(0, BLOCK)
    for start in tl.range(0, n, BLOCK, num_stages=3):
        x = tl.load(x_ptr + start + offsets)
        tl.store(x_ptr + start + BLOCK + offsets, x * 2.0)


def test_stored_arrays_are_not_read_ahead(device):
    x = random_values("float32", 1024)
    out = device.array(x)
    device.run(scale_in_place_kernel, (1,), out, 768, BLOCK=256)
    assert_same(device.numpy(out).reshape(4, 256), x[:256] * np.float32([[1], [2], [4], [8]]))


def compiled(kernel, arguments, **options):
    return assemble_for(kernel, "sm_90a", arguments, options)


def test_copies_run_ahead_without_barriers():
    x = np.zeros(4096, np.float32)
    made = compiled(sum_kernel, [x, x, x, 4096, 512, 3])
    ptx = made.asm["ptx"]
    assert ptx.count("cp.async.cg") >= 2 * 2 + 2, "copies of two iterations before the loop, and those in it"
    # From the first wait, in the loop, to the one after it: no threads meet.
    waits = [m.start() for m in re.finditer("cp.async.wait_group", ptx)]
    assert len(waits) == 2 and "bar.sync" not in ptx[waits[0] : waits[1]]
    assert 3 * 2 * 512 * 4 <= made.metadata.shared < 4 * 2 * 512 * 4
    plain = compiled(sum_kernel, [x, x, x, 4096, 512, 1])
    assert "cp.async" not in plain.asm["ptx"]


def test_stages_follow_the_memory():
    x = np.zeros(4096, np.float32)
    made = compiled(softmax_rows_kernel, [x, x.copy(), 4, 16384, 16384, 6])
    # Three slots of 64 KB fit, not six.
    assert 3 * 65536 <= made.metadata.shared < 4 * 65536
    huge = compiled(softmax_rows_kernel, [x, x.copy(), 4, 32768, 32768, 6], num_warps=32)
    assert "cp.async" not in huge.asm["ptx"] and "too little shared memory" in " ".join(huge.remarks)


def test_waits_are_noticed():
    x, y = exact_values("float32", 2048), exact_values("float32", 2048, seed=1)
    out = np.zeros(1, np.float32)
    device = Emulator("sm_90a", lambda ptx: re.sub(r"cp\.async\.wait_group\s+\d+;", "", ptx))
    with pytest.raises(Exception, match="copy in flight"):
        device.run(sum_kernel, (1,), x, y, out, 2048, BLOCK=512, STAGES=3)


@tilewright.jit
def columns_kernel(x_ptr, out_ptr, rows, ROWS: tl.constexpr, COLUMNS: tl.constexpr, STAGES: tl.constexpr):
    # The tile's first dimension is the contiguous one: neighbours are a column.
    i = tl.arange(0, ROWS)[:, None]
    j = tl.arange(0, COLUMNS)[None, :]
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in tl.range(0, rows, COLUMNS, num_stages=STAGES):
        x = tl.load(x_ptr + (start + j) * ROWS + i, mask=start + j < rows, other=1.0)
        total += x.to(tl.float32) * 2
    tl.store(out_ptr + tl.arange(0, ROWS), tl.sum(total, axis=1))


@pytest.mark.parametrize("stages", [1, 3])
@pytest.mark.parametrize("name", ["float16", "float32"])
@pytest.mark.parametrize("rows, columns", [(64, 32), (16, 64), (8, 8)])
def test_tiles_stored_by_columns(device, rows, columns, name, stages):
    x = exact_values(name, (3 * columns + 5, rows))
    out = device.empty((rows,), np.float32)
    device.run(columns_kernel, (1,), device.array(x), out, len(x), ROWS=rows, COLUMNS=columns, STAGES=stages)
    beyond = 4 * columns - len(x)
    assert_same(device.numpy(out), (x.astype(np.float32).sum(axis=0) + beyond) * 2, signed_zeros=False)


def test_copies_of_columns_are_as_wide_as_their_loads():
    x = np.zeros((133, 64), np.float16)
    ptx = compiled(columns_kernel, [x, np.zeros(64, np.float32), 133, 64, 32, 3]).asm["ptx"]
    # 4 KB a slot by 128 threads of 16 bytes, two slots ahead of the loop and one in it.
    assert len(re.findall(r"cp\.async\.cg\S* \[.*\], \[.*\], 16", ptx)) == 3 * 2
    assert not re.findall(r"ld\.global\S*\.[bu]16 ", ptx)


@tilewright.jit
def parts_kernel(part_ptr, weight_ptr, short_ptr, out_ptr, parts, N: tl.constexpr, SHORT: tl.constexpr, STAGES: tl.constexpr):
    # Parts of a sum with a weight for each, as the second half of attention over a long sequence.
    index, few = tl.arange(0, N), tl.arange(0, SHORT)
    total, largest = tl.zeros((N,), tl.float32), -1.0
    shorts = tl.zeros((SHORT,), tl.float32)
    for part in tl.range(0, parts, num_stages=STAGES):
        weight = tl.load(weight_ptr + part)
        total = total * 0.5 + weight * tl.load(part_ptr + part * N + index)
        shorts += tl.load(short_ptr + part * SHORT + few) * weight
        largest = tl.maximum(largest, weight)
    tl.store(out_ptr + index, total)
    tl.store(out_ptr + N + few, shorts)
    tl.store(out_ptr + N + SHORT, largest)


@pytest.mark.parametrize("parts", [0, 1, 2, 3, 7])
@pytest.mark.parametrize("stages", [1, 2, 4])
def test_scalars_and_short_rows_beside_large_ones(device, stages, parts):
    x, weight, short = (exact_values("float32", (8, n), seed=n) % 4 for n in (512, 1, 16))
    out = device.array(np.zeros(512 + 16 + 1, np.float32))
    arrays = (device.array(each) for each in (x, weight, short))
    device.run(parts_kernel, (1,), *arrays, out, parts, N=512, SHORT=16, STAGES=stages)
    total, shorts, largest = np.zeros(512, np.float32), np.zeros(16, np.float32), -1.0
    for part in range(parts):
        total = total * np.float32(0.5) + weight[part] * x[part]
        shorts += short[part] * weight[part]
        largest = max(largest, weight[part, 0])
    assert_same(device.numpy(out), np.concatenate([total, shorts, [largest]]).astype(np.float32), signed_zeros=False)


def test_scalars_are_loaded_ahead():
    x = np.zeros((8, 512), np.float32)
    made = compiled(parts_kernel, [x, x[0].copy(), x[1].copy(), x[2].copy(), 7, 512, 16, 3])
    ahead = [remark for remark in made.remarks if "loaded ahead, into registers" in str(remark)]
    assert len(ahead) == 2, "the weight and the short row"


@tilewright.jit
def weights_kernel(weight_ptr, out_ptr, n, STAGES: tl.constexpr):
    total = 0.0
    for i in tl.range(0, n, num_stages=STAGES):
        total = total * 0.5 + tl.load(weight_ptr + i)
    tl.store(out_ptr, total)


@pytest.mark.parametrize("n", [0, 1, 2, 6])
def test_loops_that_load_scalars_only(device, n):
    weight, out = exact_values("float32", 8) % 4, device.array(np.zeros(1, np.float32))
    device.run(weights_kernel, (1,), device.array(weight), out, n, STAGES=4)
    expected = 0.0
    for each in weight[:n]:
        expected = expected * 0.5 + each
    assert_same(device.numpy(out), np.array([expected], np.float32))
