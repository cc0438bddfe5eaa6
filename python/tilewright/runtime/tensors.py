# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stand-ins for tensors: a dtype in `warmup`, and a tensor seen with another element type."""

from __future__ import annotations

from ..user_objects import attribute, has_attribute


class MockTensor:
    """Stands for a tensor in `warmup`: a dtype, a null pointer (so 16-byte aligned)."""

    @staticmethod
    def wrap_dtype(arg):
        kind = type(arg)
        # NumPy's dtypes are instances of classes such as Float32DType.
        if kind.__name__.lower().endswith("dtype") and kind.__module__.split(".")[0] in ("torch", "tilewright", "numpy"):
            return MockTensor(arg)
        return arg

    def __init__(self, dtype, shape=None):
        self.dtype = dtype
        self.shape = [1] if shape is None else shape

    def stride(self):
        strides = [1]
        for size in self.shape[1:]:
            strides.append(strides[-1] * size)
        return tuple(reversed(strides))

    @staticmethod
    def data_ptr():
        return 0

    @staticmethod
    def ptr_range():
        return 0


class TensorWrapper:
    """A framework tensor seen with another element type."""

    def __init__(self, base, dtype):
        self.dtype = dtype
        self.base = base
        self.data = attribute(base, "data")
        self.device = attribute(base, "device")
        self.shape = attribute(base, "shape")

    def data_ptr(self):
        return self.base.data_ptr()

    def stride(self, *args):
        return self.base.stride(*args)

    def __str__(self):
        return f"TensorWrapper[{self.dtype}]({self.base})"

    def element_size(self):
        return self.base.element_size()

    def cpu(self):
        return TensorWrapper(self.base.cpu(), self.dtype)

    def copy_(self, other):
        self.base.copy_(other.base)

    def clone(self):
        return TensorWrapper(self.base.clone(), self.dtype)

    def to(self, device):
        return TensorWrapper(self.base.to(device), self.dtype)

    def new_empty(self, sizes):
        return TensorWrapper(self.base.new_empty(sizes), self.dtype)


def reinterpret(tensor, dtype):
    """`tensor` with its bytes read as `dtype`; wrappers are not nested."""
    if isinstance(tensor, TensorWrapper):
        return tensor.base if dtype == tensor.base.dtype else TensorWrapper(tensor.base, dtype)
    if has_attribute(tensor, "data_ptr"):
        return TensorWrapper(tensor, dtype)
    raise TypeError(f"cannot reinterpret a {type(tensor).__name__}")
