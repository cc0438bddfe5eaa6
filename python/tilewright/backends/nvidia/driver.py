# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Triton's path to the CUDA driver object."""

import os

from ... import knobs
from ...runtime.driver import CudaDriver, CudaUtils

_folders = (
    "/usr/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib/wsl/lib",
    "/usr/lib",
    "/usr/local/cuda/compat",
)


def ty_to_cpp(ty: str) -> str:
    """The C type in which a program of its own hands on an argument of this type, as "i32", "*fp16" or "tensordesc<...>".

    Numbers with a fraction come as double, and are rounded where the kernel's parameters are packed. KeyError for what
    is no type of an argument.
    """
    if ty.startswith("*"):
        return "CUdeviceptr"
    if ty.startswith("tensordesc") or ty == "nvTmaDesc":
        return "CUtensorMap"
    if ty in ("fp16", "bf16", "fp32", "f32", "fp64"):
        return "double"
    return {f"{sign}{bits}": f"{'u' * (sign == 'u')}int{max(bits, 8)}_t" for sign in "iu" for bits in (1, 8, 16, 32, 64)}[ty]


def libcuda_dirs() -> list:
    """Folders that hold the driver's library."""
    named = knobs.nvidia.libcuda_path
    candidates = [named, os.path.dirname(named)] if named else []
    candidates += [*os.environ.get("LD_LIBRARY_PATH", "").split(":"), *_folders]
    found = [folder for folder in candidates if folder and os.path.exists(os.path.join(folder, "libcuda.so.1"))]
    if not found:
        raise AssertionError("libcuda.so.1 was not found; is an NVIDIA driver installed?")
    return list(dict.fromkeys(found))


def library_dirs() -> list:
    """Folders to link a C program that launches kernels against."""
    return libcuda_dirs()


# What such a program links.
libraries = ["libcuda.so.1"]

# Folders with cuda.h, for such a program: those of toolkits, since Tilewright itself needs none.
include_dirs = [
    folder
    for root in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda")
    if root
    for folder in [os.path.join(root, "include")]
    if os.path.exists(os.path.join(folder, "cuda.h"))
]

__all__ = ["CudaDriver", "CudaUtils", "include_dirs", "libcuda_dirs", "libraries", "library_dirs"]
