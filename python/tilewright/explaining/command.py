# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilewright explain FILE:KERNEL -s SIGNATURE [-o PAGE.html]`."""

from __future__ import annotations

import json


def add_parser(commands):
    parser = commands.add_parser("explain", help="say line by line what the compiler made of a kernel, without a GPU")
    parser.set_defaults(call=explain_command)
    parser.add_argument("kernel", metavar="FILE:FUNCTION")
    parser.add_argument("--signature", "-s", required=True, help="as of 'tilewright compile'")
    parser.add_argument("--target", "-t", default="sm_90a", help="sm_80, sm_86, sm_89 or sm_90a (default)")
    parser.add_argument("--output", "-o", metavar="FILE", help="write a page for a browser; else text for the terminal")
    parser.add_argument("--tiles", action="store_true", help="the text lists tiles and their layouts, too")
    parser.add_argument("--profile", metavar="FILE", help="take times from the JSON of 'tilewright profile'")
    parser.add_argument("--num-warps", dest="num_warps", type=int)
    parser.add_argument("--num-stages", dest="num_stages", type=int)
    parser.add_argument("--num-ctas", dest="num_ctas", type=int)
    parser.add_argument("--maxnreg", type=int)
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="any other launch option")


def _measured(path, name):
    """The row of a kernel that took longest in a profile; None without one."""
    from .. import errors

    try:
        with open(path, encoding="utf-8") as file:
            rows = json.load(file)["kernels"]
        rows = [row for row in rows if row["kernel"] == name]
        return max(rows, key=lambda row: row["seconds"], default=None)
    except (ValueError, KeyError, TypeError) as error:
        raise errors.make("E0117", message=f"'{path}' is no profile ({type(error).__name__}: {error})",
                          help="write one with 'tilewright profile --json FILE SCRIPT'") from None


def explain_command(arguments) -> int:
    from ..cli import source_of_arguments  # which has this command's parser
    from .facts import explain

    source, options = source_of_arguments(arguments, arguments.kernel)
    measured = _measured(arguments.profile, source.fn.__name__) if arguments.profile else None
    explanation = explain(source, arguments.target, options, measured)
    if arguments.output:
        explanation.write(arguments.output)
        print(f"{arguments.output}: {explanation.name} for {explanation.target}")
    else:
        print(explanation.text(with_tiles=arguments.tiles))
    return 0
