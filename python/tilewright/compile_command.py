# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilewright compile`: compiles one specialisation of a kernel and shows one stage of it."""

from __future__ import annotations

import re
import sys

from .compiler.compiler import compile
from .kernel_arguments import source_of_arguments
from .run_program import Misuse


def compile_command(arguments) -> int:
    source, options = source_of_arguments(arguments, arguments.kernel)
    kernel = compile(source, arguments.target, options)
    stage = arguments.stages[arguments.emit]
    try:
        content = kernel.asm[stage]
    except KeyError:  # the other stages are always there
        raise Misuse(f"no {arguments.emit}: no assembler library was found; see tilewright doctor") from None
    made_for = re.search(r"\.target (\w+)", kernel.asm["ptx"])[1]
    if arguments.target.startswith("sm_") and made_for != arguments.target:
        print(f"tilewright compile: {arguments.target} is not known; this is code for {made_for}", file=sys.stderr)
    if arguments.verbose:
        meta = kernel.metadata
        print(
            f"{kernel.name}: {meta.num_warps} warps, {meta.n_regs} registers, {meta.n_spills} bytes spilled, "
            f"{meta.shared} bytes shared",
            file=sys.stderr,
        )
        for remark in kernel.remarks:
            print(remark, file=sys.stderr)
    if arguments.output and arguments.output != "-":
        with open(arguments.output, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
    elif isinstance(content, bytes):
        sys.stdout.buffer.write(content)
    else:
        print(content)
    return 0
