# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Running a program, a script or a module, in which `import triton` means Tilewright, and the help texts of its arguments."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import runpy
import sys

from .triton_alias import install_as_triton


class Misuse(SystemExit):
    """A command line that cannot be followed. What reads arguments does not know for which command; `tilewright` adds it."""


def check_program(words):
    """Raises Misuse unless the words name a program: SCRIPT ARGUMENTS, or -m MODULE ARGUMENTS."""
    if not words:
        raise Misuse("name a script, or -m and a module")
    if words[0] != "-m":
        if not os.path.isfile(words[0]):
            raise Misuse(f"no file '{words[0]}'")
    elif len(words) < 2:
        raise Misuse("-m needs the name of a module")
    elif not _has_module(words[1]):
        raise Misuse(f"no module '{words[1]}'")


def _has_module(name) -> bool:
    """Whether the package of a module is there; nothing is imported, as that is the program's to do."""
    package = name.partition(".")[0]
    if package == "triton" or importlib.machinery.PathFinder.find_spec(package, [os.getcwd(), *sys.path]):
        return True
    return package.isidentifier() and importlib.util.find_spec(package) is not None


def run_program(words):
    """Runs SCRIPT ARGUMENTS, or -m MODULE ARGUMENTS, as the main program of this process."""
    check_program(words)
    install_as_triton()
    sys.argv = list(words)
    if sys.argv[0] == "-m":
        del sys.argv[0]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        return
    sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[0])))
    runpy.run_path(sys.argv[0], run_name="__main__")
