# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The CUDA backend: its options as an object."""

from __future__ import annotations

import hashlib
from types import SimpleNamespace

from ... import knobs
from ..._version import compiler_key
from ...compiler.options import DEFAULTS, parse_options
from ...compiler.request import package_digest
from ...errors import PTXASError
from ..compiler import BaseBackend, GPUTarget, Language

__all__ = [
    "BaseBackend",
    "CUDABackend",
    "CUDAOptions",
    "GPUTarget",
    "Language",
    "PTXASError",
    "get_ptxas",
    "get_ptxas_version",
    "min_dot_size",
    "ptx_get_version",
    "sm_arch_from_capability",
]


class CUDAOptions(SimpleNamespace):
    """All options of one compilation as attributes."""

    def __init__(self, **options):
        super().__init__(**{"backend_name": "cuda", **DEFAULTS, **options})

    def hash(self) -> str:
        return hashlib.sha256(repr(sorted(vars(self).items())).encode()).hexdigest()


class CUDABackend(BaseBackend):
    binary_ext = "cubin"

    def parse_options(self, options: dict) -> CUDAOptions:
        return CUDAOptions(**parse_options({k: v for k, v in options.items() if k in DEFAULTS}))

    def hash(self) -> str:
        # torch keeps machine code under keys with this one in them.
        return f"{compiler_key()}-{package_digest()}-{self.target.name}"


def make_backend(target):
    return CUDABackend(target)


def get_ptxas(arch=None):
    """The toolkit's assembler: an object with `path` and `version`."""
    return knobs.nvidia.ptxas


def get_ptxas_version(arch=None) -> str:
    """The version of what assembles."""
    return knobs.nvidia.ptxas.version


def ptx_get_version(cuda_version) -> int:
    """The newest PTX that a toolkit takes, times ten: "12.4" is 84."""
    major, minor = map(int, str(cuda_version).split(".")[:2])
    if major == 12:
        return 80 + (minor if minor < 6 else minor - 1)
    if major == 11:
        return 70 + minor
    if major >= 13:
        return 90 + 10 * (major - 13) + minor
    raise RuntimeError(f"CUDA {cuda_version} is older than 11")


def sm_arch_from_capability(capability: int) -> str:
    """The assembler's name of a GPU family: 90 is "sm_90a"."""
    return f"sm_{capability}" + ("a" if capability >= 90 else "")


def min_dot_size(target):
    """The smallest M, N and K of tl.dot for two types."""
    return lambda lhs, rhs: (1, 1, 256 // lhs.scalar.primitive_bitwidth)
