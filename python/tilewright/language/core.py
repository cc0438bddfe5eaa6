# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions of the tile language, with Triton's signatures.

Each binds and documents its arguments and calls its native counterpart, which asks
the running evaluator (compiler or interpreter). Arguments called constexpr must be
known at compile time. Where a function also exists as a method, its first argument
is the tensor.
"""

from __future__ import annotations

import builtins
import sys

from .. import errors, foreign
from . import _shown, basics
from ._values import (
    PropagateNan,
    const,
    constexpr,
    constexpr_type,
    range,
    shape_argument,
    slice,
    slice_type,
    static_range,
    tuple,
    tuple_type,
    unwrap,
    unwrap_all,
)
from .basics import (
    CONSTEXPR_0,
    TRITON_BUILTIN,
    TRITON_MAX_TENSOR_NUMEL,
    _axis,
    _language,
    _unwrap_if_constexpr,
    _unwrap_iterable,
    _unwrap_shape,
    bfloat16,
    block_type,
    builtin,
    extern,
    float8e4b8,
    float8e4b15,
    float8e4nv,
    float8e5,
    float8e5b16,
    float16,
    float32,
    float64,
    get_int_dtype,
    int1,
    int8,
    int16,
    int32,
    int64,
    is_builtin,
    method,
    must_use_result,
    pi32_t,
    pointer_type,
    tensor,
    uint8,
    uint16,
    uint32,
    uint64,
    void,
)
from .memory import (
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
    load,
    store,
)
from .shapes import (
    broadcast,
    broadcast_to,
    cat,
    expand_dims,
    count_words,
    gather_words,
    join,
    permute,
    reshape,
    split,
    squeeze,
    trans,
    unsqueeze,
    view,
)

dtype = basics.dtype  # a parameter of some functions below has the same name


# ---------------------------------------------------------------------------
# Programs of the grid
# ---------------------------------------------------------------------------


@builtin
def program_id(axis):
    """Index of this program along grid axis 0, 1 or 2, as int32."""
    return _language.program_id(axis)


@builtin
def num_programs(axis):
    """Size of the grid along axis 0, 1 or 2, as int32."""
    return _language.num_programs(axis)


# ---------------------------------------------------------------------------
# Creation
# ---------------------------------------------------------------------------


@builtin
def arange(start, end):
    """The int32 tile start, start + 1, ..., end - 1.

    Both bounds are constexpr; their distance is a power of two. E0106 if not.
    """
    return _language.arange(start, end)


@builtin
def full(shape, value, dtype):
    """A tile of `shape` filled with `value`, a number or a one-element tensor."""
    if unwrap(dtype) is None:
        raise errors.make("E0120", message="tl.full needs a dtype", help="name one, such as tl.float32")
    return _language.full(shape, value, dtype)


@builtin
def to_tensor(x):
    """A Python number as a scalar of the type a literal has alone; tensors as they are.

    int becomes the first of int32, uint32, int64, uint64 that holds it; float becomes
    float32 where it is in that type's normal range, else float64; bool becomes int1.
    """
    return _language.to_tensor(x)


@method
@builtin
def cast(input, dtype, fp_downcast_rounding=None, bitcast=False):
    """`input` converted to `dtype`.

    Floats narrow to nearest even, or toward zero with fp_downcast_rounding="rtz";
    int1 becomes 0 or 1; anything becomes int1 by != 0; `bitcast` keeps the bits and
    needs equal widths.
    """
    return _language.cast(input, dtype, fp_downcast_rounding, bitcast)


def _to(self, dtype, fp_downcast_rounding=None, bitcast=False):
    """As tl.cast."""
    return _language.cast(self, dtype, fp_downcast_rounding, bitcast)


# Python's messages name the function so.
_to.__name__ = _to.__qualname__ = "to"
tensor.to = builtin(_to)


# What debuggers and notebooks call.
tensor.__repr__, tensor._repr_html_ = _shown.text, _shown.as_html


@method
@builtin
def item(self):
    """A one-element tensor as a scalar."""
    return _language.item(self)


# ---------------------------------------------------------------------------
# Elementwise
# ---------------------------------------------------------------------------


@builtin
def add(x, y, sanitize_overflow=True):
    """x + y; `sanitize_overflow=False` where it may wrap under debug=True, too."""
    return _language.add(x, y, sanitize_overflow)


@builtin
def sub(x, y, sanitize_overflow=True):
    """x - y; `sanitize_overflow=False` where it may wrap under debug=True, too."""
    return _language.sub(x, y, sanitize_overflow)


@builtin
def mul(x, y, sanitize_overflow=True):
    """x * y; `sanitize_overflow=False` where it may wrap under debug=True, too."""
    return _language.mul(x, y, sanitize_overflow)


@builtin
def where(condition, x, y):
    """x where `condition` holds, else y; all three are evaluated and broadcast."""
    if isinstance(condition, tensor) and condition.dtype is not int1:
        errors.warn("W0126", t=condition.type.short_name)
    return _language.where(condition, x, y)


@builtin
def minimum(x, y, propagate_nan=PropagateNan.NONE):
    """The smaller of each pair. bf16 is widened to f32; NaN as `propagate_nan` says."""
    return _language.minimum(x, y, propagate_nan)


@builtin
def maximum(x, y, propagate_nan=PropagateNan.NONE):
    """The larger of each pair. bf16 is widened to f32; NaN as `propagate_nan` says."""
    return _language.maximum(x, y, propagate_nan)


@builtin
def clamp(x, min, max, propagate_nan=PropagateNan.NONE):
    """x limited to [min, max], for floats; `max` wins where min > max."""
    return _language.clamp(x, min, max, propagate_nan)


@method
@builtin
def logical_and(self, other):
    """Elementwise and of int1."""
    return _language.logical_and(self, other)


@method
@builtin
def logical_or(self, other):
    """Elementwise or of int1."""
    return _language.logical_or(self, other)


# ---------------------------------------------------------------------------
# Matrix products
# ---------------------------------------------------------------------------


@builtin
def dot(input, other, acc=None, input_precision=None, allow_tf32=None, max_num_imprecise_acc=None, out_dtype=None):
    """Matrix product of [M, K] and [K, N], or of batches of them, plus `acc`.

    Both operands have one type out of int8, float16, bfloat16, float32, float64, or
    any two fp8 types; K is at least 32 bytes. The result is int32 for int8, float64
    for float64, float32 else; float16 and fp8 give float16 where `out_dtype` (by
    default the type of `acc`) says so. `acc` has the type of the result.

    input_precision concerns float32 operands: "tf32" (default) uses their upper 19
    bits, "tf32x3", "bf16x3" and "bf16x6" split them into parts, "ieee" uses them as
    they are; allow_tf32 is its older form, and a run-time value there counts as
    True, as in Triton. max_num_imprecise_acc: an fp8 product
    joins the accumulator in full precision every so many elements of K.
    """
    return _language.dot(input, other, acc, input_precision, allow_tf32, max_num_imprecise_acc, out_dtype)


# ---------------------------------------------------------------------------
# Across elements
# ---------------------------------------------------------------------------


@method
@builtin
def reduce(input, axis, combine_fn, keep_dims=False):
    """Combines the elements along `axis` (all of them for None) with `combine_fn`.

    `input` is a tensor or a tuple of n tensors of one shape; `combine_fn` is a jit
    function of 2n scalars that returns n, associative and commutative.
    """
    single = isinstance(input, tensor)
    inputs = (input,) if single else unwrap_all(input)
    results = _language.reduce(inputs, _axis(axis), combine_fn, keep_dims)
    return results[0] if single else tuple(results)


@method
@builtin
def associative_scan(input, axis, combine_fn, reverse=False):
    """Running combination along `axis`, each element included; from the end with `reverse`."""
    single = isinstance(input, tensor)
    inputs = (input,) if single else unwrap_all(input)
    results = _language.associative_scan(inputs, _axis(axis), combine_fn, reverse)
    return results[0] if single else tuple(results)


# ---------------------------------------------------------------------------
# Code of the user on elements
# ---------------------------------------------------------------------------


@builtin
def inline_asm_elementwise(asm, constraints, args, dtype, is_pure, pack):
    """PTX for each group of `pack` elements of the broadcast `args`.

    `constraints` are LLVM's ("=r,r,r"): a register per 32 bits of a group, outputs
    first; narrower elements share one. An argument whose constraint is n or i is a
    constant, written into the code. `dtype` is the type of the result, or a tuple for
    several. Without `is_pure` the code is kept in place and not repeated.
    """
    types = unwrap(dtype)
    single = isinstance(types, _language.dtype)
    results = _language.inline_asm_elementwise(
        asm, constraints, unwrap_all(args), (types,) if single else unwrap_all(types), is_pure, pack
    )
    return results[0] if single else tuple(results)


@builtin
def extern_elementwise(lib_name, lib_path, args, arg_type_symbol_dict, is_pure):
    """A function of libdevice for each element of the broadcast `args`.

    arg_type_symbol_dict maps tuples of types to (symbol, type of the result). Other
    libraries than NVIDIA's libdevice are not linked.
    """
    operands = builtins.tuple(to_tensor(x) for x in unwrap_all(args))
    table = unwrap(arg_type_symbol_dict)
    types = builtins.tuple(x.dtype for x in operands)
    for key, entry in table.items():
        if builtins.tuple(unwrap(t) for t in key) == types:
            symbol, result = entry
            return _language.extern_call(unwrap(symbol), operands, unwrap(result))
    known = ", ".join(f"({', '.join(map(str, key))})" for key in table)
    raise errors.make(
        "E0120",
        message=f"tl.core.extern_elementwise has no function of ({', '.join(map(str, types))})",
        help=f"cast the operands; there are functions of {known}",
    )


@builtin
def map_elementwise(scalar_fn, *args, pack=1):
    """`scalar_fn`, a jit function of scalars, for each element of the broadcast `args`.

    It may branch per element. With `pack` it gets that many elements of each argument
    and returns as many of each result. It must not touch memory. Where it returns a
    tuple, so does this, even of one tile.
    """
    return _language.map_elementwise(scalar_fn, args, pack)


# ---------------------------------------------------------------------------
# Hints, assertions, printing
# ---------------------------------------------------------------------------


@builtin
def multiple_of(input, values):
    """Promises that `input` (the first of each run) is a multiple of `values`."""
    return _language.multiple_of(input, values)


@builtin
def max_contiguous(input, values):
    """Promises runs of `values` consecutive numbers along each dimension."""
    return _language.max_contiguous(input, values)


@builtin
def max_constancy(input, values):
    """Promises runs of `values` equal elements along each dimension."""
    return _language.max_constancy(input, values)


@builtin
def assume(cond):
    """Promises that a scalar condition holds; the interpreter checks it."""
    cond = unwrap(cond)
    if isinstance(cond, bool):
        # Known while compiling: nothing is left to promise.
        return static_assert(cond, "the assumption is false") if not cond else None
    return _language.assume(cond)


@builtin
def condition(arg, disable_licm=False):
    """Wraps the test of a while loop to attach a hint; gives the test itself."""
    return arg


@builtin
def expect_zero(x, mask):
    """`x`, which is promised to be zero where `mask` holds; checked with debug=True and in the interpreter."""
    device_assert(to_tensor(x) == 0, "expect_zero: an element is not zero", mask)
    return x


@builtin
def debug_barrier():
    """Waits for all threads of the program."""
    return _language.debug_barrier()


@builtin
def static_print(*values, sep=" ", end="\n", file=None, flush=False):
    """Prints while the kernel is compiled."""
    if _language.is_rehearsal():
        return  # the interpreter prints when it runs the kernel
    builtins.print(*(unwrap(v) for v in values), sep=unwrap(sep), end=unwrap(end), file=file, flush=flush)


@builtin
def static_assert(cond, msg=""):
    """Stops the compilation with `msg` where `cond`, a bool known now, is false."""
    cond = unwrap(cond)
    if isinstance(cond, tensor) or not isinstance(cond, bool):
        raise errors.make("E0112", n="the condition of tl.static_assert")
    if not cond:
        raise errors.make("E0113", message=str(unwrap(msg)) or "static assertion failed", expr="False")


@builtin
def device_print(prefix, *args, hex=False):
    """Prints a line per element from the running kernel, with program id and index."""
    return _language.device_print(prefix, args, hex)


@builtin
def device_assert(cond, msg="", mask=None):
    """Stops the kernel where `cond` is false; checked with debug=True and in the interpreter."""
    return _language.device_assert(cond, msg, mask)


def explain_type_error(text):
    """The E0122 or E0125 that Python's message about a call of a language function stands for, or None."""
    import inspect
    import re

    language = sys.modules[__package__]
    # Python proposes a keyword from 3.13 on; here the signature follows.
    match = re.fullmatch(r"(?:[\w.]+\.)?(\w+)\(\) (.+?)(?:\. Did you mean '\w+'\?)?", text)
    function = match and (getattr(language, match[1], None) or getattr(tensor, match[1], None))
    if not function or not is_builtin(function):
        return None
    keyword = re.search(r"unexpected keyword argument '(\w+)'", match[2])
    if keyword and (match[1], keyword[1]) in foreign.KEYWORDS:
        return foreign.error(f"{keyword[1]}= of tl.{match[1]}", *foreign.KEYWORDS[match[1], keyword[1]])
    return errors.make("E0122", name=f"tl.{match[1]}", problem=match[2], sig=match[1] + str(inspect.signature(function)))
