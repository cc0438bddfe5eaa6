# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The CUDA backend: its options as an object."""

from __future__ import annotations

from types import SimpleNamespace

from ...compiler.options import DEFAULTS, parse_options
from ..compiler import BaseBackend


class CUDAOptions(SimpleNamespace):
    """All options of one compilation as attributes."""

    def __init__(self, **options):
        super().__init__(**{"backend_name": "cuda", **DEFAULTS, **options})


class CUDABackend(BaseBackend):
    binary_ext = "cubin"

    def parse_options(self, options: dict) -> CUDAOptions:
        return CUDAOptions(**parse_options({k: v for k, v in options.items() if k in DEFAULTS}))

    def hash(self) -> str:
        from ...compiler.compiler import compiler_key

        return f"{compiler_key()}-{self.target.name}"
