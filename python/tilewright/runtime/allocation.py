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


def allocate(size: int, alignment: int, stream: int, device: int):
    """A device buffer of `size` bytes: an object with `data_ptr()`.

    The launch lets go of it at once. Frameworks give memory that was freed to what
    the same stream does later, also while a graph is captured: so no launch that may
    run at the same time gets it.
    """
    allocator = _allocator.get()
    if allocator is not None:
        return allocator(size, alignment, stream)
    torch = sys.modules.get("torch")
    if torch is not None:
        return _allocate_by_torch(torch, size, stream, device)
    cupy = sys.modules.get("cupy")
    if cupy is not None:
        with cupy.cuda.Device(device), cupy.cuda.ExternalStream(stream, device):
            return _CupyBuffer(cupy.empty(size, dtype="uint8"))
    raise errors.make(
        "E0117",
        message=f"the kernel needs {size} bytes of global scratch memory and no allocator is set",
        help="call tilewright.set_allocator(fn) with fn(size, alignment, stream)",
    )


def _allocate_by_torch(torch, size, stream, device):
    if torch.cuda.current_stream(device).cuda_stream == stream:
        return torch.empty(size, dtype=torch.uint8, device=f"cuda:{device}")
    # A launch may name another stream than torch's current one.
    other = torch.cuda.ExternalStream(stream, device) if stream else torch.cuda.default_stream(device)
    with torch.cuda.stream(other):
        return torch.empty(size, dtype=torch.uint8, device=f"cuda:{device}")


class _CupyBuffer:
    def __init__(self, array):
        self.array = array

    def data_ptr(self):
        return self.array.data.ptr
