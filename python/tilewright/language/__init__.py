# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tile language: `import tilewright.language as tl`."""

import sys as _sys

from ..foreign import check_attribute as _check_attribute
from . import math, extra, target_info
from ._values import PropagateNan, const, constexpr, constexpr_type, range, slice, slice_type, static_range, tuple, tuple_type
from .aggregates import aggregate_replace
from .core import (
    TRITON_MAX_TENSOR_NUMEL,
    add,
    arange,
    assume,
    associative_scan,
    atomic_add,
    atomic_and,
    atomic_cas,
    atomic_load,
    atomic_max,
    atomic_min,
    atomic_or,
    atomic_poll,
    atomic_store,
    atomic_xchg,
    atomic_xor,
    bfloat16,
    block_type,
    broadcast,
    broadcast_to,
    cast,
    cat,
    clamp,
    condition,
    debug_barrier,
    device_assert,
    device_print,
    dot,
    dtype,
    expand_dims,
    expect_zero,
    float8e4b15,
    float8e4b8,
    float8e4nv,
    float8e5,
    float8e5b16,
    float16,
    float32,
    float64,
    full,
    inline_asm_elementwise,
    int1,
    int8,
    int16,
    int32,
    int64,
    join,
    load,
    map_elementwise,
    max_constancy,
    max_contiguous,
    maximum,
    minimum,
    mul,
    multiple_of,
    num_programs,
    permute,
    pi32_t,
    pointer_type,
    program_id,
    reduce,
    reshape,
    split,
    squeeze,
    static_assert,
    static_print,
    store,
    sub,
    tensor,
    to_tensor,
    trans,
    uint8,
    uint16,
    uint32,
    uint64,
    unsqueeze,
    view,
    void,
    where,
)
from .descriptors import (
    advance,
    load_tensor_descriptor,
    make_block_ptr,
    make_tensor_descriptor,
    store_tensor_descriptor,
    tensor_descriptor,
    tensor_descriptor_type,
)
from .math import abs, ceil, cos, div_rn, erf, exp, exp2, fdiv, floor, fma, log, log2, rsqrt, sin, sqrt, sqrt_rn, umulhi
from .random import (
    pair_uniform_to_normal,
    philox,
    philox_impl,
    rand,
    rand4x,
    randint,
    randint4x,
    randn,
    randn4x,
    uint_to_uniform_float,
)
from .scaled import dot_scaled
from .standard import (
    argmax,
    argmin,
    bitonic_merge,
    cdiv,
    cumprod,
    cumsum,
    flip,
    gather,
    histogram,
    interleave,
    max,
    min,
    ravel,
    reduce_or,
    sigmoid,
    softmax,
    sort,
    sum,
    swizzle2d,
    topk,
    xor_sum,
    zeros,
    zeros_like,
)
from . import core, standard, random, scaled, combines
from .compatibility import _experimental_descriptor_load, _experimental_descriptor_store, str_to_ty
from .core import _unwrap_if_constexpr, get_int_dtype
from .extra import libdevice
from ..runtime.mathematics import constexpr_function

tensor_descriptor_base = tensor_descriptor
_experimental_make_tensor_descriptor = make_tensor_descriptor

__all__ = [name for name in dir() if not name.startswith("_")]


def __getattr__(name):
    _check_attribute(_sys.modules[__name__], name)
