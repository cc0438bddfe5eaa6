# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by scripts/generate_stubs.py: do not edit; `make stubs` writes it again.
"""Tilewright: a tile language embedded in Python and a just-in-time compiler for it.

    import tilewright
    import tilewright.language as tl

    @tilewright.jit
    def add(x, y, out, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + i, tl.load(x + i, i < n) + tl.load(y + i, i < n), i < n)

    add[(tilewright.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024)

Importing this package touches neither CUDA nor a framework; submodules are
loaded when first named.
"""

from . import errors as errors
from ._version import __version__ as __version__
from .errors import (CompilationError as CompilationError, InterpreterError as InterpreterError,
                     OutOfResources as OutOfResources, TilewrightError as TilewrightError, TritonError as TritonError)
from .runtime.jit import JITFunction as JITFunction
from .runtime.jit import KernelInterface as KernelInterface
from .runtime.jit import MockTensor as MockTensor
from .runtime.jit import TensorWrapper as TensorWrapper
from .runtime.jit import constexpr_function as constexpr_function
from .runtime.jit import jit as jit
from .runtime.jit import must_use_result as must_use_result
from .runtime.jit import reinterpret as reinterpret
from .runtime.mathematics import cdiv as cdiv
from .runtime.mathematics import next_power_of_2 as next_power_of_2
from .runtime.autotuner import autotune as autotune
from .runtime.autotuner import Autotuner as Autotuner
from .runtime.autotuner import Config as Config
from .runtime.autotuner import heuristics as heuristics
from .triton_alias import install_as_triton as install_as_triton
from .runtime.allocation import set_allocator as set_allocator
from .runtime._async_compile import AsyncCompileMode as AsyncCompileMode
from .runtime._async_compile import FutureKernel as FutureKernel
from .language.aggregates import aggregate as aggregate
from .exporting.package import load as load
from .compiler.compiler import compile as compile
from .compiler.compiler import ASTSource as ASTSource
from .compiler.compiler import CompiledKernel as CompiledKernel
from . import language as language
from . import runtime as runtime
from . import testing as testing
from . import tools as tools
from . import compiler as compiler
from . import backends as backends
from . import knobs as knobs
from . import cli as cli
from . import triton_alias as triton_alias
from . import tuning as tuning
from . import profiler as profiler
from . import ops as ops
from . import _C as _C
from . import _utils as _utils
from . import torch as torch
from . import jax as jax

__all__ = [
    "ASTSource", "AsyncCompileMode", "Autotuner", "CompilationError", "CompiledKernel", "Config", "FutureKernel",
    "InterpreterError", "JITFunction", "KernelInterface", "MockTensor", "OutOfResources", "TensorWrapper",
    "TilewrightError", "TritonError", "aggregate", "autotune", "backends", "cdiv", "compile", "compiler",
    "constexpr_function", "errors", "heuristics", "install_as_triton", "jit", "knobs", "language", "load",
    "must_use_result", "next_power_of_2", "reinterpret", "runtime", "set_allocator", "testing", "tools",
]
