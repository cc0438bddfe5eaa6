# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Running a program, a script or a module, in which `import triton` means Tilewright."""

from __future__ import annotations

import os
import runpy
import sys

from .triton_alias import install_as_triton


def run_program(words, command="run"):
    """Runs SCRIPT ARGUMENTS, or -m MODULE ARGUMENTS, as the main program of this process; `command` stands in messages."""
    install_as_triton()
    sys.argv = list(words)
    if not sys.argv:
        raise SystemExit(f"tilewright {command}: name a script, or -m and a module")
    if sys.argv[0] == "-m":
        if len(sys.argv) < 2:
            raise SystemExit(f"tilewright {command}: -m needs the name of a module")
        del sys.argv[0]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        return
    if not os.path.isfile(sys.argv[0]):
        raise SystemExit(f"tilewright {command}: no file '{sys.argv[0]}'")
    sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[0])))
    runpy.run_path(sys.argv[0], run_name="__main__")
