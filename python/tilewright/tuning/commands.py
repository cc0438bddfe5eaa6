# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilewright tune show|export|import|pin|report|clear`."""

from __future__ import annotations

import json
import os

from . import table
from .report import html_page, plain, text_table


def _require_store():
    if table.store() is None:
        raise SystemExit("tilewright tune: tables are off (TILEWRIGHT_CACHE=0 or TILEWRIGHT_TUNE_TABLES=0)")


def _tables(arguments):
    _require_store()
    found = table.all_tables(getattr(arguments, "kernel", None))
    key = getattr(arguments, "key", None)
    return [(k, h) for k, h in found if key is None or k.startswith(key)]


def show_command(arguments) -> int:
    found = _tables(arguments)
    if not found:
        print("no tables: nothing was tuned, or nothing matches")
    for key, header in found:
        best = header["records"].get(header.get("pinned") or header.get("best"))
        print(f"{key[:12]}  {plain(header['kernel'])} for {plain(header.get('key', ''))}")
        print(f"  {plain(header['fields'].get('device'))}, {plain(header['fields'].get('driver'))}")
        if best is not None:
            print(f"  {'pinned' if header.get('pinned') else 'best'}: {plain(best['config'])}")
        if arguments.all:
            print(text_table(header["records"].values()))
    return 0


def export_command(arguments) -> int:
    tables = [header for _, header in _tables(arguments)]
    with open(arguments.file, "w", encoding="utf-8") as file:
        json.dump({"format": table.FORMAT, "tables": tables}, file, indent=1, sort_keys=True)
    print(f"{len(tables)} tables written to {arguments.file}; beside a package, call it {table.FILE_NAME}")
    return 0


def import_command(arguments) -> int:
    _require_store()
    if not os.path.isfile(arguments.file):
        raise SystemExit(f"tilewright tune: no file '{arguments.file}'")
    tables = table.read_file(arguments.file)
    print(f"{table.import_tables(tables)} tables taken")
    return 0 if tables else 1


def pin_command(arguments) -> int:
    found = _tables(arguments)
    if len(found) != 1:
        raise SystemExit(f"tilewright tune: {len(found)} tables match; name one with --kernel or --key" + _lines(
            f"--key {key[:12]}  {plain(header['kernel'])} for {plain(header.get('key', ''))}" for key, header in found))
    key, header = found[0]
    chosen = None if arguments.config == "none" else _one_configuration(header["records"], arguments.config)
    header = table.pin(key, chosen)
    print("nothing is pinned" if chosen is None else f"pinned: {plain(header['records'][chosen]['config'])}")
    return 0


def _lines(texts) -> str:
    return "".join(f"\n  {text}" for text in texts)


def _one_configuration(records, wanted) -> str:
    """The identity of the configuration that `wanted` is a part of."""

    def has(record):
        # "BLOCK: 64" is not meant where it is the beginning of "BLOCK: 640".
        return f"{wanted}," in f"{record['config']},"

    exact = [i for i, r in records.items() if i.startswith(wanted) or has(r)]
    found = exact or [i for i, r in records.items() if wanted in r["config"]]
    if len(found) != 1:
        raise SystemExit(f"tilewright tune: {len(found)} configurations match '{plain(wanted)}'; there are" + _lines(
            plain(records[i]["config"]) for i in (found or records)))
    return found[0]


def report_command(arguments) -> int:
    tables = [header for _, header in _tables(arguments)]
    with open(arguments.file, "w", encoding="utf-8") as file:
        file.write(html_page(tables))
    print(f"{len(tables)} tables in {arguments.file}")
    return 0


def clear_command(arguments) -> int:
    _require_store()
    removed = sum(table.store().native.remove(key) for key, _ in _tables(arguments))
    print(f"removed {removed} tables")
    return 0


def add_parser(commands):
    """The command `tune` with its own commands."""
    tune = commands.add_parser("tune", help="look at measured configurations, ship them, pin one").add_subparsers(
        dest="what_command", required=True)

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

    choose(add("show", show_command, "what was measured and chosen")).add_argument(
        "--all", action="store_true", help="every configuration")
    choose(add("export", export_command, "write tables to a file that can lie beside a package", "the file"))
    add("import", import_command, "merge an exported file into the cache", "the file")
    pin = choose(add("pin", pin_command, "always take one configuration"))
    pin.add_argument("config", help="part of its text, its identity, or 'none'")
    choose(add("report", report_command, "write one HTML page", "the page"))
    choose(add("clear", clear_command, "forget measurements"))
