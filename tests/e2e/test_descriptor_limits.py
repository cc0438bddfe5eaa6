# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What TMA cannot do with host-side descriptors goes through pointers, or is refused."""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.devices import Emulator, Interpreter
from harness.ptx_words import EmulationError
from harness.element_types import exact_values
from tilewright import errors
from tilewright.tools.tensor_descriptor import TensorDescriptor

# Also on the CPU, from the PTX.
EMULATED = True


# ---------------------------------------------------------------------------
# What TMA cannot do
# ---------------------------------------------------------------------------


@tilewright.jit
def store_parts(value_ptr, out, i, j, BM: tl.constexpr, BN: tl.constexpr, OP: tl.constexpr):
    value = tl.load(value_ptr + tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :])
    if OP == "store":
        out.store([i, j], value)
    else:
        out.atomic_add([i, j], value)


@tilewright.jit
def store_parts_inside(value_ptr, out_ptr, M, N, STRIDE, i, j, BM: tl.constexpr, BN: tl.constexpr, OP: tl.constexpr):
    store_parts(value_ptr, tl.make_tensor_descriptor(out_ptr, [M, N], [STRIDE, 1], [BM, BN]), i, j, BM, BN, OP)


@pytest.mark.parametrize(
    "name,op", [("float16", "store"), ("uint8", "store"), ("int32", "store"), ("float16", "add"), ("int32", "add")]
)
@pytest.mark.parametrize("columns", [64, 63, 61, 49, 48])
@pytest.mark.parametrize("form", ["argument", "made"])
def test_nothing_is_stored_behind_a_row(device, name, op, columns, form):
    """The array is a part of a wider one, whose other columns must stay."""
    whole, value = exact_values(name, (20, 80), 1, low=1), exact_values(name, (16, 32), 2, low=1)
    expected = whole.copy()
    part = expected[8:20, 32:columns]
    part[...] = value[:12, : columns - 32] + (part if op == "add" else 0)
    out = device.array(whole)
    if form == "made":
        device.run(store_parts_inside, (1,), device.array(value), out, 20, columns, 80, 8, 32, BM=16, BN=32, OP=op)
    else:
        view = device.descriptor(out, (16, 32))
        view.shape = [20, columns]
        device.run(store_parts, (1,), device.array(value), view, 8, 32, BM=16, BN=32, OP=op)
    np.testing.assert_array_equal(device.numpy(out), expected)


@tilewright.jit
def pass_on(x, steps):
    for i in range(steps):
        x.store([i * 8 + 8, 0], x.load([i * 8, 0]) + x.load([0, 0]))
        x.atomic_add([i * 8 + 8, 0], x.load([0, 0]))


@pytest.mark.parametrize("columns", [32, 29])
@pytest.mark.parametrize("stages", [1, 3])
def test_loads_by_tma_see_what_pointers_have_stored(device, columns, stages):
    first = exact_values("int32", (8, 32))
    whole = np.concatenate([first, np.full((40, 32), 5, np.int32)])
    expected = whole.copy()
    for i in range(5):
        expected[8 * i + 8 : 8 * i + 16, :columns] = (i * 2 + 3) * first[:, :columns]
    out = device.array(whole)
    view = device.descriptor(out, (8, 32))
    view.shape = [48, columns]
    device.run(pass_on, (1,), view, 5, num_stages=stages)
    np.testing.assert_array_equal(device.numpy(out), expected)


@tilewright.jit
def copy_at_constants(x, out, I: tl.constexpr, J: tl.constexpr):
    n = x.block_shape[1]
    out.store([I, J + n * tl.program_id(0)], x.load([I + 1, J + n * tl.program_id(0)]))


@pytest.mark.parametrize("i,j", [(0, 0), (-3, 0), (-2, -16), (0, 3), (5, -1)])
def test_coordinates_that_are_known(device, i, j):
    """Those that TMA cannot take go through pointers."""
    x = exact_values("float32", (10, 64), low=1)
    out = device.array(np.zeros_like(x))
    device.run(copy_at_constants, (3,), device.descriptor(device.array(x), (8, 32)), device.descriptor(out, (8, 32)), I=i, J=j)
    expected = np.zeros((40, 200), np.float32)
    wide = np.zeros((40, 200), np.float32)
    wide[10:20, 50:114] = x
    rows, columns = slice(10 + i, 18 + i), slice(50 + j, 50 + j + 96)
    expected[rows, columns] = wide[11 + i : 19 + i, columns]
    np.testing.assert_array_equal(device.numpy(out), expected[10:20, 50:114])


def compile_store(options, **constants):
    source = tilewright.compiler.ASTSource(
        store_parts,
        {"value_ptr": "*fp16", "out": "tensordesc<fp16[16,32]>", "i": "i32", "j": "i32"},
        {"BM": 16, "BN": 32, "OP": "store", **constants},
        {"out": 16, "value_ptr": 16},
    )
    return tilewright.compile(source, "sm_90a", options)


def test_debug_mode_checks_coordinates():
    plain, checked = compile_store({}), compile_store({"debug": True})
    assert "cp.async.bulk.tensor.2d.global" in plain.asm["ptx"] and "no multiple of 16" not in plain.asm["ttir"]
    assert "cp.async.bulk.tensor.2d.global" in checked.asm["ptx"]
    for text in ("the last coordinate is no multiple of 16 bytes", "a store at a negative coordinate"):
        assert text in checked.asm["ttir"]


@pytest.mark.parametrize(
    "i,j,problem", [(-1, 0, "negative coordinates"), (0, -32, "negative coordinates"), (0, 3, "no multiple of 16 bytes")]
)
def test_emulator_refuses_what_tma_cannot_do(i, j, problem):
    device = Emulator("sm_90a")
    out = device.descriptor(np.zeros((20, 64), np.float16), (16, 32))
    with pytest.raises(EmulationError, match=problem):
        device.run(store_parts, (1,), np.zeros((16, 32), np.float16), out, i, j, BM=16, BN=32, OP="store")


@pytest.mark.parametrize(
    "strides, reason", [([12, 1], "a stride of 24 bytes"), ([-16, 1], "strides[0] is -16"), ([16, 2], "the last stride is 2")]
)
def test_rules_of_arrays_on_the_cpu(strides, reason):
    """What a GPU would refuse, but for where the array begins."""
    with pytest.raises(errors.InvalidDescriptor) as caught:
        TensorDescriptor(np.zeros((16, 16), np.float16), [8, 8], strides, [8, 8])
    assert caught.value.code == "E0215" and caught.value.message == f"'descriptor': {reason}"


@tilewright.jit
def doubled_boxes(source, target, BM: tl.constexpr, BN: tl.constexpr):
    block = tl.program_id(0)
    value = source.load([block, 0, 0]).reshape(BM, BN)
    target.store([block, 0, 0], (value * 2).reshape(1, BM, BN))


@pytest.mark.parametrize("evaluator", [Interpreter(), Emulator("sm_90a")], ids=["interpreter", "emulator"])
def test_descriptors_of_columns_of_one_array(evaluator):
    """Three matrices side by side in one array, as fused layers keep them: a view is no array of its own."""
    whole = np.zeros((3, 37, 3 * 96), np.float16)
    parts = [whole[:, :, 96 * i : 96 * (i + 1)] for i in range(3)]
    parts[0][...] = exact_values("float16", (3, 37, 96), 1, low=1)
    first, second = parts[0].copy(), np.zeros((3, 37, 96), np.float16)
    second[:, :, :64] = 2 * first[:, :, :64]
    evaluator.run(doubled_boxes, (3,), *(TensorDescriptor.from_tensor(part, [1, 64, 64]) for part in parts[:2]), 64, 64)
    for part, expected in zip(parts, [first, second, np.zeros_like(first)]):
        np.testing.assert_array_equal(part, expected)
