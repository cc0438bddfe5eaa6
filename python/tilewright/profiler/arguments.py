# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command line of `tilewright profile`."""

from __future__ import annotations

import argparse

from ..lazy_names import deferred

_VALUED = ("--json", "--trace", "--sort", "--top")


def add_parser(commands):
    parser = commands.add_parser(
        "profile",
        help="run a script and show where the GPU's time goes, kernel by kernel",
        usage="tilewright profile [options] SCRIPT ARGUMENTS | -m MODULE ARGUMENTS",
    )
    parser.set_defaults(call=deferred("profiler.command:profile_command"))
    parser.add_argument("--json", metavar="FILE", help="write what the table shows, and more, as JSON")
    parser.add_argument("--trace", metavar="FILE", help="write a trace for chrome://tracing or Perfetto")
    parser.add_argument("--sort", choices=("time", "calls", "name"), default="time", help="order of the rows")
    parser.add_argument("--top", type=int, default=20, metavar="N", help="rows to show")
    parser.add_argument("--no-ranges", action="store_true", help="no NVTX ranges, also where a tool takes them")
    parser.add_argument("rest", nargs=argparse.REMAINDER, metavar="SCRIPT ARGUMENTS | -m MODULE ARGUMENTS")


def split_arguments(argv):
    """(this command's own arguments, the program's), at the script or at -m."""
    position = 0
    while position < len(argv) and argv[position] != "-m" and argv[position].startswith("-"):
        if argv[position] == "--":
            return argv[:position], argv[position + 1 :]
        position += 2 if argv[position] in _VALUED else 1
    return argv[:position], argv[position:]
