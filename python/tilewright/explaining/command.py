# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilewright explain FILE:KERNEL -s SIGNATURE [-o PAGE.html] [--diff OTHER]`."""

from __future__ import annotations

import ast
import json

from .. import errors
from ..compile_command import source_of_arguments
from ..compiler.sources import ASTSource
from . import difference, pair_page
from .facts import explain


def _measured(path, name):
    """The row of a kernel that took longest in a profile; None without one."""
    try:
        with open(path, encoding="utf-8") as file:
            rows = json.load(file)["kernels"]
        rows = [row for row in rows if row["kernel"] == name]
        return max(rows, key=lambda row: row["seconds"], default=None)
    except (ValueError, KeyError, TypeError) as error:
        raise errors.make(
            "E0117",
            message=f"'{path}' is no profile ({type(error).__name__}: {error})",
            help="write one with 'tilewright profile --json FILE SCRIPT'",
        ) from None


def _other(arguments, source, options):
    """(ASTSource, options) of what --diff names."""
    if "=" not in arguments.diff:
        return source_of_arguments(arguments, arguments.diff)
    options, constants = dict(options), dict(source.constants)
    for item in arguments.diff.split(","):
        name, _, value = item.partition("=")
        try:
            value = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            pass  # a name, as of a precision
        (constants if name.strip() in source.fn.arg_names else options)[name.strip()] = value
    return ASTSource(source.fn, source.signature, constants, source.attrs), options


def explain_command(arguments) -> int:
    source, options = source_of_arguments(arguments, arguments.kernel)
    measured = _measured(arguments.profile, source.fn.__name__) if arguments.profile else None
    explanation = explain(source, arguments.target, options, measured)
    if arguments.diff:
        other, other_options = _other(arguments, source, options)
        compared = explain(other, arguments.target, other_options)
        if not arguments.output:
            print(difference.render(explanation, compared))
            return 0
        with open(arguments.output, "w", encoding="utf-8") as file:
            file.write(pair_page.render(explanation, compared))
        print(f"{arguments.output}: two forms of {explanation.name} for {explanation.target}")
        return 0
    if arguments.output:
        explanation.write(arguments.output)
        print(f"{arguments.output}: {explanation.name} for {explanation.target}")
    else:
        print(explanation.text(with_tiles=arguments.tiles))
    return 0
