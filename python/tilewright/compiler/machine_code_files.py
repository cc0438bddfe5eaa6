# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Machine code as files, for launchers that are not ours.

torch's launcher for generated kernels loads `<key>/<function>.cubin` from the folder that
TRITON_CACHE_DIR names, which torch sets itself, and launches with the arguments of the
signature and nothing else; where it finds no file, it launches through `CompiledKernel`.
So the file is written only for kernels that can be launched in this way. Other programs look
there by the key of a kernel that they have launched, so a launch writes the file as well.
Tilewright itself reads none of these files: its own cache is disk_cache.py.
"""

from __future__ import annotations

import os

from ..runtime.cache import _base32, write_aside


def suits_other_launchers(kernel) -> bool:
    """Whether plain arguments are all that a launch needs: no tensor maps, scratch memory or attributes."""
    meta = kernel.metadata
    types = kernel.signature.values()
    return (
        "cubin" in kernel.asm
        and kernel.name == kernel.src.fn.__name__
        and not meta.tensor_maps
        and not meta.host_tensor_maps
        and not meta.global_scratch_size
        and meta.num_ctas == 1
        and not meta.launch_pdl
        and not meta.launch_cooperative_grid
        and all(isinstance(t, str) and not t.startswith("tensordesc<") for t in types)
    )


def write_for_other_launchers(kernel):
    """Writes the file where somebody has named a folder; what goes wrong only costs a launcher its short cut."""
    folder = os.environ.get("TRITON_CACHE_DIR")
    if not folder or not suits_other_launchers(kernel):
        return
    path = os.path.join(folder, _base32(kernel.hash), f"{kernel.name}.cubin")
    try:
        if not os.path.exists(path):
            write_aside(path, kernel.asm["cubin"])
    except OSError:
        pass
