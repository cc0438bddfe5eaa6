# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of block-scaled operands (`tl.dot_scaled`), on top of `tl.dot`.

No supported GPU multiplies these formats itself: each operand becomes bfloat16
(float16 where one of them is), is multiplied by its scales and goes to tl.dot. All
values of the small formats are exact in both.
"""

from __future__ import annotations

from .. import errors
from . import core
from .core import builtin, unwrap

_FORMATS = {"e2m1": core.uint8, "e4m3": core.float8e4nv, "e5m2": core.float8e5, "bf16": core.bfloat16, "fp16": core.float16}


def _wrong(message, help, code="E0117", sentence=""):
    return errors.make(code, message=f"tl.dot_scaled: {message}", help=help, sentence=sentence)


class _Side:
    """One operand: its elements, its format, its scales, the axis of K."""

    def __init__(self, name, value, scale, format, k_pack, k_axis):
        self.name, self.value, self.scale = name, value, unwrap(scale)
        self.format, self.k_pack, self.k_axis = unwrap(format), bool(unwrap(k_pack)), k_axis
        self._check()

    def _check(self):
        if self.format not in _FORMATS:
            raise _wrong(f"{self.name}_format is {self.format!r}", "choose one of " + ", ".join(map(repr, _FORMATS)))
        if len(self.value.shape) not in (2, 3):
            raise _wrong(
                f"{self.name} is {self.value.type.short_name}", "operands need two dimensions, or three with a batch", "E0121"
            )
        stored = _FORMATS[self.format]
        is_bytes = stored.primitive_bitwidth == 8 and self.value.dtype == core.uint8
        if self.value.dtype != stored and not is_bytes:
            raise _wrong(
                f"{self.name} is {self.value.type.short_name}, its format '{self.format}' is stored as {stored}",
                "load or cast it as that type",
                "E0116",
            )
        if not self.k_pack and self.format != "e2m1":
            raise _wrong(
                f"{self.name}_k_pack=False with format '{self.format}'", "only e2m1 has two elements in a byte; leave it out"
            )
        if self.scale is not None:
            self._check_scale()

    def _check_scale(self):
        if self.scale.dtype not in (core.uint8, core.float8e4nv):
            raise _wrong(
                f"{self.name}_scale is {self.scale.type.short_name}",
                "pass exponents (E8M0) as uint8, one per 32 elements, or float8e4nv, one per 16",
                "E0116",
            )
        shape = self.shape()
        rows = shape[-1] if self.k_axis == -2 else shape[-2]
        expected = [*shape[:-2], rows, shape[self.k_axis] // self.group()]
        if [int(n) for n in self.scale.shape] != expected:
            raise _wrong(
                f"{self.name}_scale is {self.scale.type.short_name}, {expected} is required",
                f"the scales of {self.name} are [{'N' if self.k_axis == -2 else 'M'}, K / {self.group()}]",
                "E0121",
                f"{self.name}_scale must be a tensor of shape {expected}. Got {[str(int(n)) for n in self.scale.shape]}",
            )

    def group(self):
        """Elements of K that share a scale."""
        return 32 if self.scale.dtype == core.uint8 else 16

    def packed_axis(self):
        return self.k_axis if self.k_pack else -3 - self.k_axis

    def shape(self):
        """The shape in elements, where value.shape may count bytes."""
        shape = [int(n) for n in self.value.shape]
        if self.format == "e2m1":
            shape[self.packed_axis()] *= 2
        return shape

    # -- widening -------------------------------------------------------------

    def _unpacked(self, compute):
        """Two elements of e2m1 per byte, the first in the lower half."""
        nibbles = core.join(self.value, self.value >> 4)
        if self.packed_axis() == -2:
            nibbles = core.trans(nibbles)
        return _from_e2m1(core.reshape(nibbles, self.shape()), compute)

    def _elements(self, compute):
        if self.format == "e2m1":
            return self._unpacked(compute)
        return core.cast(self.value, _FORMATS[self.format], bitcast=self.value.dtype == core.uint8).to(compute)

    def _spread(self, scale):
        """One value per group along the last axis as one per element of the operand."""
        shape = [int(n) for n in scale.shape]
        wide = core.broadcast_to(core.expand_dims(scale, -1), [*shape, self.group()])
        wide = core.reshape(wide, [*shape[:-1], shape[-1] * self.group()])
        return core.trans(wide) if self.k_axis == -2 else wide

    def widened(self, compute, fast_math):
        """The scaled elements in the type `compute`."""
        elements = self._elements(compute)
        if self.scale is None:
            return elements
        if self.scale.dtype == core.float8e4nv:
            return elements * self._spread(self.scale.to(compute))
        # A power of two beyond float16 still has products inside of it.
        kind = core.bfloat16 if compute == core.bfloat16 else core.float32
        scale = _from_e8m0(self.scale, kind)
        # Before it is spread: a product with NaN is NaN, whatever the element.
        if not fast_math:
            scale = core.where(self.scale == 0xFF, float("nan"), scale)
        return (elements.to(kind) * self._spread(scale)).to(compute)


def _from_e2m1(nibble, compute):
    """A sign, two bits of exponent with bias 1, one of mantissa, in the lower half of a byte."""
    mantissa, bias = (7, 127) if compute == core.bfloat16 else (10, 15)
    bits = nibble.to(core.uint16)
    moved = ((bits & 7) << (mantissa - 1)) | ((bits & 8) << 12)
    # The bits sit where they should but for the bias, also those of a subnormal.
    return core.cast(moved, compute, bitcast=True) * 2.0 ** (bias - 1)


def _from_e8m0(exponent, kind):
    """2^(exponent - 127); 2^-127 is below the normal numbers of both types."""
    unsigned, mantissa = (core.uint16, 7) if kind == core.bfloat16 else (core.uint32, 23)
    smallest = core.full([], 1 << (mantissa - 1), unsigned)
    bits = core.maximum(exponent.to(unsigned) << mantissa, smallest)
    return core.cast(bits, kind, bitcast=True)


@builtin
def dot_scaled(
    lhs,
    lhs_scale,
    lhs_format,
    rhs,
    rhs_scale,
    rhs_format,
    acc=None,
    fast_math=False,
    lhs_k_pack=True,
    rhs_k_pack=True,
    out_dtype=core.float32,
):
    """Matrix product of [M, K] and [K, N], each multiplied by its scales, plus `acc`.

    Formats: "e2m1" (two elements per uint8, the first in the lower half, packed along
    K or, with k_pack=False, along M or N), "e4m3" and "e5m2" (fp8 or its bits in
    uint8), "bf16", "fp16". lhs_scale is [M, K / 32], rhs_scale [N, K / 32] (not
    transposed): exponents of two with bias 127 (E8M0) as uint8, or float8e4nv, then
    one per 16 elements; None for an operand without scales. An exponent of 255 is NaN;
    with fast_math that is not looked at. `acc` and the result are float32.
    """
    if unwrap(out_dtype) != core.float32:
        raise _wrong(f"out_dtype is {unwrap(out_dtype)}", "the result is float32; cast it afterwards")
    left = _Side("lhs", lhs, lhs_scale, lhs_format, lhs_k_pack, -1)
    right = _Side("rhs", rhs, rhs_scale, rhs_format, rhs_k_pack, -2)
    compute = core.float16 if "fp16" in (left.format, right.format) else core.bfloat16
    fast = bool(unwrap(fast_math))
    return core.dot(left.widened(compute, fast), right.widened(compute, fast), acc, out_dtype=core.float32)
