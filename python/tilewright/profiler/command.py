# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilewright profile SCRIPT ...`, `tilewright profile -m MODULE ...`.

The program runs in this process, as `tilewright run` would run it, and the table is
written to standard error however it ends.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import threading

from .. import _core, errors, knobs
from ..run_program import check_program, run_program
from . import launches
from .launch_trace import of_child, write
from .processes import Parent


def _check_device():
    """Says what will be timed, or raises where nothing can be."""
    if knobs.runtime.interpret:
        errors.warn("W0713")
    elif not _core.driver_available():
        raise errors.make("E0710", reason="no CUDA driver, or no GPU that it shows")


def _run(program):
    run_program(program)
    # What other threads launch belongs to the program; Python waits for them after the main one.
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()


def profile_command(arguments) -> int:
    program = arguments.rest
    check_program(program)
    _check_device()
    # Before the program changes the folder.
    files = {name: os.path.abspath(path) for name in ("json", "trace") if (path := getattr(arguments, name))}
    profile = None
    parent = Parent(tempfile.mkdtemp(prefix="tilewright-profile-"))
    try:
        with launches.record(ranges=False if arguments.no_ranges else None) as profile:
            _run(program)
    finally:
        # A forked child of the program comes by here, too, where it ends as a script does.
        if os.getpid() == parent.process:
            parent.close()
            if profile is not None:
                _show(profile, parent.children(), arguments, files)
            shutil.rmtree(parent.folder, ignore_errors=True)
    return 0


def _show(profile, children, arguments, files):
    sys.stdout.flush()
    print(profile.table(sort=arguments.sort, limit=arguments.top), file=sys.stderr)
    for child in children:
        print(f"\nprocess {child['process']}, {' '.join(child['command'])}\n{child['table']}", file=sys.stderr)
    if "json" in files:
        processes = [{"process": child["process"], "command": child["command"], **child["profile"]} for child in children]
        with open(files["json"], "w", encoding="utf-8") as file:
            json.dump({**profile.as_json(), "processes": processes}, file, indent=1)
    if "trace" in files:
        write(profile, files["trace"], [event for child in children for event in of_child(profile, child)])
