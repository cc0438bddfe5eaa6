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

import os as _os
import sys as _sys

from . import _core, errors, wiring
from ._version import __version__
from .errors import CompilationError, InterpreterError, OutOfResources, TilewrightError, TritonError
from .lazy_names import lazy_names as _lazy_names

if _core.version() != __version__:
    raise errors.make("E0703", a=__version__, b=_core.version())

wiring.answers["session of a checked program"] = "checking.session:Session"
wiring.answers["recording of a profiled program's child"] = "profiler.processes:begin"
# Where programs put a benchmark of their own.
wiring.answers["benchmark"] = "testing:do_bench"
wiring.answers["benchmark in a CUDA graph"] = "testing:do_bench_cudagraph"

# Where what users find here lives. A program that declares a kernel loads the compiler with it.
_homes = {
    **{
        name: f"runtime.jit:{name}"
        for name in (
            "JITFunction",
            "KernelInterface",
            "MockTensor",
            "TensorWrapper",
            "constexpr_function",
            "jit",
            "must_use_result",
            "reinterpret",
        )
    },
    "cdiv": "runtime.mathematics:cdiv",
    "next_power_of_2": "runtime.mathematics:next_power_of_2",
    **{name: f"runtime.autotuner:{name}" for name in ("autotune", "Autotuner", "Config", "heuristics")},
    "install_as_triton": "triton_alias:install_as_triton",
    "set_allocator": "runtime.allocation:set_allocator",
    "AsyncCompileMode": "runtime._async_compile:AsyncCompileMode",
    "FutureKernel": "runtime._async_compile:FutureKernel",
    "aggregate": "language.aggregates:aggregate",
    "load": "exporting.package:load",
    **{name: f"compiler.compiler:{name}" for name in ("compile", "ASTSource", "CompiledKernel")},
    **{
        name: name
        for name in (
            "language",
            "runtime",
            "testing",
            "tools",
            "compiler",
            "backends",
            "knobs",
            "cli",
            "triton_alias",
            "tuning",
            "profiler",
            "ops",
            "_C",
            "_utils",
            "torch",
            "jax",
        )
    },
}

__all__ = [
    "ASTSource",
    "AsyncCompileMode",
    "Autotuner",
    "CompilationError",
    "CompiledKernel",
    "Config",
    "FutureKernel",
    "InterpreterError",
    "JITFunction",
    "KernelInterface",
    "MockTensor",
    "OutOfResources",
    "TensorWrapper",
    "TilewrightError",
    "TritonError",
    "aggregate",
    "autotune",
    "backends",
    "cdiv",
    "compile",
    "compiler",
    "constexpr_function",
    "errors",
    "heuristics",
    "install_as_triton",
    "jit",
    "knobs",
    "language",
    "load",
    "must_use_result",
    "next_power_of_2",
    "reinterpret",
    "runtime",
    "set_allocator",
    "testing",
    "tools",
]


__getattr__ = _lazy_names(__name__, _homes)


def __dir__():
    return sorted(set(globals()) | set(_homes))


if _os.environ.get("TILEWRIGHT_AS_TRITON") and "triton" not in _sys.modules:
    # Where the start of Python did not see to it: a package that is only on the path.
    from .triton_alias import install_where_wanted as _install_where_wanted

    _install_where_wanted()
