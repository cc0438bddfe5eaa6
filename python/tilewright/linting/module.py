# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels and launches of one file, and the meaning of its names; all from its text alone."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ..parsing import parse

# What files that take both from a module of their own call them.
_USUAL = {"triton": "tilewright", "tl": "tilewright.language", "tilewright": "tilewright"}


@dataclass
class Kernel:
    """A function that @jit decorates."""

    node: ast.FunctionDef
    is_entry: bool  # launched, and not called by another kernel of the file
    is_given_more: bool  # a tuner or heuristics give it arguments, too

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def arguments(self) -> list:
        given = self.node.args
        return [*given.posonlyargs, *given.args, *given.kwonlyargs]


def is_constexpr(argument) -> bool:
    """Whether a parameter or an assignment is annotated as a constexpr, as an expression or as a text."""
    note = argument.annotation
    text = note.value if isinstance(note, ast.Constant) and isinstance(note.value, str) else ast.unparse(note) if note else ""
    return text.rpartition(".")[2] == "constexpr"


class Module:
    """A parsed file."""

    def __init__(self, path: str, text: str):
        self.path, self.lines = path, text.splitlines()
        self.tree = parse(text)
        self.meanings = dict(_USUAL)
        self._read_imports()
        self.kernels = self._find_kernels()
        #: (kernel, call) of each `kernel[grid](...)` whose kernel stands in the file.
        self.launches = list(self._find_launches())
        self._mark_entries()

    # -- names --------------------------------------------------------------

    def _read_imports(self):
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.asname:
                        self._bind(alias.asname, alias.name)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for alias in node.names:
                    self._bind(alias.asname or alias.name, f"{node.module}.{alias.name}")

    def _bind(self, name: str, meaning: str):
        first, _, rest = meaning.partition(".")
        if first in ("triton", "tilewright"):
            self.meanings[name] = ".".join(filter(None, ("tilewright", rest)))
        elif name not in _USUAL:
            self.meanings.pop(name, None)

    def meaning(self, node) -> str:
        """`tilewright.language.load` for `tl.load`; empty for what is none of the package's."""
        if isinstance(node, ast.Name):
            return self.meanings.get(node.id, "")
        if isinstance(node, ast.Attribute) and (base := self.meaning(node.value)):
            return f"{base}.{node.attr}"
        return ""

    def function_of_language(self, node) -> str:
        """`load` for a call of `tl.load`, `math.exp` for one of `tl.math.exp`; else empty."""
        meaning = self.meaning(node.func) if isinstance(node, ast.Call) else ""
        return meaning.removeprefix("tilewright.language.") if meaning.startswith("tilewright.language.") else ""

    # -- kernels ------------------------------------------------------------

    def _find_kernels(self) -> dict:
        found = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef):
                kinds = {self.meaning(d.func if isinstance(d, ast.Call) else d).rpartition(".")[2] for d in node.decorator_list}
                if "jit" in kinds:
                    found[node.name] = Kernel(node, False, bool(kinds & {"autotune", "heuristics"}))
        return found

    def _find_launches(self):
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript) and isinstance(node.func.value, ast.Name):
                kernel = self.kernels.get(node.func.value.id)
                if kernel is not None:
                    yield kernel, node

    def _mark_entries(self):
        called = {
            node.func.id
            for kernel in self.kernels.values()
            for node in ast.walk(kernel.node)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        launched = {kernel.name for kernel, _ in self.launches}
        for kernel in self.kernels.values():
            kernel.is_entry = kernel.name not in called and (kernel.is_given_more or kernel.name in launched)

    # -- comments -----------------------------------------------------------

    def ignored(self, node) -> set:
        """Rules that a comment `# tilewright: ignore[name]` turns off at a statement; "*" for all."""
        names: set = set()
        for line in self.lines[node.lineno - 1 : getattr(node, "end_lineno", node.lineno)]:
            _, comment, rest = line.partition("# tilewright: ignore")
            if comment:
                inside = rest.partition("]")[0].lstrip("[") if rest.startswith("[") else "*"
                names |= {name.strip() for name in inside.split(",")}
        return names
