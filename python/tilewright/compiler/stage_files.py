# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The stages of a kernel as files: written for people who read them, and taken from them.

TRITON_KERNEL_DUMP=1 writes all stages into a folder per kernel, TRITON_KERNEL_OVERRIDE=1
takes the last one that such a folder holds, and `ir_override=` names one file.
"""

from __future__ import annotations

import re
import sys

from .. import _core, errors, knobs
from ..runtime.cache import get_dump_manager, get_override_manager
from .options import STAGES_OF_FILES, THREADS_PER_WARP, stage_of_file
from .request import Request


def dump(kernel):
    """Writes what there is of a kernel; what goes wrong is told on standard error, and costs nothing else."""
    manager = get_dump_manager(kernel.hash)
    try:
        for stage in ("source", "ttir", "ttgir", "llir", "ptx", "cubin", "json"):
            if stage in kernel.asm:
                manager.put(kernel.asm[stage], f"{kernel.src.fn.__name__}.{stage}")
    except OSError as error:
        print(f"the stages of {kernel.name} cannot be written: {error}", file=sys.stderr)


def with_override(request) -> Request:
    """The request, or one that takes a stage from the folder that is the request's below TRITON_OVERRIDE_DIR."""
    if request.options["ir_override"] is not None:
        return request
    manager = get_override_manager(request.key)
    for stage in STAGES_OF_FILES:
        path = manager.get_file(f"{request.src.fn.__name__}.{stage}")
        if path is not None:
            return Request(request.src, request.target, {**request.options, "ir_override": path})
    return request


def _parameters(ptx):
    """The types of a kernel's parameters, and its name."""
    entry = re.search(r"\.entry\s+([\w$]+)\s*\(([^)]*)\)", ptx)
    if entry is None:
        return None, []
    parameters = (re.sub(r"\s+[\w$]+(?=\[|$)", "", text.strip()) for text in entry[2].split(",") if text.strip())
    return entry[1], list(parameters)


def _assembled(result, ptx, options, target):
    more = (options["ptx_options"] or "").split()
    line_info = not knobs.compilation.disable_line_info
    name = _parameters(ptx)[0]
    made = _core.assemble_ptx(ptx, target, options["maxnreg"] or 0, line_info, name or result["name"], more)
    metadata = {**result["metadata"], "name": name, "n_regs": made["n_regs"], "n_spills": made["spill_stores"]}
    return {**result, "name": name, "ptx": ptx, "cubin": made["cubin"], "metadata": metadata}


def _misfit(path, problem):
    return errors.from_native(
        "E0209",
        "InvalidOption",
        f"ir_override='{path}': its kernel {problem}",
        "change a file that TRITON_KERNEL_DUMP=1 has written for this kernel and these options",
    )


def overridden(result, options, target):
    """The compiler's result with the stage of the file `ir_override`, and what follows from it.

    Raises E0209 where the file's kernel takes other parameters than those that launches pass, or another number of
    threads. The machine code of a .cubin is not looked at.
    """
    path = options["ir_override"]
    stage = stage_of_file(path)
    with open(path, "rb") as file:
        content = file.read()
    if stage == "cubin":
        metadata = {**result["metadata"], "n_regs": None, "n_spills": None}
        return {**result, "cubin": content, "metadata": metadata}
    text = content.decode(errors="replace")
    if stage == "ptx":
        made = _assembled(result, text, options, target)
    else:
        made = {**result, **_core.compile_ir(text, stage, dict(options), target, file=path)}
    passed, taken = (_parameters(other["ptx"])[1] for other in (result, made))
    if passed != taken:
        raise _misfit(path, f"takes ({', '.join(taken)}), and launches pass ({', '.join(passed)})")
    required = re.search(r"\.(?:req|max)ntid\s+(\d+)", made["ptx"])
    threads = made["metadata"]["num_warps"] * THREADS_PER_WARP
    if required is not None and int(required[1]) != threads:
        raise _misfit(path, f"is for {required[1]} threads, and launches have {threads}")
    return made
