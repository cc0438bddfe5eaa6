# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command line of `tilewright explain`."""

from __future__ import annotations

from ..lazy_names import deferred


def add_parser(commands):
    parser = commands.add_parser("explain", help="say line by line what the compiler made of a kernel, without a GPU")
    parser.set_defaults(call=deferred("explaining.command:explain_command"))
    parser.add_argument("kernel", metavar="FILE:FUNCTION")
    parser.add_argument("--signature", "-s", required=True, help="as of 'tilewright compile'")
    parser.add_argument("--target", "-t", default="sm_90a", help="sm_80, sm_86, sm_89 or sm_90a (default)")
    parser.add_argument("--output", "-o", metavar="FILE", help="write a page for a browser; else text for the terminal")
    parser.add_argument("--tiles", action="store_true", help="the text lists tiles and their layouts, too")
    parser.add_argument("--profile", metavar="FILE", help="take times from the JSON of 'tilewright profile'")
    parser.add_argument(
        "--diff",
        metavar="OTHER",
        help="compare (as text, or side by side on the page) with other constants and options (BLOCK=64,num_warps=8), or for "
        "another version of the kernel (FILE:FUNCTION)",
    )
    parser.add_argument("--num-warps", dest="num_warps", type=int)
    parser.add_argument("--num-stages", dest="num_stages", type=int)
    parser.add_argument("--num-ctas", dest="num_ctas", type=int)
    parser.add_argument("--maxnreg", type=int)
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="any other launch option")
