# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Explicit compilation: `compile(ASTSource(...), target)` and what it returns."""

from ..lazy_names import lazy_names

__all__ = [
    "ASTSource",
    "CompilationError",
    "CompileTimeAssertionFailure",
    "CompiledKernel",
    "IRSource",
    "LazyDict",
    "OutOfResources",
    "UnsupportedLanguageConstruct",
    "compile",
    "get_cache_key",
    "make_backend",
    "max_shared_mem",
]

__getattr__ = lazy_names(
    __name__,
    {
        "ASTSource": "compiler.sources:ASTSource",
        "IRSource": "compiler.sources:IRSource",
        "CompiledKernel": "compiler.kernel:CompiledKernel",
        "LazyDict": "compiler.kernel:LazyDict",
        "compile": "compiler.compiler:compile",
        "make_backend": "backends.nvidia.compiler:make_backend",
        "max_shared_mem": "compiler.compiler:max_shared_mem",
        "get_cache_key": "runtime.cache:get_cache_key",
        "CompilationError": "errors:CompilationError",
        "OutOfResources": "errors:OutOfResources",
        "CompileTimeAssertionFailure": "errors:CompileTimeAssertionFailure",
        "UnsupportedLanguageConstruct": "errors:UnsupportedLanguageConstruct",
        "compiler": "compiler.compiler",
        "errors": "compiler.errors",
    },
)
