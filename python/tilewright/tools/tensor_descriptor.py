# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Host-side tensor descriptors: a view of memory in blocks, checked when made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .. import errors


@dataclass
class TensorDescriptor:
    base: Any
    shape: list
    strides: list
    block_shape: list
    padding: str = "zero"
    round_f32_to_tf32: bool = False

    def __post_init__(self):
        rank = len(self.shape)
        if not 1 <= rank <= 5:
            self._refuse(f"it has {rank} dimensions", "1 to 5 dimensions")
        if len(self.strides) != rank or len(self.block_shape) != rank:
            self._refuse("shape, strides and block_shape have different lengths", "one entry per dimension in each")
        if self.base.data_ptr() % 16:
            self._refuse("the base address is not aligned", "a base divisible by 16 bytes")
        size = self.base.element_size()
        for stride in self.strides[:-1]:
            if stride * size % 16:
                self._refuse(f"a stride of {stride * size} bytes", "strides divisible by 16 bytes")
        if self.strides[-1] != 1:
            self._refuse(f"the last stride is {self.strides[-1]}", "a last stride of 1")
        if self.padding not in ("zero", "nan"):
            self._refuse(f"padding {self.padding!r}", "padding 'zero' or 'nan'")

    @staticmethod
    def _refuse(reason, rule):
        raise errors.make("E0215", a="descriptor", reason=reason, rule=rule)

    @staticmethod
    def from_tensor(tensor, block_shape, padding="zero", round_f32_to_tf32=False):
        return TensorDescriptor(tensor, tensor.shape, tensor.stride(), block_shape, padding, round_f32_to_tf32)
