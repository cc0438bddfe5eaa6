# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counter-based random numbers: Philox 4x32-10 and 4x64-10, with Triton's streams.

The same seed and offset give the same bits as Triton, on every evaluator.
"""

from __future__ import annotations

import builtins

from .. import errors
from . import core, math
from .core import builtin, unwrap

__all__ = [
    "pair_uniform_to_normal",
    "philox",
    "philox_impl",
    "rand",
    "rand4x",
    "randint",
    "randint4x",
    "randn",
    "randn4x",
    "uint_to_uniform_float",
]

N_ROUNDS_DEFAULT = core.constexpr(10)

# key increments and round multipliers of the published algorithm, by word width
_constants = {
    32: (0x9E3779B9, 0xBB67AE85, 0xD2511F53, 0xCD9E8D57),
    64: (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B, 0xD2E7470EE14C6C93, 0xCA5A826395121157),
}


@builtin
def philox_impl(c0, c1, c2, c3, k0, k1, n_rounds=N_ROUNDS_DEFAULT):
    """The rounds on counters c0 ... c3 and keys k0, k1, all uint32 or all uint64."""
    width = c0.dtype.primitive_bitwidth
    if not c0.dtype.is_int_unsigned() or width not in _constants:
        raise errors.make(
            "E0120",
            message=f"tl.philox_impl needs uint32 or uint64, got {c0.type.short_name}",
            help="use tl.philox, which splits seed and counters",
        )
    key_a, key_b, round_a, round_b = _constants[width]
    for _ in builtins.range(unwrap(n_rounds)):
        old_c0, old_c2 = c0, c2
        c0 = math.umulhi(round_b, old_c2) ^ c1 ^ k0
        c2 = math.umulhi(round_a, old_c0) ^ c3 ^ k1
        # These wrap on purpose.
        c1 = core.mul(round_b, old_c2, sanitize_overflow=False)
        c3 = core.mul(round_a, old_c0, sanitize_overflow=False)
        k0 = core.add(k0, key_a, sanitize_overflow=False)
        k1 = core.add(k1, key_b, sanitize_overflow=False)
    return c0, c1, c2, c3


@builtin
def philox(seed, c0, c1, c2, c3, n_rounds=N_ROUNDS_DEFAULT):
    """Four random words for a 64-bit seed and four counters of 32 or 64 bits."""
    # Whatever can be cast is a seed, as in Triton: programs pass floats, and tensors, whose address then counts.
    seed = core.to_tensor(seed).to(core.uint64)
    counters = [core.to_tensor(c) for c in (c0, c1, c2, c3)]
    if counters[0].dtype.primitive_bitwidth == 32:
        word = core.uint32
        key_high, key_low = (seed >> 32).to(word), seed.to(word)
    else:
        word = core.uint64
        key_high, key_low = core.full((), 0, word), seed
    counters = [c.to(word, bitcast=True) for c in counters]
    return philox_impl(*counters, key_low, key_high, n_rounds)


@builtin
def randint4x(seed, offset, n_rounds=N_ROUNDS_DEFAULT):
    """Four uint32 tiles in the shape of `offset`; the cheapest per number."""
    offset = core.to_tensor(offset)
    low = offset.to(core.uint32)
    zero = core.full(offset.shape, 0, core.uint32)
    high = (offset >> 32).to(core.uint32) if offset.dtype.primitive_bitwidth > 32 else zero
    return philox(seed, low, high, zero, zero, n_rounds)


@builtin
def randint(seed, offset, n_rounds=N_ROUNDS_DEFAULT):
    """A uint32 tile in the shape of `offset`."""
    return randint4x(seed, offset, n_rounds)[0]


@builtin
def uint_to_uniform_float(x):
    """Random integers of 32 or 64 bits as float32 in [0, 1)."""
    if x.dtype.primitive_bitwidth == 32:
        signed, scale = core.int32, 4.6566127342e-10
    else:
        signed, scale = core.int64, 1.0842020432385337e-19
    # The largest scale for which the largest integer still rounds below 1.
    x = x.to(signed, bitcast=True)
    return core.where(x < 0, -x - 1, x) * scale


@builtin
def rand(seed, offset, n_rounds=N_ROUNDS_DEFAULT):
    """Uniform float32 in [0, 1) in the shape of `offset`."""
    return uint_to_uniform_float(randint(seed, offset, n_rounds))


@builtin
def rand4x(seed, offsets, n_rounds=N_ROUNDS_DEFAULT):
    """Four tiles of uniform float32 in [0, 1)."""
    return core.tuple(uint_to_uniform_float(i) for i in randint4x(seed, offsets, n_rounds))


@builtin
def pair_uniform_to_normal(u1, u2):
    """Two uniform tiles as two normal ones (Box-Muller)."""
    u1 = core.maximum(1.0e-7, u1)
    angle = 6.283185307179586 * u2
    radius = math.sqrt(-2.0 * math.log(u1))
    return radius * math.cos(angle), radius * math.sin(angle)


@builtin
def randn(seed, offset, n_rounds=N_ROUNDS_DEFAULT):
    """Normal float32 (mean 0, variance 1) in the shape of `offset`."""
    first, second = (uint_to_uniform_float(i) for i in randint4x(seed, offset, n_rounds)[:2])
    return pair_uniform_to_normal(first, second)[0]


@builtin
def randn4x(seed, offset, n_rounds=N_ROUNDS_DEFAULT):
    """Four tiles of normal float32."""
    u1, u2, u3, u4 = (uint_to_uniform_float(i) for i in randint4x(seed, offset, n_rounds))
    return core.tuple((*pair_uniform_to_normal(u1, u2), *pair_uniform_to_normal(u3, u4)))
