# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Descriptors of arrays that only the kernel knows: each program makes its tensor maps.

What they describe is computed from indices of programs and loops, or read from memory.
On sm_90a blocks go by TMA, elsewhere by pointers; what a kernel means is the same.
"""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.assemble import assemble_for
from harness.devices import Emulator
from harness.tensor_core_cases import module
from harness.tensor_core_runs import segments
from harness.element_types import ALL, FLOATS, FP8, exact_values, random_values, multiple_of_16_bytes

# Also on the CPU, from the PTX.
EMULATED = True


# ---------------------------------------------------------------------------
# Made once, from what memory says
# ---------------------------------------------------------------------------


@tilewright.jit
def copy_listed(x_ptr, out_ptr, table_ptr, BM: tl.constexpr, BN: tl.constexpr):
    entry = table_ptr + tl.program_id(0) * 3
    start, m, n = tl.load(entry), tl.load(entry + 1), tl.load(entry + 2)
    x = tl.make_tensor_descriptor(x_ptr + start, [m, n], [n, 1], [BM, BN])
    out = tl.make_tensor_descriptor(out_ptr + start, [m, n], [n, 1], [BM, BN])
    for i in range(0, m, BM):
        for j in range(0, n, BN):
            out.store([i, j], x.load([i, j]))


@pytest.mark.parametrize("name", ALL + FP8)
def test_arrays_of_every_type(device, name):
    unit = multiple_of_16_bytes(name)
    sizes, start = [], 0
    # An array without rows, one of a single row, tails in both directions.
    for m, units in ((9, 5), (0, 3), (1, 1), (16, 4)):
        sizes.append((start, m, units * unit))
        start += m * units * unit
    x = random_values(name, (start + 8 * unit,), 1)
    out = device.empty(x.shape, x.dtype)
    device.run(copy_listed, (len(sizes),), device.array(x), out, device.array(np.array(sizes, np.int32)), BM=8, BN=2 * unit)
    result = device.numpy(out)
    expected = np.full(x.nbytes, 0xA5 if x.dtype != np.bool_ else 1, np.uint8).view(x.dtype)
    expected[:start] = x[:start]
    np.testing.assert_array_equal(result.view(np.uint8), expected.view(np.uint8))


@tilewright.jit
def load_listed(x_ptr, out_ptr, table_ptr, i, j, BM: tl.constexpr, BN: tl.constexpr, PADDING: tl.constexpr):
    m, n, stride = tl.load(table_ptr), tl.load(table_ptr + 1), tl.load(table_ptr + 2)
    x = tl.make_tensor_descriptor(x_ptr, [m, n], [stride, 1], [BM, BN], padding_option=PADDING)
    offsets = tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :]
    tl.store(out_ptr + offsets, x.load([i, j]))


@pytest.mark.parametrize("name", FLOATS + FP8)
@pytest.mark.parametrize("padding", ["zero", "nan"])
@pytest.mark.parametrize("i,j,shape", [
    (0, 0, (16, 32)), (-3, -16, (16, 32)), (13, 16, (16, 32)), (100, 0, (16, 32)), (0, 0, (3, 21)), (0, 0, (0, 32)),
    (-2, 0, (5, -1)),
])  # fmt: skip
def test_padding(device, name, padding, i, j, shape):
    x = exact_values(name, (16, 32), low=1)
    out = device.empty((8, 16), x.dtype)
    table = np.array([*shape, 32], np.int32)
    device.run(load_listed, (1,), device.array(x), out, device.array(table), i, j, BM=8, BN=16, PADDING=padding)
    result = device.numpy(out).astype(np.float64)
    outside = np.nan if padding == "nan" else 0
    expected = np.full((8, 16), outside)
    for row in range(8):
        for column in range(16):
            if 0 <= i + row < shape[0] and 0 <= j + column < shape[1]:
                expected[row, column] = float(x[i + row, j + column])
    np.testing.assert_array_equal(result, expected)


@tilewright.jit
def copy_of_rank(x_ptr, out_ptr, table_ptr, RANK: tl.constexpr, BLOCK: tl.constexpr):
    """Extents from memory, outermost first."""
    n0, n1, n2 = tl.load(table_ptr), tl.load(table_ptr + 1), tl.load(table_ptr + 2)
    n3, n4 = tl.load(table_ptr + 3), tl.load(table_ptr + 4)
    if RANK == 1:
        x = tl.make_tensor_descriptor(x_ptr, [n4], [1], BLOCK)
        out = tl.make_tensor_descriptor(out_ptr, [n4], [1], BLOCK)
        for e in range(0, n4, BLOCK[0]):
            out.store([e], x.load([e]))
    elif RANK == 3:
        x = tl.make_tensor_descriptor(x_ptr, [n2, n3, n4], [n3 * n4, n4, 1], BLOCK)
        out = tl.make_tensor_descriptor(out_ptr, [n2, n3, n4], [n3 * n4, n4, 1], BLOCK)
        for c in range(0, n2, BLOCK[0]):
            for e in range(0, n4, BLOCK[2]):
                out.store([c, 0, e], x.load([c, 0, e]))
    else:
        s2 = n3 * n4
        s1 = n2 * s2
        x = tl.make_tensor_descriptor(x_ptr, [n0, n1, n2, n3, n4], [n1 * s1, s1, s2, n4, 1], BLOCK)
        out = tl.make_tensor_descriptor(out_ptr, [n0, n1, n2, n3, n4], [n1 * s1, s1, s2, n4, 1], BLOCK)
        for a in range(0, n0, BLOCK[0]):
            for b in range(0, n1, BLOCK[1]):
                out.store([a, b, 0, 0, 0], x.load([a, b, 0, 0, 0]))


@pytest.mark.parametrize("shape,block", [
    ((1, 1, 1, 1, 1000), (256,)), ((1, 1, 3, 20, 72), (2, 32, 64)), ((1, 1, 3, 300, 8), (1, 512, 8)),
    ((3, 3, 5, 6, 40), (2, 1, 8, 8, 64)),
])  # fmt: skip
def test_ranks(device, shape, block):
    x = random_values("float32", shape)
    out = device.empty(shape, np.float32)
    device.run(copy_of_rank, (1,), device.array(x), out, device.array(np.array(shape, np.int32)), RANK=len(block), BLOCK=block)
    np.testing.assert_array_equal(device.numpy(out), x)


@tilewright.jit
def combine_listed(value_ptr, out_ptr, table_ptr, OP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    m, n = tl.load(table_ptr), tl.load(table_ptr + 1)
    out = tl.make_tensor_descriptor(out_ptr, [m, n], [n, 1], [BM, BN])
    value = tl.load(value_ptr + tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :])
    if OP == "add":
        out.atomic_add([4, 16], value)
    elif OP == "min":
        out.atomic_min([4, 16], value)
    else:
        out.atomic_max([4, 16], value)


@pytest.mark.parametrize("name,op", [
    ("float16", "add"), ("bfloat16", "add"), ("float32", "add"), ("int32", "add"), ("int32", "min"), ("uint32", "min"),
    ("int64", "max"), ("uint64", "max"), ("float32", "max"),
])  # fmt: skip
def test_reductions(device, name, op):
    """Which of two integers is less depends on the type in the map."""
    values = exact_values if name.startswith(("float", "bfloat")) else random_values
    x, value = values(name, (10, 32), 1), values(name, (8, 32), 2)
    out = device.array(x)
    device.run(combine_listed, (1,), device.array(value), out, device.array(np.array([10, 32], np.int32)), OP=op, BM=8, BN=32)
    expected = x.copy()
    combine = {"add": np.add, "min": np.minimum, "max": np.maximum}[op]
    expected[4:, 16:] = combine(x[4:, 16:], value[:6, :16])
    np.testing.assert_array_equal(device.numpy(out), expected)


# ---------------------------------------------------------------------------
# Passed around
# ---------------------------------------------------------------------------


@tilewright.jit
def load_from(x, i):
    return x.load([i, 0])


@tilewright.jit
def describe_row_block(x_ptr, index, M, N, BM: tl.constexpr, BN: tl.constexpr):
    return tl.make_tensor_descriptor(x_ptr + index * M * N, [M, N], [N, 1], [BM, BN])


@tilewright.jit
def carried(x_ptr, out_ptr, pick_ptr, M, N, COUNT, BM: tl.constexpr, BN: tl.constexpr):
    """Through functions, branches and loops; used an iteration after it was made."""
    x = describe_row_block(x_ptr, tl.program_id(0), M, N, BM, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for i in range(COUNT):
        pick = tl.load(pick_ptr + i)
        if pick > 1:
            y = describe_row_block(x_ptr, pick, M, N, BM, BN)
        else:
            y = x
        total += load_from(y, i) + load_from(x, 0)
        x = describe_row_block(x_ptr, pick, M, N, BM, BN)
    while M > BM:
        total += load_from(x, 1)
        x = describe_row_block(x_ptr, 2, M, N, BM, BN)
        M -= 8
    tl.store(out_ptr + tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :], total)


def test_carried_through_control_flow(device):
    x = exact_values("float32", (4, 16, 32))
    picks = np.array([3, 0, 2, 1, 3], np.int32)
    out = device.empty((8, 32), np.float32)
    device.run(carried, (1,), device.array(x), out, device.array(picks), 16, 32, 5, BM=8, BN=32)
    expected, current = np.zeros((8, 32), np.float32), x[0]
    for i, pick in enumerate(picks):
        expected += (x[pick] if pick > 1 else current)[i : i + 8] + current[:8]
        current = x[pick]
    expected += current[1:9]
    np.testing.assert_array_equal(device.numpy(out), expected)


@tilewright.jit
def mixed(x_ptr, out_ptr, table_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    """One variable for a map of the launch and one of the program; threads write what TMA reads."""
    x = tl.make_tensor_descriptor(x_ptr, [M, N], [N, 1], [BM, BN])
    start = tl.load(table_ptr)
    if start > 0:
        x = tl.make_tensor_descriptor(x_ptr + start, [M - 8, N], [N, 1], [BM, BN])
    tl.store(x_ptr + start + tl.arange(0, 16), 7.0)
    block = x.load([0, 0])
    x.store([0, 0], block + 1)
    tl.store(out_ptr + tl.arange(0, 16), tl.load(x_ptr + start + N + tl.arange(0, 16)))


@pytest.mark.parametrize("start", [0, 8 * 32])
def test_maps_of_launch_and_program_in_one_variable(device, start):
    x = exact_values("float32", (16, 32))
    array, out = device.array(x), device.empty((16,), np.float32)
    device.run(mixed, (1,), array, out, device.array(np.array([start], np.int32)), 16, 32, BM=8, BN=32)
    row = start // 32
    expected = x.copy()
    expected[row, :16] = 7
    expected[row : row + 8] += 1
    np.testing.assert_array_equal(device.numpy(array), expected)
    np.testing.assert_array_equal(device.numpy(out), expected[row + 1, :16])


# ---------------------------------------------------------------------------
# Grouped products
# ---------------------------------------------------------------------------

GROUPS = [
    [(64, 64, 32)],
    [(40, 72, 56), (1, 8, 8), (100, 40, 16), (33, 32, 40)],
    # Experts without tokens, also the first and the last.
    [(0, 32, 16), (70, 32, 16), (0, 32, 16), (5, 24, 104), (0, 32, 16)],
]


@pytest.mark.parametrize("sizes", GROUPS, ids=["one", "uneven", "empty"])
@pytest.mark.parametrize("programs", [1, 3])
def test_grouped_product(device, sizes, programs):
    lesson = module("tutorials", "08_grouped_gemm")
    table, elements = lesson.pack(sizes)
    a, b = exact_values("float16", (elements[0],), low=-2), exact_values("float16", (elements[1],), 1, low=-2)
    out = device.array(np.full(elements[2], 99, np.float16))
    device.run(
        lesson.descriptor_kernel,
        (programs,),
        device.array(a),
        device.array(b),
        out,
        device.array(table),
        len(sizes),
        BLOCK_M=64,
        BLOCK_N=32,
        BLOCK_K=32,
        num_warps=4,
        num_stages=3,
    )
    expected = np.full(elements[2], 99.0)
    for m, n, k, at_a, at_b, at_c in table:
        product = a[at_a : at_a + m * k].reshape(m, k).astype(float) @ b[at_b : at_b + k * n].reshape(k, n)
        expected[at_c : at_c + m * n] = product.ravel()
    np.testing.assert_array_equal(device.numpy(out).astype(np.float64), expected)


def compile_lesson(target):
    kernel = module("tutorials", "08_grouped_gemm").descriptor_kernel
    array, table = np.zeros(64, np.float16), np.zeros(6, np.int32)
    return assemble_for(kernel, target, (array, array, array, table, 5, 128, 128, 64), {"num_warps": 8})


def test_lesson_uses_tma():
    compiled = compile_lesson("sm_90a")
    assert sum("tensor-map: applied" in remark for remark in compiled.remarks) == 3, compiled.remarks
    assert any("pipeline: applied" in remark and "TMA" in remark for remark in compiled.remarks), compiled.remarks
    assert compiled.metadata.global_scratch_size > 0 and compiled.metadata.global_scratch_align == 128
    assert compiled.metadata.written_args == ["c_ptr"]
    assert "cp.async.bulk.tensor.2d.global.shared::cta" in compiled.asm["ptx"]
    older = compile_lesson("sm_80")
    assert older.metadata.global_scratch_size == 0 and "tensor" not in older.asm["ptx"]


@tilewright.jit
def multiply_listed(pointers_ptr, sizes_ptr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Addresses and sizes of the matrices come from memory."""
    entry = pointers_ptr + tl.program_id(0) * 3
    size = sizes_ptr + tl.program_id(0) * 3
    m, n, k = tl.load(size), tl.load(size + 1), tl.load(size + 2)
    pointer = tl.pointer_type(tl.float16)
    a = tl.make_tensor_descriptor(tl.load(entry).to(pointer), [m, k], [k, 1], [BM, BK])
    b = tl.make_tensor_descriptor(tl.load(entry + 1).to(pointer), [k, n], [n, 1], [BK, BN])
    c = tl.make_tensor_descriptor(tl.load(entry + 2).to(pointer), [m, n], [n, 1], [BM, BN])
    for i in range(0, m, BM):
        for j in range(0, n, BN):
            total = tl.zeros((BM, BN), tl.float32)
            for start in range(0, k, BK):
                total = tl.dot(a.load([i, start]), b.load([start, j]), total)
            c.store([i, j], total.to(tl.float16))


def test_table_of_addresses_uses_tma():
    arguments = (np.zeros(3, np.int64), np.zeros(3, np.int32), 64, 64, 32)
    compiled = assemble_for(multiply_listed, "sm_90a", arguments, {"num_warps": 4})
    assert sum("tensor-map: applied" in remark for remark in compiled.remarks) == 3
    assert "cp.async.bulk.tensor.2d.shared::cluster.global" in compiled.asm["ptx"]


def test_table_of_addresses(gpu):
    import torch

    sizes = [(96, 72, 40), (1, 8, 8), (130, 64, 104)]
    matrices = [[torch.randint(-2, 3, shape, device="cuda").half() for shape in ((m, k), (k, n), (m, n))]
                for m, n, k in sizes]  # fmt: skip
    pointers = torch.tensor([[x.data_ptr() for x in row] for row in matrices], device="cuda")
    table = torch.tensor(sizes, dtype=torch.int32, device="cuda")
    for _ in range(20):
        for _, _, c in matrices:
            c.fill_(99)
        multiply_listed[(len(sizes),)](pointers, table, BM=64, BN=64, BK=32)
        for a, b, c in matrices:
            torch.testing.assert_close(c, (a.float() @ b.float()).half(), rtol=0, atol=0)


# ---------------------------------------------------------------------------
# What stays pointers, and why
# ---------------------------------------------------------------------------


@tilewright.jit
def offset_by_program(x_ptr, out_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr, PADDING: tl.constexpr = "zero"):
    x = tl.make_tensor_descriptor(x_ptr + tl.program_id(0) * M * N, [M, N], [N, 1], [BM, BN], padding_option=PADDING)
    tl.store(out_ptr + tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :], x.load([0, 0]))


def compile_offset(divisible, element="fp32", target="sm_90a", block=(8, 32), padding="zero", **options):
    signature = {"x_ptr": f"*{element}", "out_ptr": f"*{element}", "M": "i32", "N": "i32"}
    constants = {"BM": block[0], "BN": block[1], "PADDING": padding}
    source = tilewright.ASTSource(offset_by_program, signature, constants, {name: 16 for name in divisible})
    return tilewright.compile(source, target, options)


def remarks_about_maps(compiled):
    return [remark for remark in compiled.remarks if "tensor-map" in remark]


@pytest.mark.parametrize("divisible,options,reason", [
    (["N"], {}, "the base is not known to be a multiple of 16 bytes"),
    (["x_ptr"], {}, "the base is not known to be a multiple of 16 bytes"),
    (["x_ptr", "M"], {}, "stride 0 is not known to be a multiple of 16 bytes; tl.multiple_of would say so"),
    (["x_ptr", "N"], {"element": "fp8e5", "padding": "nan"}, "TMA has no NaN of this type to pad with"),
    (["x_ptr", "N"], {"element": "i1"}, "TMA does not suit such blocks"),
    (["x_ptr", "N"], {"launch_pdl": True}, "this kernel cannot make tensor maps, and the launch does not know the array"),
    (["x_ptr", "N"], {"target": "sm_90"}, "this kernel cannot make tensor maps, and the launch does not know the array"),
])  # fmt: skip
def test_what_stays_pointers(divisible, options, reason):
    compiled = compile_offset(divisible, **options)
    (remark,) = remarks_about_maps(compiled)
    assert f"tensor-map: refused ({reason})" in remark and "test_device_descriptors.py:" in remark
    assert "cp.async.bulk" not in compiled.asm["ptx"] and compiled.metadata.global_scratch_size == 0


def test_what_is_known_of_arguments_is_enough():
    (remark,) = remarks_about_maps(compile_offset(["x_ptr", "N"]))
    assert "tensor-map: applied, slots=1" in remark
    assert not remarks_about_maps(compile_offset(["x_ptr", "N"], target="sm_80"))


def test_debug_mode_checks_the_demands():
    assert "tw.assert" not in compile_offset(["x_ptr", "N"]).asm["ttgir"]
    text = compile_offset(["x_ptr", "N"], debug=True).asm["ttgir"]
    assert "make_tensor_descriptor: the base or a stride is no multiple of 16 bytes" in text


def test_rows_that_are_no_multiple_of_16_bytes(device):
    """The launch sees it, so that pointers serve."""
    x = exact_values("float32", (8, 33))
    out = device.empty((8, 32), np.float32)
    device.run(offset_by_program, (1,), device.array(x), out, 8, 33, BM=8, BN=32)
    np.testing.assert_array_equal(device.numpy(out), x[:, :32])


# ---------------------------------------------------------------------------
# What the emulator notices
# ---------------------------------------------------------------------------


@pytest.mark.parametrize("line,message", [
    ("fence.proxy.tensormap::generic.acquire", "no address of a tensor map that the thread has acquired"),
    ("tensormap.cp_fenceproxy", "acquires a tensor map that nobody has released"),
    ("tensormap.replace.tile.rank", "a tensor map without its rank"),
    ("tensormap.replace.tile.global_dim", "a tensor map without its global_dim"),
])  # fmt: skip
def test_omissions_are_seen(line, message):
    from harness.ptx_words import EmulationError

    def without(ptx):
        broken = "\n".join(text for text in ptx.splitlines() if line not in text)
        assert broken != ptx
        return broken

    with pytest.raises(EmulationError, match=message):
        segments(Emulator("sm_90a", without), 3)


def test_too_few_slots_are_seen():
    """A map that is made again while loads of earlier iterations read it."""
    import re

    from harness.ptx_words import EmulationError

    def with_one_slot(ptx):
        # The counters of slots run to 3; those of rings are compared.
        broken = re.sub(r"(and\.b32\s+%r\d+, %r\d+, )3;", r"\g<1>0;", ptx)
        assert broken != ptx
        return broken

    with pytest.raises(EmulationError, match="makes a tensor map again that a copy under way reads"):
        segments(Emulator("sm_90a", with_one_slot), 9)


def test_boxes_far_outside_are_seen():
    """Their addresses would wrap. Boxes that an empty array stands for lie right in front of it."""
    from harness.ptx_words import EmulationError

    def farther(ptx):
        broken = ptx.replace("-256", str(-(1 << 30)))
        assert broken != ptx
        return broken

    emulator = Emulator("sm_90a", farther)
    x, out = emulator.array(exact_values("float32", (16, 32))), emulator.empty((8, 16), np.float32)
    table = emulator.array(np.array([0, 32, 32], np.int32))
    with pytest.raises(EmulationError, match="a box at .*, which is no address|a box at coordinate"):
        emulator.run(load_listed, (1,), x, out, table, 0, 0, BM=8, BN=16, PADDING="zero")
