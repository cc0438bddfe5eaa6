# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`GPUTarget`, and the base class that libraries look at."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Union

from .. import _core


@dataclass(frozen=True)
class GPUTarget:
    """A GPU to compile for. `arch` is a capability (90) or a name (sm_90a)."""

    backend: str = "cuda"
    arch: Union[int, str] = 90
    warp_size: int = 32

    @property
    def name(self) -> str:
        """As the assembler spells it: sm_90a."""
        if isinstance(self.arch, str):
            return self.arch if self.arch.startswith("sm_") else "sm_" + self.arch.removeprefix("sm")
        return _core.target_name(self.arch)


class Language(Enum):
    """What a source is written in."""

    TRITON = 0
    GLUON = 1


class BaseBackend:
    """What a backend is called and which targets it takes."""

    supports_native_tensor_specialization = True

    def __init__(self, target: GPUTarget):
        self.target = target

    @staticmethod
    def supports_target(target: GPUTarget) -> bool:
        return target.backend == "cuda"

    # What torch calls before it asks a source for its IR (`ASTSource.make_ir`).

    def load_dialects(self, context):
        """Nothing has to be registered."""

    def get_codegen_implementation(self, options=None) -> dict:
        return {}

    def get_module_map(self) -> dict:
        return {}

    @staticmethod
    def parse_attr(text: str) -> list:
        """The attributes of a specialisation's short form: "D" is divisible by 16."""
        return [["tt.divisibility", 16]] if "D" in text else []

    @staticmethod
    def get_int_specialization(number, **keywords) -> str:
        return "D" if number % 16 == 0 and keywords.get("align", False) else ""

    @staticmethod
    def get_tensor_specialization(array, **keywords) -> str:
        return "D" if array.data_ptr() % 16 == 0 and keywords.get("align", False) else ""
