# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs one form of one planted case, for tools that watch a process; table.py starts it.

    python tests/planted/run_case.py bounds-softmax-tail faulty --language triton --arrays cpu

--language triton runs the same files with Triton's modules under Tilewright's names, in an environment that has
only Triton; its interpreter is asked for by TRITON_INTERPRET=1. --arrays says what the NumPy arrays of the case
become: torch tensors in the host's memory, or on the GPU. The exit status is 0 where nothing was noticed and 3
where an exception was raised; the last line of the output says which.
"""

import argparse
import importlib
import sys
from pathlib import Path

import numpy as np

TESTS = Path(__file__).parent.parent
NOTICED = 3


def speak_triton():
    """Triton under Tilewright's names."""
    triton = importlib.import_module("triton")
    sys.modules["tilewright"] = triton
    for name in ("language", "testing", "tools", "tools.tensor_descriptor"):
        sys.modules[f"tilewright.{name}"] = importlib.import_module(f"triton.{name}")


class Uninitialized:
    """In place of tilewright.testing.uninitialized: remembers its arrays, which on a GPU are allocated and not copied."""

    def __init__(self):
        self.arrays = []

    def __call__(self, shape, dtype=np.float32):
        self.arrays.append(np.empty(shape, dtype))
        return self.arrays[-1]

    def made(self, array):
        return any(array is known for known in self.arrays)


class Tensors:
    """NumPy arrays as torch tensors."""

    def __init__(self, device, uninitialized):
        import torch

        self.torch, self.device, self.uninitialized = torch, device, uninitialized
        self.known = {}  # an array that is passed twice is one tensor, too

    def dtype(self, array):
        return getattr(self.torch, array.dtype.name)

    def of(self, array):
        if self.uninitialized.made(array) or array.size == 0:
            return self.torch.empty(array.shape, dtype=self.dtype(array), device=self.device)
        # The bytes from the first to the last element: strides stay, and torch need not know NumPy's type.
        low, high = np.lib.array_utils.byte_bounds(array) if hasattr(np.lib, "array_utils") else np.byte_bounds(array)
        if min(array.strides, default=0) < 0:
            array, low, high = (copy := np.ascontiguousarray(array)), copy.ctypes.data, copy.ctypes.data + copy.nbytes
        span = np.ctypeslib.as_array((np.ctypeslib.ctypes.c_uint8 * (high - low)).from_address(low))
        data = self.torch.from_numpy(span.copy()).to(self.device).view(self.dtype(array))
        return data.as_strided(array.shape, [stride // array.itemsize for stride in array.strides])

    def argument(self, value):
        if isinstance(value, np.ndarray):
            if id(value) not in self.known:
                self.known[id(value)] = (value, self.of(value))
            return self.known[id(value)][1]
        if isinstance(getattr(value, "base", None), np.ndarray) and hasattr(value, "block_shape"):
            value.base = self.argument(value.base)
        return value


class Launcher:
    """A kernel that takes the case's NumPy arrays."""

    def __init__(self, kernel, tensors):
        self.kernel, self.tensors = kernel, tensors

    def __getitem__(self, grid):

        def launch(*args, **kwargs):
            kwargs.pop("check", None)
            self.kernel[grid](
                *map(self.tensors.argument, args), **{name: self.tensors.argument(value) for name, value in kwargs.items()}
            )
            if self.tensors.device == "cuda":
                self.tensors.torch.cuda.synchronize()

        return launch


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case")
    parser.add_argument("form", choices=["faulty", "corrected"])
    parser.add_argument("--language", choices=["tilewright", "triton"], default="tilewright")
    parser.add_argument("--arrays", choices=["numpy", "cpu", "cuda"], default="numpy")
    arguments = parser.parse_args()
    sys.path.insert(0, str(TESTS))
    if arguments.language == "triton":
        speak_triton()
    uninitialized = Uninitialized()
    if arguments.arrays != "numpy":
        importlib.import_module("tilewright.testing").uninitialized = uninitialized
    from planted.case import find_case

    case = find_case(arguments.case)
    kernel = getattr(case, arguments.form)
    if arguments.arrays != "numpy":
        kernel = Launcher(kernel, Tensors(arguments.arrays, uninitialized))
    try:
        case.launch(kernel)
    except Exception as error:
        text = " ".join(str(error).split())
        print(f"raised {type(error).__name__}: {text[:300]}")
        sys.exit(NOTICED)
    print("silent")


if __name__ == "__main__":
    main()
