# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by scripts/generate_stubs.py: do not edit; `make stubs` writes it again.
"""Compile-time values and the small classes of the language."""

import builtins
import enum
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from ._known_to_the_compiler import constexpr as constexpr  # type: ignore
from ._known_to_the_compiler import const as const  # type: ignore
from .. import errors as errors
from .core import tensor
from .descriptors import block_pointer, tensor_descriptor

MYPY: bool
if MYPY:
    _Tile: TypeAlias = Any
    _BlockPointer: TypeAlias = Any
    _Descriptor: TypeAlias = Any
else:
    _Tile: TypeAlias = tensor
    _BlockPointer: TypeAlias = block_pointer
    _Descriptor: TypeAlias = tensor_descriptor


def unwrap(value: Any) -> Any:
    """`constexpr(x)` as x; every other object as it is."""


def unwrap_all(values: Any) -> Any:
    """A tuple of plain values from a tuple, a list or one value."""


def shape_argument(shape: Sequence[int] | int) -> Any:
    """f(4, 8) and f((4, 8)) alike: the ints of a variadic shape."""


class constexpr_type:
    """The type of a constexpr: its value."""
    def __init__(self, value: Any) -> None:
        ...
    def __eq__(self, other: Any) -> bool:
        ...
    def __hash__(self) -> int:
        ...
    def __repr__(self) -> str:
        ...
    def mangle(self) -> str:
        ...


class tuple(builtins.tuple[Any, ...]):
    """A tuple inside a kernel; indices and bounds may be constexpr."""
    def __new__(cls, args: Any = (), type: Any = None) -> tuple: ...
    @property
    def values(self) -> Any:
        ...
    def __getitem__(self, key: Any) -> Any:  # type: ignore[override]
        """Return self[key]."""
    def __add__(self, other: Any) -> Any:  # type: ignore[override]
        """Return self+value."""
    def __mul__(self, count: Any) -> Any:  # type: ignore[override]
        """Return self*value."""


class tuple_type:
    """The type of a tuple: the types of its elements."""
    def __init__(self, types: Any, fields: Any = None) -> None:
        ...
    def __eq__(self, other: Any) -> bool:
        ...
    def __hash__(self) -> int:
        ...
    def __getitem__(self, index: Any) -> Any:
        ...
    def __iter__(self) -> Iterator[Any]:
        ...
    def __repr__(self) -> str:
        ...


def type_of(thing: Any) -> Any:
    """`x.type`: of what is known at compile time a constexpr_type, of another tuple a tuple_type."""


class slice:
    """What `a:b:c` in a subscript makes."""
    def __init__(self, start: int, stop: Any = None, step: Any = None) -> None:
        ...


class slice_type:
    """The type of a slice."""


class PropagateNan(enum.IntEnum):
    """What minimum and maximum do with NaN: NONE gives the other operand, ALL gives NaN."""
    NONE = 0
    ALL = 65535


class range:
    """A loop with hints for the compiler; without hints it is Python's `range`.

    `num_stages` asks for that many iterations in flight, `flatten` makes one loop of
    a nest of two, `disable_licm` keeps loop-invariant code inside. `loop_unroll_factor`,
    `warp_specialize` and `disallow_acc_multi_buffer` are taken from kernels that were
    written for Triton. They change nothing, which a remark says (TILEWRIGHT_REMARKS=1)."""
    def __init__(self, arg1: Any, arg2: Any = None, step: Any = None, num_stages: int | None = None, loop_unroll_factor: int | None = None, disallow_acc_multi_buffer: bool = False, flatten: bool = False, warp_specialize: bool = False, disable_licm: bool = False) -> None:
        ...
    def __iter__(self) -> Iterator[_Tile]:
        """Run-time scalars, as a native loop in the interpreter needs them."""


class static_range:
    """A loop that is unrolled while compiling; the variable is constexpr."""
    def __init__(self, arg1: Any, arg2: Any = None, step: Any = None) -> None:
        ...
    def __iter__(self) -> Iterator[int]:
        ...
