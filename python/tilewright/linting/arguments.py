# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command line of `tilewright lint`."""

from __future__ import annotations

from ..lazy_names import deferred


def add_parser(commands):
    parser = commands.add_parser("lint", help="report what the text of kernels shows to be wrong; nothing is imported or run")
    parser.set_defaults(call=deferred("linting.command:lint_command"))
    parser.add_argument("paths", nargs="*", metavar="FILE", help="Python files, and folders with such files")
    parser.add_argument("--disable", action="append", default=[], metavar="NAME", help="leave out a rule (repeatable, or a,b)")
    parser.add_argument(
        "--enable", action="append", default=[], metavar="NAME", help="add a rule that is off by default; 'all' adds every one"
    )
    parser.add_argument("--json", metavar="FILE", help="write the findings as JSON; - for standard output")
    parser.add_argument("--rules", action="store_true", help="list the rules")
