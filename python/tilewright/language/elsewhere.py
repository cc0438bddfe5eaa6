# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Advice for names that the language has elsewhere, or under another name.

People bring names from NumPy and PyTorch, and look for a function in one module that stands in
another. E0104 and `tilewright lint` give this as advice.
"""

from __future__ import annotations

import sys
import types

from . import core, math
from .extra import libdevice

#: Names of NumPy, PyTorch and CUDA for what is written in another way here.
OTHER_WORDS = {
    "astype": "use .to(dtype)",
    "atomicAdd": "use tl.atomic_add(pointer, value)",
    "clip": "use tl.clamp(x, low, high)",
    "concat": "use tl.cat or tl.join",
    "concatenate": "use tl.cat or tl.join",
    "fill": "use tl.full(shape, value, dtype)",
    "float": "use .to(tl.float32)",
    "gelu": "use 0.5 * x * (1 + tl.erf(0.7071067811865476 * x))",
    "inf": 'use float("inf")',
    "int": "use .to(tl.int32)",
    "leaky_relu": "use tl.where(x > 0, x, slope * x)",
    "logsumexp": "use tl.log(tl.sum(tl.exp(x - m), axis)) + m with m = tl.max(x, axis)",
    "matmul": "use tl.dot(a, b)",
    "mean": "use tl.sum(x, axis) / count",
    "mm": "use tl.dot(a, b)",
    "nan": 'use float("nan")',
    "ones": "use tl.full(shape, 1, dtype)",
    "power": "use libdevice.pow, from tilewright.language.extra import libdevice",
    "prod": "use tl.reduce(x, axis, function)",
    "relu": "use tl.maximum(x, 0)",
    "silu": "use x * tl.sigmoid(x)",
    "square": "use x * x",
    "stack": "use tl.join(a, b)",
    "syncthreads": "use tl.debug_barrier()",
    "thread_id": "there are no threads in the language: tl.program_id(axis) and tl.arange",
    "threadIdx": "there are no threads in the language: tl.program_id(axis) and tl.arange",
}


def advice(owner, name: str) -> str:
    """What to write instead of `owner.name`, for a module of the language or a tensor; "" where nothing is known."""
    is_module = isinstance(owner, types.ModuleType) and owner.__name__.startswith("tilewright.language")
    if not is_module and not isinstance(owner, core.tensor):
        return ""
    if name in OTHER_WORDS:
        return OTHER_WORDS[name]
    homes = (
        (sys.modules[__package__], f"use tl.{name}"),
        (libdevice, f"use libdevice.{name}, from tilewright.language.extra import libdevice"),
        (math, f"use tl.math.{name}"),
    )
    return next((text for home, text in homes if home is not owner and callable(getattr(home, name, None))), "")


def instead_of_calling_dtype(text: str) -> str:
    """The advice where a dtype, written as `text`, is called as NumPy's are."""
    return f"a dtype is not called: use tl.cast(x, {text})"
