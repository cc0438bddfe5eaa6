# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by scripts/generate_stubs.py: do not edit; `make stubs` writes it again.
"""The functions of the tile language, with Triton's signatures."""

import builtins
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, final, overload

from ._known_to_the_compiler import const as const  # type: ignore
from ._known_to_the_compiler import constexpr as constexpr  # type: ignore
from ._known_to_the_compiler import CONSTEXPR_0 as CONSTEXPR_0  # type: ignore
from ._known_to_the_compiler import bfloat16 as bfloat16  # type: ignore
from ._known_to_the_compiler import float8e4b8 as float8e4b8  # type: ignore
from ._known_to_the_compiler import float8e4b15 as float8e4b15  # type: ignore
from ._known_to_the_compiler import float8e4nv as float8e4nv  # type: ignore
from ._known_to_the_compiler import float8e5 as float8e5  # type: ignore
from ._known_to_the_compiler import float8e5b16 as float8e5b16  # type: ignore
from ._known_to_the_compiler import float16 as float16  # type: ignore
from ._known_to_the_compiler import float32 as float32  # type: ignore
from ._known_to_the_compiler import float64 as float64  # type: ignore
from ._known_to_the_compiler import int1 as int1  # type: ignore
from ._known_to_the_compiler import int8 as int8  # type: ignore
from ._known_to_the_compiler import int16 as int16  # type: ignore
from ._known_to_the_compiler import int32 as int32  # type: ignore
from ._known_to_the_compiler import int64 as int64  # type: ignore
from ._known_to_the_compiler import pi32_t as pi32_t  # type: ignore
from ._known_to_the_compiler import uint8 as uint8  # type: ignore
from ._known_to_the_compiler import uint16 as uint16  # type: ignore
from ._known_to_the_compiler import uint32 as uint32  # type: ignore
from ._known_to_the_compiler import uint64 as uint64  # type: ignore
from ._known_to_the_compiler import void as void  # type: ignore
from . import basics as basics
from .. import errors as errors
from .. import foreign as foreign
from .._utils import get_primitive_bitwidth as get_primitive_bitwidth
from .._utils import validate_block_shape as validate_block_shape
from .._utils import warn_once as warn_once
from ._values import PropagateNan as PropagateNan
from ._values import _BlockPointer
from ._values import _Tile
from ._values import constexpr_type as constexpr_type
from ._values import range as range
from ._values import shape_argument as shape_argument
from ._values import slice as slice
from ._values import slice_type as slice_type
from ._values import static_range as static_range
from ._values import tuple as tuple
from ._values import tuple_type as tuple_type
from ._values import unwrap as unwrap
from ._values import unwrap_all as unwrap_all
from .aggregates import aggregate_replace as aggregate_replace
from .basics import builtin as builtin
from .basics import builtin as extern
from .basics import get_int_dtype as get_int_dtype
from .basics import is_builtin as is_builtin
from .basics import method as method
from .basics import must_use_result as must_use_result
from .compatibility import base_type as base_type
from .compatibility import base_value as base_value
from .compatibility import check_bit_width as check_bit_width
from .compatibility import is_negative_zero as is_negative_zero
from .descriptors import advance as advance
from .descriptors import load_tensor_descriptor as load_tensor_descriptor
from .descriptors import make_block_ptr as make_block_ptr
from .descriptors import make_tensor_descriptor as make_tensor_descriptor
from .descriptors import store_tensor_descriptor as store_tensor_descriptor
from .descriptors import tensor_descriptor as tensor_descriptor
from .descriptors import tensor_descriptor as tensor_descriptor_base
from .descriptors import tensor_descriptor_type as tensor_descriptor_base_type
from .descriptors import tensor_descriptor_type as tensor_descriptor_type
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
from .memory import load as load
from .memory import store as store
from .scaled import dot_scaled as dot_scaled
from .shapes import broadcast as broadcast
from .shapes import broadcast_to as broadcast_to
from .shapes import cat as cat
from .shapes import count_words as count_words
from .shapes import expand_dims as expand_dims
from .shapes import gather_words as gather_words
from .shapes import join as join
from .shapes import permute as permute
from .shapes import reshape as reshape
from .shapes import split as split
from .shapes import squeeze as squeeze
from .shapes import trans as trans
from .shapes import unsqueeze as unsqueeze
from .shapes import view as view
from .standard import gather as gather
from .standard import histogram as histogram

TRITON_BUILTIN: str

TRITON_MAX_TENSOR_NUMEL: int


class block_type(dtype):
    """The type of a tile: `element_ty` and `shape`."""
    def __init__(self, element_ty: _dtype, shape: Any) -> None: ...
    @property
    def element_ty(self) -> _pointer_type: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def numel(self) -> int: ...
    @property
    def shape(self) -> builtins.tuple[int, ...]: ...


class pointer_type(dtype):
    """The type of a pointer: `element_ty` is what it points to."""
    def __init__(self, element_ty: _dtype, address_space: int = 1, const: bool = False) -> None: ...
    @property
    def address_space(self) -> int: ...
    @property
    def const(self) -> bool: ...
    @property
    def element_ty(self) -> _pointer_type: ...


@final
class tensor:
    """A run-time value of a kernel: a scalar or a tile."""
    @property
    def T(self) -> _Tile:
        """The transpose of a matrix."""
    def __add__(self, other: Any, /) -> _Tile: ...
    def __and__(self, other: Any, /) -> _Tile: ...
    def __bool__(self) -> bool: ...
    def __eq__(self, other: Any, /) -> _Tile: ...  # type: ignore[override]
    def __float__(self) -> float: ...
    def __floordiv__(self, other: Any, /) -> _Tile: ...
    def __ge__(self, other: Any, /) -> _Tile: ...
    def __getitem__(self, key: Any, /) -> _Tile: ...
    def __gt__(self, other: Any, /) -> _Tile: ...
    def __hash__(self) -> int: ...
    def __index__(self) -> int: ...
    def __int__(self) -> int: ...
    def __invert__(self) -> _Tile: ...
    def __le__(self, other: Any, /) -> _Tile: ...
    def __lshift__(self, other: Any, /) -> _Tile: ...
    def __lt__(self, other: Any, /) -> _Tile: ...
    def __matmul__(self, other: Any, /) -> _Tile: ...
    def __mod__(self, other: Any, /) -> _Tile: ...
    def __mul__(self, other: Any, /) -> _Tile: ...
    def __ne__(self, other: Any, /) -> _Tile: ...  # type: ignore[override]
    def __neg__(self) -> _Tile: ...
    def __or__(self, other: Any, /) -> _Tile: ...
    def __pos__(self) -> _Tile: ...
    def __pow__(self, other: Any, mod: Any = None, /) -> _Tile: ...
    def __radd__(self, other: Any, /) -> _Tile: ...
    def __rand__(self, other: Any, /) -> _Tile: ...
    def __repr__(self) -> str: ...
    def __rfloordiv__(self, other: Any, /) -> _Tile: ...
    def __rlshift__(self, other: Any, /) -> _Tile: ...
    def __rmatmul__(self, other: Any, /) -> _Tile: ...
    def __rmod__(self, other: Any, /) -> _Tile: ...
    def __rmul__(self, other: Any, /) -> _Tile: ...
    def __ror__(self, other: Any, /) -> _Tile: ...
    def __rpow__(self, other: Any, mod: Any = None, /) -> _Tile: ...
    def __rrshift__(self, other: Any, /) -> _Tile: ...
    def __rshift__(self, other: Any, /) -> _Tile: ...
    def __rsub__(self, other: Any, /) -> _Tile: ...
    def __rtruediv__(self, other: Any, /) -> _Tile: ...
    def __rxor__(self, other: Any, /) -> _Tile: ...
    def __sub__(self, other: Any, /) -> _Tile: ...
    def __truediv__(self, other: Any, /) -> _Tile: ...
    def __xor__(self, other: Any, /) -> _Tile: ...
    def abs(x) -> _Tile:
        """Absolute value; unsigned integers stay as they are."""
    def advance(base, offsets: Any) -> _BlockPointer:
        """The block pointer `base` moved by `offsets`; the argument itself stays."""
    def argmax(input, axis: int | None, tie_break_left: bool = True, keep_dims: bool = False) -> _Tile:
        """Lowest index of the maximum along `axis`, whatever `tie_break_left` says."""
    def argmin(input, axis: int | None, tie_break_left: bool = True, keep_dims: bool = False) -> _Tile:
        """Lowest index of the minimum along `axis`, whatever `tie_break_left` says."""
    def associative_scan(input, axis: int, combine_fn: Any, reverse: bool = False) -> Any:
        """Running combination along `axis`, each element included; from the end with `reverse`."""
    def atomic_add(pointer, val: Any, mask: Any = None, sem: str | None = None, scope: str | None = None) -> _Tile:
        """Adds `val` to memory at once and returns the old value.

        sem: "acquire", "release", "acq_rel" (default), "relaxed"; scope: "cta", "gpu"
        (default), "sys". Integers of 32 and 64 bits, floats of 16 to 64 bits."""
    def atomic_and(pointer, val: Any, mask: Any = None, sem: str | None = None, scope: str | None = None) -> _Tile:
        """As atomic_add with bitwise and; integers of 32 and 64 bits."""
    def atomic_cas(pointer, cmp: Any, val: Any, sem: str | None = None, scope: str | None = None) -> _Tile:
        """Writes `val` where memory holds `cmp`; returns the old value.

        16, 32 and 64 bits; run-time operands must have the pointer's element type."""
    def atomic_load(pointer, mask: Any = None, sem: str | None = None, scope: str | None = None) -> _Tile:
        """The elements behind the pointers, each read at once; unspecified where `mask` is false.

        sem: "acquire" (default) or "relaxed"; scope: "cta", "gpu" (default), "sys". Elements of 8 to 64 bits."""
    def atomic_max(pointer, val: Any, mask: Any = None, sem: str | None = None, scope: str | None = None) -> _Tile:
        """As atomic_add with the maximum; 32 and 64 bits. Floats order by sign and bits."""
    def atomic_min(pointer, val: Any, mask: Any = None, sem: str | None = None, scope: str | None = None) -> _Tile:
        """As atomic_add with the minimum; 32 and 64 bits. Floats order by sign and bits."""
    def atomic_or(pointer, val: Any, mask: Any = None, sem: str | None = None, scope: str | None = None) -> _Tile:
        """As atomic_add with bitwise or; integers of 32 and 64 bits."""
    def atomic_poll(pointer, expected_value: Any, sem: str | None = None, scope: str | None = None, timeout_ns: int | None = None) -> _Tile:
        """Waits until memory holds `expected_value`; whether it does, which only `timeout_ns` can prevent.

        One integer of 16, 32 or 64 bits; acquire (the default) or relaxed."""
    def atomic_store(pointer, val: Any, mask: Any = None, sem: str | None = None, scope: str | None = None) -> None:
        """Writes `val`, each element of 8 to 64 bits at once.

        sem: "release" (default) or "relaxed"; scope as for atomic_load."""
    def atomic_xchg(pointer, val: Any, mask: Any = None, sem: str | None = None, scope: str | None = None) -> _Tile:
        """Replaces the value in memory and returns the old one; 32 and 64 bits."""
    def atomic_xor(pointer, val: Any, mask: Any = None, sem: str | None = None, scope: str | None = None) -> _Tile:
        """As atomic_add with exclusive or; integers of 32 and 64 bits."""
    def broadcast_to(input, *shape: Any) -> _Tile:
        """`input` stretched to `shape`: equal rank, and extents that match or are 1."""
    def cast(input, dtype: _dtype, fp_downcast_rounding: str | None = None, bitcast: bool = False) -> _Tile:
        """`input` converted to `dtype`.

        Floats narrow to nearest even, or toward zero with fp_downcast_rounding="rtz";
        int1 becomes 0 or 1; anything becomes int1 by != 0; `bitcast` keeps the bits and
        needs equal widths."""
    @overload
    def cdiv(x, div: int) -> int:
        """x / div rounded up, for non-negative integers."""
    @overload
    def cdiv(x, div: Any) -> _Tile:
        """x / div rounded up, for non-negative integers."""
    def ceil(x) -> _Tile:
        """Smallest whole number not below x. float16, bfloat16, float32 and float64."""
    def cos(x) -> _Tile:
        """Cosine of x in radians. float16, bfloat16, float32 and float64."""
    def cumprod(input, axis: int = 0, reverse: bool = False) -> _Tile:
        """Running product along `axis`; bfloat16 widens to float32."""
    def cumsum(input, axis: int = 0, reverse: bool = False, dtype: _dtype | None = None) -> _Tile:
        """Running sum along `axis`; bfloat16 and narrow integers widen to 32 bits."""
    @property
    def dtype(self) -> _pointer_type:
        """The scalar type of the elements."""
    def erf(x) -> _Tile:
        """Error function. float16, bfloat16, float32 and float64."""
    def exp(x) -> _Tile:
        """e to the power x. float16, bfloat16, float32 and float64."""
    def exp2(x) -> _Tile:
        """2 to the power x. float16, bfloat16, float32 and float64."""
    def expand_dims(input, axis: int | Sequence[int]) -> _Tile:
        """A new axis of extent 1 at `axis`, or at each of a tuple of axes."""
    def flip(x, dim: int | None = None) -> _Tile:
        """The elements in reverse order along `dim` (the last one if not given)."""
    def floor(x) -> _Tile:
        """Largest whole number not above x. float16, bfloat16, float32 and float64."""
    def gather(src, index: Any, axis: int) -> _Tile:
        """out[..., i, ...] = src[..., index[..., i, ...], ...] along `axis`.

        An index outside the tile gives zero."""
    @property
    def handle(self) -> Any:
        """The value for the evaluator."""
    def histogram(input, num_bins: int, mask: Any = None) -> _Tile:
        """How many elements of a 1-D integer tile have the values 0 ... num_bins - 1, as int32."""
    def item(self) -> _Tile:
        """A one-element tensor as a scalar."""
    def log(x) -> _Tile:
        """Natural logarithm. float16, bfloat16, float32 and float64."""
    def log2(x) -> _Tile:
        """Logarithm to base 2. float16, bfloat16, float32 and float64."""
    def logical_and(self, other: Any) -> _Tile:
        """Elementwise and of int1."""
    def logical_or(self, other: Any) -> _Tile:
        """Elementwise or of int1."""
    @overload
    def max(input, axis: int | None = None, return_indices: Literal[False] = False, return_indices_tie_break_left: bool = True, keep_dims: bool = False) -> _Tile:
        """Maximum along `axis`, or of all; with the lowest of its indices as int32 on request.

        That is so whatever `return_indices_tie_break_left` says, which leaves the choice open where it is False.

        Types below 32 bits widen to float32 or int32, with indices only bfloat16 does.
        NaN loses against numbers."""
    @overload
    def max(input, axis: int | None, return_indices: Literal[True], return_indices_tie_break_left: bool = True, keep_dims: bool = False) -> builtins.tuple[_Tile, _Tile]:
        """Maximum along `axis`, or of all; with the lowest of its indices as int32 on request.

        That is so whatever `return_indices_tie_break_left` says, which leaves the choice open where it is False.

        Types below 32 bits widen to float32 or int32, with indices only bfloat16 does.
        NaN loses against numbers."""
    @overload
    def max(input, axis: int | None = None, *, return_indices: Literal[True], return_indices_tie_break_left: bool = True, keep_dims: bool = False) -> builtins.tuple[_Tile, _Tile]:
        """Maximum along `axis`, or of all; with the lowest of its indices as int32 on request.

        That is so whatever `return_indices_tie_break_left` says, which leaves the choice open where it is False.

        Types below 32 bits widen to float32 or int32, with indices only bfloat16 does.
        NaN loses against numbers."""
    @overload
    def min(input, axis: int | None = None, return_indices: Literal[False] = False, return_indices_tie_break_left: bool = True, keep_dims: bool = False) -> _Tile:
        """Minimum along `axis`, as max."""
    @overload
    def min(input, axis: int | None, return_indices: Literal[True], return_indices_tie_break_left: bool = True, keep_dims: bool = False) -> builtins.tuple[_Tile, _Tile]:
        """Minimum along `axis`, as max."""
    @overload
    def min(input, axis: int | None = None, *, return_indices: Literal[True], return_indices_tie_break_left: bool = True, keep_dims: bool = False) -> builtins.tuple[_Tile, _Tile]:
        """Minimum along `axis`, as max."""
    @property
    def numel(self) -> int:
        """The number of elements."""
    def permute(input, *dims: Any) -> _Tile:
        """The axes in the order `dims`, which names each once."""
    def ravel(x, can_reorder: bool = False) -> _Tile:
        """The elements in one dimension."""
    def reduce(input, axis: int | None, combine_fn: Any, keep_dims: bool = False) -> Any:
        """Combines the elements along `axis` (all of them for None) with `combine_fn`.

        `input` is a tensor or a tuple of n tensors of one shape; `combine_fn` is a jit
        function of 2n scalars that returns n, associative and commutative."""
    def reduce_or(input, axis: int | None, keep_dims: bool = False) -> _Tile:
        """Bitwise or along `axis`, of integers."""
    def reshape(input, *shape: Any, can_reorder: bool = False) -> _Tile:
        """The same elements in another shape; row-major order is kept unless `can_reorder`."""
    def rsqrt(x) -> _Tile:
        """Reciprocal of the square root. float16, bfloat16, float32 and float64."""
    @property
    def shape(self) -> builtins.tuple[int, ...]:
        """Extents as a tuple of ints; () for a scalar."""
    def sigmoid(x) -> _Tile:
        """1 / (1 + exp(-x))."""
    def sin(x) -> _Tile:
        """Sine of x in radians. float16, bfloat16, float32 and float64."""
    def softmax(x, dim: int | None = None, keep_dims: bool = False, ieee_rounding: bool = False) -> _Tile:
        """exp(x) over its sum along `dim` (0 if not given), shifted by the maximum.

        Without keep_dims only dimension 0 broadcasts back as it should."""
    def sort(x, dim: int | None = None, descending: bool = False) -> _Tile:
        """The elements in ascending order along the last dimension; NaN counts as the largest."""
    def split(a) -> builtins.tuple[_Tile, _Tile]:
        """The inverse of join: a last dimension of 2 as two tensors."""
    def sqrt(x) -> _Tile:
        """Square root; may be approximate in float32, see sqrt_rn. float16, bfloat16, float32 and float64."""
    def sqrt_rn(x) -> _Tile:
        """Square root rounded to nearest even; float32."""
    def squeeze(x, dim: int) -> _Tile:
        """Removes axis `dim`, whose extent is 1."""
    def store(pointer, value: Any, mask: Any = None, boundary_check: Any = (), cache_modifier: str = '', eviction_policy: str = '') -> None:
        """Writes `value`, broadcast and cast to what the pointer points to.

        Lanes whose `mask` is false are not written. cache_modifier: "", ".wb", ".cg",
        ".cs", ".wt"; eviction_policy as for load."""
    def sum(input, axis: int | None = None, keep_dims: bool = False, dtype: _dtype | None = None) -> _Tile:
        """Sum along `axis`, or of all elements.

        Integers below 32 bits are widened to 32; floats are not, so pass
        dtype=tl.float32 to add float16 or bfloat16 in float32."""
    def to(self, dtype: _dtype, fp_downcast_rounding: str | None = None, bitcast: bool = False) -> _Tile:
        """As tl.cast."""
    def trans(input, *dims: Any) -> _Tile:
        """The axes in another order; without `dims` the last two are swapped."""
    @property
    def type(self) -> Any:
        """A block_type for a tile, else the dtype."""
    def unsqueeze(x, dim: int) -> _Tile:
        """As expand_dims with one axis."""
    def view(input, *shape: Any) -> _Tile:
        """Deprecated: reshape that may reorder elements."""
    def xor_sum(input, axis: int | None = None, keep_dims: bool = False) -> _Tile:
        """Exclusive or along `axis`, of integers."""


class dtype:
    """The type of an element, such as tl.float32; kernels convert by x.to(dtype)."""
    def __init__(self, name: str) -> None: ...
    FP_TYPES: ClassVar[list[str]]
    KIND: ClassVar[Any]
    OTHER_TYPES: ClassVar[list[str]]
    SIGNEDNESS: ClassVar[Any]
    SINT_TYPES: ClassVar[list[str]]
    STANDARD_FP_TYPES: ClassVar[list[str]]
    UINT_TYPES: ClassVar[list[str]]
    @property
    def cache_key_part(self) -> str: ...
    @property
    def codegen_name(self) -> str: ...
    @property
    def exponent_bias(self) -> int: ...
    @property
    def fp_mantissa_width(self) -> int: ...
    def get_block_shapes(self) -> builtins.tuple[int, ...]: ...
    def get_int_max_value(self) -> int: ...
    def get_int_min_value(self) -> int: ...
    @property
    def int_bitwidth(self) -> int: ...
    @property
    def int_signedness(self) -> Any: ...
    def is_bf16(self) -> bool: ...
    def is_block(self) -> bool: ...
    def is_bool(self) -> bool: ...
    def is_const(self) -> bool: ...
    @staticmethod
    def is_dtype(name: str) -> bool: ...
    def is_floating(self) -> bool: ...
    def is_fp16(self) -> bool: ...
    def is_fp32(self) -> bool: ...
    def is_fp64(self) -> bool: ...
    def is_fp8(self) -> bool: ...
    def is_fp8e4b15(self) -> bool: ...
    def is_fp8e4b8(self) -> bool: ...
    def is_fp8e4nv(self) -> bool: ...
    def is_fp8e5(self) -> bool: ...
    def is_fp8e5b16(self) -> bool: ...
    def is_int(self) -> bool: ...
    def is_int1(self) -> bool: ...
    def is_int16(self) -> bool: ...
    def is_int32(self) -> bool: ...
    def is_int64(self) -> bool: ...
    def is_int8(self) -> bool: ...
    def is_int_signed(self) -> bool: ...
    def is_int_unsigned(self) -> bool: ...
    def is_ptr(self) -> bool: ...
    def is_standard_floating(self) -> bool: ...
    def is_tuple(self) -> bool: ...
    def is_uint16(self) -> bool: ...
    def is_uint32(self) -> bool: ...
    def is_uint64(self) -> bool: ...
    def is_uint8(self) -> bool: ...
    def is_void(self) -> bool: ...
    @property
    def itemsize(self) -> int: ...
    def kind(self) -> Any: ...
    def mangle(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def primitive_bitwidth(self) -> int: ...
    @property
    def scalar(self) -> Any: ...
    @property
    def short_name(self) -> str: ...
    def with_element_ty(self, element_ty: Any) -> dtype: ...
    def __eq__(self, other: Any, /) -> bool: ...
    def __hash__(self) -> int: ...


def program_id(axis: int) -> _Tile:
    """Index of this program along grid axis 0, 1 or 2, as int32."""


def num_programs(axis: int) -> _Tile:
    """Size of the grid along axis 0, 1 or 2, as int32."""


def arange(start: int, end: int) -> _Tile:
    """The int32 tile start, start + 1, ..., end - 1.

    Both bounds are constexpr; their distance is a power of two. E0106 if not."""


def full(shape: Sequence[int] | int, value: Any, dtype: _dtype) -> _Tile:
    """A tile of `shape` filled with `value`, a number or a one-element tensor."""


def to_tensor(x: Any) -> Any:
    """A Python number as a scalar of the type a literal has alone; tensors as they are.

    int becomes the first of int32, uint32, int64, uint64 that holds it; float becomes
    float32 where it is in that type's normal range, else float64; bool becomes int1."""


def cast(input: Any, dtype: _dtype, fp_downcast_rounding: str | None = None, bitcast: bool = False) -> _Tile:
    """`input` converted to `dtype`.

    Floats narrow to nearest even, or toward zero with fp_downcast_rounding="rtz";
    int1 becomes 0 or 1; anything becomes int1 by != 0; `bitcast` keeps the bits and
    needs equal widths."""


def item(self: Any) -> _Tile:
    """A one-element tensor as a scalar."""


def add(x: Any, y: Any, sanitize_overflow: bool = True) -> _Tile:
    """x + y; `sanitize_overflow=False` where it may wrap under debug=True, too."""


def sub(x: Any, y: Any, sanitize_overflow: bool = True) -> _Tile:
    """x - y; `sanitize_overflow=False` where it may wrap under debug=True, too."""


def mul(x: Any, y: Any, sanitize_overflow: bool = True) -> _Tile:
    """x * y; `sanitize_overflow=False` where it may wrap under debug=True, too."""


def where(condition: Any, x: Any, y: Any) -> _Tile:
    """x where `condition` holds, else y; all three are evaluated and broadcast."""


def minimum(x: Any, y: Any, propagate_nan: PropagateNan = ...) -> _Tile:
    """The smaller of each pair. bf16 is widened to f32; NaN as `propagate_nan` says."""


def maximum(x: Any, y: Any, propagate_nan: PropagateNan = ...) -> _Tile:
    """The larger of each pair. bf16 is widened to f32; NaN as `propagate_nan` says."""


def clamp(x: Any, min: Any, max: Any, propagate_nan: PropagateNan = ...) -> _Tile:
    """x limited to [min, max], for floats; `max` wins where min > max."""


def logical_and(self: Any, other: Any) -> _Tile:
    """Elementwise and of int1."""


def logical_or(self: Any, other: Any) -> _Tile:
    """Elementwise or of int1."""


def dot(input: Any, other: Any, acc: Any = None, input_precision: str | None = None, allow_tf32: bool | None = None, max_num_imprecise_acc: int | None = None, out_dtype: _dtype | None = None) -> _Tile:
    """Matrix product of [M, K] and [K, N], or of batches of them, plus `acc`.

    Both operands have one type out of int8, float16, bfloat16, float32, float64, or
    any two fp8 types; K is at least 32 bytes. The result is int32 for int8, float64
    for float64, float32 else; float16 and fp8 give float16 where `out_dtype` (by
    default the type of `acc`) says so. `acc` has the type of the result.

    input_precision concerns float32 operands: "tf32" (default) uses their upper 19
    bits, "tf32x3", "bf16x3" and "bf16x6" split them into parts, "ieee" uses them as
    they are; allow_tf32 is its older form, and a run-time value there counts as
    True, as in Triton. max_num_imprecise_acc: an fp8 product
    joins the accumulator in full precision every so many elements of K."""


def reduce(input: Any, axis: int | None, combine_fn: Any, keep_dims: bool = False) -> Any:
    """Combines the elements along `axis` (all of them for None) with `combine_fn`.

    `input` is a tensor or a tuple of n tensors of one shape; `combine_fn` is a jit
    function of 2n scalars that returns n, associative and commutative."""


def associative_scan(input: Any, axis: int, combine_fn: Any, reverse: bool = False) -> Any:
    """Running combination along `axis`, each element included; from the end with `reverse`."""


def inline_asm_elementwise(asm: str, constraints: str, args: Any, dtype: Any, is_pure: bool, pack: int) -> Any:
    """PTX for each group of `pack` elements of the broadcast `args`.

    `constraints` are LLVM's ("=r,r,r"): a register per 32 bits of a group, outputs
    first; narrower elements share one. An argument whose constraint is n or i is a
    constant, written into the code. `dtype` is the type of the result, or a tuple for
    several. Without `is_pure` the code is kept in place and not repeated."""


def extern_elementwise(lib_name: Any, lib_path: Any, args: Any, arg_type_symbol_dict: Any, is_pure: bool) -> Any:
    """A function of libdevice for each element of the broadcast `args`.

    arg_type_symbol_dict maps tuples of types to (symbol, type of the result). Other
    libraries than NVIDIA's libdevice are not linked."""


def map_elementwise(scalar_fn: Any, *args: Any, pack: int = 1) -> Any:
    """`scalar_fn`, a jit function of scalars, for each element of the broadcast `args`.

    It may branch per element. With `pack` it gets that many elements of each argument
    and returns as many of each result. It must not touch memory. Where it returns a
    tuple, so does this, even of one tile."""


def multiple_of(input: Any, values: Any) -> _Tile:
    """Promises that `input` (the first of each run) is a multiple of `values`."""


def max_contiguous(input: Any, values: Any) -> _Tile:
    """Promises runs of `values` consecutive numbers along each dimension."""


def max_constancy(input: Any, values: Any) -> _Tile:
    """Promises runs of `values` equal elements along each dimension."""


def assume(cond: Any) -> None:
    """Promises that a scalar condition holds; the interpreter checks it."""


def condition(arg: Any, disable_licm: bool = False) -> Any:
    """Wraps the test of a while loop to attach a hint; gives the test itself."""


def expect_zero(x: Any, mask: Any) -> _Tile:
    """`x`, which is promised to be zero where `mask` holds; checked with debug=True and in the interpreter."""


def debug_barrier() -> None:
    """Waits for all threads of the program."""


def static_print(*values: Any, sep: Any = ' ', end: str = '\n', file: Any = None, flush: Any = False) -> None:
    """Prints while the kernel is compiled."""


def static_assert(cond: Any, msg: Any = '') -> None:
    """Stops the compilation with `msg` where `cond`, a bool known now, is false."""


def device_print(prefix: str, *args: Any, hex: bool = False) -> None:
    """Prints a line per element from the running kernel, with program id and index."""


def device_assert(cond: Any, msg: Any = '', mask: Any = None) -> None:
    """Stops the kernel where `cond` is false; checked with debug=True and in the interpreter."""


def explain_type_error(text: Any) -> Any:
    """The E0122 or E0125 that Python's message about a call of a language function stands for, or None."""


_dtype = dtype
_pointer_type = pointer_type
