# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command line of `tilewright cache`."""

from __future__ import annotations

import os

from ..lazy_names import deferred


def add_parser(commands):
    """The command `cache` with its own commands."""
    cache = commands.add_parser("cache", help="look into the cache of compiled kernels").add_subparsers(
        dest="what_command", required=True
    )

    def add(name, call, help):
        parser = cache.add_parser(name, help=help)
        parser.set_defaults(call=call)
        return parser

    add("list", deferred("compiler.cache_tools:list_command"), "what is kept").add_argument(
        "--kernel", help="only kernels of this name"
    )
    add("verify", deferred("compiler.cache_tools:verify_command"), "read every entry; damaged ones are set aside")
    why = add("why", deferred("compiler.cache_tools:why_command"), "why a kernel is not there, field by field")
    why.add_argument("what", nargs="+", metavar="FILE:FUNCTION | KEY KEY")
    why.add_argument("--signature", "-s")
    why.add_argument("--target", "-t", default="sm_90a")
    why.add_argument("--option", action="append", default=[], metavar="NAME=VALUE")
    add("gc", deferred("compiler.cache_tools:gc_command"), "remove abandoned files and what is above the size").add_argument(
        "--size", type=int, metavar="MB"
    )
    add("clear", deferred("compiler.cache_tools:clear_command"), "remove every compiled kernel")
    export = add("export", deferred("compiler.cache_tools:export_command"), "write entries to a tar file")
    export.add_argument("file")
    export.add_argument("--kernel", help="only kernels of this name")
    add("import", deferred("compiler.cache_tools:import_command"), "take entries from a tar file").add_argument(
        "file", type=os.fspath
    )
