# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A few small kernels for compute-sanitizer, which slows everything down a lot.

Chosen for what each exercises: tails of masked access, a reduction through shared
memory, a layout conversion through shared memory, atomics with a lock, copies ahead of
a loop and of a reduction (cp.async), products with cp.async, TMA and wgmma, operands
computed from what was loaded ahead, tiles used narrow and wide, reductions with many results, several atomics per
thread, reductions by TMA, scans across warps, loads and stores with an order, promises made as statements, gathers,
tiles that are copied ahead column by column or by loaded addresses, addresses from a table, rows in rings, products
whose operands share memory, operands that are transposed, by turns of lanes and in copies.
Buffers are written in full before they are read, so that initcheck has nothing to excuse.
synccheck needs `--num-cuda-barriers 65536` for the rings of the products.
"""

import sys
from pathlib import Path

import numpy as np
import torch

import tilewright as tw
import tilewright.language as tl
from tilewright.tools.tensor_descriptor import TensorDescriptor

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@tw.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask), mask=mask)


@tw.jit
def row_kernel(x_ptr, sum_ptr, place_ptr, columns, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    row = tl.program_id(0)
    x = tl.load(x_ptr + row * columns + offsets, mask=offsets < columns, other=-float("inf"))
    tl.store(place_ptr + row, tl.argmax(x, axis=0))
    tl.store(sum_ptr + row, tl.sum(tl.where(offsets < columns, x, 0.0), axis=0))


@tw.jit
def transpose_kernel(x_ptr, out_ptr, rows, columns, BLOCK: tl.constexpr):
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = (m[:, None] < rows) & (n[None, :] < columns)
    tile = tl.load(x_ptr + m[:, None] * columns + n[None, :], mask=inside)
    tl.store(out_ptr + n[:, None] * rows + m[None, :], tl.trans(tile), mask=tl.trans(inside))


@tw.jit
def locked_sum_kernel(x_ptr, total_ptr, lock_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + offsets)
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    tl.store(total_ptr + offsets, tl.load(total_ptr + offsets) + x)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


@tw.jit
def softmax_rows_kernel(x_ptr, out_ptr, rows, columns, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=STAGES):
        x = tl.load(x_ptr + row * columns + offsets, mask=mask, other=-float("inf")).to(tl.float32)
        e = tl.exp(x - tl.max(x, axis=0))
        tl.store(out_ptr + row * columns + offsets, e / tl.sum(e, axis=0), mask=mask)


def check_copies_ahead(kernels):
    for dtype in (torch.float16, torch.float32):
        for columns in (1000, 1024):
            x = torch.randn(7, columns, device="cuda").to(dtype)
            for stages in (1, 2, 3, 5):
                out = torch.zeros_like(x)
                softmax_rows_kernel[(2,)](x, out, 7, columns, BLOCK=1024, STAGES=stages)
                assert torch.allclose(out.float(), torch.softmax(x.float(), 1), atol=1e-3)
    # 20016: the weights are copied while the sums wait. 32768: a body of its own without masks.
    for columns in (20004, 20016, 32768):
        x, weight = torch.randn(2, columns, device="cuda"), torch.rand(columns, device="cuda")
        out = torch.zeros_like(x)
        kernels.layer_norm_kernel[(2,)](x, weight, weight, out, columns, columns, 1e-5, BLOCK=32768)
        assert torch.allclose(out, torch.nn.functional.layer_norm(x, (columns,), weight, weight), atol=1e-4)


def check_products(kernels):
    m, n, k = 200, 192, 136
    a, b = torch.randint(-4, 5, (m, k), device="cuda").half(), torch.randint(-4, 5, (k, n), device="cuda").half()
    expected = (a.float() @ b.float()).half()
    for block_m, block_n, block_k, warps, stages in ((128, 128, 64, 8, 3), (64, 64, 32, 4, 4)):
        out = torch.zeros_like(expected)
        programs = tw.cdiv(m, block_m) * tw.cdiv(n, block_n)
        kernels.pointer_kernel[(programs,)](
            a, b, out, m, n, k, k, 1, n, 1, n, 1, block_m, block_n, block_k, 8, num_warps=warps, num_stages=stages
        )
        assert torch.equal(out, expected)
        descriptors = [
            TensorDescriptor.from_tensor(array, list(block))
            for array, block in ((a, (block_m, block_k)), (b, (block_k, block_n)), (out, (block_m, block_n)))
        ]
        for flatten in (False, True):
            out.zero_()
            kernels.persistent_kernel[(3,)](
                *descriptors, m, n, k, block_m, block_n, block_k, 8, False, flatten, False, num_warps=warps, num_stages=stages
            )
            assert torch.equal(out, expected)


def check_computed_operands(kernels):
    """Weights of 8 and 4 bits for few rows and for many, and programs that add up K together."""
    n, k, block_k = 128, 512, 128
    for m, block_m, warps, stages in ((5, 16, 4, 3), (100, 64, 4, 3), (100, 128, 8, 2)):
        tiles = (tw.cdiv(m, block_m), n // 64)
        x = torch.randint(-2, 3, (m, k), device="cuda").half()
        scale = torch.ones(n, device="cuda").half()
        w8 = torch.randint(-3, 4, (k, n), device="cuda", dtype=torch.int8)
        out = torch.zeros(m, n, device="cuda", dtype=torch.float16)
        kernels.int8_weights_kernel[tiles](x, w8, scale, out, m, n, k, block_m, 64, block_k, num_warps=warps, num_stages=stages)
        assert torch.equal(out, (x.float() @ w8.float()).half())
        w4 = torch.randint(0, 16, (k // 8, 8, n), device="cuda")
        packed = (w4 << (4 * torch.arange(8, device="cuda"))[:, None]).sum(1).to(torch.int32)
        out.zero_()
        kernels.int4_weights_kernel[tiles](
            x,
            packed,
            torch.ones(k // 128, n, device="cuda").half(),
            out,
            m,
            n,
            k,
            block_m,
            64,
            block_k,
            num_warps=warps,
            num_stages=stages,
        )
        assert torch.equal(out, (x.float() @ (w4.reshape(k, n) - 8).float()).half())
    x, w = torch.randint(-2, 3, (16, k), device="cuda").half(), torch.randint(-2, 3, (n, k), device="cuda").half()
    total = torch.zeros(16, n, device="cuda")
    kernels.split_k_kernel[(n // 64, 2)](x, w, total, 16, n, k, SPLIT=2, BM=16, BN=64, BK=64)
    assert torch.equal(total, x.float() @ w.float().T)


def check_sums_of_many(kernels):
    x, weight = torch.randint(-4, 5, (1040, 192), device="cuda").half(), torch.randint(-4, 5, (192,), device="cuda").half()
    total = torch.zeros(192, device="cuda")
    kernels.column_sum_kernel[(2, 3)](x, total, 1040, 192, BLOCK_M=32, BLOCK_N=128)
    assert torch.equal(total, x.float().sum(0))
    out = torch.zeros(1040, device="cuda", dtype=torch.float16)
    kernels.row_times_matrix_kernel[(65,)](weight, x, out, 1040, 192, BLOCK_M=16, BLOCK_K=128)
    assert torch.equal(out, (x.float() @ weight.float()).half())


@tw.jit
def extrema_kernel(x, high, low_ptr, BLOCK: tl.constexpr):
    tile = x.load([tl.program_id(0) * BLOCK, 0])
    high.atomic_max([0, 0], tile)
    offsets = tl.arange(0, BLOCK)
    tl.atomic_min(low_ptr + offsets[:, None] * BLOCK + offsets[None, :], tile)


def check_extrema():
    x = torch.randn(8 * 32, 32, device="cuda").half()
    high, low = torch.full((32, 32), -9.0, device="cuda").half(), torch.full((32, 32), 9.0, device="cuda").half()
    described = [TensorDescriptor.from_tensor(array, [32, 32]) for array in (x, high)]
    extrema_kernel[(8,)](*described, low, BLOCK=32)
    assert torch.equal(high, x.view(8, 32, 32).amax(0)) and torch.equal(low, x.view(8, 32, 32).amin(0))


@tw.jit
def handed_on_kernel(x_ptr, flags_ptr, out_ptr, BLOCK: tl.constexpr):
    """Each program adds its row to what the one before it has handed on."""
    program, offsets = tl.program_id(0), tl.arange(0, BLOCK)
    row = tl.load(x_ptr + program * BLOCK + offsets)
    if program > 0:
        while tl.atomic_load(flags_ptr + program - 1) == 0:
            pass
        tl.debug_barrier()
        row += tl.load(out_ptr + (program - 1) * BLOCK + offsets, volatile=True)
    tl.store(out_ptr + program * BLOCK + offsets, row)
    tl.debug_barrier()
    tl.atomic_store(flags_ptr + program, 1)


@tw.jit
def promised_product_kernel(a_ptr, b_ptr, c_ptr, stride, K, BLOCK: tl.constexpr):
    """Only the promises, made as statements, tell that rows are aligned."""
    i = tl.arange(0, BLOCK)
    a_ptrs, b_ptrs = a_ptr + i[:, None] * stride + i[None, :], b_ptr + i[:, None] * stride + i[None, :]
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for _ in range(0, K, BLOCK):
        tl.multiple_of(a_ptrs, [16, 16])
        tl.multiple_of(b_ptrs, [16, 16])
        total = tl.dot(tl.load(a_ptrs), tl.load(b_ptrs), total)
        a_ptrs += BLOCK
        b_ptrs += BLOCK * stride
    tl.store(c_ptr + i[:, None] * BLOCK + i[None, :], total)


def check_orders_and_promises():
    x = torch.randint(0, 9, (24, 128), device="cuda").float()
    flags, out = torch.zeros(24, device="cuda", dtype=torch.int32), torch.zeros_like(x)
    handed_on_kernel[(24,)](x, flags, out, BLOCK=128)
    assert torch.equal(out, x.cumsum(0)) and flags.all()
    a, b = (torch.randint(-3, 4, (192, 192), device="cuda").half() for _ in range(2))
    c = torch.zeros(64, 64, device="cuda")
    kernel = promised_product_kernel[(1,)](a, b, c, 192, 192, BLOCK=64, num_stages=3)
    assert torch.equal(c, a[:64].float() @ b[:, :64].float())
    assert "cp.async" in kernel.asm["ptx"], "the promises had no effect"


@tw.jit
def gathered_kernel(x_ptr, index_ptr, out_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Rows of one tile, one after the other, and elements that an index names, some of them outside."""
    i, j = tl.arange(0, ROWS)[:, None], tl.arange(0, COLUMNS)[None, :]
    x = tl.load(x_ptr + i * COLUMNS + j)
    total = tl.gather(x, tl.load(index_ptr + i * COLUMNS + j), 0)
    for row in range(ROWS):
        total += tl.gather(x, tl.full((1, COLUMNS), row, tl.int32), 0)
    tl.store(out_ptr + i * COLUMNS + j, total)


@tw.jit
def weighted_columns_kernel(x_ptr, weight_ptr, out_ptr, steps, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """Tiles that are contiguous along their first dimension, copied ahead, and a short row of factors."""
    i, k = tl.arange(0, ROWS), tl.arange(0, BLOCK)
    total = tl.zeros((ROWS, ROWS), tl.float32)
    for step in range(steps):
        at = step * BLOCK + k
        x = tl.load(x_ptr + at[None, :] * ROWS + i[:, None])
        scaled = (x * tl.load(weight_ptr + at)[None, :]).to(tl.float16)
        total = tl.dot(scaled, tl.trans(x), total)
    tl.store(out_ptr + i[:, None] * ROWS + i[None, :], total)


def check_gathers_and_columns():
    x = torch.randint(0, 9, (16, 64), device="cuda").float()
    index = torch.randint(-1, 18, (16, 64), device="cuda", dtype=torch.int32)
    out = torch.zeros_like(x)
    gathered_kernel[(1,)](x, index, out, ROWS=16, COLUMNS=64)
    inside = (index >= 0) & (index < 16)
    named = torch.where(inside, x.gather(0, index.clamp(0, 15).long()), 0)
    assert torch.equal(out, named + x.sum(0, keepdim=True))
    columns = torch.randint(-3, 4, (160, 64), device="cuda").half()
    weight = torch.randint(0, 3, (160,), device="cuda").half()
    product = torch.zeros(64, 64, device="cuda")
    weighted_columns_kernel[(1,)](columns, weight, product, 5, ROWS=64, BLOCK=32, num_warps=2, num_stages=3)
    assert torch.equal(product, (columns * weight[:, None]).float().T @ columns.float())


@tw.jit
def linear_attention_kernel(q_ptr, k_ptr, v_ptr, out_ptr, n, trips, D: tl.constexpr, BLOCK: tl.constexpr):
    d, rows = tl.arange(0, D), tl.arange(0, BLOCK)
    below = rows[:, None] >= rows[None, :]
    state = tl.zeros((D, D), tl.float32)
    for _ in range(trips):
        inside = rows < n
        q = tl.load(q_ptr + rows[:, None] * D + d[None, :], mask=inside[:, None], other=0.0).to(tl.float32)
        k = tl.load(k_ptr + rows[None, :] * D + d[:, None], mask=inside[None, :], other=0.0).to(tl.float32)
        v = tl.load(v_ptr + rows[:, None] * D + d[None, :], mask=inside[:, None], other=0.0).to(tl.float32)
        out = tl.dot(tl.where(below, tl.dot(q, k), 0), v) + tl.dot(q, state)
        tl.store(out_ptr + rows[:, None] * D + d[None, :], out, mask=inside[:, None])
        state += tl.dot(k, v)
        rows += BLOCK


def check_widened_operands():
    """Tiles that products read narrow, and registers wide, from one ring."""
    for block, warps in ((16, 1), (64, 4)):
        n, d = 4 * block - 5, 32
        q, k, v = (torch.randint(-1, 2, (n, d), device="cuda").bfloat16() for _ in range(3))
        k[:, 2:] = 0
        out = torch.zeros(n, d, device="cuda")
        linear_attention_kernel[(1,)](q, k, v, out, n, 4, D=d, BLOCK=block, num_warps=warps)
        assert torch.equal(out, (q.float() @ k.float().T).tril() @ v.float())


@tw.jit
def scanned_kernel(x_ptr, out_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, ORDER: tl.constexpr, AXIS: tl.constexpr):
    at = tl.reshape(tl.arange(0, ROWS * COLUMNS), (ROWS // 4, 4, 4, COLUMNS // 4))
    x = tl.reshape(tl.permute(tl.load(x_ptr + at), ORDER), (ROWS, COLUMNS))
    i = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    tl.store(out_ptr + i, tl.cumsum(x, AXIS) + tl.cumsum(x, AXIS, reverse=True))


def check_scans():
    """Totals that cross warps, once or bit by bit, between steps over lanes and registers in any order."""
    x = torch.randint(0, 9, (64, 64), device="cuda", dtype=torch.int32)
    for order in ((0, 1, 2, 3), (1, 0, 3, 2), (2, 3, 0, 1)):
        turned = x.view(16, 4, 4, 16).permute(order).reshape(64, 64)
        for axis in (0, 1):
            whole = turned.cumsum(axis) + turned.flip(axis).cumsum(axis).flip(axis)
            for warps in (1, 4, 8):
                out = torch.zeros_like(x)
                scanned_kernel[(1,)](x, out, ROWS=64, COLUMNS=64, ORDER=order, AXIS=axis, num_warps=warps)
                assert torch.equal(out, whole.int())


@tw.jit
def scaled_product_kernel(a_ptr, b_ptr, rows_ptr, columns_ptr, out_ptr, K, BLOCK: tl.constexpr):
    i, k = tl.arange(0, BLOCK), tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for step in range(K // BLOCK):
        a = tl.load(a_ptr + i[:, None] * K + step * BLOCK + k[None, :])
        b = tl.load(b_ptr + i[None, :] * K + step * BLOCK + k[:, None])
        row, column = tl.load(rows_ptr + step * BLOCK + i), tl.load(columns_ptr + step * BLOCK + i)
        total += tl.dot(a, b) * row[:, None] * column[None, :]
    tl.store(out_ptr + i[:, None] * BLOCK + i[None, :], total)


def check_rows_in_rings():
    a, b = (torch.randint(-2, 3, (64, 320), device="cuda").half() for _ in range(2))
    out = torch.zeros(64, 64, device="cuda")
    for dtype, stages in ((torch.float32, 3), (torch.float16, 2)):
        rows, columns = (torch.randint(1, 4, (5, 64), device="cuda").to(dtype) for _ in range(2))
        scaled_product_kernel[(1,)](a, b, rows, columns, out, 320, BLOCK=64, num_stages=stages)
        terms = a.float().view(64, 5, 64) * rows.float().T[:, :, None]
        assert torch.equal(out, torch.einsum("msk,nsk,sn->mn", terms, b.float().view(64, 5, 64), columns.float()))


def check_operands_in_memory():
    """Straight-line kernels of several products, and operands that are transposed: those of tests."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "e2e"))
    import test_lane_turns
    import test_operand_memory
    import test_spread_copies
    import test_transposed_bytes
    from harness.devices import Gpu

    gpu = Gpu()
    for warps in (4, 8):
        for columns in (32, 64):
            test_operand_memory.check_two_sides(gpu, columns, num_warps=warps)
        for shape in ((64, 32, 32), (64, 64, 64)):
            for dtype in ("float16", "float32"):
                test_lane_turns.check_widened(gpu, shape, dtype, num_warps=warps)
            test_lane_turns.check_bytes(gpu, shape, num_warps=warps, num_stages=1)
        for transposed in test_transposed_bytes.ORDERS:
            test_spread_copies.check(
                gpu, test_spread_copies.advanced, (80, 96, 80), (64, 32, 32), transposed, num_warps=warps, num_stages=3
            )
            test_transposed_bytes.check(gpu, np.int8, (80, 96, 144), (64, 32, 64), transposed, num_warps=warps, num_stages=3)


def check_lessons():
    """The checks of lessons, at sizes of the interpreter; where kernels are tuned, with the first configuration."""
    import importlib

    sys.path.insert(0, str(BENCHMARKS.parent / "tutorials"))
    for name, arguments in (
        ("13_paged_attention", ([300, 1, 37], 2, 4, 32, 16, 320)),
        ("14_quantised_weights", (3, 70, 2560)),
        ("15_mixture_of_experts", (37, 5, 2, 48, 40)),
        ("16_state_space_scan", (2, 3, 600, 4)),
        ("17_fused_optimiser", ([(70, 50), (1,), (300,)], 2, 256)),
    ):
        lesson = importlib.import_module(name)
        for kernel in vars(lesson).values():
            if hasattr(kernel, "configs"):
                kernel.configs = kernel.configs[:1]
        lesson.check(*arguments)


def main():
    x, y = torch.rand(1000, device="cuda"), torch.rand(1000, device="cuda")
    out = torch.zeros_like(x)
    add_kernel[(4,)](x, y, out, 1000, BLOCK=256)
    assert torch.equal(out, x + y)

    matrix = torch.rand(8, 777, device="cuda")
    sums, places = torch.zeros(8, device="cuda"), torch.zeros(8, device="cuda", dtype=torch.int32)
    for warps in (1, 4, 8):
        row_kernel[(8,)](matrix, sums, places, 777, BLOCK=1024, num_warps=warps)
        assert torch.equal(places.long(), matrix.argmax(dim=1))
        assert torch.allclose(sums, matrix.sum(dim=1))

    wide = torch.rand(100, 70, device="cuda").half()
    turned = torch.zeros(70, 100, device="cuda", dtype=torch.float16)
    transpose_kernel[(2, 2)](wide, turned, 100, 70, BLOCK=64)
    assert torch.equal(turned, wide.T)

    terms = torch.randint(0, 9, (32, 128), device="cuda").float()
    total, lock = torch.zeros(128, device="cuda"), torch.zeros(1, device="cuda", dtype=torch.int32)
    locked_sum_kernel[(32,)](terms, total, lock, BLOCK=128)
    assert torch.equal(total, terms.sum(dim=0))

    sys.path.insert(0, str(BENCHMARKS))
    import peers

    check_copies_ahead(peers.load_kernels("tilewright"))
    check_products(peers.load_kernels("tilewright", BENCHMARKS / "matmul_kernels.py"))
    check_computed_operands(peers.load_kernels("tilewright", BENCHMARKS / "products_in_use_kernels.py"))
    check_widened_operands()
    check_scans()
    check_sums_of_many(peers.load_kernels("tilewright", BENCHMARKS / "in_use_kernels.py"))
    check_extrema()
    check_orders_and_promises()
    check_gathers_and_columns()
    check_rows_in_rings()
    check_operands_in_memory()
    check_lessons()
    torch.cuda.synchronize()
    print("every kernel right")


if __name__ == "__main__":
    main()
