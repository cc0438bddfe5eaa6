# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilewright profile SCRIPT ...`, `tilewright profile -m MODULE ...`.

The program runs in this process, as `tilewright run` would run it, and the table is
written to standard error however it ends.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading

_VALUED = ("--json", "--trace", "--sort", "--top")


def add_parser(commands):
    parser = commands.add_parser("profile", help="run a script and show where the GPU's time goes, kernel by kernel",
                                 usage="tilewright profile [options] SCRIPT ARGUMENTS | -m MODULE ARGUMENTS")
    parser.set_defaults(call=profile_command)
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
            return argv[:position], argv[position + 1:]
        position += 2 if argv[position] in _VALUED else 1
    return argv[:position], argv[position:]


def _check_device():
    """Says what will be timed, or raises where nothing can be."""
    from .. import _core, errors, knobs

    if knobs.runtime.interpret:
        errors.warn("W0711")
    elif not _core.driver_available():
        raise errors.make("E0708", reason="no CUDA driver, or no GPU that it shows")


def _run(program):
    from ..cli import run_command  # which has this command's parser

    run_command(argparse.Namespace(rest=program))
    # What other threads launch belongs to the program; Python waits for them after the main one.
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()


def profile_command(arguments) -> int:
    from . import launches

    program = arguments.rest
    if not program or (program[0] == "-m" and len(program) < 2):
        raise SystemExit("tilewright profile: name a script, or -m and a module")
    _check_device()
    # Before the program changes the folder.
    files = {name: os.path.abspath(path) for name in ("json", "trace") if (path := getattr(arguments, name))}
    profile = None
    try:
        with launches.record(ranges=False if arguments.no_ranges else None) as profile:
            _run(program)
    finally:
        if profile is not None:
            _show(profile, arguments, files)
    return 0


def _show(profile, arguments, files):
    sys.stdout.flush()
    print(profile.table(sort=arguments.sort, limit=arguments.top), file=sys.stderr)
    if "json" in files:
        with open(files["json"], "w", encoding="utf-8") as file:
            json.dump(profile.as_json(), file, indent=1)
    if "trace" in files:
        profile.write_trace(files["trace"])
