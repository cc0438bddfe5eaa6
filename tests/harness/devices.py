# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The same test in the interpreter, assembled, on a GPU.

A device turns NumPy arrays into what a kernel takes, launches, and reads
results back as NumPy arrays. Four of them:

  interpreter  NumPy arrays as they are; runs everywhere
  assemble     compiles and assembles for every target, runs nothing; the test
               ends, passed, where it asks for a result. For machines without
               a GPU: it never claims to have computed anything
  emulator     compiles for one target and runs the PTX on the CPU, slowly: for
               tests of matrix products, which no other device checks here
  gpu          torch tensors on the GPU

A test therefore launches first and looks at results afterwards.
"""

import contextlib
import ctypes
import functools
import sys

import numpy as np

from harness.assemble import SHARED_LIMIT
from harness.element_types import NUMPY_TYPES, name_of
from tilewright import errors

# The general path and the fast one.
TARGETS = ["sm_80", "sm_90a"]
# And what is between them: sm_80's code, but fp8 instructions and less shared memory.
ASSEMBLED = ["sm_80", "sm_89", "sm_90a"]


class Assembled(BaseException):
    """Ends a test on the assemble device: every kernel so far was assembled."""


def release_memory(more_than=1 << 30):
    """Gives back the memory of the GPU that torch keeps for later, where it is so many bytes."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return
    with contextlib.suppress(RuntimeError):  # of a context that a test has lost
        if torch.cuda.memory_reserved() > more_than:
            torch.cuda.empty_cache()


@functools.cache
def gpu_problem() -> str:
    """Why no kernel can run on a GPU here, or nothing."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "no CUDA driver"
    count = ctypes.c_int()
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0 or count.value == 0:
        return "no GPU"
    try:
        import torch
    except ImportError:
        return "torch is not installed"
    return "" if torch.cuda.is_available() else "torch finds no GPU"


class Interpreter:
    name = "interpreter"
    is_interpreter = True

    def array(self, array):
        """A private copy of a NumPy array, as an argument for a kernel."""
        return np.array(array, order="C", copy=True)

    def empty(self, shape, dtype):
        """Filled with a pattern, so that an element that no program wrote shows."""
        array = np.empty(shape, dtype)
        array.reshape(-1).view(np.uint8)[...] = 0xA5 if array.dtype != np.bool_ else 1
        return self.array(array)

    def descriptor(self, array, block_shape, padding="zero"):
        """A host-side descriptor of an array that `array` or `empty` made."""
        from tilewright.tools.tensor_descriptor import TensorDescriptor

        return TensorDescriptor.from_tensor(array, list(block_shape), padding)

    def run(self, kernel, grid, *args, **options):
        kernel[grid](*args, **options)

    def numpy(self, array):
        return array


class Gpu(Interpreter):
    name = "gpu"
    is_interpreter = False

    @staticmethod
    @functools.cache
    def torch_types():
        import torch

        return {
            "int8": torch.int8, "int16": torch.int16, "int32": torch.int32, "int64": torch.int64,
            "uint8": torch.uint8, "uint16": torch.uint16, "uint32": torch.uint32, "uint64": torch.uint64,
            "float16": torch.float16, "bfloat16": torch.bfloat16, "float32": torch.float32,
            "float64": torch.float64, "float8e4nv": torch.float8_e4m3fn, "float8e5": torch.float8_e5m2,
            "int1": torch.bool,
        }  # fmt: skip

    def array(self, array):
        import torch

        # Through bytes: NumPy's bfloat16 and fp8 come from ml_dtypes, which torch
        # does not know.
        array = np.ascontiguousarray(array)
        data = torch.from_numpy(array.reshape(-1).view(np.uint8).copy()).cuda()
        return data.view(self.torch_types()[name_of(array.dtype)]).reshape(array.shape)

    def numpy(self, array):
        import torch

        dtype = next(name for name, value in self.torch_types().items() if value == array.dtype)
        data = array.contiguous().reshape(-1).view(torch.uint8).cpu().numpy()
        return data.view(NUMPY_TYPES[dtype]).reshape(tuple(array.shape))


def run_time_parts(entry, value):
    """The values that a kernel takes for one entry of its signature."""
    if isinstance(entry, tuple):
        return [part for inner, item in zip(entry, value) for part in run_time_parts(inner, item)]
    if entry == "constexpr":
        return []
    return [float(value) if entry.startswith("fp") else value]


class Emulator(Interpreter):
    name = "emulator"
    is_interpreter = False

    def __init__(self, target, edit=lambda ptx: ptx, inspect=lambda compiled: None, **options):
        """`edit` changes the PTX before it runs, for tests of what the emulator notices; `inspect` gets each compiled
        kernel; `options` are those of launches that say nothing else."""
        self.target, self.edit, self.inspect, self.options = target, edit, inspect, options

    def run(self, kernel, grid, *args, **options):
        from harness.assemble import assemble_for, bound_arguments
        from harness.ptx_emulator import launch

        options = {**self.options, **options}
        compiled = assemble_for(kernel, self.target, args, options)
        self.inspect(compiled)
        values = bound_arguments(kernel, args, options)
        arguments = [part for name, entry in compiled.signature.items() for part in run_time_parts(entry, values[name])]
        launch(
            self.edit(compiled.asm["ptx"]),
            grid(values) if callable(grid) else grid,
            arguments,
            compiled.metadata.host_tensor_maps,
            compiled.metadata.global_scratch_size,
            compiled.metadata.num_ctas,
        )


class Assemble(Interpreter):
    name = "assemble"
    is_interpreter = False

    def __init__(self, targets=ASSEMBLED):
        self.launches, self.targets = 0, targets

    def run(self, kernel, grid, *args, **options):
        from harness.assemble import assemble_for

        self.launches += 1
        for target in self.targets:
            try:
                assemble_for(kernel, target, args, options)
            except errors.OutOfResources as problem:
                # Tests are made for the shared memory of data centre GPUs.
                if target != "sm_89" or f"allows {SHARED_LIMIT[target]}" not in str(problem):
                    raise

    def numpy(self, array):
        assert self.launches, "the test read a result before it launched a kernel"
        raise Assembled
