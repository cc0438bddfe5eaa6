# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers of the OCP microscaling formats as torch tensors of their bits, for tests and references.

A value of such a format is an element times the scale of its block. MXFP4Tensor holds
elements of 4 bits (E2M1: a sign, two bits of exponent, one of mantissa) and MXScaleTensor
scales of 8 bits (E8M0: an exponent with bias 127; 255 is NaN), one per uint8.
"""

from __future__ import annotations

import torch

# The magnitudes of E2M1 by their three lower bits.
_MAGNITUDES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
_SCALE_BIAS, _SCALE_NAN = 127, 255


class _Bits:
    """`data`: uint8 per element; made from floats, or of a size that `random` fills."""

    def __init__(self, data=None, size=None, device=None):
        if data is None and size is None:
            raise ValueError("either data or size must be given")
        if data is not None:
            if not isinstance(data, torch.Tensor):
                raise AssertionError(f"data must be a torch tensor, not {type(data).__name__}")
            self.device = data.device
            self.data = self._from_float(data)
        else:
            self.device = device
            self.size = tuple(size) if isinstance(size, (tuple, list)) else (size,)

    def _random_bits(self, low, high):
        return torch.randint(low, high, self.size, dtype=torch.uint8, device=self.device)


def _check_float32(dtype):
    if dtype != torch.float32:
        raise AssertionError(f"microscaling bits convert to float32, not to {dtype}")


class MXFP4Tensor(_Bits):
    """Elements of 4 bits, E2M1."""

    def random(self):
        """Fills it with bits of every kind; returns itself."""
        self.data = self._random_bits(0, 16)
        return self

    def to(self, dtype):
        """The numbers as float32."""
        _check_float32(dtype)
        magnitudes = torch.tensor(_MAGNITUDES, dtype=dtype, device=self.data.device)[(self.data & 7).long()]
        return torch.where((self.data & 8) != 0, -magnitudes, magnitudes)

    def _from_float(self, values):
        """To nearest, ties to an even mantissa; what is too large, infinite or NaN becomes 6."""
        magnitudes = torch.tensor(_MAGNITUDES, dtype=torch.float32, device=values.device)
        absolute = values.abs().float()
        # Rounding up begins at the middle, or just above it where the lower neighbour is even.
        middles = (magnitudes[1:] + magnitudes[:-1]) / 2
        above = absolute.unsqueeze(-1) > middles
        at = absolute.unsqueeze(-1) == middles
        is_lower_odd = torch.arange(7, device=values.device) % 2 == 1
        bits = (above | (at & is_lower_odd)).sum(-1)
        bits = torch.where(torch.isfinite(absolute), bits, 7)
        return (bits | (torch.signbit(values).to(bits.dtype) << 3)).to(torch.uint8)

    def to_packed_tensor(self, dim):
        """Two elements per byte along `dim`, the first in the lower half; odd lengths end with a zero."""
        if not 0 <= dim < self.data.ndim:
            raise AssertionError(f"dimension {dim} is none of {self.data.ndim}")
        data = self.data
        if data.shape[dim] % 2:
            row = data.narrow(dim, 0, 1)
            data = torch.cat([data, torch.zeros_like(row)], dim)
        pairs = data.unflatten(dim, (-1, 2))
        return pairs.select(dim + 1, 0) | (pairs.select(dim + 1, 1) << 4)

    def unpack_packed_tensor(self, packed_tensor, dim, original_shape):
        """The inverse of to_packed_tensor: a byte per element."""
        both = torch.stack([packed_tensor & 15, packed_tensor >> 4], dim + 1).flatten(dim, dim + 1)
        return both.narrow(dim, 0, original_shape[dim]).to(torch.uint8)


def fp8e8m0_to_float32(scale):
    """Scales of 8 bits as float32."""
    exponents = scale.view(torch.uint8).to(torch.int32)
    # 2^-127 is below float32's normal numbers; its bits are the upper one of the mantissa.
    bits = torch.where(exponents == 0, 1 << 22, exponents << 23)
    return torch.where(exponents == _SCALE_NAN, 0x7FC00000, bits).to(torch.int32).view(torch.float32)


class MXScaleTensor(_Bits):
    """Scales of blocks, E8M0: powers of two."""

    def random(self, low=None, high=None):
        """Fills it with scales from `low` to `high` (all but NaN where not given); returns itself."""
        least = 0 if low is None else max(0, _exponent(low) + _SCALE_BIAS)
        largest = 254 if high is None else min(254, max(0, _exponent(high) + _SCALE_BIAS))
        if least > largest:
            raise AssertionError(f"low={low} is above high={high}")
        self.data = self._random_bits(least, largest + 1)
        return self

    def to(self, dtype):
        """The scales as float32."""
        _check_float32(dtype)
        return fp8e8m0_to_float32(self.data)

    def _from_float(self, values):
        """The power of two at or below each; NaN for what is not positive and finite."""
        is_valid = torch.isfinite(values) & (values > 0)
        _, exponents = torch.frexp(torch.where(is_valid, values, torch.ones_like(values)).float())
        bits = (exponents - 1 + _SCALE_BIAS).clamp(0, 254)
        return torch.where(is_valid, bits, _SCALE_NAN).to(torch.uint8)


def _exponent(number) -> int:
    return int(torch.frexp(torch.tensor(float(number)))[1]) - 1
