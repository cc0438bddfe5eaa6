# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A finding of any tool, and the lines that show it."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field

OUT_OF_BOUNDS = "E0407"


@dataclass
class Finding:
    """A mistake: what and where, and how often it was seen in a launch.

    `frames` are the places in kernels, innermost first, each a dict of file, function, line,
    column and the source line. `program` and `text` are those of the first
    time; what is found without a launch has none. `code` is an error's, or the name of a rule of the linter.
    """

    code: str
    text: str
    help: str
    notes: list
    frames: list
    kernel: str
    launch: int = 0
    program: list = field(default_factory=list)
    count: int = 1

    @property
    def place(self):
        """(file, line) of the innermost frame."""
        return (self.frames[0]["file"], self.frames[0]["line"]) if self.frames else ("", 0)

    @property
    def address(self):
        """Where an access went that met no array of the launch; None for other findings."""
        found = re.search(r"'address (0x[0-9a-f]+)'", self.text) if self.code == OUT_OF_BOUNDS else None
        return int(found[1], 16) if found else None

    def record(self) -> dict:
        return asdict(self)


def finding_lines(record: dict) -> list:
    """The place, what is wrong, the line of source, the calls around it, notes and help."""
    frames = record["frames"]
    where = f" at {frames[0]['file']}:{frames[0]['line']}" if frames else ""
    lines = [
        f"{record['code']}{where} in kernel '{frames[0]['function'] if frames else record['kernel']}'",
        f"  {record['text']}",
    ]
    if frames and frames[0]["source_line"]:
        lines.append(f"      {frames[0]['source_line']}")
    lines += [f"  called from {f['file']}:{f['line']} in kernel '{f['function']}'" for f in frames[1:]]
    lines += [f"  note: {note}" for note in record["notes"]]
    if record["help"]:
        lines.append(f"  help: {record['help']}")
    return lines
