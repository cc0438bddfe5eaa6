# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torch.compile without a GPU: Inductor generates kernels for CPU tensors, and they run in the interpreter.

Inductor can generate the kernels of this language for the CPU, for a Triton that has
such a backend. Here it gets one: a kernel that it compiles is compiled for a GPU, which
shows that it can be, and what it launches runs in the interpreter, which shows that it
is right.
"""

from __future__ import annotations

import os

import tilewright
from tilewright import backends
from tilewright.backends.compiler import BaseBackend, GPUTarget
from tilewright.compiler import compiler
from tilewright.runtime.driver import CudaDriver

# What generated kernels are compiled for besides; None compiles nothing.
TARGET = os.environ.get("INDUCTOR_COMPILE_FOR", "sm_90a")

compiled = []  # the names of kernels that were compiled for the GPU


class CpuDriver(CudaDriver):
    """A driver without a device."""

    @classmethod
    def is_active(cls):
        return True

    def get_current_device(self):
        return 0

    def get_current_stream(self, device=None):
        return 0

    def get_current_target(self, device=None):
        return GPUTarget("cuda", "sm_90a", 32)


class InterpretedKernel(compiler.CompiledKernel):
    """A compiled kernel whose launches run its function in the interpreter."""

    def load(self, device=None):
        return None

    @property
    def function(self):
        return 1

    @property
    def module(self):
        return 1

    def run(self, grid_0, grid_1, grid_2, stream, function, packed_metadata, launch_metadata, enter_hook, exit_hook, *args):
        fn = self.src.fn
        names = fn.arg_names if len(args) == len(fn.arg_names) else list(self.signature)
        bound = {**self.constants, **{k: v for k, v in zip(names, args) if k in self.signature}}
        fn._run_interpreted((grid_0, grid_1, grid_2), {name: bound[name] for name in fn.arg_names}, {})


def compile_and_interpret(src, target=None, options=None, **keywords):
    """`compile`, for Inductor on the CPU: the kernel is compiled for TARGET, and runs in the interpreter."""
    given = {k: v for k, v in dict(options or {}).items() if k != "backend_name"}
    if TARGET:
        kernel = _compile(src, TARGET, given)
        compiled.append(kernel.name)
        kernel.__class__ = InterpretedKernel
        return kernel
    return InterpretedKernel(
        src, {"name": src.fn.__name__}, compiler.parse_options(given), GPUTarget("cuda", "sm_90a", 32), "0" * 64
    )


_compile = compiler.compile


def install():
    """Before the first `import triton`: everything in one process, nothing from a cache."""
    tilewright.install_as_triton()
    # Modules of torch look for triton when they are imported, so they come after it.
    import torch._inductor.config as config

    tilewright.compile = compiler.compile = compile_and_interpret
    backends.backends = {"cpu": backends.Backend(BaseBackend, CpuDriver)}
    tilewright.runtime.driver.set_active(CpuDriver())
    config.cpu_backend = "triton"
    config.compile_threads = 1
    config.force_disable_caches = True
    from torch._dynamo.device_interface import CpuInterface

    # The kernels are those of a GPU, so they are generated for its warps.
    CpuInterface.get_compute_capability = staticmethod(lambda device=None: 90)
