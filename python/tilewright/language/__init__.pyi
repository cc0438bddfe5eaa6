# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by scripts/generate_stubs.py: do not edit; `make stubs` writes it again.
"""The tile language: `import tilewright.language as tl`."""

from ._known_to_the_compiler import bfloat16 as bfloat16  # type: ignore
from ._known_to_the_compiler import const as const  # type: ignore
from ._known_to_the_compiler import constexpr as constexpr  # type: ignore
from ._known_to_the_compiler import float16 as float16  # type: ignore
from ._known_to_the_compiler import float32 as float32  # type: ignore
from ._known_to_the_compiler import float64 as float64  # type: ignore
from ._known_to_the_compiler import float8e4b15 as float8e4b15  # type: ignore
from ._known_to_the_compiler import float8e4b8 as float8e4b8  # type: ignore
from ._known_to_the_compiler import float8e4nv as float8e4nv  # type: ignore
from ._known_to_the_compiler import float8e5 as float8e5  # type: ignore
from ._known_to_the_compiler import float8e5b16 as float8e5b16  # type: ignore
from ._known_to_the_compiler import int1 as int1  # type: ignore
from ._known_to_the_compiler import int16 as int16  # type: ignore
from ._known_to_the_compiler import int32 as int32  # type: ignore
from ._known_to_the_compiler import int64 as int64  # type: ignore
from ._known_to_the_compiler import int8 as int8  # type: ignore
from ._known_to_the_compiler import pi32_t as pi32_t  # type: ignore
from ._known_to_the_compiler import uint16 as uint16  # type: ignore
from ._known_to_the_compiler import uint32 as uint32  # type: ignore
from ._known_to_the_compiler import uint64 as uint64  # type: ignore
from ._known_to_the_compiler import uint8 as uint8  # type: ignore
from ._known_to_the_compiler import void as void  # type: ignore
from ._values import PropagateNan as PropagateNan
TRITON_MAX_TENSOR_NUMEL: int
from .math import abs as abs
from .core import add as add
from .descriptors import advance as advance
from .aggregates import aggregate_replace as aggregate_replace
from . import aggregates as aggregates
from .core import arange as arange
from .standard import argmax as argmax
from .standard import argmin as argmin
from .core import associative_scan as associative_scan
from .core import assume as assume
from .memory import atomic_add as atomic_add
from .memory import atomic_and as atomic_and
from .memory import atomic_cas as atomic_cas
from .memory import atomic_load as atomic_load
from .memory import atomic_max as atomic_max
from .memory import atomic_min as atomic_min
from .memory import atomic_or as atomic_or
from .memory import atomic_poll as atomic_poll
from .memory import atomic_store as atomic_store
from .memory import atomic_xchg as atomic_xchg
from .memory import atomic_xor as atomic_xor
from . import basics as basics
from .standard import bitonic_merge as bitonic_merge
from .core import block_type as block_type
from .shapes import broadcast as broadcast
from .shapes import broadcast_to as broadcast_to
from .core import cast as cast
from .shapes import cat as cat
from .standard import cdiv as cdiv
from .math import ceil as ceil
from .core import clamp as clamp
from . import combines as combines
from . import compatibility as compatibility
from .core import condition as condition
from ..runtime.mathematics import constexpr_function as constexpr_function
from ._values import constexpr_type as constexpr_type
from . import core as core
from .math import cos as cos
from .standard import cumprod as cumprod
from .standard import cumsum as cumsum
from .core import debug_barrier as debug_barrier
from . import descriptors as descriptors
from .core import device_assert as device_assert
from .core import device_print as device_print
from .math import div_rn as div_rn
from .core import dot as dot
from .scaled import dot_scaled as dot_scaled
from .core import dtype as dtype
from .math import erf as erf
from .math import exp as exp
from .math import exp2 as exp2
from .shapes import expand_dims as expand_dims
from .core import expect_zero as expect_zero
from . import extra as extra
from . import extrema as extrema
from .math import fdiv as fdiv
from .standard import flip as flip
from .math import floor as floor
from .math import fma as fma
from .core import full as full
from .standard import gather as gather
from .basics import get_int_dtype as get_int_dtype
from .standard import histogram as histogram
from .core import inline_asm_elementwise as inline_asm_elementwise
from .standard import interleave as interleave
from .shapes import join as join
from .extra import libdevice as libdevice
from .memory import load as load
from .descriptors import load_tensor_descriptor as load_tensor_descriptor
from .math import log as log
from .math import log2 as log2
from .descriptors import make_block_ptr as make_block_ptr
from .descriptors import make_tensor_descriptor as make_tensor_descriptor
from .core import map_elementwise as map_elementwise
from . import math as math
from .standard import max as max
from .core import max_constancy as max_constancy
from .core import max_contiguous as max_contiguous
from .core import maximum as maximum
from . import memory as memory
from .standard import min as min
from .core import minimum as minimum
from .core import mul as mul
from .core import multiple_of as multiple_of
from .core import num_programs as num_programs
from .random import pair_uniform_to_normal as pair_uniform_to_normal
from .shapes import permute as permute
from .random import philox as philox
from .random import philox_impl as philox_impl
from .core import pointer_type as pointer_type
from .core import program_id as program_id
from .random import rand as rand
from .random import rand4x as rand4x
from .random import randint as randint
from .random import randint4x as randint4x
from .random import randn as randn
from .random import randn4x as randn4x
from . import random as random
from ._values import range as range
from .standard import ravel as ravel
from .core import reduce as reduce
from .standard import reduce_or as reduce_or
from .shapes import reshape as reshape
from .math import rsqrt as rsqrt
from . import scaled as scaled
from . import shapes as shapes
from .standard import sigmoid as sigmoid
from .math import sin as sin
from ._values import slice as slice
from ._values import slice_type as slice_type
from .standard import softmax as softmax
from .standard import sort as sort
from .shapes import split as split
from .math import sqrt as sqrt
from .math import sqrt_rn as sqrt_rn
from .shapes import squeeze as squeeze
from . import standard as standard
from .core import static_assert as static_assert
from .core import static_print as static_print
from ._values import static_range as static_range
from .memory import store as store
from .descriptors import store_tensor_descriptor as store_tensor_descriptor
from .compatibility import str_to_ty as str_to_ty
from .core import sub as sub
from .standard import sum as sum
from .standard import swizzle2d as swizzle2d
from . import target_info as target_info
from .core import tensor as tensor
from .descriptors import tensor_descriptor as tensor_descriptor
from .descriptors import tensor_descriptor as tensor_descriptor_base
from .descriptors import tensor_descriptor_type as tensor_descriptor_type
from .core import to_tensor as to_tensor
from .standard import topk as topk
from .shapes import trans as trans
from ._values import tuple as tuple
from ._values import tuple_type as tuple_type
from .random import uint_to_uniform_float as uint_to_uniform_float
from .math import umulhi as umulhi
from .shapes import unsqueeze as unsqueeze
from .shapes import view as view
from .core import where as where
from .standard import xor_sum as xor_sum
from .standard import zeros as zeros
from .standard import zeros_like as zeros_like
from .compatibility import _experimental_descriptor_load as _experimental_descriptor_load
from .compatibility import _experimental_descriptor_store as _experimental_descriptor_store
from .descriptors import make_tensor_descriptor as _experimental_make_tensor_descriptor

__all__ = [
    "PropagateNan", "TRITON_MAX_TENSOR_NUMEL", "abs", "add", "advance", "aggregate_replace", "aggregates", "arange",
    "argmax", "argmin", "associative_scan", "assume", "atomic_add", "atomic_and", "atomic_cas", "atomic_load",
    "atomic_max", "atomic_min", "atomic_or", "atomic_poll", "atomic_store", "atomic_xchg", "atomic_xor", "basics",
    "bfloat16", "bitonic_merge", "block_type", "broadcast", "broadcast_to", "cast", "cat", "cdiv", "ceil", "clamp",
    "combines", "compatibility", "condition", "const", "constexpr", "constexpr_function", "constexpr_type", "core",
    "cos", "cumprod", "cumsum", "debug_barrier", "descriptors", "device_assert", "device_print", "div_rn", "dot",
    "dot_scaled", "dtype", "erf", "exp", "exp2", "expand_dims", "expect_zero", "extra", "extrema", "fdiv", "flip",
    "float16", "float32", "float64", "float8e4b15", "float8e4b8", "float8e4nv", "float8e5", "float8e5b16", "floor",
    "fma", "full", "gather", "get_int_dtype", "histogram", "inline_asm_elementwise", "int1", "int16", "int32",
    "int64", "int8", "interleave", "join", "libdevice", "load", "load_tensor_descriptor", "log", "log2",
    "make_block_ptr", "make_tensor_descriptor", "map_elementwise", "math", "max", "max_constancy", "max_contiguous",
    "maximum", "memory", "min", "minimum", "mul", "multiple_of", "num_programs", "pair_uniform_to_normal",
    "permute", "philox", "philox_impl", "pi32_t", "pointer_type", "program_id", "rand", "rand4x", "randint",
    "randint4x", "randn", "randn4x", "random", "range", "ravel", "reduce", "reduce_or", "reshape", "rsqrt",
    "scaled", "shapes", "sigmoid", "sin", "slice", "slice_type", "softmax", "sort", "split", "sqrt", "sqrt_rn",
    "squeeze", "standard", "static_assert", "static_print", "static_range", "store", "store_tensor_descriptor",
    "str_to_ty", "sub", "sum", "swizzle2d", "target_info", "tensor", "tensor_descriptor", "tensor_descriptor_base",
    "tensor_descriptor_type", "to_tensor", "topk", "trans", "tuple", "tuple_type", "uint16", "uint32", "uint64",
    "uint8", "uint_to_uniform_float", "umulhi", "unsqueeze", "view", "void", "where", "xor_sum", "zeros",
    "zeros_like",
]
