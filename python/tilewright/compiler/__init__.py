# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Explicit compilation: `compile(ASTSource(...), target)` and what it returns."""

from ..errors import OutOfResources
from ..runtime.cache import get_cache_key
from .compiler import ASTSource, CompiledKernel, IRSource, LazyDict, compile, make_backend, max_shared_mem
from .errors import CompilationError, CompileTimeAssertionFailure, UnsupportedLanguageConstruct

__all__ = ["ASTSource", "CompilationError", "CompileTimeAssertionFailure", "CompiledKernel", "IRSource", "LazyDict",
           "OutOfResources", "UnsupportedLanguageConstruct", "compile", "get_cache_key", "make_backend",
           "max_shared_mem"]
