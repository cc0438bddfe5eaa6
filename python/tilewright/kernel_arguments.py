# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A kernel and its specialisation as command lines name them: FILE:FUNCTION, a signature, options."""

from __future__ import annotations

import ast
import importlib.util
import os
import sys

from . import errors
from .compiler.sources import ASTSource
from .runtime.interface import is_kernel, kernel_inside
from .triton_alias import install


def refused(message, help):
    """The error of something on a command line that cannot be."""
    return errors.make("E0117", message=message, help=help)


def load_object(text):
    """(what FILE:FUNCTION names, its jit function); the first is a tuner where the function is tuned."""
    install()
    path, separator, name = text.rpartition(":")
    if not separator or not path or not name:
        raise refused(f"'{text}' is not of the form FILE:FUNCTION", "name a kernel as kernels.py:add or package.module:add")
    module = _module_of(path)
    found = getattr(module, name, None)
    function = kernel_inside(found)
    if function is None:
        known = [n for n, v in vars(module).items() if is_kernel(v)]
        raise refused(f"'{name}' is no jit function of {path}", f"there are {', '.join(known) or 'none'}")
    return found, function


def load_function(text):
    """The jit function of FILE:FUNCTION, or of package.module:function, whose 'import triton' means Tilewright."""
    return load_object(text)[1]


def _module_of(path):
    if not path.endswith(".py"):
        try:
            return importlib.import_module(path)
        except ModuleNotFoundError as error:
            if error.name is None or not path.startswith(error.name):
                raise  # not this module, but one that it imports
            raise refused(f"no module '{path}'", "the name of a file ends in .py") from None
    if not os.path.isfile(path):
        raise refused(f"no file '{path}'", "name the file as from the current folder")
    spec = importlib.util.spec_from_file_location(os.path.splitext(os.path.basename(path))[0], path)
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(spec.name, module)
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec.loader.exec_module(module)
    return module


def split_at_commas(text):
    """Splits at commas outside brackets and quotes."""
    parts, depth, start, quote = [], 0, 0, None
    for i, c in enumerate(text):
        if quote:
            quote = None if c == quote else quote
        elif c in "'\"":
            quote = c
        elif c in "([{<":
            depth += 1
        elif c in ")]}>":
            depth -= 1
        elif c == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return [p.strip() for p in (*parts, text[start:])]


def parse_signature(function, text):
    """(types, constants, divisibility) from "*fp32:16,i32,1024" or "x=*fp32,BLOCK=1024".

    A tensor descriptor is "tensordesc<fp16[128,64]>". A type may be followed by `:16` or `:8`
    (divisible; of a descriptor its last extent in bytes) or `:1` (equal to 1); a literal is a constant.
    """
    types, constants, divisibility = {}, {}, {}
    names = iter(function.arg_names)
    for item in split_at_commas(text):
        if not item:
            continue
        name, separator, value = item.partition("=")
        if separator and name.strip().isidentifier():
            name, item = name.strip(), value.strip()
            if name in types or name in constants:
                raise refused(f"'{name}' is in the signature twice", "give each parameter one entry")
        else:
            name = next((n for n in names if n not in types and n not in constants), None)
            if name is None:
                raise refused(
                    f"more entries in the signature than {function.__name__}({', '.join(function.arg_names)}) has parameters",
                    "give one entry for each parameter, or name them: n=i32",
                )
        kind, _, hint = item.partition(":")
        try:
            constants[name] = ast.literal_eval(item)
            continue
        except (ValueError, SyntaxError):
            pass
        if hint == "1":
            constants[name] = 1
            continue
        types[name] = kind.strip()
        if hint:
            if hint.strip() not in ("8", "16"):
                raise refused(
                    f"'{item}' ends in none of :16 or :8 (divisible by it) and :1 (equal to 1)",
                    "leave the end off where nothing is promised",
                )
            divisibility[name] = int(hint)
    return types, constants, divisibility


def option_of(text):
    """(name, value) of NAME=VALUE."""
    name, _, value = text.partition("=")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def options_of_arguments(arguments) -> dict:
    """The launch options of a command line."""
    options = dict(option_of(o) for o in arguments.option)
    for name in ("num_warps", "num_stages", "num_ctas", "maxnreg"):
        if getattr(arguments, name, None) is not None:
            options[name] = getattr(arguments, name)
    return options


def source_of_arguments(arguments, kernel):
    """(ASTSource, options) of a command line that names a kernel."""
    function = load_function(kernel)
    source = ASTSource(function, *parse_signature(function, arguments.signature))
    # What a launch on separate arrays runs.
    return source, {"arguments_may_overlap": False, **options_of_arguments(arguments)}
