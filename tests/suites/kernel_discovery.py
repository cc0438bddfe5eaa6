# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds the entry kernels of a checkout and the calls that launch them, by their text alone.

An entry kernel is a function of a module decorated with jit that is tuned, has heuristics, is
launched somewhere in the checkout, or is not called by another kernel of its file.
"""

import ast
import hashlib
import warnings
from dataclasses import dataclass, field
from pathlib import Path

_JIT_NAMES = {"jit", "autotune", "heuristics"}
# Languages that only look alike.
_OTHER_LANGUAGES = ("gluon", "numba", "cutlass", "cute")


@dataclass
class Kernel:
    """A function decorated with jit."""

    name: str
    line: int
    is_entry: bool
    digest: str
    text: str = ""


@dataclass
class SourceFile:
    """What one file holds: kernels, and launches as (kernel, call, the function around it)."""

    path: str
    kernels: list = field(default_factory=list)
    launches: list = field(default_factory=list)


def parse(path):
    """The syntax tree of a file, or None for what is no Python 3."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(Path(path).read_bytes())
        except (SyntaxError, ValueError, OSError, RecursionError):
            return None


def _decorator_name(decorator) -> str:
    """`triton.jit`, `jit` or `triton.autotune` as dotted text, without arguments."""
    node = decorator.func if isinstance(decorator, ast.Call) else decorator
    parts = []
    while isinstance(node, ast.Attribute):
        parts.insert(0, node.attr)
        node = node.value
    return ".".join([node.id, *parts]) if isinstance(node, ast.Name) else ""


def _decorations(function) -> set:
    """Which of jit, autotune and heuristics a function is decorated with."""
    names = [_decorator_name(decorator) for decorator in function.decorator_list]
    if any(name.startswith(other) for name in names for other in _OTHER_LANGUAGES):
        return set()
    return {name.rsplit(".", 1)[-1] for name in names} & _JIT_NAMES


def _module_functions(tree):
    """Functions of a module, those under its conditions included."""
    waiting = list(tree.body)
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ast.FunctionDef):
            yield node
        elif isinstance(node, (ast.If, ast.Try, ast.With)):
            waiting += node.body + getattr(node, "orelse", []) + getattr(node, "finalbody", [])
            waiting += [statement for handler in getattr(node, "handlers", []) for statement in handler.body]


def _digest(function, text) -> str:
    """Of the syntax tree; of the lines where that is too deep, as a sum of a thousand products is."""
    try:
        content = ast.dump(function).encode()
    except RecursionError:
        content = b"\n".join(text.splitlines()[function.lineno - 1 : function.end_lineno])
    return hashlib.sha256(content).hexdigest()[:16]


def launches_in(tree):
    """(kernel name, call, enclosing function or None) for every `name[grid](...)`."""
    found, waiting = [], [(tree, None)]
    while waiting:
        node, function = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            function = node
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript):
            kernel = node.func.value
            name = kernel.id if isinstance(kernel, ast.Name) else kernel.attr if isinstance(kernel, ast.Attribute) else ""
            if name:
                found.append((name, node, function))
        waiting += [(child, function) for child in reversed(list(ast.iter_child_nodes(node)))]
    return found


def read_source(path, root) -> SourceFile:
    """Kernels and launches of a file; which kernels are entries is decided by `discover`."""
    source = SourceFile(str(Path(path).relative_to(root)))
    tree = parse(path)
    if tree is None:
        return source
    text = Path(path).read_bytes()
    functions = [f for f in _module_functions(tree) if "jit" in _decorations(f)]
    names = {f.name for f in functions}
    called = {
        n.func.id
        for f in functions
        for n in ast.walk(f)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in names and n.func.id != f.name
    }
    source.launches = launches_in(tree)
    last = {f.name: f for f in functions}  # a name that is defined twice is its last definition
    for function in last.values():
        # A function that returns a value is for other kernels.
        returns = any(isinstance(n, ast.Return) and n.value is not None for n in ast.walk(function))
        is_entry = len(_decorations(function)) > 1 or (function.name not in called and not returns)
        own = b"\n".join(text.splitlines()[function.lineno - 1 : function.end_lineno]).decode(errors="replace")
        source.kernels.append(Kernel(function.name, function.lineno, is_entry, _digest(function, text), own))
    return source


def discover(root) -> list[SourceFile]:
    """Every file of a checkout with kernels or launches, sorted by path."""
    root = Path(root)
    sources = []
    for path in sorted(root.rglob("*.py")):
        try:
            text = path.read_bytes()
        except OSError:
            continue
        if b"jit" in text or b"](" in text:
            source = read_source(path, root)
            if source.kernels or source.launches:
                sources.append(source)
    launched = {name for source in sources for name, _, _ in source.launches}
    for source in sources:
        for kernel in source.kernels:
            kernel.is_entry = kernel.is_entry or kernel.name in launched
    return sources
