# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Collects what the compiler reports about a kernel, by line of its source.

Everything comes from the compilation: its remarks, the layouts and the places in shared memory
that it reports (passes/pipeline/KernelFacts.h), the counts of work, PTX and machine code with
their line tables. Nothing is analysed a second time.
"""

from __future__ import annotations

import ast
import json
import os
import time
from dataclasses import dataclass, field

from .. import _core, errors
from ..compiler.compiler import request_of
from ..parsing import parse
from . import page, text
from .kept import compiled
from .machine_code import disassemble, mix, ptx_by_line, sass_by_line


@dataclass
class Line:
    number: int
    text: str
    remarks: list = field(default_factory=list)
    tiles: list = field(default_factory=list)
    ptx: list = field(default_factory=list)
    sass: list = field(default_factory=list)
    registers: int | None = None  # most that are alive, as nvdisasm says

    @property
    def is_empty(self):
        return not (self.remarks or self.tiles or self.ptx or self.sass)


@dataclass
class Section:
    """A function of the kernel with its lines."""

    file: str
    name: str
    lines: list


@dataclass
class Explanation:
    name: str
    target: str
    configuration: dict
    signature: dict
    sections: list
    remarks: list  # of the whole kernel
    resources: dict
    occupancy: dict
    pressure: dict  # where most registers are needed, as the compiler forecasts it
    shared: list
    positions: int
    mix: list
    mix_of: str  # "SASS" or "PTX"
    work: list
    seconds: float
    measured: dict | None = None  # a row of a profile's JSON

    def lines(self):
        return (line for section in self.sections for line in section.lines)

    def text(self, **options) -> str:
        """The form for a terminal."""
        return text.render(self, **options)

    def page(self) -> str:
        """The form for a browser: one HTML file that needs no other."""
        return page.render(self)

    def write(self, path):
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.page())


# ---------------------------------------------------------------------------
# Places
# ---------------------------------------------------------------------------


def _split_place(place):
    """(file, line) of "file:line:column"."""
    file, _, rest = place.rpartition(":")
    file, _, line = file.rpartition(":")
    return (os.path.normpath(file), int(line)) if file and line.isdigit() else (place, 0)


class _Sources:
    """Lines of files, and the functions around them."""

    def __init__(self):
        self._texts: dict = {}
        self._functions: dict = {}

    def text(self, file) -> list:
        if file not in self._texts:
            try:
                with open(file, encoding="utf-8", errors="replace") as source:
                    self._texts[file] = source.read().splitlines()
            except OSError:
                self._texts[file] = []
        return self._texts[file]

    def functions(self, file) -> list:
        """[(first line, last line, name)] with decorators, inner ones after outer ones."""
        if file not in self._functions:
            try:
                tree = parse("\n".join(self.text(file)))
            except SyntaxError:
                tree = ast.Module(body=[], type_ignores=[])
            self._functions[file] = [
                (min([node.lineno, *(d.lineno for d in node.decorator_list)]), node.end_lineno, node.name)
                for node in ast.walk(tree)
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            ]
        return self._functions[file]

    def around(self, file, line):
        """(first, last, name) of the innermost function with a line, or of the line alone."""
        inside = [f for f in self.functions(file) if f[0] <= line <= f[1]]
        return max(inside, default=(line, line, ""), key=lambda f: f[0])


# ---------------------------------------------------------------------------
# Collecting
# ---------------------------------------------------------------------------


def _sections(fn, by_place) -> list:
    """The functions in which something happens, the kernel first."""
    sources, wanted = _Sources(), {}
    own = (os.path.normpath(fn.file), fn.def_file_line_number)
    for file, line in [own, *sorted(by_place)]:
        if line > 0:
            first, last, name = sources.around(file, line)
            wanted.setdefault((file, first), (last, name))
    sections = []
    for (file, first), (last, name) in wanted.items():
        all_lines = sources.text(file)
        lines = []
        for number in range(first, last + 1):
            line = Line(number, all_lines[number - 1] if number <= len(all_lines) else "")
            for kind, value in by_place.get((file, number), {}).items():
                setattr(line, kind, value)
            lines.append(line)
        sections.append(Section(file, name, lines))
    return sections


def _line_in(place, function):
    """The line of a place in the kernel's own file; None for others."""
    file, line = _split_place(place) if place else (None, None)
    return line if file == os.path.normpath(function.file) else None


def _by_place(remarks, tiles, ptx, sass, live) -> dict:
    """{(file, line): {field of Line: value}}"""
    found: dict = {}

    def at(place):
        return found.setdefault(place, {})

    for row in remarks:  # a function that is used twice says the same twice
        known = at(_split_place(row["place"])).setdefault("remarks", [])
        if row not in known:
            known.append(row)
    for row in tiles:
        known = at(_split_place(row["place"])).setdefault("tiles", [])
        shown = {key: value for key, value in row.items() if key != "place"}
        if shown not in known:
            known.append(shown)
    for kind, rows in (("ptx", ptx), ("sass", sass), ("registers", live)):
        for place, value in rows.items():
            at(place)[kind] = value
    return found


def occupancy_of(target, threads, registers, shared) -> dict:
    """{"blocks", "limits": {resource: blocks}, "limited_by", "threads", "max_threads", "resources"}

    "resources" says of each what a block takes of what the multiprocessor has, and the most with which one
    block more would fit.
    """
    rows = _core.resident_blocks(target, threads, registers or 1, shared)
    if not shared:
        rows.pop("shared_memory")
    if not registers:
        rows.pop("registers")
    limits = {name: row["blocks"] for name, row in rows.items()}
    blocks = min(limits.values())
    return {
        "blocks": blocks,
        "limits": limits,
        "limited_by": [name for name, count in limits.items() if count == blocks],
        "threads": blocks * threads,
        "max_threads": rows["threads"]["has"],
        "resources": rows,
    }


def explain_call(function, args, kwargs) -> Explanation:
    """The explanation of what a launch of `function` with these arguments would run."""
    kwargs.pop("grid", None)
    kernel = function.run(*args, grid=(1,), warmup=True, **kwargs)
    if kernel is None:
        raise errors.make(
            "E0117",
            message=f"'{function.__name__}' runs in the interpreter, so there is nothing to explain",
            help="unset TILEWRIGHT_INTERPRET",
        )
    options = {name: value for name, value in kwargs.items() if name not in function.arg_names}
    return explain(kernel.src, kernel.metadata.target, {"arguments_may_overlap": False, **options})


def explain(source, target=None, options=None, measured=None) -> Explanation:
    """Says what became of an ASTSource, which is compiled unless an explanation of it is kept.

    `measured` is a row of a profile's JSON.
    """
    started = time.perf_counter()
    request = request_of(source, target, options)
    result = compiled(request)
    facts, remarks = json.loads(result["facts"]), json.loads(result["remark_facts"])
    metadata = result["metadata"]
    ptx = ptx_by_line(result["ptx"])
    disassembly = disassemble(result["cubin"])
    sass, live, every = sass_by_line(disassembly) if disassembly else ({}, {}, [])
    of_kernel = [row for row in remarks if not row["place"]]
    registers, threads = metadata["n_regs"], metadata["num_warps"] * 32
    return Explanation(
        name=result["name"],
        target=request.target.name,
        configuration={
            **{k: getattr(v, "__name__", v) for k, v in source.constants.items()},
            "num_warps": metadata["num_warps"],
            "num_stages": metadata["num_stages"],
            "num_ctas": metadata["num_ctas"],
        },
        signature=dict(source.runtime_signature),
        sections=_sections(source.fn, _by_place([r for r in remarks if r["place"]], facts["tiles"], ptx, sass, live)),
        remarks=of_kernel,
        resources={
            "registers": registers,
            "spilled_bytes": metadata["n_spills"],
            "shared_bytes": metadata["shared"],
            "threads": threads,
            "assembler": metadata["assembler"],
        },
        occupancy=occupancy_of(request.target.name, threads, registers, metadata["shared"]),
        pressure={**facts["registers"], "line": _line_in(facts["registers"]["place"], source.fn)},
        shared=facts["shared"],
        positions=facts["positions"],
        mix=mix(every or [line for lines in ptx.values() for line in lines]),
        mix_of="SASS" if every else "PTX",
        work=json.loads(metadata["work"]),
        seconds=time.perf_counter() - started,
        measured=measured,
    )
