# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled kernels that can be written: the data that the C library and the package both hold."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from .. import _core
from .grid import Grid

#: How an image is chosen for a GPU, best first: code for one capability alone, code for the rest of its family, and
#: PTX, which the driver compiles for all that is newer.
KINDS = ("exact", "family", "ptx")


@dataclass
class Descriptor:
    """The type of a tensor descriptor: "tensordesc<fp16[128,64],nan,tf32>"."""

    element: str
    block: list
    nan: bool
    tf32: bool

    @classmethod
    def of(cls, text):
        element, block, flags = re.fullmatch(r"tensordesc<(\w+)\[([\d,]*)\]((?:,\w+)*)>", text).groups()
        return cls(element, [int(extent) for extent in block.split(",")], ",nan" in flags, ",tf32" in flags)

    @property
    def rank(self):
        return len(self.block)

    def form(self):
        """What the driver is told of it beside the array; None where a launch cannot make it."""
        return _core.tensor_map_form(self.element, self.block, self.nan, self.tf32)


def is_descriptor(kind: str) -> bool:
    return kind.startswith("tensordesc<")


@dataclass
class Parameter:
    """A parameter that the launch is given; the blocks of a descriptor are those of its variants."""

    name: str
    kind: str
    is_written: bool


@dataclass
class Image:
    """Machine code or PTX of a variant for one kind of GPU."""

    target: str
    kind: str
    capability: int
    content: bytes
    metadata: dict

    @property
    def entry(self) -> str:
        return self.metadata["name"]

    def suitability(self, capability) -> int:
        """The larger the better; -1 where the GPU cannot run it."""
        if self.kind == "exact":
            return 20000 if capability == self.capability else -1
        if self.kind == "family":
            same = self.capability // 10 == capability // 10 and self.capability <= capability
            return 10000 + self.capability if same else -1
        return self.capability if self.capability <= capability else -1


@dataclass
class Variant:
    """One signature with one configuration: what it promises, and the images."""

    signature: int
    configuration: int
    types: dict
    constants: dict
    divisibility: dict
    images: list


@dataclass
class TunedTable:
    """Which configuration is best for which values of `keys`: rows of (values, configuration) by device."""

    keys: list
    devices: dict = field(default_factory=dict)


@dataclass
class ExportedKernel:
    """A kernel with all its variants: signature by signature within configuration by configuration."""

    name: str
    function: str
    parameters: list
    signatures: list
    configurations: list
    grid: Grid | None
    variants: list
    table: TunedTable | None = None

    def variant(self, configuration, signature) -> Variant:
        return self.variants[configuration * len(self.signatures) + signature]

    @property
    def needs_distinct_arguments(self) -> bool:
        return any(image.metadata["needs_distinct_arguments"] for variant in self.variants for image in variant.images)


@dataclass
class Library:
    """Kernels under one name."""

    name: str
    kernels: list
