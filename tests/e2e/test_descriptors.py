# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Host-side tensor descriptors: blocks in every type, rank and width, with edges.

On sm_90 blocks go by TMA, elsewhere by pointers; what a kernel means is the same.
"""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.compare import assert_same
from harness.element_types import ALL, FLOATS, FP8, NUMPY_TYPES, exact_values, random_values

# Also on the CPU, from the PTX.
EMULATED = True


def size_of(name):
    return np.dtype(NUMPY_TYPES[name]).itemsize


def rows(name, count, columns, seed=0):
    """An array whose rows are a multiple of 16 bytes, cut so that blocks overlap its end."""
    return random_values(name, (count, columns), seed)


@tilewright.jit
def copy1(x, out):
    i = tl.program_id(0) * x.block_shape[0]
    out.store([i], x.load([i]))


@tilewright.jit
def copy2(x, out):
    i, j = tl.program_id(0) * x.block_shape[0], tl.program_id(1) * x.block_shape[1]
    out.store([i, j], x.load([i, j]))


@tilewright.jit
def copy3(x, out):
    i, j = tl.program_id(0) * x.block_shape[0], tl.program_id(1) * x.block_shape[1]
    k = tl.program_id(2) * x.block_shape[2]
    out.store([i, j, k], x.load([i, j, k]))


@tilewright.jit
def copy4(x, out):
    i, j = tl.program_id(0) * x.block_shape[1], tl.program_id(1) * x.block_shape[2]
    k = tl.program_id(2) * x.block_shape[3]
    for a in range(x.shape[0]):
        out.store([a, i, j, k], x.load([a, i, j, k]))


@tilewright.jit
def copy5(x, out):
    i, j = tl.program_id(0) * x.block_shape[2], tl.program_id(1) * x.block_shape[3]
    k = tl.program_id(2) * x.block_shape[4]
    for a in range(x.shape[0]):
        for b in range(x.shape[1]):
            out.store([a, b, i, j, k], x.load([a, b, i, j, k]))


@pytest.mark.parametrize("name", ALL + FP8)
@pytest.mark.parametrize("row_bytes", [16, 32, 64, 128, 256, 512])
def test_copy_of_every_type_and_width(device, name, row_bytes):
    columns = row_bytes // size_of(name)
    x = rows(name, 21, columns * 2 + 16 // size_of(name))
    out = device.empty(x.shape, x.dtype)
    block = (8, columns)
    grid = (3, 3)
    device.run(copy2, grid, device.descriptor(device.array(x), block), device.descriptor(out, block))
    np.testing.assert_array_equal(device.numpy(out).view(np.uint8), x.view(np.uint8))


@pytest.mark.parametrize(
    "shape,block,kernel",
    [
        ((1000,), (256,), copy1),
        ((1000,), (16,), copy1),
        ((700, 40), (512, 8), copy2),  # more rows than one box
        ((3, 20, 72), (2, 8, 64), copy3),
        ((3, 20, 72), (1, 4, 32), copy3),
        ((2, 5, 20, 40), (1, 2, 8, 32), copy4),
        ((2, 3, 5, 6, 40), (1, 1, 2, 4, 16), copy5),
        ((2, 3, 5, 6, 136), (2, 1, 2, 4, 64), copy5),
    ],
)
def test_copy_of_every_rank(device, shape, block, kernel):
    x = random_values("float32", shape)
    out = device.empty(shape, np.float32)
    grid = tuple(-(-n // b) for n, b in zip(shape[-3:], block[-3:]))
    device.run(kernel, grid, device.descriptor(device.array(x), block), device.descriptor(out, block))
    np.testing.assert_array_equal(device.numpy(out), x)


@tilewright.jit
def load_outside(x, out_ptr, i, j, M: tl.constexpr, N: tl.constexpr):
    offsets = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out_ptr + offsets, x.load([i, j]))


@pytest.mark.parametrize("name", FLOATS + FP8)
@pytest.mark.parametrize("padding", ["zero", "nan"])
@pytest.mark.parametrize("i,chunk", [(0, 0), (-3, -1), (13, 1), (100, 0), (-100, -20)])
def test_padding(device, name, padding, i, chunk):
    x = exact_values(name, (16, 32), low=1)
    # The last coordinate is a multiple of 16 bytes.
    j = chunk * (16 // x.dtype.itemsize)
    out = device.empty((8, 16), x.dtype)
    device.run(load_outside, (1,), device.descriptor(device.array(x), (8, 16), padding), out, i, j, M=8, N=16)
    result = device.numpy(out).astype(np.float64)
    for row in range(8):
        for column in range(16):
            inside = 0 <= i + row < 16 and 0 <= j + column < 32
            if inside:
                assert result[row, column] == float(x[i + row, j + column])
            else:
                assert np.isnan(result[row, column]) if padding == "nan" else result[row, column] == 0


@tilewright.jit
def combine(x_ptr, out, i, j, M: tl.constexpr, N: tl.constexpr, OP: tl.constexpr):
    offsets = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    value = tl.load(x_ptr + offsets)
    if OP == "add":
        out.atomic_add([i, j], value)
    elif OP == "min":
        out.atomic_min([i, j], value)
    elif OP == "max":
        out.atomic_max([i, j], value)
    elif OP == "and":
        out.atomic_and([i, j], value)
    elif OP == "or":
        out.atomic_or([i, j], value)
    else:
        out.atomic_xor([i, j], value)


COMBINE = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


@pytest.mark.parametrize(
    "name,op",
    [
        ("float16", "add"),
        ("bfloat16", "add"),
        ("float32", "add"),
        ("float64", "add"),
        ("int64", "add"),
        *((name, op) for name in ("int32", "uint32") for op in COMBINE),
        ("float32", "max"),
        ("uint64", "min"),
        ("int64", "xor"),
        *((name, op) for name in ("float16", "bfloat16") for op in ("min", "max")),
    ],
)
def test_reductions(device, name, op):
    old, value = exact_values(name, (20, 64), 1), exact_values(name, (16, 32), 2)
    if op in ("and", "or", "xor", "min", "max") and not name.startswith("float"):
        old, value = random_values(name, old.shape, 3), random_values(name, value.shape, 4)
    expected = old.copy()
    expected[12:, 40:] = COMBINE[op](old[12:, 40:], value[:8, :24])
    out = device.array(old)
    device.run(combine, (1,), device.array(value), device.descriptor(out, (16, 32)), 12, 40, M=16, N=32, OP=op)
    np.testing.assert_array_equal(device.numpy(out), expected)


@tilewright.jit
def combine_through_pointers(x_ptr, out_ptr, COUNT: tl.constexpr, OP: tl.constexpr):
    offsets = tl.arange(0, COUNT)
    if OP == "min":
        tl.atomic_min(out_ptr + offsets, tl.load(x_ptr + offsets))
    else:
        tl.atomic_max(out_ptr + offsets, tl.load(x_ptr + offsets))


@pytest.mark.parametrize("through", ["tma", "pointers"])
@pytest.mark.parametrize("op", ["min", "max"])
@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_extrema_of_halves_are_numbers(device, name, op, through):
    """A number wins over NaN, +0 is more than -0, and nothing is flushed to zero."""
    dtype = NUMPY_TYPES[name]
    tiny = 2.0**-24 if name == "float16" else 2.0**-133
    values = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, tiny], dtype)
    old, value = np.repeat(values, 8).reshape(8, 8), np.tile(values, (8, 1))
    out = device.array(old)
    if through == "tma":
        device.run(combine, (1,), device.array(value), device.descriptor(out, (8, 8)), 0, 0, M=8, N=8, OP=op)
    else:
        device.run(combine_through_pointers, (1,), device.array(value), out, COUNT=64, OP=op)
    a, b = old.astype(np.float32), value.astype(np.float32)
    number = (np.fmin if op == "min" else np.fmax)(a, b)
    zeros = np.signbit(a) | np.signbit(b) if op == "min" else np.signbit(a) & np.signbit(b)
    number = np.where((a == 0) & (b == 0), np.where(zeros, np.float32(-0.0), np.float32(0.0)), number)
    assert_same(device.numpy(out), number.astype(dtype))


@tilewright.jit
def sum_of_rows(x, y, out, N):
    total = tl.zeros([x.block_shape[0], x.block_shape[1]], tl.float32)
    i = tl.program_id(0) * x.block_shape[0]
    for j in range(0, N, x.block_shape[1]):
        total += x.load([i, j]) * y.load([i, j])
    out.store([i], tl.sum(total, 1))


@pytest.mark.parametrize("columns", [4, 32, 100, 256])
def test_loop_over_blocks(device, columns):
    x, y = exact_values("float32", (50, columns), 1), exact_values("float32", (50, columns), 2)
    out = device.empty((50,), np.float32)
    device.run(
        sum_of_rows,
        (4,),
        device.descriptor(device.array(x), (16, 32)),
        device.descriptor(device.array(y), (16, 32)),
        device.descriptor(out, (16,)),
        columns,
    )
    np.testing.assert_array_equal(device.numpy(out), (x * y).sum(1))


@tilewright.jit
def several_stores_per_iteration(x, out, steps):
    for i in range(steps):
        block = x.load([i * 8, 0])
        if i % 2 == 0:
            out.store([i * 8, 0], block + 1)
            out.store([i * 8, 32], block + 2)
            out.store([i * 8, 64], block + 3)


def test_stores_of_a_loop_overlap(device):
    x = exact_values("float32", (64, 32))
    out = device.array(np.zeros((64, 96), np.float32))
    device.run(
        several_stores_per_iteration, (1,), device.descriptor(device.array(x), (8, 32)), device.descriptor(out, (8, 32)), 8
    )
    expected = np.zeros((64, 96), np.float32)
    for i in range(0, 64, 16):
        expected[i : i + 8] = np.concatenate([x[i : i + 8] + k for k in (1, 2, 3)], 1)
    np.testing.assert_array_equal(device.numpy(out), expected)


@tilewright.jit
def in_place(x, steps):
    for step in range(steps):
        block = x.load([0, 0])
        x.store([0, 0], block + 1)
        x.store([8, 0], x.load([0, 0]) * 2)


def test_stores_are_seen_by_later_loads(device):
    x = exact_values("int32", (16, 32))
    out = device.array(x)
    device.run(in_place, (1,), device.descriptor(out, (8, 32)), 5)
    np.testing.assert_array_equal(device.numpy(out), np.concatenate([x[:8] + 5, (x[:8] + 5) * 2]))


@tilewright.jit
def gather_scatter(x, out, rows_ptr, N: tl.constexpr):
    rows = tl.load(rows_ptr + tl.arange(0, N))
    out.scatter(x.gather(rows, 8), rows, 8)


def test_gather_and_scatter(device):
    x = random_values("float32", (32, 64))
    chosen = np.random.default_rng(1).permutation(32)[:16].astype(np.int32)
    out = device.array(np.zeros_like(x))
    device.run(
        gather_scatter,
        (1,),
        device.descriptor(device.array(x), (1, 32)),
        device.descriptor(out, (1, 32)),
        device.array(chosen),
        N=16,
    )
    expected = np.zeros_like(x)
    expected[chosen, 8:40] = x[chosen, 8:40]
    np.testing.assert_array_equal(device.numpy(out), expected)


@tilewright.jit
def facts(x, out_ptr):
    tl.static_assert(x.dtype == tl.float16)
    tl.static_assert(len(x.block_shape) == 2)
    tl.store(out_ptr, x.shape[0])
    tl.store(out_ptr + 1, x.shape[1])
    tl.store(out_ptr + 2, x.strides[0])
    tl.store(out_ptr + 3, x.strides[1])
    # Mixed with pointers to the same array.
    tl.store(out_ptr + 4, tl.load(x.base + x.strides[0]).to(tl.int32))


def test_fields(device):
    x = exact_values("float16", (9, 24))
    out = device.empty((5,), np.int32)
    device.run(facts, (1,), device.descriptor(device.array(x), (8, 8)), out)
    np.testing.assert_array_equal(device.numpy(out), [9, 24, 24, 1, int(x[1, 0])])


@tilewright.jit
def transposed_sum(x, out):
    a, b = x.load([0, 0]), x.load([16, 0])
    out.store([0, 0], tl.trans(a + b))
    out.store([0, 16], tl.trans(a - b))


def test_several_blocks_at_once(device):
    x = exact_values("float16", (32, 64))
    out = device.empty((64, 32), np.float16)
    device.run(transposed_sum, (1,), device.descriptor(device.array(x), (16, 64)), device.descriptor(out, (64, 16)))
    np.testing.assert_array_equal(device.numpy(out), np.concatenate([(x[:16] + x[16:]).T, (x[:16] - x[16:]).T], 1))


@tilewright.jit
def made_inside(x_ptr, out_ptr, B, M, N, BM: tl.constexpr, BN: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [B * M, N], [N, 1], [BM, BN])
    for j in range(0, tl.cdiv(N, BN)):
        # In the loop, too: it is the same descriptor each time.
        out = tl.make_tensor_descriptor(out_ptr, [B, M, N], [M * N, N, 1], [1, BM, BN])
        i = tl.program_id(0) * BM
        out.store([tl.program_id(1), i, j * BN], x.load([tl.program_id(1) * M + i, j * BN])[None, :, :])


@pytest.mark.parametrize("name", ["float16", "int32", "float8e5"])
def test_made_in_the_kernel(device, name):
    x = exact_values(name, (3, 16, 80))
    out = device.empty(x.shape, x.dtype)
    device.run(made_inside, (2, 3), device.array(x), out, 3, 16, 80, BM=8, BN=32)
    np.testing.assert_array_equal(device.numpy(out).view(np.uint8), x.view(np.uint8))


@tilewright.jit
def made_inside_in_place(x_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [M, N], [N, 1], [BM, BN])
    y = tl.make_tensor_descriptor(x_ptr, [M, N], [N, 1], [BM, BN], padding_option="nan")
    for step in range(3):
        y.store([0, 0], x.load([0, 0]) + 1)
        tl.store(x_ptr + N + tl.arange(0, 16), 7.0)
        x.store([BM, 0], y.load([0, 0]))


def test_two_descriptors_and_pointers_of_one_array(device):
    x = exact_values("float32", (16, 32))
    out = device.array(x)
    device.run(made_inside_in_place, (1,), out, 16, 32, BM=8, BN=32)
    expected = x.copy()
    for _ in range(3):
        expected[:8] += 1
        expected[1, :16] = 7
        expected[8:] = expected[:8]
    np.testing.assert_array_equal(device.numpy(out), expected)


def compile_made_inside(divisible, target="sm_90a"):
    constants = {"BM": 8, "BN": 32}
    signature = {"x_ptr": "*fp16", "out_ptr": "*fp16", "B": "i32", "M": "i32", "N": "i32"}
    source = tilewright.compiler.ASTSource(made_inside, signature, constants, {name: 16 for name in divisible})
    return tilewright.compile(source, target)


def test_what_is_made_by_the_launch():
    kernel = compile_made_inside(["x_ptr", "out_ptr", "N"])
    x, out = kernel.metadata.host_tensor_maps
    assert (x["element"], x["block"], x["base"], x["nan"]) == ("fp16", [8, 32], 0, False)
    assert x["shape"] == [[1, 2, 1, 3, 5, 0, 7, 0], [1, 4]] and x["strides"] == [[1, 4], [0, 1]]
    assert out["base"] == 1 and out["block"] == [1, 8, 32]
    assert kernel.metadata.written_args == ["out_ptr"]
    assert kernel.asm["ptx"].count(".b8 made_inside_param_") == 2
    assert "cp.async.bulk.tensor.3d.global.shared::cta" in kernel.asm["ptx"]


@pytest.mark.parametrize(
    "divisible,target",
    [
        (["x_ptr", "out_ptr"], "sm_90a"),  # the stride may be anything
        (["N"], "sm_90a"),  # the base may be anywhere
        (["x_ptr", "out_ptr", "N"], "sm_80"),
    ],
)
def test_what_stays_pointers(divisible, target):
    kernel = compile_made_inside(divisible, target)
    assert list(kernel.metadata.host_tensor_maps) == [] and "cp.async.bulk" not in kernel.asm["ptx"]


def test_machine_code_uses_tma():
    source = tilewright.compiler.ASTSource(
        sum_of_rows, {"x": "tensordesc<fp32[16,32]>", "y": "tensordesc<fp32[16,32]>", "out": "tensordesc<fp32[16]>", "N": "i32"}
    )
    kernel = tilewright.compile(source, "sm_90a")
    assert kernel.metadata.tensor_maps == [True, True, True]
    assert "cp.async.bulk.tensor.2d.shared::cluster.global" in kernel.asm["ptx"]
    # A row of the result may end inside of a chunk of 16 bytes, unless it is said not to.
    assert "cp.async.bulk.tensor.1d.global.shared::cta" not in kernel.asm["ptx"]
    assert any("tensor-map: refused" in remark and "innermost extent" in remark for remark in kernel.remarks)
    source = tilewright.compiler.ASTSource(source.fn, source.signature, attrs={"out": 16})
    kernel = tilewright.compile(source, "sm_90a")
    assert "cp.async.bulk.tensor.1d.global.shared::cta" in kernel.asm["ptx"]
    assert kernel.metadata.written_args == ["out"]
    older = tilewright.compile(source, "sm_80")
    assert older.metadata.tensor_maps == [False, False, False] and "cp.async.bulk" not in older.asm["ptx"]


@pytest.mark.parametrize(
    "kind",
    [
        "tensordesc<i1[8,32]>",  # no type of TMA
        "tensordesc<fp8e5[8,32],nan>",  # no NaN of it in TMA
        "tensordesc<fp32[65536]>",  # 512 boxes
    ],
)
def test_blocks_that_tma_does_not_suit_are_pointers(kind):

    @tilewright.jit
    def first(x, out_ptr):
        block = x.load([0] * len(x.block_shape))
        tl.store(out_ptr, tl.sum(block.to(tl.float32)))

    source = tilewright.compiler.ASTSource(first, {"x": kind, "out_ptr": "*fp32"})
    kernel = tilewright.compile(source, "sm_90a")
    assert kernel.metadata.tensor_maps == [False] and "cp.async.bulk" not in kernel.asm["ptx"]


@tilewright.jit
def multiply_heads(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """One head of arrays [rows, heads, columns]; blocks have a dimension of extent 1 for it."""
    m, n, h = tl.program_id(0) * BM, tl.program_id(1) * BN, tl.program_id(2)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.reshape(a.load([m, h, k]), [BM, BK])
        y = tl.reshape(b.load([n, h, k]), [BN, BK])
        acc += tl.dot(x, tl.trans(y))
    c.store([m, h, n], acc.to(c.dtype)[:, None, :])


@pytest.mark.parametrize("num_warps", [2, 4])
@pytest.mark.parametrize("num_stages", [1, 3])
@pytest.mark.parametrize("name", ["float16", "float32"])
def test_products_of_blocks_with_a_dimension_of_one(device, name, num_stages, num_warps):
    heads, m, n, k = 2, 70, 64, 96
    a, b = exact_values(name, (m, heads, k), 1), exact_values(name, (n, heads, k), 2)
    c = device.empty((m, heads, n), np.float32)
    device.run(
        multiply_heads,
        (2, 2, heads),
        device.descriptor(device.array(a), (64, 1, 32)),
        device.descriptor(device.array(b), (32, 1, 32)),
        device.descriptor(c, (64, 1, 32)),
        k,
        BM=64,
        BN=32,
        BK=32,
        num_warps=num_warps,
        num_stages=num_stages,
    )
    expected = np.einsum("mhk,nhk->mhn", a.astype(np.float32), b.astype(np.float32))
    np.testing.assert_array_equal(device.numpy(c), expected)


@tilewright.jit
def multiply_scaled(a, g, b, c, K, BM: tl.constexpr, BK: tl.constexpr):
    """Two blocks are worked on in registers before the product, one also goes into it."""
    acc = tl.zeros((BM, BM), tl.float32)
    for k in range(0, K, BK):
        x = a.load([0, k])
        scaled = (x * g.load([0, k])).to(x.dtype)
        acc += tl.dot(scaled, b.load([k, 0])) + tl.dot(x, tl.trans(scaled))
    c.store([0, 0], acc)


@pytest.mark.parametrize("num_warps", [2, 4])
@pytest.mark.parametrize("num_stages", [1, 2, 3])
def test_blocks_used_in_registers_by_a_loop_of_products(device, num_stages, num_warps):
    m, k = 64, 160
    a, g = exact_values("float16", (m, k), 1), exact_values("float32", (m, k), 2, -2, 2)
    b, c = exact_values("float16", (k, m), 3), device.empty((m, m), np.float32)
    blocks = [device.descriptor(device.array(x), shape) for x, shape in ((a, (m, 32)), (g, (m, 32)), (b, (32, m)))]
    launch = {"BM": m, "BK": 32, "num_warps": num_warps, "num_stages": num_stages}
    device.run(multiply_scaled, (1,), *blocks, device.descriptor(c, (m, m)), k, **launch)
    scaled = a.astype(np.float32) * g
    expected = scaled @ b.astype(np.float32) + a.astype(np.float32) @ scaled.T
    np.testing.assert_array_equal(device.numpy(c), expected)
