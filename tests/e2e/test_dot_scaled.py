# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tl.dot_scaled in every format and packing, against NumPy.

Exponents lie close together and operands have few bits, so that all sums are exact.
"""

import itertools

import ml_dtypes
import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.compare import assert_same
from harness.element_types import exact_values

EMULATED = True

M, N, K = 32, 16, 64
# What the codes of e2m1 stand for.
E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
STORED = {"e2m1": "uint8", "e4m3": "float8e4nv", "e5m2": "float8e5", "bf16": "bfloat16", "fp16": "float16"}


@tilewright.jit
def scaled_kernel(
    a_ptr,
    a_scale_ptr,
    b_ptr,
    b_scale_ptr,
    c_ptr,
    out_ptr,
    A_SHAPE: tl.constexpr,
    B_SHAPE: tl.constexpr,
    A_FORMAT: tl.constexpr,
    B_FORMAT: tl.constexpr,
    A_GROUPS: tl.constexpr,
    B_GROUPS: tl.constexpr,
    A_K_PACK: tl.constexpr,
    B_K_PACK: tl.constexpr,
    FAST: tl.constexpr,
    M: tl.constexpr,
    N: tl.constexpr,
):
    m, n = tl.arange(0, M)[:, None], tl.arange(0, N)[:, None]
    a = tl.load(a_ptr + tl.arange(0, A_SHAPE[0])[:, None] * A_SHAPE[1] + tl.arange(0, A_SHAPE[1]))
    b = tl.load(b_ptr + tl.arange(0, B_SHAPE[0])[:, None] * B_SHAPE[1] + tl.arange(0, B_SHAPE[1]))
    if A_GROUPS == 0:
        a_scale: tl.constexpr = None
    else:
        a_scale = tl.load(a_scale_ptr + m * A_GROUPS + tl.arange(0, A_GROUPS))
    if B_GROUPS == 0:
        b_scale: tl.constexpr = None
    else:
        b_scale = tl.load(b_scale_ptr + n * B_GROUPS + tl.arange(0, B_GROUPS))
    tile = m * N + tl.arange(0, N)
    acc = tl.load(c_ptr + tile)
    acc = tl.dot_scaled(
        a, a_scale, A_FORMAT, b, b_scale, B_FORMAT, acc, fast_math=FAST, lhs_k_pack=A_K_PACK, rhs_k_pack=B_K_PACK
    )
    tl.store(out_ptr + tile, acc)


class Operand:
    """Random elements of a format with their scales; axis 0 is K for the right one."""

    def __init__(self, format, rows, has_scale=True, k_pack=True, is_right=False, group=32, seed=0):
        rng = np.random.default_rng(seed)
        if format == "e2m1":
            codes = rng.integers(0, 16, (rows, K)).astype(np.uint8)
            self.values = E2M1[codes]
            low, high = (codes[:, ::2], codes[:, 1::2]) if k_pack else (codes[::2], codes[1::2])
            self.stored = low | high << 4
        else:
            self.stored = exact_values(STORED[format], (rows, K), seed)
            self.values = self.stored.astype(np.float64)
        self.format, self.k_pack, self.groups = format, k_pack, 0
        self.scale = np.zeros((rows, 1), np.uint8)
        if has_scale:
            self.groups = K // group
            if group == 32:
                self.scale = rng.integers(125, 130, (rows, self.groups)).astype(np.uint8)
                factors = 2.0 ** (self.scale.astype(np.float64) - 127)
            else:
                self.scale = rng.choice([0.5, 1.0, 1.5, 2.0], (rows, self.groups)).astype(ml_dtypes.float8_e4m3fn)
                factors = self.scale.astype(np.float64)
            self.values = self.values * np.repeat(factors, group, axis=1)
        if is_right:
            self.stored, self.values = np.ascontiguousarray(self.stored.T), self.values.T


def run(device, a, b, fast=False):
    c = exact_values("float32", (M, N), seed=9)
    out = device.empty((M, N), np.float32)
    device.run(
        scaled_kernel,
        (1,),
        device.array(a.stored),
        device.array(a.scale),
        device.array(b.stored),
        device.array(b.scale),
        device.array(c),
        out,
        a.stored.shape,
        b.stored.shape,
        a.format,
        b.format,
        a.groups,
        b.groups,
        a.k_pack,
        b.k_pack,
        fast,
        M,
        N,
    )
    return device.numpy(out), (a.values @ b.values + c).astype(np.float32)


@pytest.mark.parametrize("formats", list(itertools.product(STORED, repeat=2)), ids="-".join)
def test_formats(device, formats):
    a, b = Operand(formats[0], M), Operand(formats[1], N, is_right=True, seed=1)
    actual, expected = run(device, a, b)
    assert_same(actual, expected, signed_zeros=False)


@pytest.mark.parametrize("packs", list(itertools.product([True, False], repeat=2)), ids=str)
def test_packing(device, packs):
    a = Operand("e2m1", M, k_pack=packs[0])
    b = Operand("e2m1", N, k_pack=packs[1], is_right=True, seed=1)
    actual, expected = run(device, a, b)
    assert_same(actual, expected, signed_zeros=False)


@pytest.mark.parametrize("scales", [(True, False), (False, True), (False, False)], ids=str)
def test_absent_scales(device, scales):
    a = Operand("e4m3", M, has_scale=scales[0])
    b = Operand("bf16", N, has_scale=scales[1], is_right=True, seed=1)
    actual, expected = run(device, a, b)
    assert_same(actual, expected, signed_zeros=False)


def test_scales_of_float8(device):
    """One e4m3 number per 16 elements."""
    a, b = Operand("e2m1", M, group=16), Operand("e2m1", N, group=16, is_right=True, seed=1)
    actual, expected = run(device, a, b)
    assert_same(actual, expected, signed_zeros=False)


@pytest.mark.parametrize("other", ["bf16", "fp16"])
def test_extreme_scales(device, other):
    """2^-127 is a scale like others, and one beyond float16 may have a product inside of it."""
    a, b = Operand("e4m3", M), Operand(other, N, has_scale=False, is_right=True, seed=1)
    a.stored[...] = np.array(2.0**-6).astype(a.stored.dtype)
    a.scale[...] = 127 + 20
    a.values = np.full((M, K), 2.0**14)
    if other == "bf16":
        a.stored[0], a.scale[0], a.values[0] = 256, 0, 2.0**-119
        b.stored[...], b.values = np.array(2.0**100).astype(b.stored.dtype), np.full((K, N), 2.0**100)
    actual, expected = run(device, a, b)
    assert_same(actual, expected, signed_zeros=False)


def test_nan_scale(device):
    """255 makes its group NaN."""
    a, b = Operand("e2m1", M), Operand("e5m2", N, is_right=True, seed=1)
    a.scale[3, 1] = 255
    actual, expected = run(device, a, b)
    expected[3] = np.nan
    assert_same(actual, expected, signed_zeros=False)


def test_fast_math_changes_no_number(device):
    a, b = Operand("e2m1", M), Operand("e5m2", N, is_right=True, seed=1)
    actual, expected = run(device, a, b, fast=True)
    assert_same(actual, expected, signed_zeros=False)
