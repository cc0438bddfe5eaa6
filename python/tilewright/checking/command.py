# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilewright check SCRIPT ...`, `tilewright check -m MODULE ...`, `tilewright replay FILE`.

The program runs in a process of its own, as `tilewright run` would run it, so that what
it found is told however the program ends.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import asdict

_PACKAGE_FOLDER = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# `-c` puts the current folder on the path, which `tilewright run` does not.
_START = ("import sys; sys.path[:] = [p for p in sys.path if p]; sys.path.append({folder!r}); "
          "from tilewright.cli import main; sys.exit(main(['run', *sys.argv[1:]]))")


def add_parser(commands):
    """Adds both commands to those of `tilewright`; their modules are loaded when one is given."""
    check = commands.add_parser("check", help="run a script with every kernel launch checked in the interpreter",
                                usage="tilewright check [options] SCRIPT ARGUMENTS | -m MODULE ARGUMENTS")
    check.set_defaults(call=lambda arguments: _module("command").check_command(arguments))
    check.add_argument("--check", default="", metavar="NAMES",
                       help="checks beside the defaults, as in TILEWRIGHT_CHECK: nan,overflow,... or all")
    check.add_argument("--only", action="append", default=[], metavar="KERNEL", help="check this kernel (repeatable)")
    check.add_argument("--limit", type=int, default=0, metavar="N",
                       help="check at most N programs of each launch, spread over its grid")
    check.add_argument("--json", metavar="FILE", help="write what was found as JSON")
    check.add_argument("--compare", action="store_true",
                       help="also run each launch compiled, and compare what both wrote (needs a GPU)")
    check.add_argument("--rtol", type=float, help="relative tolerance of --compare; by default one of the dtype")
    check.add_argument("--atol", type=float, help="absolute tolerance of --compare; by default one of the dtype")
    check.add_argument("--save", metavar="FILE", help="save the first launch that differs, for tilewright replay")
    check.add_argument("rest", nargs=argparse.REMAINDER, metavar="SCRIPT ARGUMENTS | -m MODULE ARGUMENTS")
    replay = commands.add_parser("replay", help="run a launch that 'tilewright check --save' has saved")
    replay.set_defaults(call=lambda arguments: _module("replay").replay_command(arguments))
    replay.add_argument("file", metavar="FILE")
    side = replay.add_mutually_exclusive_group()
    side.add_argument("--interpret", action="store_true", help="run it in the interpreter only")
    side.add_argument("--compiled", action="store_true", help="run it on the GPU only")
    side.add_argument("--bisect", action="store_true", help="find the first optimisation with which the results differ")
    replay.add_argument("--check", default="", metavar="NAMES", help="checks beside the defaults, as in TILEWRIGHT_CHECK")
    replay.add_argument("--program", metavar="X,Y,Z", help="interpret one program of the grid only, and list its accesses")
    replay.add_argument("--rtol", type=float)
    replay.add_argument("--atol", type=float)


def _module(name):
    import importlib

    return importlib.import_module("." + name, __package__)


def split_arguments(argv):
    """(this command's own arguments, the program's), at the script or at -m."""
    takes_value = {"--check", "--only", "--limit", "--json", "--rtol", "--atol", "--save"}
    position = 0
    while position < len(argv):
        word = argv[position]
        if word == "--":
            return argv[:position], argv[position + 1:]
        if word == "-m" or not word.startswith("-"):
            break
        position += 2 if word in takes_value else 1
    return argv[:position], argv[position:]


def check_command(arguments) -> int:
    from ..runtime.checks import selected
    from . import compiled, journal
    from .report import Report
    from .session import Options

    program = arguments.rest
    if not program or (program[0] == "-m" and len(program) < 2):
        raise SystemExit("tilewright check: name a script, or -m and a module")
    selected(arguments.check)  # a name that is no check's is told before the program runs
    if arguments.compare and not compiled.has_gpu():
        from .. import errors

        raise errors.make("E0704", reason="no CUDA driver, or no GPU that it shows")
    options = Options(check=arguments.check, only=tuple(arguments.only), limit=arguments.limit,
                      compare=arguments.compare, rtol=arguments.rtol, atol=arguments.atol,
                      save=os.path.abspath(arguments.save) if arguments.save else "")
    with tempfile.TemporaryDirectory(prefix="tilewright-check-") as folder:
        journal.create(folder, asdict(options))
        status = _run(program, folder)
        report = Report(journal.read(folder), program, status)
    print(report.text(), file=sys.stderr)
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(report.as_json(), file, indent=1)
    return report.exit_status


def _run(program, folder) -> int:
    """Runs the program to its end; its exit status, negative for a signal."""
    environment = {**os.environ, "TILEWRIGHT_CHECK_SESSION": folder}
    command = [sys.executable, "-c", _START.format(folder=_PACKAGE_FOLDER), *program]
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the program's
    try:
        return subprocess.Popen(command, env=environment,
                                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler)).wait()
    finally:
        signal.signal(signal.SIGINT, before)
