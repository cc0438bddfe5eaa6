# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiling kernels on a pool of threads: `with AsyncCompileMode(executor): kernel.warmup(...)`.

Inside the block `warmup` hands each compilation to the executor and returns a
FutureKernel; the end of the block waits for all. Launches wait as they always do: they
find what the pool has finished, and compile what it has not begun.
"""

from __future__ import annotations

import contextvars
from concurrent.futures import Future

active_mode = contextvars.ContextVar("tilewright_async_compile_mode", default=None)


class FutureKernel:
    """A kernel that is being compiled; attributes are those of the kernel once it is there."""

    def __init__(self, future: Future):
        self.future = future
        self.kernel = None

    def result(self, ignore_errors=False):
        """The kernel; waits for it. With `ignore_errors` None where it does not compile."""
        if self.kernel is None:
            try:
                self.kernel = self.future.result()
            except Exception:  # noqa: BLE001 - whatever the compilation raises
                if not ignore_errors:
                    raise
        return self.kernel

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)  # copies and the like look before anything is there
        return getattr(self.result(), name)


class AsyncCompileMode:
    """Context manager: what `warmup` compiles inside the block is compiled by `executor`."""

    def __init__(self, executor, *, ignore_errors=False):
        self.executor = executor
        self.ignore_errors = ignore_errors
        self._kernels: list = []
        self._by_key: dict = {}
        self._token = None

    def submit(self, compile_function, key=None) -> FutureKernel:
        """`key` tells requests apart: of one that was submitted already its kernel is the answer."""
        if key is not None and key in self._by_key:
            return self._by_key[key]
        # The pool's thread compiles under the caller's context, but for this mode: what it
        # asks for itself must not wait for a free thread.
        context = contextvars.copy_context()
        context.run(active_mode.set, None)
        kernel = FutureKernel(self.executor.submit(context.run, compile_function))
        self._kernels.append(kernel)
        if key is not None:
            self._by_key[key] = kernel
        return kernel

    def __enter__(self):
        if active_mode.get() is not None:
            raise RuntimeError("another AsyncCompileMode is active")
        self._token = active_mode.set(self)
        return self

    def __exit__(self, exception_type, exception, traceback):
        active_mode.reset(self._token)
        kernels, self._kernels, self._by_key = self._kernels, [], {}
        if exception is not None:
            # The kernels will not be used, and an executor of the program's own may never begin.
            for kernel in kernels:
                kernel.future.cancel()
            return
        failed = None
        for kernel in kernels:  # all end, also where one fails
            try:
                kernel.result(self.ignore_errors)
            except Exception as error:  # noqa: BLE001 - the first is raised below
                failed = failed or error
        if failed is not None:
            raise failed
