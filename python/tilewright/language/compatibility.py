# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names that programs import from the insides of Triton's language and from its older releases, as far as
they still mean something here.

Importing this module puts them into `tl.core` and `tl.standard`.
"""

from __future__ import annotations

import abc
import builtins
import re

from . import aggregates, core, descriptors, math, random, scaled, standard
from .. import _utils
from ..lazy_names import lazy_names
from ..runtime.mathematics import constexpr_function
from .extra import libdevice
from ._values import constexpr, constexpr_type, slice, slice_type, tuple, tuple_type
from .core import dtype, pointer_type, tensor, unwrap


class base_value(abc.ABC):
    """What a kernel's values are instances of."""


class base_type(abc.ABC):
    """What their types are instances of."""


for _class in (tensor, constexpr, tuple, slice, descriptors.tensor_descriptor, aggregates._Aggregate):
    base_value.register(_class)
for _class in (
    dtype,
    pointer_type,
    core.block_type,
    constexpr_type,
    tuple_type,
    slice_type,
    descriptors.tensor_descriptor_type,
):
    base_type.register(_class)

_descriptor = re.compile(r"tensordesc\w*<(\w+)\[([\d, ]+)\].*>")


def str_to_ty(name, c=None):
    """The type of an argument from its text in a signature: "*fp32", "i32", "constexpr" (of value `c`)."""
    if isinstance(name, builtins.tuple):
        return tuple_type([str_to_ty(item, c) for item in name], getattr(type(name), "_fields", None))
    if name.startswith("*"):
        is_const = name.startswith("*k")
        return pointer_type(str_to_ty(name[2 if is_const else 1 :], c), const=is_const)
    if found := _descriptor.fullmatch(name):
        block = core.block_type(str_to_ty(found[1]), [int(extent) for extent in found[2].split(",")])
        return descriptors.tensor_descriptor_type(block)
    if name == "constexpr":
        return constexpr_type(c)
    return dtype({"u1": "i1", "B": "i1"}.get(name, name))


@core.builtin
def _experimental_descriptor_load(desc, offsets, shape=None, dtype=None):
    """desc.load(offsets), under a name of Triton 3.0 to 3.3."""
    return desc.load(offsets)


@core.builtin
def _experimental_descriptor_store(desc, value, offsets):
    """desc.store(offsets, value), under a name of Triton 3.0 to 3.3."""
    return desc.store(offsets, value)


def check_bit_width(value, shift_value):
    """Warns of a constant shift by at least the width of the value."""
    count = unwrap(shift_value)
    if isinstance(value, tensor) and isinstance(count, int) and count >= value.dtype.primitive_bitwidth:
        _utils.warn_once(f"shift of {value.dtype} by {count} bits: the value has {value.dtype.primitive_bitwidth}")


def is_negative_zero(x) -> bool:
    return x == 0.0 and str(float(x)).startswith("-")


def _wrap_axis(axis, ndim):
    """An axis counted from the first, of `ndim`."""
    axis = unwrap(axis)
    if axis is None:
        return None
    if not -ndim <= axis < ndim:
        raise ValueError(f"invalid axis {axis}. Expected {-ndim} <= axis < {ndim}")
    return axis + ndim if axis < 0 else axis


def _shape_check_impl(shape):
    """The ints of a tile's shape, checked."""
    shape = core._unwrap_shape(shape)
    _utils.validate_block_shape(shape)
    return shape


def _tensor_member_fn(function):
    """Also makes a function of the language a method of tensors."""
    return core.method(function)


def _function_of_libdevice(name):
    """The functions of libdevice, which `tl.math` held in Triton 2."""
    function = vars(libdevice).get(name)
    if name.startswith("_") or not core.is_builtin(function):
        raise AttributeError(f"module '{math.__name__}' has no attribute '{name}'")
    return function


math.__getattr__ = _function_of_libdevice
for _module in (standard, random):
    _module.__getattr__ = lazy_names(_module.__name__, {"jit": "runtime.jit:jit"})


def _put(module, **members):
    for name, member in members.items():
        if not hasattr(module, name):
            setattr(module, name, member)


_put(
    core,
    base_value=base_value,
    base_type=base_type,
    aggregate_replace=aggregates.aggregate_replace,
    _aggregate=aggregates.aggregate,
    check_bit_width=check_bit_width,
    is_negative_zero=is_negative_zero,
    _wrap_axis=_wrap_axis,
    _shape_check_impl=_shape_check_impl,
    _tensor_member_fn=_tensor_member_fn,
    validate_block_shape=_utils.validate_block_shape,
    warn_once=_utils.warn_once,
    get_primitive_bitwidth=_utils.get_primitive_bitwidth,
    builtin_max=builtins.max,
    builtin_min=builtins.min,
    advance=descriptors.advance,
    make_block_ptr=descriptors.make_block_ptr,
    make_tensor_descriptor=descriptors.make_tensor_descriptor,
    load_tensor_descriptor=descriptors.load_tensor_descriptor,
    store_tensor_descriptor=descriptors.store_tensor_descriptor,
    tensor_descriptor=descriptors.tensor_descriptor,
    tensor_descriptor_base=descriptors.tensor_descriptor,
    tensor_descriptor_type=descriptors.tensor_descriptor_type,
    tensor_descriptor_base_type=descriptors.tensor_descriptor_type,
    dot_scaled=scaled.dot_scaled,
    gather=standard.gather,
    histogram=standard.histogram,
)
_put(standard, constexpr_function=constexpr_function, squeeze=core.squeeze, unsqueeze=core.unsqueeze)
_put(tensor, advance=descriptors.advance)
_put(math, core=core)
