# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command lines of `tilewright repro` and `tilewright passes`."""

from __future__ import annotations

from ..lazy_names import deferred


def add_parser(commands):
    """Adds both commands to those of `tilewright`."""
    repro = commands.add_parser("repro", help="run a compilation again that failed with an internal error")
    repro.set_defaults(call=deferred("compiler.reproducer:repro_command"))
    repro.add_argument("file", metavar="FILE", help="that an internal error names")
    which = repro.add_mutually_exclusive_group()
    which.add_argument("--bisect", action="store_true", help="find the first optimisation with which it fails")
    which.add_argument("--reduce", action="store_true", help="leave out operations that the failure does not need")
    repro.add_argument("--output", "-o", metavar="FILE", help="of --reduce; FILE-small.mlir where missing")
    commands.add_parser("passes", help="list the passes, and which TILEWRIGHT_SKIP_PASSES may name").set_defaults(
        call=deferred("compiler.reproducer:passes_command")
    )
