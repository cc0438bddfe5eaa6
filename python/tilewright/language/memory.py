# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loads, stores and atomics, with Triton's signatures."""

from __future__ import annotations

import builtins

from .. import errors
from ._values import unwrap, unwrap_all
from .basics import _language, builtin, method, tensor


@builtin
def load(
    pointer, mask=None, other=None, boundary_check=(), padding_option="", cache_modifier="", eviction_policy="", volatile=False
):
    """The elements behind a pointer or a tile of pointers.

    Lanes whose `mask` is false touch no memory and hold `other`, or zero where it
    is absent; Triton leaves them undefined, and TILEWRIGHT_CHECK=poison tells which reach
    memory. `mask` and `other` may have more elements than the pointer. Block pointers take
    `boundary_check` and `padding_option` ("" and "zero" give zeros, "nan") instead.
    cache_modifier: "", ".ca", ".cg", ".cs", ".cv"; eviction_policy: "", "evict_first", "evict_last".
    """
    if isinstance(pointer, tensor):
        if boundary_check or padding_option:
            _check_no_boundary(boundary_check, padding_option)
        return _language.load(pointer, mask, other, cache_modifier, eviction_policy, volatile)
    if hasattr(pointer, "_load_block"):
        _check_no_mask("load", mask, other)
        return pointer._load_block(
            unwrap_all(boundary_check), unwrap(padding_option), cache_modifier, eviction_policy, volatile
        )
    return _language.load(pointer, mask, other, cache_modifier, eviction_policy, volatile)


@method
@builtin
def store(pointer, value, mask=None, boundary_check=(), cache_modifier="", eviction_policy=""):
    """Writes `value`, broadcast and cast to what the pointer points to.

    Lanes whose `mask` is false are not written. cache_modifier: "", ".wb", ".cg",
    ".cs", ".wt"; eviction_policy as for load.
    """
    if hasattr(pointer, "_store_block"):
        _check_no_mask("store", mask)
        return pointer._store_block(value, unwrap_all(boundary_check), cache_modifier, eviction_policy)
    if boundary_check:
        _check_no_boundary(boundary_check, "")
    return _language.store(pointer, value, mask, cache_modifier, eviction_policy)


def _check_no_boundary(boundary_check, padding_option):
    if unwrap_all(boundary_check) != () or unwrap(padding_option):
        raise errors.make(
            "E0117",
            message="boundary_check and padding_option apply to block pointers only",
            help="use mask= and other=, or tl.make_block_ptr",
        )


def _check_no_mask(name, *values):
    if builtins.any(unwrap(v) is not None for v in values):
        raise errors.make("E0117", message=f"tl.{name}: a block pointer takes no mask", help="use boundary_check=")


@method
@builtin
def atomic_add(pointer, val, mask=None, sem=None, scope=None):
    """Adds `val` to memory at once and returns the old value.

    sem: "acquire", "release", "acq_rel" (default), "relaxed"; scope: "cta", "gpu"
    (default), "sys". Integers of 32 and 64 bits, floats of 16 to 64 bits.
    """
    return _language.atomic_add(pointer, val, mask, sem, scope)


@method
@builtin
def atomic_max(pointer, val, mask=None, sem=None, scope=None):
    """As atomic_add with the maximum; 32 and 64 bits. Floats order by sign and bits."""
    return _language.atomic_max(pointer, val, mask, sem, scope)


@method
@builtin
def atomic_min(pointer, val, mask=None, sem=None, scope=None):
    """As atomic_add with the minimum; 32 and 64 bits. Floats order by sign and bits."""
    return _language.atomic_min(pointer, val, mask, sem, scope)


@method
@builtin
def atomic_and(pointer, val, mask=None, sem=None, scope=None):
    """As atomic_add with bitwise and; integers of 32 and 64 bits."""
    return _language.atomic_and(pointer, val, mask, sem, scope)


@method
@builtin
def atomic_or(pointer, val, mask=None, sem=None, scope=None):
    """As atomic_add with bitwise or; integers of 32 and 64 bits."""
    return _language.atomic_or(pointer, val, mask, sem, scope)


@method
@builtin
def atomic_xor(pointer, val, mask=None, sem=None, scope=None):
    """As atomic_add with exclusive or; integers of 32 and 64 bits."""
    return _language.atomic_xor(pointer, val, mask, sem, scope)


@method
@builtin
def atomic_xchg(pointer, val, mask=None, sem=None, scope=None):
    """Replaces the value in memory and returns the old one; 32 and 64 bits."""
    return _language.atomic_xchg(pointer, val, mask, sem, scope)


@method
@builtin
def atomic_cas(pointer, cmp, val, sem=None, scope=None):
    """Writes `val` where memory holds `cmp`; returns the old value.

    16, 32 and 64 bits; run-time operands must have the pointer's element type.
    """
    return _language.atomic_cas(pointer, cmp, val, sem, scope)


@method
@builtin
def atomic_load(pointer, mask=None, sem=None, scope=None):
    """The elements behind the pointers, each read at once; unspecified where `mask` is false.

    sem: "acquire" (default) or "relaxed"; scope: "cta", "gpu" (default), "sys". Elements of 8 to 64 bits.
    """
    return _language.atomic_load(pointer, mask, sem, scope)


@method
@builtin
def atomic_store(pointer, val, mask=None, sem=None, scope=None):
    """Writes `val`, each element of 8 to 64 bits at once.

    sem: "release" (default) or "relaxed"; scope as for atomic_load.
    """
    _language.atomic_store(pointer, val, mask, sem, scope)


@method
@builtin
def atomic_poll(pointer, expected_value, sem=None, scope=None, timeout_ns=None):
    """Waits until memory holds `expected_value`; whether it does, which only `timeout_ns` can prevent.

    One integer of 16, 32 or 64 bits; acquire (the default) or relaxed.
    """
    return _language.atomic_poll(pointer, expected_value, sem, scope, timeout_ns)
