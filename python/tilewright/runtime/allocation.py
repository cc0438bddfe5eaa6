# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Global scratch memory for kernels that need it.

`set_allocator(fn)` names the callback `fn(size, alignment, stream)`, which returns
an object with `data_ptr()`. It is kept in a context variable, so each thread and
each asynchronous task has its own. Where none is set, torch or CuPy allocates.
"""

from __future__ import annotations

import contextvars
import sys

from .. import errors

_allocator = contextvars.ContextVar("tilewright_allocator", default=None)


def set_allocator(allocator):
    """Sets the allocator of this context; None restores the default."""
    _allocator.set(allocator)


def allocate(size: int, alignment: int, stream: int):
    """A device buffer of `size` bytes: an object with `data_ptr()`."""
    allocator = _allocator.get()
    if allocator is not None:
        return allocator(size, alignment, stream)
    torch = sys.modules.get("torch")
    if torch is not None:
        return torch.empty(size, dtype=torch.uint8, device="cuda")
    cupy = sys.modules.get("cupy")
    if cupy is not None:
        return _CupyBuffer(cupy.empty(size, dtype="uint8"))
    raise errors.make("E0117", message=f"the kernel needs {size} bytes of global scratch memory and no allocator is set",
                      help="call tilewright.set_allocator(fn) with fn(size, alignment, stream)")


class _CupyBuffer:
    def __init__(self, array):
        self.array = array

    def data_ptr(self):
        return self.array.data.ptr
