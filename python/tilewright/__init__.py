# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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

import importlib as _importlib
import os as _os
import sys as _sys

from . import _core, errors
from ._version import __version__
from .errors import CompilationError, InterpreterError, OutOfResources, TilewrightError, TritonError

if _core.version() != __version__:
    raise errors.make("E0703", a=__version__, b=_core.version())

from .runtime.jit import (JITFunction, KernelInterface, MockTensor, TensorWrapper, constexpr_function, jit,
                          must_use_result, reinterpret)
from .runtime.mathematics import cdiv, next_power_of_2

# name -> (module, attribute); None as attribute means the module itself.
_lazy = {
    "autotune": ("runtime.autotuner", "autotune"),
    "Autotuner": ("runtime.autotuner", "Autotuner"),
    "Config": ("runtime.autotuner", "Config"),
    "heuristics": ("runtime.autotuner", "heuristics"),
    "install_as_triton": ("triton_alias", "install_as_triton"),
    "set_allocator": ("runtime.allocation", "set_allocator"),
    "AsyncCompileMode": ("runtime._async_compile", "AsyncCompileMode"),
    "FutureKernel": ("runtime._async_compile", "FutureKernel"),
    "aggregate": ("language.aggregates", "aggregate"),
    "compile": ("compiler.compiler", "compile"),
    "ASTSource": ("compiler.compiler", "ASTSource"),
    "CompiledKernel": ("compiler.compiler", "CompiledKernel"),
    **{name: (name, None) for name in ("language", "runtime", "testing", "tools", "compiler", "backends", "knobs",
                                      "cli", "triton_alias", "tuning", "profiler", "ops", "_C", "_utils", "torch")},
}

__all__ = [
    "ASTSource", "AsyncCompileMode", "Autotuner", "CompilationError", "CompiledKernel", "Config", "FutureKernel", "InterpreterError", "JITFunction",
    "KernelInterface", "MockTensor", "OutOfResources", "TensorWrapper", "TilewrightError", "TritonError", "aggregate", "autotune",
    "backends", "cdiv", "compile", "compiler", "constexpr_function", "errors", "heuristics", "install_as_triton", "jit", "knobs",
    "language", "must_use_result", "next_power_of_2", "reinterpret", "runtime", "set_allocator", "testing", "tools",
]


def __getattr__(name):
    try:
        module, attribute = _lazy[name]
    except KeyError:
        raise AttributeError(f"module 'tilewright' has no attribute '{name}'") from None
    loaded = _importlib.import_module("." + module, __name__)
    value = loaded if attribute is None else getattr(loaded, attribute)
    globals()[name] = value
    return value


def __dir__():
    return sorted(set(globals()) | set(_lazy))


if _os.environ.get("TILEWRIGHT_AS_TRITON") and "triton" not in _sys.modules:
    # Where the start of Python did not see to it: a package that is only on the path.
    from .triton_alias import install_where_wanted as _install_where_wanted

    _install_where_wanted()
