# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command `tilewright`: doctor, compile, explain, export, run, check, lint, prove, repro, passes, replay, profile, cache,
tune, knobs.
"""

from __future__ import annotations

import argparse
import os
import sys

from . import compile_arguments, errors, knobs
from .checking import arguments as check_arguments
from .compiler import cache_arguments, repro_arguments
from .explaining import arguments as explain_arguments
from .exporting import arguments as export_arguments
from .lazy_names import deferred
from .linting import arguments as lint_arguments
from .profiler import arguments as profile_arguments
from .proving import arguments as prove_arguments
from .run_program import Misuse, run_program
from .tuning import arguments as tune_arguments


def run_command(arguments) -> int:
    run_program(arguments.rest)
    return 0


def knobs_command(arguments) -> int:
    for variable, kind, default, doc in knobs.table():
        print(f"{variable:<42} {kind:<6} {default or '-':<9} {doc}")
    return 0


def _parser():
    parser = argparse.ArgumentParser(prog="tilewright", description="A tile language and its compiler.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("doctor", help="say what was found, and test it").set_defaults(call=deferred("doctor:doctor"))
    compile_arguments.add_parser(commands)
    run = commands.add_parser("run", help="run a script in which 'import triton' means Tilewright")
    run.set_defaults(call=run_command)
    run.add_argument("rest", nargs=argparse.REMAINDER, metavar="SCRIPT ARGUMENTS | -m MODULE ARGUMENTS")
    check_arguments.add_parser(commands)
    lint_arguments.add_parser(commands)
    explain_arguments.add_parser(commands)
    export_arguments.add_parser(commands)
    profile_arguments.add_parser(commands)
    prove_arguments.add_parser(commands)
    repro_arguments.add_parser(commands)
    cache_arguments.add_parser(commands)
    tune_arguments.add_parser(commands)
    commands.add_parser("knobs", help="list all switches").set_defaults(call=knobs_command)
    return parser


def main(argv=None) -> int:
    """Entry of the console script; errors of the user's kernel are printed without a traceback."""
    argv = sys.argv[1:] if argv is None else list(argv)
    try:
        return _run_command_line(argv)
    except Misuse as misuse:
        raise SystemExit(f"tilewright {argv[0]}: {misuse}") from None


def _run_command_line(argv) -> int:
    if argv[:1] == ["run"] and argv[1:2] not in (["-h"], ["--help"]):
        # All that follows belongs to the script, options too: nothing for argparse.
        return run_command(argparse.Namespace(rest=argv[1:]))
    program = []
    splitters = {"check": check_arguments.split_arguments, "profile": profile_arguments.split_arguments}
    if argv[:1] and argv[0] in splitters:
        # As above, from the script on.
        own, program = splitters[argv[0]](argv[1:])
        argv = [argv[0], *own]
        if argv[0] == "check" and "--prove" in own:
            argv, program = check_arguments.as_proof(own, program), []
    arguments = _parser().parse_args(argv)
    if program:
        arguments.rest = program
    try:
        return arguments.call(arguments)
    except errors.TilewrightError as error:
        print(f"{type(error).__name__}{error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # The reader (head, less) has seen enough. Nothing more may be written,
        # also not when Python closes its streams.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:  # a file that cannot be read or written
        print(f"tilewright: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
