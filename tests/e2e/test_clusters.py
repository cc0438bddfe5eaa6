# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of several blocks: `num_ctas`, on the emulator and on a GPU.

A tile is split over the blocks of a cluster where it is large enough and the kernel
lets it; otherwise each block has a copy, and one of them stores. Either way a kernel
computes what it computes in one block.
"""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness import devices
from harness.assemble import assemble_for
from tilewright import errors

BLOCKS = [2, 4]
WARPS = [1, 4, 8]


@pytest.fixture(params=["emulator", pytest.param("gpu", marks=pytest.mark.gpu)])
def cluster(request):
    if request.param == "emulator":
        return devices.Emulator("sm_90a")
    if problem := devices.gpu_problem():
        pytest.skip(problem)
    return devices.Gpu()


def run(device, kernel, grid, *args, **options):
    """Arrays are results or inputs; returns them as NumPy arrays."""
    values = [device.array(value) if isinstance(value, np.ndarray) else value for value in args]
    device.run(kernel, grid, *values, **options)
    return [device.numpy(value) for value in values if hasattr(value, "shape")]


def floats(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def whole(*shape, seed=0, low=-8, high=9):
    """Small whole numbers: sums are exact in any order."""
    return np.random.default_rng(seed).integers(low, high, shape).astype(np.float32)


# ---------------------------------------------------------------------------
# Programs and elements
# ---------------------------------------------------------------------------


@tilewright.jit
def number_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    program = tl.program_id(0) + tl.program_id(1) * tl.num_programs(0)
    offsets = program * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, x + 100 * program + 10000 * tl.num_programs(1), mask=offsets < n)


@pytest.mark.parametrize("blocks", BLOCKS)
@pytest.mark.parametrize("warps", WARPS)
def test_programs_are_counted_not_blocks(cluster, warps, blocks):
    n, block = 2900, 512
    x = whole(n)
    _, out = run(cluster, number_kernel, (3, 2), x, np.zeros_like(x), n, block, num_ctas=blocks, num_warps=warps)
    assert np.array_equal(out, x + 100 * (np.arange(n) // block) + 20000)


@tilewright.jit
def count_kernel(count_ptr, tile_ptr, N: tl.constexpr):
    tl.atomic_add(count_ptr, 1)
    old = tl.atomic_add(count_ptr + 1, tl.program_id(0) + 1)
    offsets = tl.arange(0, N)
    tl.atomic_add(tile_ptr + offsets, tl.where(offsets == 0, old, 1) * 0 + 1)
    before = tl.atomic_max(tile_ptr + N + offsets, offsets)
    tl.store(tile_ptr + 2 * N + offsets, before + old)


@pytest.mark.parametrize("n", [1, 16, 1024])
@pytest.mark.parametrize("blocks", BLOCKS)
def test_atomics_happen_once_and_all_blocks_see_what_was_there(cluster, blocks, n):
    tile = np.zeros((3, n), np.int32)
    tile[1] = np.arange(n)[::-1]
    count, after = run(cluster, count_kernel, (1,), np.array([5, 7], np.int32), tile, n, num_ctas=blocks)
    assert count.tolist() == [6, 8]
    assert np.array_equal(after[0], np.ones(n))
    assert np.array_equal(after[1], np.maximum(tile[1], np.arange(n)))
    assert np.array_equal(after[2], tile[1] + 7)


@tilewright.jit
def ticket_kernel(count_ptr, out_ptr, N: tl.constexpr):
    """Branches and loops on what an atomic returned."""
    ticket = tl.atomic_add(count_ptr, 1)
    total = tl.zeros((N,), tl.int32)
    while ticket > 0:
        total += ticket
        ticket = tl.atomic_add(count_ptr, -1)
    if tl.atomic_cas(count_ptr + 1, 0, 3) == 0:
        total += 1000
    tl.store(out_ptr + tl.arange(0, N), total)


@pytest.mark.parametrize("n", [32, 2048])
@pytest.mark.parametrize("blocks", BLOCKS)
def test_control_flow_is_that_of_one_program(cluster, blocks, n):
    count, out = run(cluster, ticket_kernel, (1,), np.array([5, 0], np.int32), np.zeros(n, np.int32), n, num_ctas=blocks)
    # 5, then 6 down to 1; the one that finds 0 leaves -1.
    assert count.tolist() == [-1, 3]
    assert (out == 5 + 6 + 5 + 4 + 3 + 2 + 1 + 1000).all()


@tilewright.jit
def scalar_kernel(x_ptr, out_ptr, N: tl.constexpr):
    """What one block stores the others load."""
    first = tl.load(x_ptr)
    tl.store(x_ptr, first * 2)
    second = tl.load(x_ptr)
    tl.store(x_ptr + 1, second + 1)
    tl.debug_barrier()
    tl.store(out_ptr + tl.arange(0, N), tl.load(x_ptr + 1) + tl.arange(0, N))


@pytest.mark.parametrize("blocks", BLOCKS)
def test_scalars_in_memory(cluster, blocks):
    x, out = run(cluster, scalar_kernel, (1,), np.array([3, 0], np.int32), np.zeros(1024, np.int32), 1024, num_ctas=blocks)
    assert x.tolist() == [6, 7] and np.array_equal(out, 7 + np.arange(1024))


@tilewright.jit
def reverse_kernel(x_ptr, out_ptr, N: tl.constexpr):
    """Each block needs what another one stored."""
    offsets = tl.arange(0, N)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets) + 1)
    back = tl.load(out_ptr + (N - 1 - offsets))
    tl.store(out_ptr + offsets, back)


@pytest.mark.parametrize("blocks", BLOCKS)
def test_global_memory_is_ordered_across_blocks(cluster, blocks):
    x = whole(1024)
    _, out = run(cluster, reverse_kernel, (1,), x, np.zeros_like(x), 1024, num_ctas=blocks, num_warps=4)
    assert np.array_equal(out, x[::-1] + 1)


# ---------------------------------------------------------------------------
# Reductions and scans
# ---------------------------------------------------------------------------


@tilewright.jit
def combine_kernel(a, b):
    return a * 3 + b * 3 - (a + b) * 2


@tilewright.jit
def rows_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + offsets, mask=offsets < n, other=0)
    out = out_ptr + row * 6
    tl.store(out, tl.sum(x, 0))
    tl.store(out + 1, tl.max(tl.where(offsets < n, x, -float("inf")), 0))
    tl.store(out + 2, tl.argmax(x, 0))
    tl.store(out + 3, tl.reduce(x, 0, combine_kernel))
    low, where = tl.min(x, 0, return_indices=True)
    tl.store(out + 4, low)
    tl.store(out + 5, where)


@pytest.mark.parametrize("blocks", BLOCKS)
@pytest.mark.parametrize("warps", WARPS)
@pytest.mark.parametrize("n", [3, 100, 2000])
def test_reductions(cluster, n, warps, blocks):
    x = whole(3, n, low=-100, high=100)
    block = 1 << (n - 1).bit_length()
    _, out = run(cluster, rows_kernel, (3,), x, np.zeros((3, 6), np.float32), n, block, num_ctas=blocks, num_warps=warps)
    padded = np.pad(x, ((0, 0), (0, block - n)))
    expected = [x.sum(1), x.max(1), padded.argmax(1), x.sum(1), padded.min(1), padded.argmin(1)]
    assert np.array_equal(out, np.stack(expected, 1))


@tilewright.jit
def both_axes_kernel(x_ptr, rows_ptr, columns_ptr, all_ptr, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M), tl.arange(0, N)
    x = tl.load(x_ptr + i[:, None] * N + j[None, :])
    tl.store(rows_ptr + i, tl.sum(x, 1))
    tl.store(columns_ptr + j, tl.sum(x, 0))
    centred = x - tl.max(x, 1)[:, None] - tl.max(x, 0)[None, :]
    tl.store(all_ptr, tl.sum(centred))


@pytest.mark.parametrize("blocks", BLOCKS)
@pytest.mark.parametrize("warps", WARPS)
@pytest.mark.parametrize("m, n", [(1, 1024), (2, 512), (32, 64), (256, 8), (4, 4)])
def test_tiles_reduced_on_both_axes(cluster, m, n, warps, blocks):
    x = whole(m, n)
    _, rows, columns, total = run(
        cluster,
        both_axes_kernel,
        (1,),
        x,
        np.zeros(m, np.float32),
        np.zeros(n, np.float32),
        np.zeros(1, np.float32),
        m,
        n,
        num_ctas=blocks,
        num_warps=warps,
    )
    assert np.array_equal(rows, x.sum(1)) and np.array_equal(columns, x.sum(0))
    assert total[0] == (x - x.max(1)[:, None] - x.max(0)[None, :]).sum()


@tilewright.jit
def loop_kernel(x_ptr, out_ptr, n, ROUNDS: tl.constexpr, BLOCK: tl.constexpr):
    """One reduction whose scratch is used again in each round, with a tile carried round the loop."""
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0)
    for _ in range(ROUNDS):
        x = x - tl.sum(x, 0)
    tl.store(out_ptr + offsets, x, mask=offsets < n)


@pytest.mark.parametrize("blocks", BLOCKS)
@pytest.mark.parametrize("warps", WARPS)
def test_scratch_is_used_again(cluster, warps, blocks):
    n, rounds, block = 300, 3, 512
    expected = whole(n, low=-1, high=2).astype(np.float64)
    _, out = run(
        cluster,
        loop_kernel,
        (1,),
        expected.astype(np.float32),
        np.zeros(n, np.float32),
        n,
        rounds,
        block,
        num_ctas=blocks,
        num_warps=warps,
    )
    # What the mask leaves out takes part from the second round on.
    expected = np.pad(expected, (0, block - n))
    for _ in range(rounds):
        expected = expected - expected.sum()
    assert np.array_equal(out, expected[:n])


@tilewright.jit
def scan_kernel(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr, REVERSE: tl.constexpr):
    place = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out_ptr + place, tl.cumsum(tl.load(x_ptr + place), AXIS, reverse=REVERSE))


@pytest.mark.parametrize("blocks", BLOCKS)
@pytest.mark.parametrize("m, n", [(1, 1024), (64, 16), (512, 1)])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("reverse", [False, True])
def test_scans(cluster, reverse, axis, m, n, blocks):
    x = whole(m, n)
    _, out = run(cluster, scan_kernel, (1,), x, np.zeros_like(x), m, n, axis, reverse, num_ctas=blocks, num_warps=2)
    flip = (lambda a: np.flip(a, axis)) if reverse else (lambda a: a)
    assert np.array_equal(out, flip(np.cumsum(flip(x), axis)))


# ---------------------------------------------------------------------------
# Data that moves between blocks
# ---------------------------------------------------------------------------


@tilewright.jit
def transpose_kernel(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M), tl.arange(0, N)
    x = tl.load(x_ptr + i[:, None] * N + j[None, :])
    tl.store(out_ptr + j[:, None] * M + i[None, :], tl.trans(x) + 1)


@pytest.mark.parametrize("blocks", [2, 4, 8])
@pytest.mark.parametrize("m, n", [(32, 32), (64, 16), (8, 128), (2, 2)])
@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.float32, np.int64])
def test_transposes(cluster, dtype, m, n, blocks):
    x = whole(m, n).astype(dtype)
    _, out = run(cluster, transpose_kernel, (1,), x, np.zeros((n, m), dtype), m, n, num_ctas=blocks, num_warps=4)
    assert np.array_equal(out, x.T + 1)


@tilewright.jit
def shapes_kernel(x_ptr, out_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    low, high = tl.split(tl.reshape(x, (N // 2, 2)))
    swapped = tl.reshape(tl.join(high, low), (N,))
    turned = tl.reshape(tl.permute(tl.reshape(swapped, (4, N // 4)), (1, 0)), (N,))
    tl.store(out_ptr + offsets, tl.flip(turned))
    tl.store(out_ptr + N + offsets, tl.sort(x))
    tl.store(out_ptr + 2 * N + offsets, tl.gather(x, (offsets * 7) % N, 0))
    tl.store(out_ptr + 3 * N + tl.arange(0, 2 * N), tl.cat(x, x + 1, can_reorder=True) * 0 + 5)


@pytest.mark.parametrize("blocks", BLOCKS)
@pytest.mark.parametrize("n", [64, 512])
def test_shapes_sorting_and_gathering(cluster, n, blocks):
    x = whole(n, low=-1000, high=1000)
    _, out = run(cluster, shapes_kernel, (1,), x, np.zeros(5 * n, np.float32), n, num_ctas=blocks, num_warps=2)
    swapped = x.reshape(-1, 2)[:, ::-1].reshape(4, n // 4).T.reshape(-1)
    assert np.array_equal(out[:n], swapped[::-1])
    assert np.array_equal(out[n : 2 * n], np.sort(x))
    assert np.array_equal(out[2 * n : 3 * n], x[np.arange(n) * 7 % n])
    assert (out[3 * n :] == 5).all()


@tilewright.jit
def histogram_kernel(x_ptr, out_ptr, N: tl.constexpr, BINS: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, BINS), tl.histogram(tl.load(x_ptr + tl.arange(0, N)), BINS))


@pytest.mark.parametrize("blocks", BLOCKS)
def test_histograms(cluster, blocks):
    x = np.random.default_rng(0).integers(0, 32, 1024).astype(np.int32)
    _, out = run(cluster, histogram_kernel, (1,), x, np.zeros(32, np.int32), 1024, 32, num_ctas=blocks)
    assert np.array_equal(out, np.bincount(x, minlength=32))


# ---------------------------------------------------------------------------
# Kernels
# ---------------------------------------------------------------------------


@tilewright.jit
def softmax_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + offsets, mask=offsets < n, other=-float("inf"))
    e = tl.exp(x - tl.max(x, 0))
    tl.store(out_ptr + row * n + offsets, e / tl.sum(e, 0), mask=offsets < n)


@tilewright.jit
def layer_norm_kernel(x_ptr, weight_ptr, bias_ptr, out_ptr, rows, n, BLOCK: tl.constexpr):
    """Each program has several rows."""
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    weight = tl.load(weight_ptr + offsets, mask=mask)
    bias = tl.load(bias_ptr + offsets, mask=mask)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        x = tl.load(x_ptr + row * n + offsets, mask=mask, other=0)
        mean = tl.sum(x, 0) / n
        centred = tl.where(mask, x - mean, 0)
        scale = 1 / tl.sqrt(tl.sum(centred * centred, 0) / n + 1e-5)
        tl.store(out_ptr + row * n + offsets, centred * scale * weight + bias, mask=mask)


@pytest.mark.parametrize("blocks", BLOCKS)
@pytest.mark.parametrize("warps", WARPS)
@pytest.mark.parametrize("n", [1000, 2048])
def test_softmax(cluster, n, warps, blocks):
    x = floats(3, n)
    _, out = run(cluster, softmax_kernel, (3,), x, np.zeros_like(x), n, 2048, num_ctas=blocks, num_warps=warps)
    e = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(out, e / e.sum(1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize("blocks", BLOCKS)
@pytest.mark.parametrize("warps", WARPS)
def test_layer_norm(cluster, warps, blocks):
    rows, n = 5, 1000
    x, weight, bias = floats(rows, n), floats(n, seed=1), floats(n, seed=2)
    *_, out = run(
        cluster, layer_norm_kernel, (2,), x, weight, bias, np.zeros_like(x), rows, n, 1024, num_ctas=blocks, num_warps=warps
    )
    expected = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * weight + bias
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5)


@tilewright.jit
def product_kernel(a_ptr, b_ptr, c_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, STEP: tl.constexpr):
    i, j, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, STEP)
    acc = tl.zeros((M, N), tl.float32)
    for start in range(0, K, STEP):
        a = tl.load(a_ptr + i[:, None] * K + (start + k)[None, :])
        b = tl.load(b_ptr + (start + k)[:, None] * N + j[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + i[:, None] * N + j[None, :], acc)
    tl.atomic_add(c_ptr + M * N, tl.sum(acc))


@pytest.mark.parametrize("blocks", BLOCKS)
def test_products_are_made_whole_by_each_block(cluster, blocks):
    m, n, k = 64, 32, 64
    a, b = whole(m, k, low=-2, high=3).astype(np.float16), whole(k, n, low=-2, high=3, seed=1).astype(np.float16)
    *_, c = run(cluster, product_kernel, (1,), a, b, np.zeros(m * n + 1, np.float32), m, n, k, 16, num_ctas=blocks, num_warps=4)
    expected = a.astype(np.float32) @ b.astype(np.float32)
    assert np.array_equal(c[:-1].reshape(m, n), expected) and c[-1] == expected.sum()


@tilewright.jit
def described_kernel(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [M, N], [N, 1], [M, N])
    out = tl.make_tensor_descriptor(out_ptr, [M, N], [N, 1], [M, N])
    tile = x.load([0, 0])
    out.store([0, 0], tile + tl.sum(tile, 1)[:, None])
    out.atomic_add([0, 0], tile)


@pytest.mark.parametrize("blocks", BLOCKS)
def test_descriptors(cluster, blocks):
    x = whole(16, 32)
    _, out = run(cluster, described_kernel, (1,), x, np.zeros_like(x), 16, 32, num_ctas=blocks)
    assert np.array_equal(out, 2 * x + x.sum(1, keepdims=True))


# ---------------------------------------------------------------------------
# What is made, what cannot be
# ---------------------------------------------------------------------------


def compiled(kernel, *args, target="sm_90a", **options):
    return assemble_for(kernel, target, args, options)


def test_a_row_crosses_blocks_in_reductions_only():
    x = np.zeros((1, 4096), np.float32)
    made = compiled(softmax_kernel, x, x, 4096, 4096, num_ctas=2, num_warps=4)
    assert "block = [2048]" in made.asm["ttgir"] and "convert_layout" not in made.asm["ttgir"]
    assert made.metadata.num_ctas == 2 and tuple(made.metadata.cluster_dims) == (2, 1, 1)


def test_rows_are_not_cut_where_there_are_several():
    x = np.zeros((8, 1024), np.float32)
    made = compiled(both_axes_kernel, x, x, x, x, 8, 1024, num_ctas=2, num_warps=4)
    # Element 4096 is row 4.
    assert "block = [4096]" in made.asm["ttgir"]


@pytest.mark.parametrize("target", ["sm_80", "sm_89"])
def test_targets_without_clusters(target):
    x = np.zeros(64, np.float32)
    with pytest.raises(errors.TilewrightError) as info:
        compiled(number_kernel, x, x, 64, 64, target=target, num_ctas=2)
    assert info.value.code == "E0209"
    assert (
        info.value.message
        == f"num_ctas > 1 requires NVIDIA SM90+ (Hopper): num_ctas=2; {target} has no programs of several blocks "
        "(clusters)"
    )


@tilewright.jit
def patient_kernel(flag_ptr, out_ptr):
    tl.store(out_ptr, tl.atomic_poll(flag_ptr, 1, timeout_ns=1000).to(tl.int32))


def test_polling_with_a_timeout_needs_one_block():
    with pytest.raises(errors.TilewrightError) as info:
        compiled(patient_kernel, np.zeros(1, np.int32), np.zeros(1, np.int32), num_ctas=2)
    assert (
        str(info.value).splitlines()[0] == "[E0209] num_ctas=2; bar.red, which a timeout of atomic_poll uses, needs "
        "programs of one block"
    )
    assert info.value.help == "use num_ctas=1, or leave timeout_ns out"
    assert info.value.frames[0].function == "patient_kernel"
