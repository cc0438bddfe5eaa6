# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Triton's path to the allocators of kernels' memory."""

from typing import Optional, Protocol

from .allocation import _allocator, set_allocator


class Buffer(Protocol):
    """What an allocator returns."""

    def data_ptr(self) -> int: ...


class Allocator(Protocol):
    """What set_allocator takes."""

    def __call__(self, size: int, alignment: int, stream: Optional[int]) -> Buffer: ...


class NullAllocator:
    """An allocator that refuses; programs ask whether the one that is set is of this class."""

    def __call__(self, size, alignment, stream):
        raise RuntimeError(
            f"the kernel needs {size} bytes of memory and no allocator was set; call "
            "triton.set_allocator(function) with function(size, alignment, stream)"
        )


def set_profile_allocator(allocator):
    """Taken and not used: no kernel is compiled with memory for measurements."""


def has_profile_allocator() -> bool:
    return False


__all__ = [
    "Allocator",
    "Buffer",
    "NullAllocator",
    "_allocator",
    "has_profile_allocator",
    "set_allocator",
    "set_profile_allocator",
]
