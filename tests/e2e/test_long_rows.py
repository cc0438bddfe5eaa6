# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows that fill the registers of a multiprocessor: kept narrow across reductions, stored
vector by vector, weights copied to shared memory. The results must not show any of it."""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from tilewright.language.extra import libdevice
from harness.assemble import assemble_for
from harness.compare import assert_near, assert_same
from harness.devices import Emulator
from harness.element_types import NUMPY_TYPES, random_values
from e2e.test_kernels import layer_norm_kernel, softmax, softmax_kernel

NARROW, STAGED, VERSIONED = "narrow-live-tile: applied", "stage-load: applied", "version-mask: applied"


def remarks_of(kernel, arguments, **options):
    return " ".join(assemble_for(kernel, "sm_90a", arguments, options).remarks)


def normalised(x, weight, bias):
    wide = x.astype(np.float64)
    centred = wide - wide.mean(axis=1, keepdims=True)
    return centred / np.sqrt(wide.var(axis=1, keepdims=True) + 1e-5) * weight.astype(np.float64) + bias.astype(np.float64)


def run_layer_norm(device, name, columns, block, rows=2, **options):
    x = random_values(name, (rows, columns)) + np.array(3, NUMPY_TYPES[name])
    weight, bias = random_values(name, columns, seed=1), random_values(name, columns, seed=2)
    # A row more, which nobody may write.
    out = device.array(np.full((rows + 1, columns), 7, x.dtype))
    device.run(
        layer_norm_kernel,
        (rows,),
        device.array(x),
        device.array(weight),
        device.array(bias),
        out,
        columns,
        1e-5,
        BLOCK=block,
        **options,
    )
    actual = device.numpy(out)
    assert_near(actual[:rows], normalised(x, weight, bias), ulps=1, absolute=2e-3 if name != "float32" else 2e-5)
    assert_same(actual[rows], np.full(columns, 7, x.dtype))


LAYER_NORMS = [
    ("float16", 16384, 16384), ("float16", 10001, 16384), ("bfloat16", 16392, 32768), ("float16", 32768, 32768),
    ("float32", 16384, 16384), ("float32", 32768, 32768), ("float32", 20016, 32768), ("float32", 20004, 32768),
]  # fmt: skip


@pytest.mark.parametrize("name, columns, block", LAYER_NORMS)
def test_layer_norm(device, name, columns, block):
    run_layer_norm(device, name, columns, block)


@pytest.mark.parametrize("name, columns, block, options, expected",
                         [("float16", 16384, 16384, {}, {NARROW}), ("float16", 10001, 16384, {}, {NARROW}),
                          ("float16", 4000, 4096, {"num_warps": 4}, set()),
                          ("float32", 32768, 32768, {}, {STAGED, VERSIONED}),
                          ("float32", 20016, 32768, {}, {STAGED, VERSIONED}),
                          ("float32", 20004, 32768, {}, {VERSIONED})])  # fmt: skip
def test_layer_norm_in_the_emulator(name, columns, block, options, expected):
    device = Emulator("sm_90a")
    run_layer_norm(device, name, columns, block, rows=1, **options)
    x = np.zeros(columns, NUMPY_TYPES[name])
    remarks = remarks_of(layer_norm_kernel, [x, x, x, x, columns, 1e-5, block], **options)
    assert {remark for remark in (NARROW, STAGED, VERSIONED) if remark in remarks} == expected


@pytest.mark.parametrize(
    "name, columns, block", [("float16", 16384, 16384), ("bfloat16", 30000, 32768), ("float16", 32768, 32768)]
)
def test_softmax(device, name, columns, block):
    x = random_values(name, (2, columns)) * np.array(5, NUMPY_TYPES[name])
    x[1, columns // 2] = -np.inf
    out = device.empty(x.shape, x.dtype)
    device.run(softmax_kernel, (2,), device.array(x), out, columns, columns, BLOCK=block)
    assert_near(device.numpy(out), softmax(x), ulps=1, absolute=1e-7)


def test_softmax_in_the_emulator():
    x = random_values("float16", (1, 9000))
    x[0, 17] = np.nan
    out = np.zeros_like(x)
    Emulator("sm_90a").run(softmax_kernel, (1,), x, out, 9000, 9000, BLOCK=16384)
    assert np.isnan(out).all()
    assert NARROW in remarks_of(softmax_kernel, [x, out, 9000, 9000, 16384])


@tilewright.jit
def rows_in_turn_kernel(x_ptr, weight_ptr, bias_ptr, out_ptr, rows, COLUMNS: tl.constexpr):
    columns = tl.arange(0, COLUMNS)
    weight = (tl.load(weight_ptr + columns).to(tl.float32) + 1.0)[None, :]
    bias = tl.load(bias_ptr + columns).to(tl.float32)[None, :]
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        offsets = row * COLUMNS + columns[None, :]
        x = tl.load(x_ptr + offsets).to(tl.float32)
        square = tl.sum(x * x, axis=1) / COLUMNS
        tl.store(out_ptr + offsets, x * tl.rsqrt(square + 1e-5)[:, None] * weight + bias)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_weights_of_a_loop(device, name):
    """Weights that a loop alone needs are widened in each of its iterations. One program has no row."""
    x, weight, bias = (random_values(name, shape, seed=seed) for seed, shape in enumerate([(3, 8192), 8192, 8192]))
    out = device.empty(x.shape, x.dtype)
    arguments = [device.array(x), device.array(weight), device.array(bias), out, 3, 8192]
    device.run(rows_in_turn_kernel, (4,), *arguments, num_warps=4)
    wide = x.astype(np.float64)
    scaled = wide / np.sqrt((wide * wide).mean(axis=1, keepdims=True) + 1e-5)
    assert_near(device.numpy(out), scaled * (weight.astype(np.float64) + 1) + bias.astype(np.float64), ulps=1, absolute=2e-3)


@pytest.mark.parametrize("name, is_narrow", [("float16", True), ("bfloat16", True), ("float32", False)])
def test_weights_of_a_loop_take_half_the_registers(name, is_narrow):
    x = np.zeros(8192, NUMPY_TYPES[name])
    compiled = assemble_for(rows_in_turn_kernel, "sm_90a", [x, x, x, x, 3, 8192], {"num_warps": 4})
    assert ("made again in each iteration from a narrower tile" in " ".join(compiled.remarks)) == is_narrow
    # Three blocks, or two.
    assert (compiled.metadata.n_regs <= 168) == is_narrow and compiled.metadata.n_spills == 0


@tilewright.jit
def norm_gradient_kernel(x_ptr, g_ptr, w_ptr, dx_ptr, dw_ptr, trips, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    columns = tl.arange(0, COLUMNS)
    weight = tl.load(w_ptr + columns).to(tl.float32)[None, :]
    sums = tl.zeros([COLUMNS], tl.float32)
    for trip in range(trips):
        rows = trip * ROWS + tl.arange(0, ROWS)
        offsets = rows[:, None] * COLUMNS + columns[None, :]
        x, g = tl.load(x_ptr + offsets).to(tl.float32), tl.load(g_ptr + offsets).to(tl.float32)
        r = tl.rsqrt(tl.sum(x * x, axis=1) / COLUMNS + 1e-5)[:, None]
        sums += tl.sum(x * g * r, axis=0)
        tl.store(dx_ptr + offsets, r * g * weight - r * r * r * x * tl.sum(x * g * weight, axis=1)[:, None] / COLUMNS)
    tl.store(dw_ptr + columns, sums)


@pytest.mark.parametrize("rows, warps", [(4, 4), (2, 2), (2, 4), (4, 2)])
def test_rows_that_warps_share(device, rows, warps):
    """Weights and sums are there for each column, so as many rows as there are warps go to all of them."""
    x, g, w = (random_values("float16", s, seed=n) for n, s in enumerate([(2 * rows, 1024), (2 * rows, 1024), 1024]))
    dx, dw = device.empty(x.shape, x.dtype), device.empty(1024, np.float32)
    arguments = [device.array(x), device.array(g), device.array(w), dx, dw, 2]
    device.run(norm_gradient_kernel, (1,), *arguments, ROWS=rows, COLUMNS=1024, num_warps=warps)
    x, g, w = (array.astype(np.float64) for array in (x, g, w))
    r = 1 / np.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-5)
    assert_near(device.numpy(dx), r * g * w - r**3 * x * (x * g * w).mean(axis=1, keepdims=True), ulps=1, absolute=2e-3)
    assert_near(device.numpy(dw), (x * g * r).sum(axis=0), relative=1e-4, absolute=1e-4)


def test_shared_rows_take_fewer_registers():
    x, sums = np.zeros((8, 2048), np.float16), np.zeros(2048, np.float32)
    arguments = [x, x, x[0], x, sums, 2, 4, 2048]
    compiled = assemble_for(norm_gradient_kernel, "sm_90a", arguments, {"num_warps": 4})
    assert compiled.metadata.n_spills == 0  # 96 bytes where each warp has a row


@tilewright.jit
def scaled_in_place_kernel(x_ptr, weight_ptr, columns, BLOCK: tl.constexpr):
    # What is loaded after the reduction is also what is stored.
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    total = tl.sum(tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32), axis=0)
    weight = tl.load(weight_ptr + offsets, mask=mask)
    tl.store(x_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) * total * weight, mask=mask)
    tl.store(weight_ptr + offsets, weight + total, mask=mask)


def test_in_place(device):
    x, weight = random_values("float32", 12000), random_values("float32", 12000, seed=1)
    x_out, weight_out = device.array(x), device.array(weight)
    device.run(scaled_in_place_kernel, (1,), x_out, weight_out, 12000, BLOCK=16384)
    total = np.float32(x.sum(dtype=np.float64))
    assert_near(device.numpy(x_out), x * total * weight, relative=1e-4, absolute=1e-4)
    assert_near(device.numpy(weight_out), weight + total, absolute=1e-3)


@tilewright.jit
def powers_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    y = tl.load(x_ptr + offsets).to(tl.float32)
    for _ in tl.static_range(40):
        y = y * y
    tl.store(out_ptr + offsets, y / tl.sum(y, axis=0))


def test_long_arithmetic_is_kept_and_looked_at_once():
    """Each product takes the one before it twice: 2^40 ways back to the row."""
    x = np.zeros(16384, np.float16)
    assert NARROW not in remarks_of(powers_kernel, [x, x, 16384])


@tilewright.jit
def pairs_of_three_kernel(x_ptr, y_ptr, z_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    at = tl.program_id(0) * n + offsets
    mask = offsets < n
    x = tl.load(x_ptr + at, mask=mask, other=0.0)
    y = tl.load(y_ptr + at, mask=mask, other=0.0)
    z = tl.load(z_ptr + at, mask=mask, other=0.0)
    tl.store(out_ptr + at, x * tl.sum(x * y) + y * tl.sum(y * z) + z * tl.sum(x * z), mask=mask)


def test_a_second_block_is_made_room_for():
    """Three rows of 32 words a thread take a little more than the 128 registers that two blocks of 8 warps leave."""

    def limits(block):
        x = np.zeros(block, np.float32)
        remarks = assemble_for(pairs_of_three_kernel, "sm_90a", [x, x, x, x, block, block], {"num_warps": 8}).remarks
        return [remark for remark in remarks if "register-limit" in remark]

    assert "limit=128" in limits(8192)[-1]
    assert not limits(16384)  # it spills with all registers


@tilewright.jit
def gated_block(x_ptr, y_ptr, out_ptr, first, n, BLOCK: tl.constexpr):
    at = first + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n).to(tl.float32)
    y = tl.load(y_ptr + at, mask=at < n).to(tl.float32)
    tl.store(out_ptr + at, tl.sigmoid(x) * x * y, mask=at < n)


@tilewright.jit
def gated_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    gated_block(x_ptr, y_ptr, out_ptr, tl.program_id(0) * BLOCK, n, BLOCK)


@tilewright.jit
def gated_in_loop_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    for first in range(0, n, BLOCK):
        gated_block(x_ptr, y_ptr, out_ptr, first, n, BLOCK)


def test_the_assembler_is_held_to_what_it_needs():
    """It takes registers as if they cost nothing, where other blocks could run meanwhile."""

    def limits(kernel):
        arrays = [np.zeros(4096, np.float16) for _ in range(3)]
        remarks = assemble_for(kernel, "sm_90a", [*arrays, 4104, 4096], {"num_warps": 2}).remarks
        return [remark for remark in remarks if "register-limit" in remark]

    for kernel in (gated_kernel, gated_in_loop_kernel):
        assert any("register-limit: applied" in remark for remark in limits(kernel)), limits(kernel)


@tilewright.jit
def gradient_kernel(x_ptr, out_ptr, label_ptr, scale_ptr, N: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    label, other, scale = tl.load(label_ptr + 2 * row), tl.load(label_ptr + 2 * row + 1), tl.load(scale_ptr + row)
    for first in tl.range(0, N, BLOCK):
        at = first + tl.arange(0, BLOCK)
        p = tl.exp(tl.load(x_ptr + row * N + at, mask=at < N, other=-float("inf")).to(tl.float32) / 0.7 - scale)
        tl.store(out_ptr + row * N + at, tl.where((at == label) | (at == other), 1 - p, -p) * scale, mask=at < N)


def test_loops_that_load_little_have_more_threads():
    """16 bytes per thread and round want 1536 threads, 40 registers each; with 32 bytes 1024 threads are enough."""

    def limits(dtype):
        x, label, scale = np.zeros(4096, dtype), np.zeros(4, np.int64), np.zeros(4, np.float32)
        arguments = [x, x, label, scale, 151936, 4096]
        remarks = assemble_for(gradient_kernel, "sm_90a", arguments, {"num_warps": 16}).remarks
        return [remark for remark in remarks if "register-limit" in remark]

    assert "limit=40" in limits(np.float16)[0]
    assert not limits(np.float32)


@tilewright.jit
def logarithm_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.log(tl.load(x_ptr + offsets).to(tl.float32)))


def test_a_multiprocessor_is_filled_with_threads():
    """Eight logarithms a thread take 35 registers where nobody asks for less; all threads fit with 32."""
    x = np.zeros(1024, np.float16)
    compiled = assemble_for(logarithm_kernel, "sm_90a", [x, x, 1024], {"num_warps": 4})
    assert 0 < compiled.metadata.n_regs <= 32 and compiled.metadata.n_spills == 0
    few = assemble_for(logarithm_kernel, "sm_90a", [x, x, 128], {"num_warps": 4})
    assert not [remark for remark in few.remarks if "register-limit" in remark]


@tilewright.jit
def scaled_row_kernel(x_ptr, scale_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + offsets).to(tl.float32)
    scale = tl.load(scale_ptr + offsets).to(tl.float32)
    x -= tl.sum(x) / BLOCK
    x *= tl.rsqrt(tl.sum(x * x) / BLOCK + 1e-5)
    tl.store(out_ptr + tl.program_id(0) * BLOCK + offsets, x * scale + scale)


@tilewright.jit
def gelu_kernel(x_ptr, gate_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets).to(tl.float32)
    y = libdevice.tanh(0.8 * (x + 0.045 * x * x * x))
    tl.store(out_ptr + offsets, 0.5 * x * (1 + y) * tl.load(gate_ptr + offsets).to(tl.float32))


def test_blocks_that_wait_for_their_warps_are_more():
    """Between reductions a block loads nothing; without an exchange the loads in flight need their registers."""

    def threads(kernel, size, num_warps):
        row = np.zeros(size, np.float16)
        compiled = assemble_for(kernel, "sm_90a", [row, row, row, size], {"num_warps": num_warps})
        assert compiled.metadata.n_spills == 0
        registers = -(-compiled.metadata.n_regs // 8) * 8
        return 65536 // (32 * num_warps * registers) * 32 * num_warps

    assert threads(scaled_row_kernel, 8192, 16) >= 2048
    assert threads(gelu_kernel, 8192, 8) == 1024


@tilewright.jit
def three_rows_kernel(x_ptr, y_ptr, z_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x, y, z = tl.load(x_ptr + offsets), tl.load(y_ptr + offsets), tl.load(z_ptr + offsets)
    total = tl.sum(x * y)
    rest = tl.sum((y - total) * z)
    largest = tl.max(x + z * rest)
    tl.store(out_ptr + offsets, x * total + y * rest + z * largest)


def test_what_spills_is_assembled_once():
    """With fewer registers it would spill more; of large kernels that was half of the compile time."""

    def remarks(block):
        arguments = [np.zeros(block, np.float32) for _ in range(4)]
        return remarks_of(three_rows_kernel, [*arguments, block], num_warps=16)

    assert "register-limit: refused, registers=" in remarks(16384), "no spills: tried with fewer"
    spilled = remarks(32768)
    assert "register-spills: refused" in spilled and "register-limit" not in spilled
