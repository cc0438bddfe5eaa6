# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Host-side tensor descriptors: an array that kernels read and write in blocks.

Passed as an argument. On GPUs with TMA the launch makes a tensor map of it, once per
array, and the kernel copies blocks by TMA; elsewhere the kernel gets pointers.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

from .. import _core, errors
from .._utils import canonicalize_dtype, is_power_of_two, validate_block_shape  # noqa: F401 - programs find them here
from ..user_objects import attribute


@dataclass
class TensorDescriptor:
    """A view of `base` by `shape` and `strides` (in elements), in blocks of `block_shape`.

    All fields may be changed until the launch, `block_shape` typically by a tuner's
    hook. Elements of a block outside the array read as `padding`, "zero" or "nan".
    With `round_f32_to_tf32` TMA rounds what it reads to nearest.
    """

    base: Any
    shape: list
    strides: list
    block_shape: list
    padding: str = "zero"
    round_f32_to_tf32: bool = False

    def __post_init__(self):
        # What no tile can be is refused here, as programs expect; whether the block suits the array is checked by the
        # launch, since tuners change it until then. Arrays that a launch cannot read take the long way.
        block = self.block_shape if isinstance(self.block_shape, (list, tuple)) else ()
        for position, extent in enumerate(block):
            if isinstance(extent, int) and not is_power_of_two(extent):
                reason = f"Shape element {position} must be a power of 2, got {extent}"
                raise errors.make("E0215", a="descriptor", reason=reason, rule="block extents that are powers of two")
        if not _core.check_new_descriptor(self):
            self._check("descriptor", with_block=False)

    def _check(self, name, with_block=True):
        # It brings NumPy, which compiled programs do without.
        from ..runtime.host_arrays import read_array

        data_ptr = attribute(self.base, "data_ptr")
        if data_ptr is not None:
            kind = str(attribute(attribute(self.base, "device"), "type", "cuda"))
            address, dtype, on_gpu = data_ptr(), str(self.base.dtype), kind != "cpu"
        else:
            array = read_array(name, self.base)
            if array is None:
                raise errors.make("E0204", a=f"{name}.base", t=type(self.base).__name__)
            address, dtype, on_gpu = array.address, array.dtype, array.device
        _core.check_tensor_descriptor(self, name, address, dtype, on_gpu, with_block)

    @staticmethod
    def from_tensor(tensor, block_shape, padding="zero", round_f32_to_tf32=False):
        """The descriptor of a whole tensor or array, with its own shape and strides."""
        stride = attribute(tensor, "stride")
        if stride is not None:
            strides = stride()
        else:
            # NumPy and CuPy count bytes.
            strides = [s // tensor.dtype.itemsize for s in tensor.strides]
        return TensorDescriptor(tensor, tensor.shape, strides, block_shape, padding, round_f32_to_tf32)


def copy_of_descriptor(descriptor):
    """A descriptor of the same array, whose fields change alone. Nothing is checked anew."""
    own = copy.copy(descriptor)
    for name in ("shape", "strides", "block_shape"):
        setattr(own, name, list(getattr(descriptor, name)))
    return own
