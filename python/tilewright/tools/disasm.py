# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Disassembly of cubins with NVIDIA's tools, where they are found."""

from __future__ import annotations

import os

from .. import knobs
from ..toolkit import find_tool


def path_to_binary(name: str):
    """The absolute path of cuobjdump or nvdisasm, or None: knob, PATH, toolkits, wheels."""
    configured = knobs.configured(f"{name.upper()}_PATH")
    if configured:
        return configured if os.access(configured, os.X_OK) else None
    return find_tool(name)


def get_sass(cubin: bytes, fun=None) -> str:
    """The machine code of a cubin as text; `fun` picks one function."""
    # A first launch, which loads this module, waits for neither.
    import subprocess
    import tempfile

    nvdisasm, cuobjdump = path_to_binary("nvdisasm"), path_to_binary("cuobjdump")
    if nvdisasm is None and cuobjdump is None:
        raise FileNotFoundError(
            "neither nvdisasm nor cuobjdump was found; install the CUDA toolkit's binary "
            "utilities or set TILEWRIGHT_NVDISASM_PATH"
        )
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        if cuobjdump is not None:
            command = [cuobjdump, "-sass", *(["-fun", fun] if fun else []), file.name]
        else:
            command = [nvdisasm, "-c", *(["-fun", fun] if fun else []), file.name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{os.path.basename(command[0])} failed: {done.stderr.strip()}")
    return done.stdout


extract = get_sass


def path_to_cuobjdump():
    """(path, version) of cuobjdump; RuntimeError where there is none."""
    tool = knobs.nvidia.cuobjdump
    return tool.path, tool.version
