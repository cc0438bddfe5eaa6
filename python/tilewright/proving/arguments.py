# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command line of `tilewright prove`."""

from __future__ import annotations

from ..lazy_names import deferred

_SUMMARY = "prove that a kernel stays in bounds and that its programs do not race"


def add_parser(commands):
    one = commands.add_parser("prove", help=_SUMMARY, description=_SUMMARY[0].upper() + _SUMMARY[1:] + ". Needs z3-solver.")
    one.set_defaults(call=deferred("proving.command:prove_command"))
    one.add_argument("kernel", metavar="FILE:KERNEL | SCRIPT", help="a kernel, for all sizes; or a script, for its launches")
    one.add_argument("rest", nargs="*", metavar="ARGUMENTS", help="of the script, after --")
    one.add_argument("--signature", "-s", help='"*fp32,*fp32,i32,BLOCK=1024", as for tilewright compile')
    one.add_argument("--grid", "-g", help='the programs: "cdiv(n, BLOCK)"')
    one.add_argument(
        "--array",
        "-a",
        action="append",
        default=[],
        metavar="NAME=EXTENTS",
        help='the extents of an array, "x=[m, n]", or its number of elements (repeatable)',
    )
    one.add_argument("--assume", default="", metavar="CONDITIONS", help='"n > 0, stride >= n, n %% 16 == 0"')
    one.add_argument("--launches", type=int, default=3, metavar="N", help="of a script, prove N launches of each kernel (3)")
    one.add_argument("--timeout", type=float, default=10.0, metavar="SECONDS", help="for one question (10)")
    one.add_argument("--json", metavar="FILE", help="write the answers as JSON; - for standard output")
