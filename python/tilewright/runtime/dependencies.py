# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The content digest of a kernel: its text, what it calls, what it freezes.

Only meaning goes in: no line numbers, no paths, no object addresses. Values are
encoded with their type, because `1`, `True` and `1.0` compile differently.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import types


def encode_value(value) -> str:
    """A text that is equal for equal values of one type, in every process."""
    if hasattr(value, "cache_key"):
        return f"jit:{value.cache_key}"
    kind = type(value)
    if kind.__name__ == "constexpr" and hasattr(value, "value"):
        return f"constexpr:{encode_value(value.value)}"
    if isinstance(value, float):
        return f"float:{value.hex()}"
    if value is None or isinstance(value, (bool, int, str, bytes)):
        return f"{kind.__name__}:{value!r}"
    if isinstance(value, (tuple, list)):
        return f"{kind.__qualname__}:(" + ",".join(encode_value(v) for v in value) + ")"
    if isinstance(value, dict):
        return "dict:{" + ",".join(f"{encode_value(k)}={encode_value(v)}" for k, v in value.items()) + "}"
    if isinstance(value, types.ModuleType):
        return f"module:{value.__name__}"
    if isinstance(value, (types.FunctionType, type)):
        return f"{kind.__name__}:{value.__module__}.{value.__qualname__}:{_text_of(value)}"
    return f"{kind.__module__}.{kind.__qualname__}:{value}"


def _text_of(function) -> str:
    """Source of a constexpr_function; other functions count by name alone."""
    if not getattr(function, "__tilewright_constexpr_function__", False):
        return ""
    try:
        return hashlib.sha256(inspect.getsource(function).encode()).hexdigest()
    except (OSError, TypeError):
        return hashlib.sha256(function.__code__.co_code).hexdigest()


class _Names(ast.NodeVisitor):
    """Collects free names and dotted paths that start at one."""

    def __init__(self):
        self.paths = []

    def visit_Name(self, node):
        if isinstance(node.ctx, ast.Load):
            self.paths.append((node.id, ))

    def visit_Attribute(self, node):
        parts, base = [node.attr], node.value
        while isinstance(base, ast.Attribute):
            parts.append(base.attr)
            base = base.value
        if isinstance(base, ast.Name):
            self.paths.append((base.id, *reversed(parts)))
        else:
            self.visit(base)


def _resolve(jit_function, path):
    """The value of a dotted path, or `_Names` where it is none of ours."""
    function = jit_function.fn
    name = path[0]
    if name in function.__code__.co_freevars:
        cell = function.__closure__[function.__code__.co_freevars.index(name)]
        try:
            value = cell.cell_contents
        except ValueError:
            return _Names
    elif name in function.__globals__:
        value = function.__globals__[name]
    else:
        return _Names
    for attribute in path[1:]:
        if not isinstance(value, types.ModuleType) or not hasattr(value, attribute):
            return _Names if isinstance(value, types.ModuleType) else value
        value = getattr(value, attribute)
    return value


def _collect(jit_function, seen, lines):
    """Appends one line per function reached, depth first; `seen` cuts recursion."""
    if id(jit_function) in seen:
        return
    seen.add(id(jit_function))
    defaults = [encode_value(p.default) for p in jit_function.params if p.has_default]
    lines.append(f"{jit_function.__name__}|{jit_function.noinline}|{jit_function.src}|{defaults}")
    tree = jit_function.parse()
    bound = {a.arg for a in (*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs)}
    names = _Names()
    names.visit(tree)
    for path in dict.fromkeys(names.paths):
        if path[0] in bound:
            continue
        value = _resolve(jit_function, path)
        if value is _Names or isinstance(value, types.ModuleType):
            continue
        if hasattr(value, "params") and hasattr(value, "fn") and hasattr(value, "parse"):
            _collect(value, seen, lines)
        else:
            lines.append(f"{'.'.join(path)}={encode_value(value)}")


def digest(jit_function) -> str:
    lines = []
    _collect(jit_function, set(), lines)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
