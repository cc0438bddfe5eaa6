# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How the processes that a profiled program starts report their launches.

`tilewright profile` names a folder in the environment. A child process that declares a kernel records
from then on, and writes one file there as it ends; one that is killed leaves none. A forked child
forgets its parent's recording. CUDA does not work there, so only interpreted launches count.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import sys
import tempfile
from pathlib import Path

from .. import knobs
from .launch_report import Report
from .launch_trace import events_of
from .launches import Recording


class Parent:
    """The command's side: the folder, and what is in it when the program has ended."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.process = os.getpid()
        _Here.command = self
        os.environ["TILEWRIGHT_PROFILE_SESSION"] = str(folder)

    def close(self):
        _Here.command = None
        os.environ.pop("TILEWRIGHT_PROFILE_SESSION", None)

    def children(self) -> list[dict]:
        """What each child that launched something wrote, in the order of their beginnings."""
        found = [json.loads(path.read_text()) for path in self.folder.glob("*.json")]
        return sorted(found, key=lambda child: child["begin"])


class _Here:
    """What this process is: the command's own, which has `command`, or a child, which has `recording`."""

    command = None
    recording = None


def begin():
    """Records what this process launches, if it is a child of a profiled program."""
    if _Here.command is not None or _Here.recording is not None:
        return
    _Here.recording = recording = Recording()
    recording.start(knobs.proton.enable_nvtx)
    _at_end(functools.partial(_finish, recording))


#: Functions that stay for _at_end: multiprocessing holds what it calls after a fork only weakly.
_ends = []


def _at_end(function):
    """Calls it once as this process ends. A child that multiprocessing forks forgets all finalizers after the fork.
    It also forgets what atexit knows (from Python 3.14 on), or never comes to it."""
    process, done = os.getpid(), []

    def end():
        if os.getpid() == process and not done:
            done.append(True)
            function()

    _ends.append(end)
    atexit.register(end)
    util = sys.modules.get("multiprocessing.util")
    if util is not None:
        util.Finalize(None, end, exitpriority=0)
        util.register_after_fork(end, lambda end: util.Finalize(None, end, exitpriority=0))


def _finish(recording):
    if recording in Recording.running:  # a forked child may have left the command's own way
        recording.stop()
    _write(recording)


def _write(recording):
    """The whole file at once: the command never sees a part of one."""
    report = Report(recording)
    if not (recording.launches or recording.interpreted or recording.uncounted):
        return
    content = {
        "process": os.getpid(),
        "command": sys.argv,
        "begin": recording.begin,
        "profile": report.as_json(),
        "table": report.text(),
        "events": events_of(recording),
    }
    folder = Path(knobs.runtime.profile_session)
    try:
        with tempfile.NamedTemporaryFile("w", dir=folder, suffix=".part", delete=False) as file:
            json.dump(content, file, default=str)
        os.replace(file.name, folder / f"{Path(file.name).stem}.json")
    except OSError:
        return  # the command has ended before its program's child


def _forked():
    """In a forked child: a recording of its own, of what it interprets."""
    if not knobs.runtime.profile_session:
        return
    _Here.command, _Here.recording = None, None
    for recording in Recording.running:
        recording.forget()
        _Here.recording = recording
        _at_end(functools.partial(_finish, recording))


os.register_at_fork(after_in_child=_forked)
