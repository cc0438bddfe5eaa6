# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command line of `tilewright tune`."""

from __future__ import annotations

from ..lazy_names import deferred


def add_parser(commands):
    """The command `tune` with its own commands."""
    tune = commands.add_parser("tune", help="look at measured configurations, ship them, pin one").add_subparsers(
        dest="what_command", required=True
    )

    def add(name, call, help, file=None):
        parser = tune.add_parser(name, help=help)
        parser.set_defaults(call=call)
        if file is not None:
            parser.add_argument("file", help=file)
        return parser

    def choose(parser):
        parser.add_argument("--kernel", help="only tables of kernels of this name")
        parser.add_argument("--key", help="only the table whose digest starts so")
        return parser

    choose(add("show", deferred("tuning.commands:show_command"), "what was measured and chosen")).add_argument(
        "--all", action="store_true", help="every configuration"
    )
    choose(
        add(
            "export",
            deferred("tuning.commands:export_command"),
            "write tables to a file that can lie beside a package",
            "the file",
        )
    )
    add("import", deferred("tuning.commands:import_command"), "merge an exported file into the cache", "the file")
    pin = choose(add("pin", deferred("tuning.commands:pin_command"), "always take one configuration"))
    pin.add_argument("config", help="part of its text, its identity, or 'none'")
    choose(add("report", deferred("tuning.commands:report_command"), "write one HTML page", "the page"))
    choose(add("clear", deferred("tuning.commands:clear_command"), "forget measurements"))
