# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A kernel that `tilewright doctor` compiles and runs."""

from __future__ import annotations

import numpy as np

from . import _core
from . import language as tl
from .compiler.compiler import compile
from .compiler.sources import ASTSource
from .runtime.jit import jit
from .runtime.mathematics import cdiv


@jit
def saxpy(x, y, out, a, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, a * tl.load(x + i, mask) + tl.load(y + i, mask), mask)


def _inputs(n):
    rng = np.random.default_rng(0)
    # Small integers: the sum is exact, so the comparison is too.
    x, y = (rng.integers(-100, 100, n).astype(np.float32) for _ in range(2))
    return x, y, 3 * x + y


def interpret(n=1000) -> bool:
    """Runs the kernel on the CPU."""
    x, y, expected = _inputs(n)
    out = np.zeros_like(x)
    saxpy[(cdiv(n, 256),)](x, y, out, 3.0, n, BLOCK=256)
    return bool((out == expected).all())


def compile_for(target):
    """Compiles the kernel for a target; needs no GPU."""
    signature = {"x": "*fp32", "y": "*fp32", "out": "*fp32", "a": "fp32", "n": "i32"}
    source = ASTSource(saxpy, signature, {"BLOCK": 256}, {"x": 16, "y": 16, "out": 16})
    return compile(source, target)


def run_on_gpu(n=100_000, device=0) -> bool:
    """Runs the kernel on a GPU with memory of the driver's own."""
    x, y, expected = _inputs(n)
    buffers = [_core.DeviceBuffer(x.nbytes, "float32", device) for _ in range(3)]
    buffers[0].copy_from(x)
    buffers[1].copy_from(y)
    saxpy[lambda meta: (cdiv(n, meta["BLOCK"]),)](*buffers, 3.0, n, BLOCK=256)
    out = np.empty_like(x)
    _core.synchronize(device)
    buffers[2].copy_to(out)
    return bool((out == expected).all())
