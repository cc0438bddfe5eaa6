# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command lines of `tilewright check` and `tilewright replay`."""

from __future__ import annotations

import argparse

from ..lazy_names import deferred


def add_parser(commands):
    """Adds both commands to those of `tilewright`."""
    check = commands.add_parser(
        "check",
        help="run a script with every kernel launch checked in the interpreter",
        usage="tilewright check [options] SCRIPT ARGUMENTS | -m MODULE ARGUMENTS",
    )
    check.set_defaults(call=deferred("checking.command:check_command"))
    check.add_argument(
        "--check",
        default="",
        metavar="NAMES",
        help="checks beside the defaults, as in TILEWRIGHT_CHECK: nan,overflow,... or all",
    )
    check.add_argument("--only", action="append", default=[], metavar="KERNEL", help="check this kernel (repeatable)")
    check.add_argument(
        "--limit", type=int, default=0, metavar="N", help="check at most N programs of each launch, spread over its grid"
    )
    check.add_argument("--json", metavar="FILE", help="write what was found as JSON")
    check.add_argument(
        "--compare", action="store_true", help="also run each launch compiled, and compare what both wrote (needs a GPU)"
    )
    check.add_argument("--rtol", type=float, help="relative tolerance of --compare; by default one of the dtype")
    check.add_argument("--atol", type=float, help="absolute tolerance of --compare; by default one of the dtype")
    check.add_argument("--save", metavar="FILE", help="save the first launch that differs, for tilewright replay")
    check.add_argument(
        "--prove", action="store_true", help="prove the launches of the script, or a FILE:KERNEL: as tilewright prove"
    )
    check.add_argument("rest", nargs=argparse.REMAINDER, metavar="SCRIPT ARGUMENTS | -m MODULE ARGUMENTS")
    replay = commands.add_parser("replay", help="run a launch that 'tilewright check --save' has saved")
    replay.set_defaults(call=deferred("checking.replay:replay_command"))
    replay.add_argument("file", metavar="FILE")
    side = replay.add_mutually_exclusive_group()
    side.add_argument("--interpret", action="store_true", help="run it in the interpreter only")
    side.add_argument("--compiled", action="store_true", help="run it on the GPU only")
    side.add_argument("--bisect", action="store_true", help="find the first optimisation with which the results differ")
    replay.add_argument("--check", default="", metavar="NAMES", help="checks beside the defaults, as in TILEWRIGHT_CHECK")
    replay.add_argument("--program", metavar="X,Y,Z", help="interpret one program of the grid only, and list its accesses")
    replay.add_argument("--rtol", type=float)
    replay.add_argument("--atol", type=float)


def split_arguments(argv):
    """(this command's own arguments, the program's), at the script or at -m."""
    takes_value = {"--check", "--only", "--limit", "--json", "--rtol", "--atol", "--save"}
    position = 0
    while position < len(argv):
        word = argv[position]
        if word == "--":
            return argv[:position], argv[position + 1 :]
        if word == "-m" or not word.startswith("-"):
            break
        position += 2 if word in takes_value else 1
    return argv[:position], argv[position:]


def as_proof(own, program):
    """The command line of `tilewright prove` for that of `tilewright check --prove`: what follows a script is the script's."""
    target, rest = program[:1], program[1:]
    if rest and ":" not in target[0]:
        rest = ["--", *rest]
    return ["prove", *(word for word in own if word != "--prove"), *target, *rest]
