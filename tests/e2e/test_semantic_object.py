# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The object that functions of libraries get as `_semantic`."""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.compare import assert_same
from tilewright import errors


@tl.core.extern
def made_by_methods(x, y, _semantic=None):
    """What libraries call of Triton's object, with a number among the operands and with tiles."""
    s = _semantic
    x, y = s.broadcast_impl_value(s.to_tensor(x), s.to_tensor(y))
    total = s.add(s.mul(x, 3, False), s.cast(y, tl.int32), True)
    flags = s.logical_and(s.greater_than(x, 1), s.not_(s.equal(x, 5)))
    bits = s.lshr(s.minus(x), s.full([], 28, tl.int32))
    shifted = s.ashr(s.shl(s.sub(x, 9), 2), 1)
    shifted = s.cast(s.clamp(s.cast(shifted, tl.float32), -8.0, 8.0), tl.int32)
    floats = s.bitcast(s.scalar_constant(1.5, tl.float32), tl.int32)
    shape = [s.broadcast_impl_shape(s.splat(floats, [1]), x.shape), s.reshape(s.arange(0, 16), x.shape, False)]
    chosen = s.where(flags, s.maximum(total, bits), shifted)
    return s.xor_(s.or_(s.and_(chosen, ~0), s.mod(x, 4)), s.sub(s.mul(shape[1], 256), shape[0]))


@tilewright.jit
def methods_kernel(out_ptr, x_ptr):
    offsets = tl.arange(0, 16)
    tl.store(out_ptr + offsets, made_by_methods(tl.load(x_ptr + offsets), 2))


def test_methods_of_the_compilers_object(device):
    x = np.arange(16, dtype=np.int32)
    out = device.empty(16, np.int32)
    device.run(methods_kernel, (1,), out, device.array(x))
    bits = ((-x).view(np.uint32) >> 28).view(np.int32)
    chosen = np.where((x > 1) & (x != 5), np.maximum(x * 3 + 2, bits), np.clip(((x - 9) << 2) >> 1, -8, 8))
    expected = (chosen | (x % 4)) ^ (np.arange(16, dtype=np.int32) * 256 - np.float32(1.5).view(np.int32))
    assert_same(device.numpy(out), expected)


@tl.core.extern
def of_the_builder(x, _semantic=None):
    return _semantic.tensor(_semantic.builder.create_fabs(x.handle), x.type)


@tl.core.extern
def of_the_old_builder(x, _builder=None):
    return _builder.create_fabs(x.handle)


@tl.core.extern
def of_an_unknown_method(x, _semantic=None):
    return _semantic.reduction([x], 0, None)


@pytest.mark.parametrize(
    "function, name",
    [(of_the_builder, "builder.create_fabs"), (of_the_old_builder, "builder.create_fabs"), (of_an_unknown_method, "reduction")],
)
def test_what_makes_triton_s_ir_is_refused(function, name):
    @tilewright.jit
    def kernel(x):
        tl.store(x, function(tl.load(x)))

    with pytest.raises(errors.UnsupportedSyntax, match=rf"\[E0125\] '_semantic.{name}' belongs to the inside of Triton's"):
        tilewright.compile(tilewright.ASTSource(kernel, {"x": "*fp32"}), "sm_80")
