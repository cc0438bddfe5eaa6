# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A table of what programs load and store: for print, pandas and CSV."""

from __future__ import annotations

import csv
from typing import NamedTuple

from .. import errors
from ..compiler.options import DEFAULTS, parse_options
from .interpreter import InterpretedLaunch, grid_sizes
from .kernel_frames import running_frames

__all__ = ["Access", "AccessTable", "interpret"]


class Access(NamedTuple):
    """One load, store or atomic of one program. `first` and `last` are elements of the array, None where every
    lane is masked out; `active` of `lanes` take part, and `bytes` is what they move."""

    program: tuple
    line: int
    kind: str
    array: str
    first: int
    last: int
    active: int
    lanes: int
    bytes: int


class AccessTable:
    """The accesses in the order in which they were made: a sequence of Access."""

    columns = Access._fields

    def __init__(self):
        self.rows: list[Access] = []

    def listen_to(self, context):
        """Fills the table while the context runs."""

        def note(kind, array, first, last, active, lanes, size):
            frames = running_frames()
            line = frames[0].line if frames else 0
            self.rows.append(Access(tuple(context.program), line, kind, array, first, last, active, lanes, size))

        context.observe(note)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, position):
        return self.rows[position]

    def __iter__(self):
        return iter(self.rows)

    def __str__(self):
        texts = [self.columns, *(["" if cell is None else str(cell) for cell in row] for row in self.rows)]
        widths = [max(len(row[i]) for row in texts) for i in range(len(self.columns))]
        return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in texts)

    def __repr__(self):
        return f"AccessTable of {len(self.rows)} accesses\n{self}"

    def to_csv(self, path):
        """Writes the table with a line of names first."""
        with open(path, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(self.columns)
            writer.writerows(self.rows)

    def to_pandas(self):
        """A DataFrame; pandas is imported by this method alone."""
        import pandas

        return pandas.DataFrame(self.rows, columns=self.columns)


def interpret(jit_function, args, kwargs, grid, program, check):
    """JITFunction.interpret: one launch in the interpreter, with its table."""
    options = {name: value for name, value in kwargs.items() if name not in jit_function.arg_names}
    for name in options:
        if name not in DEFAULTS:
            jit_function._reject_keyword(name)
    parse_options(options)
    call = jit_function.signature.bind(*args, **{name: kwargs[name] for name in kwargs if name not in options})
    call.apply_defaults()
    bound = dict(call.arguments)
    sizes = grid_sizes(grid, bound)
    table = AccessTable()
    if 0 in sizes:
        return table
    if check is not None:
        options["check"] = check
    launch = InterpretedLaunch(jit_function, sizes, bound, options)
    table.listen_to(launch.context)
    if program is not None:
        launch.context.choose([program_of(program, sizes)])
    launch.run()
    launch.write_back()
    return table


def program_of(program, sizes):
    """A program of the grid as its three indices; E0207 for one that the grid does not have."""
    indices = tuple(program) if isinstance(program, (tuple, list)) else (program,)
    indices = (*indices, *(0 for _ in range(3 - len(indices))))
    if len(indices) != 3 or not all(isinstance(i, int) and 0 <= i < size for i, size in zip(indices, sizes)):
        x, y, z = sizes
        raise errors.make("E0207", g=sizes, reason=f"it has no program {program!r}", x=x, y=y, z=z)
    return indices
