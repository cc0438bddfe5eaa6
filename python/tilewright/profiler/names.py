# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The names of compiled kernels in profiles."""

from __future__ import annotations


def configuration_of(kernel) -> str:
    """The constants and options of a compiled kernel, as "BLOCK=128 num_warps=4"."""
    if kernel is None:
        return ""
    fn = getattr(kernel.src, "fn", None)
    given = {p.name for p in fn.params if p.is_constexpr} if fn is not None else set()
    parts = [f"{name}={getattr(value, '__name__', value)}" for name, value in kernel.constants.items() if name in given]
    meta = kernel.metadata
    parts += [f"num_warps={meta.num_warps}", f"num_stages={meta.num_stages}"]
    if meta.num_ctas > 1:
        parts.append(f"num_ctas={meta.num_ctas}")
    return " ".join(parts)


def label_of(kernel) -> str:
    """The name of a kernel's ranges; called once per kernel by the launcher."""
    return "kernel" if kernel is None else f"{kernel.name} {configuration_of(kernel)}"
