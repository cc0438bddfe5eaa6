# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds the programs of the CUDA toolkit."""

from __future__ import annotations

import os
import sys

from . import _core


def find_tool(name: str):
    """The absolute path of a program of the CUDA toolkit, or None: PATH, toolkits, wheels."""
    import shutil  # a first launch does not wait for it

    found = shutil.which(name)
    if found:
        return os.path.abspath(found)
    candidates = [os.environ.get("CUDA_HOME", ""), os.environ.get("CUDA_PATH", ""), "/usr/local/cuda"]
    for folder in _core.find_wheel_folders(sys.path):
        candidates += [os.path.join(folder, sub) for sub in ("cu13", "cuda_nvcc", "cuda_cuobjdump", "cuda_nvdisasm")]
    for folder in filter(None, candidates):
        path = os.path.join(folder, "bin", name)
        if os.access(path, os.X_OK):
            return path
    return None
