# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilewright tune show|export|import|pin|report|clear`."""

from __future__ import annotations

import json
import os

from . import table
from ..user_objects import printable
from .report import html_page, text_table


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
        print(f"{key[:12]}  {printable(header['kernel'])} for {printable(header.get('key', ''))}")
        print(f"  {printable(header['fields'].get('device'))}, {printable(header['fields'].get('driver'))}")
        if best is not None:
            print(f"  {'pinned' if header.get('pinned') else 'best'}: {printable(best['config'])}")
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
        raise SystemExit(
            f"tilewright tune: {len(found)} tables match; name one with --kernel or --key"
            + _lines(
                f"--key {key[:12]}  {printable(header['kernel'])} for {printable(header.get('key', ''))}"
                for key, header in found
            )
        )
    key, header = found[0]
    chosen = None if arguments.config == "none" else _one_configuration(header["records"], arguments.config)
    header = table.pin(key, chosen)
    print("nothing is pinned" if chosen is None else f"pinned: {printable(header['records'][chosen]['config'])}")
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
        raise SystemExit(
            f"tilewright tune: {len(found)} configurations match '{printable(wanted)}'; there are"
            + _lines(printable(records[i]["config"]) for i in (found or records))
        )
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
