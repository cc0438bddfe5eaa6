# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The object that functions of libraries get as `_semantic`, under the names of Triton's methods.

Triton's own functions hand it on to each other. Functions that others mark `tl.core.extern` or
`tl.core.builtin` also call its methods: these are the language's functions and operators. What is
under it in Triton, the builder of its IR, is not here; asking it for anything is E0125.
"""

from __future__ import annotations

import operator

from .. import foreign
from . import core, math
from ._values import unwrap

_INSIDE = "the inside of Triton's compiler"
_ALTERNATIVE = "use functions of tilewright.language, or tl.inline_asm_elementwise"


class IncompatibleTypeErrorImpl(TypeError):
    """Raised by libraries for two types that do not go together."""

    def __init__(self, type_a, type_b):
        self.type_a, self.type_b = type_a, type_b
        self.message = f"invalid operands of type {type_a!r} and {type_b!r}"
        super().__init__(self.message)


class _Builder:
    """In the place of what makes Triton's IR."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise foreign.error(f"_semantic.builder.{name}", _INSIDE, _ALTERNATIVE)


def _binary(function):
    return lambda self, input, other: function(*_tensors(input, other))


def _tensors(input, other):
    """Operands, of which a number stays one where the other is a tensor: its type is that of the other."""
    input, other = unwrap(input), unwrap(other)
    if not isinstance(input, core.tensor) and not isinstance(other, core.tensor):
        input = core.to_tensor(input)
    return input, other


class TritonSemantic:
    """Methods of Triton's class of that name for arguments as its functions pass them."""

    tensor = core.tensor
    lang = core

    def __init__(self, builder=None):
        self.builder = _Builder() if builder is None else builder

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise foreign.error(f"_semantic.{name}", _INSIDE, _ALTERNATIVE)

    def to_tensor(self, x, check_type=True):
        return core.to_tensor(x)

    def program_id(self, axis):
        return core.program_id(axis)

    def num_programs(self, axis):
        return core.num_programs(axis)

    # Arithmetic. `sanitize_overflow` is an option of the launch here.

    def add(self, input, other, sanitize_overflow=False):
        return operator.add(*_tensors(input, other))

    def sub(self, input, other, sanitize_overflow=False):
        return operator.sub(*_tensors(input, other))

    def mul(self, input, other, sanitize_overflow=False):
        return operator.mul(*_tensors(input, other))

    truediv = _binary(operator.truediv)
    floordiv = _binary(operator.floordiv)
    mod = _binary(operator.mod)
    and_ = _binary(operator.and_)
    or_ = _binary(operator.or_)
    xor_ = _binary(operator.xor)
    shl = _binary(operator.lshift)
    equal = _binary(operator.eq)
    not_equal = _binary(operator.ne)
    less_than = _binary(operator.lt)
    less_equal = _binary(operator.le)
    greater_than = _binary(operator.gt)
    greater_equal = _binary(operator.ge)

    def lshr(self, input, other):
        bits = input.dtype.primitive_bitwidth
        return (input.to(core.get_int_dtype(bits, False)) >> other).to(input.dtype)

    def ashr(self, input, other):
        bits = input.dtype.primitive_bitwidth
        return (input.to(core.get_int_dtype(bits, True)) >> other).to(input.dtype)

    def logical_and(self, input, other):
        return (input != 0) & (other != 0)

    def logical_or(self, input, other):
        return (input != 0) | (other != 0)

    def plus(self, input):
        return input

    def minus(self, input):
        return -input

    def invert(self, input):
        return ~input

    def not_(self, input):
        return input == 0

    def fdiv(self, input, other, ieee_rounding=False):
        return math.fdiv(input, other, ieee_rounding)

    def minimum(self, x, y, propagate_nan=core.PropagateNan.NONE):
        return core.minimum(x, y, propagate_nan)

    def maximum(self, x, y, propagate_nan=core.PropagateNan.NONE):
        return core.maximum(x, y, propagate_nan)

    def clamp(self, x, min, max, propagate_nan=core.PropagateNan.NONE):
        return core.clamp(x, min, max, propagate_nan)

    def where(self, condition, x, y):
        return core.where(condition, x, y)

    # Types and shapes.

    def cast(self, input, dst_ty, fp_downcast_rounding=None):
        return core.cast(input, dst_ty.scalar, fp_downcast_rounding)

    def bitcast(self, input, dst_ty):
        return core.cast(input, dst_ty.scalar, bitcast=True)

    def arange(self, start, end, *, ret_ty=None):
        return core.arange(start, end)

    def scalar_constant(self, value, dtype):
        return core.full([], value, dtype)

    make_scalar = scalar_constant

    def full(self, shape, value, dtype):
        return core.full(shape, value, core.to_tensor(value).dtype if dtype is None else dtype)

    def splat(self, value, shape):
        return core.full(shape, value, value.dtype)

    def broadcast_impl_shape(self, input, shape):
        return core.broadcast_to(input, shape) if input.shape else self.splat(input, shape)

    def broadcast_impl_value(self, lhs, rhs):
        return core.broadcast(lhs, rhs)

    def reshape(self, input, dst_shape, can_reorder=False):
        return core.reshape(input, dst_shape, can_reorder=can_reorder)

    def expand_dims(self, input, axis):
        return core.expand_dims(input, axis)

    def permute(self, input, dims):
        return core.permute(input, dims)

    def join(self, a, b):
        return core.join(a, b)

    def split(self, a):
        return core.split(a)

    def debug_barrier(self):
        return core.debug_barrier()


#: What each call of a library's function gets; it has no state.
SEMANTIC = TritonSemantic()
BUILDER = SEMANTIC.builder
