# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilewright check SCRIPT ...`, `tilewright check -m MODULE ...`.

The program runs in a process of its own, as `tilewright run` would run it. So the findings
are reported however the program ends.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import asdict

from .. import errors
from ..run_program import check_program
from ..runtime.checks import selected
from . import compiled, journal
from .report import Report
from .session import Options

_PACKAGE_FOLDER = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# `-c` puts the current folder on the path, which `tilewright run` does not.
_START = (
    "import sys; sys.path[:] = [p for p in sys.path if p]; sys.path.append({folder!r}); "
    "from tilewright.cli import main; sys.exit(main(['run', *sys.argv[1:]]))"
)


def check_command(arguments) -> int:
    program = arguments.rest
    check_program(program)
    selected(arguments.check)  # a name that is no check's is told before the program runs
    if arguments.compare and not compiled.has_gpu():
        raise errors.make("E0704", reason="no CUDA driver, or no GPU that it shows")
    options = Options(
        check=arguments.check,
        only=tuple(arguments.only),
        limit=arguments.limit,
        compare=arguments.compare,
        rtol=arguments.rtol,
        atol=arguments.atol,
        save=os.path.abspath(arguments.save) if arguments.save else "",
    )
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
        return subprocess.Popen(
            command, env=environment, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler)
        ).wait()
    finally:
        signal.signal(signal.SIGINT, before)
