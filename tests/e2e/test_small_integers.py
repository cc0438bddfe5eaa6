# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantised weights: arithmetic on bytes as they lie in words, and small integers as 16-bit floats, in full."""

import re

import ml_dtypes
import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.compare import assert_same
from harness.devices import Emulator

EMULATED = True

BYTES = {"int8": np.arange(-128, 128).astype(np.int8), "uint8": np.arange(256).astype(np.uint8)}
HALVES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16}


@tilewright.jit
def combine(OP: tl.constexpr, x, y, C: tl.constexpr):
    if OP == "shl":
        return x << C
    elif OP == "shr":
        return x >> C
    elif OP == "and":
        return x & C
    elif OP == "or":
        return x | y
    elif OP == "xor":
        return x ^ y
    elif OP == "add":
        return x + y
    elif OP == "sub":
        return x - y
    elif OP == "sub constant":
        return (x & 15) - C
    elif OP == "both shifts":
        return (x << 4) >> 4
    else:
        return x


@tilewright.jit
def bytes_kernel(x_ptr, y_ptr, out_ptr, n, OP: tl.constexpr, C: tl.constexpr, MASKED: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if MASKED:
        x, y = tl.load(x_ptr + offsets, mask=offsets < n, other=3), tl.load(y_ptr + offsets, mask=offsets < n, other=5)
    else:
        x, y = tl.load(x_ptr + offsets), tl.load(y_ptr + offsets)
    tl.store(out_ptr + offsets, combine(OP, x, y, C).to(out_ptr.dtype.element_ty))


def expected_bytes(op, x, y, c):
    """The same in NumPy, in the type of x."""
    with np.errstate(over="ignore"):
        return {
            "shl": lambda: x << x.dtype.type(c),
            "shr": lambda: x >> x.dtype.type(c),
            "and": lambda: x & x.dtype.type(c),
            "or": lambda: x | y,
            "xor": lambda: x ^ y,
            "add": lambda: x + y,
            "sub": lambda: x - y,
            "sub constant": lambda: (x & x.dtype.type(15)) - x.dtype.type(c),
            "both shifts": lambda: (x << x.dtype.type(4)) >> x.dtype.type(4),
            "none": lambda: x,
        }[op]()


OPS = [(op, c) for op in ("shl", "shr") for c in (0, 1, 4, 7)]
OPS += [("and", 15), ("and", 112), ("sub constant", 8), *((op, 0) for op in ("or", "xor", "add", "sub", "both shifts", "none"))]


@pytest.mark.parametrize("op, c", OPS)
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("to", ["int8", "int32", "float16", "bfloat16", "float32"])
def test_bytes(device, dtype, op, c, to):
    # Each byte beside 16 others.
    rng = np.random.default_rng(0)
    x = np.repeat(BYTES[dtype], 4)
    y = rng.permutation(np.resize(BYTES[dtype], x.size))
    kind = HALVES.get(to) or np.dtype(to)
    out = device.empty(x.size, kind)
    device.run(bytes_kernel, (1,), device.array(x), device.array(y), out, x.size, OP=op, C=c, MASKED=False, BLOCK=x.size)
    assert_same(device.numpy(out), expected_bytes(op, x, y, c).astype(kind))


@pytest.mark.parametrize("to", ["float16", "bfloat16"])
def test_masked_bytes(device, to):
    x, y = BYTES["int8"], BYTES["int8"][::-1].copy()
    out = device.empty(512, HALVES[to])
    device.run(bytes_kernel, (1,), device.array(x), device.array(y), out, 255, OP="add", C=0, MASKED=True, BLOCK=512)
    expected = np.full(512, 8, np.int8)
    expected[:255] = (x + y)[:255]
    assert_same(device.numpy(out), expected.astype(HALVES[to]))


@tilewright.jit
def words_kernel(x_ptr, out_ptr, MASK: tl.constexpr, SHIFT: tl.constexpr, UNSIGNED: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    if UNSIGNED is not None:
        x = x.to(UNSIGNED)
    x = x >> SHIFT
    if MASK != 0:
        x = x & MASK
    tl.store(out_ptr + offsets, x.to(out_ptr.dtype.element_ty))


@pytest.mark.parametrize("mask, shift", [(15, 4), (127, 0), (128, 3), (255, 8), (1023, 5), (1024, 2), (2047, 5), (4095, 1)])
@pytest.mark.parametrize("dtype", ["int16", "int32", "int64"])
@pytest.mark.parametrize("to", ["float16", "bfloat16"])
def test_masked_words(device, dtype, mask, shift, to):
    limits = np.iinfo(dtype)
    x = np.random.default_rng(1).integers(limits.min, limits.max, 512, dtype, endpoint=True)
    x[:4] = limits.min, limits.max, 0, -1
    out = device.empty(512, HALVES[to])
    device.run(words_kernel, (1,), device.array(x), out, MASK=mask, SHIFT=shift, UNSIGNED=None, BLOCK=512)
    assert_same(device.numpy(out), ((x >> shift) & mask).astype(np.float32).astype(HALVES[to]))


@pytest.mark.parametrize("dtype, shift", [("int16", 12), ("int32", 28), ("int32", 22), ("int64", 57), ("int32", 20)])
@pytest.mark.parametrize("to", ["float16", "bfloat16"])
def test_upper_bits(device, dtype, shift, to):
    limits = np.iinfo(dtype)
    x = np.random.default_rng(2).integers(limits.min, limits.max, 256, dtype, endpoint=True)
    out = device.empty(256, HALVES[to])
    device.run(words_kernel, (1,), device.array(x), out, MASK=0, SHIFT=shift, UNSIGNED=getattr(tl, "u" + dtype), BLOCK=256)
    assert_same(device.numpy(out), (x.view("u" + dtype) >> shift).astype(np.float32).astype(HALVES[to]))


@tilewright.jit
def negative_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    # The mask keeps the sign: the numbers are small, and some of them negative.
    tl.store(out_ptr + offsets, (tl.load(x_ptr + offsets) & -4).to(out_ptr.dtype.element_ty))


@pytest.mark.parametrize("to", ["float16", "bfloat16"])
def test_negative_words(device, to):
    x = np.arange(-100, 156).astype(np.int32)
    out = device.empty(256, HALVES[to])
    device.run(negative_kernel, (1,), device.array(x), out, BLOCK=256)
    assert_same(device.numpy(out), (x & -4).astype(HALVES[to]))


@tilewright.jit
def unpack_kernel(packed_ptr, x_ptr, out_ptr, BITS_FIRST: tl.constexpr):
    # A product with weights of four bits: interleaved along K, or the two halves of a block.
    rows, columns, inner = tl.arange(0, 32), tl.arange(0, 32), tl.arange(0, 32)
    packed = tl.load(packed_ptr + rows[:, None] * 32 + inner[None, :])
    low, high = (packed << 4) >> 4, packed >> 4
    if BITS_FIRST:
        weights = tl.interleave(low, high).to(x_ptr.dtype.element_ty)
    else:
        weights = tl.interleave(low.to(x_ptr.dtype.element_ty), high.to(x_ptr.dtype.element_ty))
    x = tl.load(x_ptr + tl.arange(0, 64)[:, None] * 32 + columns[None, :])
    tl.store(out_ptr + rows[:, None] * 32 + columns[None, :], tl.dot(weights, x))


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("to", ["float16", "bfloat16"])
def test_product_with_four_bits(device, to, first):
    rng = np.random.default_rng(3)
    packed = rng.integers(-128, 128, (32, 32)).astype(np.int8)
    x = rng.integers(-8, 9, (64, 32)).astype(HALVES[to])
    out = device.empty((32, 32), np.float32)
    device.run(unpack_kernel, (1,), device.array(packed), device.array(x), out, BITS_FIRST=first)
    weights = np.stack([(packed << 4) >> 4, packed >> 4], axis=2).reshape(32, 64)
    assert_same(device.numpy(out), weights.astype(np.float32) @ x.astype(np.float32))


@pytest.mark.parametrize("to", ["float16", "bfloat16"])
def test_what_the_code_has(to):
    """Neither conversions of single elements nor shifts of single bytes."""
    texts = []
    emulator = Emulator("sm_90a", inspect=lambda compiled: texts.append(compiled.asm["ptx"]), num_warps=1)
    x, out = emulator.array(BYTES["int8"]), emulator.empty(256, HALVES[to])
    emulator.run(bytes_kernel, (1,), x, x, out, 256, OP="both shifts", C=0, MASKED=False, BLOCK=256)
    assert "prmt.b32" in texts[0]
    assert not re.findall(r"cvt\.rn\.\w*16|shr\.s16", texts[0])
