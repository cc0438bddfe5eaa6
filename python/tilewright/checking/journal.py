# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How the processes of one checked program tell what they saw.

A folder that the environment names holds the options of the command (`options.json`) and
a file of lines per process, each line one JSON object that is written whole and at once. So
the records of a process are there however it ends. A forked child writes to a file of its own.
"""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

OPTIONS = "options.json"


class Journal:
    """This process's file; opened with the first line, and anew after a fork."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self._file, self._process, self._launches = None, None, 0
        self._lock = threading.Lock()

    def options(self) -> dict:
        return json.loads((self.folder / OPTIONS).read_text())

    def next_launch(self) -> int:
        """The number of a launch in its process, from 1."""
        with self._lock:
            if self._process != os.getpid():
                self._open()
            self._launches += 1
            return self._launches

    def write(self, kind: str, **record):
        line = json.dumps({"kind": kind, "process": os.getpid(), **record}) + "\n"
        with self._lock:
            if self._process != os.getpid():
                self._open()
            os.write(self._file, line.encode())

    def _open(self):
        self._process, self._launches = os.getpid(), 0
        self._file = os.open(self.folder / f"{self._process}.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


def create(folder, options: dict):
    """Begins the journal of a program that is about to start."""
    (Path(folder) / OPTIONS).write_text(json.dumps(options))


def read(folder) -> list[dict]:
    """All records, process by process in the order of their files' times; a cut last line is left out."""
    records = []
    for path in sorted(Path(folder).glob("*.jsonl"), key=lambda p: (p.stat().st_ctime_ns, p.name)):
        for line in path.read_text().splitlines():
            try:
                records.append(json.loads(line))
            except ValueError:
                continue  # the process was killed while it wrote
    return records
