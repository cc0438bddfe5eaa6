# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A kernel, and a private cache that is on, for tests of the cache on disk."""

import tilewright
import tilewright.language as tl
from tilewright import _core, errors
from tilewright.compiler import disk_cache


@tilewright.jit
def add(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(y_ptr + offsets, value + 1, mask=offsets < n)


# The kernel as a command line names it.
ADD = f"{__file__}:add"


def source(block=64, fn=add):
    return tilewright.ASTSource(fn, {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32"}, {"BLOCK": block})


def private_cache(tmp_path, monkeypatch):
    """A private cache that is on, as in a process that has just started."""
    monkeypatch.setenv("TILEWRIGHT_CACHE", "1")
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    disk_cache._stores.clear()
    errors._warned.clear()
    yield tmp_path / "cache"
    disk_cache._stores.clear()


def noted_compilations(monkeypatch):
    """The compilations that really happen, as a list of constants."""
    calls, original = [], _core.compile_kernel

    def compile_kernel(fn, signature, constexprs, *rest):
        calls.append(dict(constexprs))
        return original(fn, signature, constexprs, *rest)

    monkeypatch.setattr(_core, "compile_kernel", compile_kernel)
    return calls


def entry_path(cache, kernel):
    return cache / disk_cache.AREA / kernel.hash[:2] / f"{kernel.hash}.bin"
