# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by scripts/generate_stubs.py: do not edit; `make stubs` writes it again.
"""Loads, stores and atomics, with Triton's signatures."""

from typing import Any

from .. import errors as errors
from ._values import _Tile
from ._values import unwrap as unwrap
from ._values import unwrap_all as unwrap_all
from .basics import builtin as builtin
from .basics import method as method
from .core import tensor as tensor


def load(pointer: Any, mask: Any = None, other: Any = None, boundary_check: Any = (), padding_option: str = '', cache_modifier: str = '', eviction_policy: str = '', volatile: bool = False) -> _Tile:
    """The elements behind a pointer or a tile of pointers.

    Lanes whose `mask` is false touch no memory and hold `other`, or zero where it
    is absent; Triton leaves them undefined, and TILEWRIGHT_CHECK=poison tells which reach
    memory. `mask` and `other` may have more elements than the pointer. Block pointers take
    `boundary_check` and `padding_option` ("" and "zero" give zeros, "nan") instead.
    cache_modifier: "", ".ca", ".cg", ".cs", ".cv"; eviction_policy: "", "evict_first", "evict_last"."""


def store(pointer: Any, value: Any, mask: Any = None, boundary_check: Any = (), cache_modifier: str = '', eviction_policy: str = '') -> None:
    """Writes `value`, broadcast and cast to what the pointer points to.

    Lanes whose `mask` is false are not written. cache_modifier: "", ".wb", ".cg",
    ".cs", ".wt"; eviction_policy as for load."""


def atomic_add(pointer: Any, val: Any, mask: Any = None, sem: str | None = None, scope: str | None = None) -> _Tile:
    """Adds `val` to memory at once and returns the old value.

    sem: "acquire", "release", "acq_rel" (default), "relaxed"; scope: "cta", "gpu"
    (default), "sys". Integers of 32 and 64 bits, floats of 16 to 64 bits."""


def atomic_max(pointer: Any, val: Any, mask: Any = None, sem: str | None = None, scope: str | None = None) -> _Tile:
    """As atomic_add with the maximum; 32 and 64 bits. Floats order by sign and bits."""


def atomic_min(pointer: Any, val: Any, mask: Any = None, sem: str | None = None, scope: str | None = None) -> _Tile:
    """As atomic_add with the minimum; 32 and 64 bits. Floats order by sign and bits."""


def atomic_and(pointer: Any, val: Any, mask: Any = None, sem: str | None = None, scope: str | None = None) -> _Tile:
    """As atomic_add with bitwise and; integers of 32 and 64 bits."""


def atomic_or(pointer: Any, val: Any, mask: Any = None, sem: str | None = None, scope: str | None = None) -> _Tile:
    """As atomic_add with bitwise or; integers of 32 and 64 bits."""


def atomic_xor(pointer: Any, val: Any, mask: Any = None, sem: str | None = None, scope: str | None = None) -> _Tile:
    """As atomic_add with exclusive or; integers of 32 and 64 bits."""


def atomic_xchg(pointer: Any, val: Any, mask: Any = None, sem: str | None = None, scope: str | None = None) -> _Tile:
    """Replaces the value in memory and returns the old one; 32 and 64 bits."""


def atomic_cas(pointer: Any, cmp: Any, val: Any, sem: str | None = None, scope: str | None = None) -> _Tile:
    """Writes `val` where memory holds `cmp`; returns the old value.

    16, 32 and 64 bits; run-time operands must have the pointer's element type."""


def atomic_load(pointer: Any, mask: Any = None, sem: str | None = None, scope: str | None = None) -> _Tile:
    """The elements behind the pointers, each read at once; unspecified where `mask` is false.

    sem: "acquire" (default) or "relaxed"; scope: "cta", "gpu" (default), "sys". Elements of 8 to 64 bits."""


def atomic_store(pointer: Any, val: Any, mask: Any = None, sem: str | None = None, scope: str | None = None) -> None:
    """Writes `val`, each element of 8 to 64 bits at once.

    sem: "release" (default) or "relaxed"; scope as for atomic_load."""


def atomic_poll(pointer: Any, expected_value: Any, sem: str | None = None, scope: str | None = None, timeout_ns: int | None = None) -> _Tile:
    """Waits until memory holds `expected_value`; whether it does, which only `timeout_ns` can prevent.

    One integer of 16, 32 or 64 bits; acquire (the default) or relaxed."""
