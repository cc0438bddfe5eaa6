# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions of a saved launch: the kernel, what it calls, and what their names mean.

Each function is its text from `def` on, without decorators, and a table of the names in
it: constants, other functions, modules that are there everywhere. For a module of the
user's, the attributes that the text names are kept.
"""

from __future__ import annotations

import ast
import builtins
import linecache
import types

from ..language import constexpr
from ..parsing import parse
from ..runtime.jit import JITFunction
from ..runtime.mathematics import constexpr_function
from ..runtime.source import FunctionSource
from .saved_values import ValueReader, is_known_module


def encode_functions(kernel, writer) -> list:
    """All functions that `kernel` reaches, itself first among those not yet numbered."""
    first = writer.function(kernel)
    encoded, position = [], 0
    while position < len(writer.functions):  # encoding one may add others
        encoded.append(_encode(writer.functions[position], writer))
        position += 1
    return [first, encoded]


def _encode(function, writer):
    python = function.fn
    if isinstance(function, JITFunction):
        kind, text, file, line = "jit", function.src, function.file, function.starting_line_number
    else:
        text = FunctionSource(python).src
        kind, file, line = "constexpr_function", python.__code__.co_filename, python.__code__.co_firstlineno
    record = {
        "kind": kind,
        "name": python.__name__,
        "file": file,
        "line": line,
        "text": text,
        "names": _names(python, text, writer),
    }
    if kind == "jit":
        record["options"] = {
            "debug": function.debug,
            "noinline": function.noinline,
            "do_not_specialize": list(function.do_not_specialize),
            "do_not_specialize_on_alignment": list(function.do_not_specialize_on_alignment),
        }
    return record


def _names(python, text, writer):
    tree = parse(text)
    own = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    free = dict(zip(python.__code__.co_freevars, python.__closure__ or ()))
    names = {}
    for name in sorted(own):
        if name in free:
            try:
                value = free[name].cell_contents
            except ValueError:
                continue  # not set: nothing that runs reads it
        elif name in python.__globals__ and not _is_local(python, name):
            value = python.__globals__[name]
        else:
            continue
        names[name] = _encode_name(name, value, tree, writer)
    return names


def _is_local(python, name) -> bool:
    return name in python.__code__.co_varnames and name not in python.__code__.co_names


def _encode_name(name, value, tree, writer):
    if isinstance(value, types.ModuleType) and not is_known_module(value.__name__):
        used = {
            node.attr
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name
        }
        return {"namespace": {attr: writer.encode(f"{name}.{attr}", getattr(value, attr)) for attr in sorted(used)}}
    return writer.encode(name, value)


def decode(record):
    """(the kernel, all functions by their numbers)."""
    first, encoded = record
    functions: list = [None] * len(encoded)
    spaces = [{"__name__": f"saved_{number}", "__builtins__": builtins} for number in range(len(encoded))]
    # Constants and modules first, as defaults and annotations are evaluated with the definition.
    reader = ValueReader([], functions)
    for entry, space in zip(encoded, spaces):
        space.update({name: reader.decode(value) for name, value in entry["names"].items() if not _names_function(value)})
        # The kernel could read them where it came from, by an annotation or a switch.
        space["__annotations__"] = dict.fromkeys(entry["names"], constexpr)
    for number, (entry, space) in enumerate(zip(encoded, spaces)):
        functions[number] = _define(number, entry, space)
    for entry, space in zip(encoded, spaces):
        space.update({name: reader.decode(value) for name, value in entry["names"].items() if _names_function(value)})
    return functions[first], functions


def _names_function(value) -> bool:
    if isinstance(value, dict):
        return "function" in value or any(map(_names_function, value.values()))
    return isinstance(value, list) and any(map(_names_function, value))


def _define(number, entry, space):
    text = entry["text"]
    # A name of its own for each text, under which tracebacks find the lines.
    path = f"<{entry['name']}, saved from {entry['file']}:{entry['line']} ({number})>"
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    exec(compile(text, path, "exec"), space)  # the file is trusted as a script is (SECURITY.md)
    function = space[entry["name"]]
    if entry["kind"] == "constexpr_function":
        return constexpr_function(function)
    return JITFunction(function, **entry["options"])
