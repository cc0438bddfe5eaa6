# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a person asks the cache: `tilewright cache list|verify|why|gc|clear|export|import`.

An export is a tar file of entries under their keys. An import takes only what is a
whole entry under its own key, so a file from elsewhere can bring no more than data
(and machine code for the GPU: import from people you trust).
"""

from __future__ import annotations

import io
import json
import os
import re
import tarfile
import time

from .. import _core
from ..tuning.report import plain
from .disk_cache import AREA, default_directory, default_text, store_of

_NAME = re.compile(r"(kernels|tuning)-1/[0-9a-f]{64}\.bin")
_MAX_BYTES = 256 << 20


def _require_store(area=AREA):
    store = store_of(area)
    if store is None:
        raise SystemExit("tilewright cache: the cache is off (TILEWRIGHT_CACHE=0)")
    return store


def headers(store, kernel=None):
    """(key, bytes, last use, header) of every whole entry, the newest first."""
    rows = []
    for key, size, last_use in store.native.list():
        content, _, _, _ = store.native.load(key)
        if content is None:
            continue
        try:
            header = json.loads(content)
        except ValueError:
            continue
        if not _is_header(header):
            continue  # of another version, or imported from who knows where
        if kernel is None or header["kernel"] == kernel:
            rows.append((key, size, last_use, header))
    return sorted(rows, key=lambda row: -row[2])


def _is_header(header) -> bool:
    return isinstance(header, dict) and all(isinstance(header.get(n), str) for n in ("kernel", "target")) \
        and all(isinstance(header.get(n), dict) for n in ("fields", "metadata")) \
        and all(isinstance(v, str) for v in header["fields"].values())


# ---------------------------------------------------------------------------
# Why
# ---------------------------------------------------------------------------

_DIGEST = re.compile(r"[0-9a-f]{32,64}")


def differences(theirs: dict, ours: dict) -> list[str]:
    """One line per field in which two keys differ."""
    lines = []
    for name in sorted({*theirs, *ours}):
        before, now = (fields[name] if name in fields else default_text(name) for fields in (theirs, ours))
        if before == now:
            continue
        if before is None or now is None:
            lines.append(f"{name}: {'only here' if before is None else 'only there'}")
        elif _DIGEST.fullmatch(before) and _DIGEST.fullmatch(now):
            lines.append(f"{name}: has changed")
        else:
            lines.append(plain(f"{name}: {before} there, {now} here"))
    return lines


def _nearest(store, kernel, fields):
    candidates = [(len(differences(header.get("fields", {}), fields)), key, header)
                  for key, _, _, header in headers(store, kernel)]
    return min(candidates, default=None, key=lambda c: c[0])


def explain_miss(store, request) -> str:
    """Why a request is not in the cache, field by field."""
    name = request.src.fn.__qualname__
    if request.inexact:
        return f"cache: '{name}' is never kept on disk: it reaches {request.inexact}"
    return explain_fields(store, name, request.key, request.fields)


def explain_fields(store, name, key, fields) -> str:
    nearest = _nearest(store, name, fields)
    if nearest is None:
        return f"cache: there is no entry of '{name}' in {store.directory}"
    count, other, header = nearest
    if other == key:
        return f"cache: '{name}' is there, as {key}"
    made = time.strftime("%Y-%m-%d %H:%M", time.localtime(header.get("created", 0)))
    lines = [f"cache: '{name}' is not there; the nearest entry, {other[:12]} of {made}, differs in"]
    return "\n    ".join([*lines, *differences(header.get("fields", {}), fields)])


# ---------------------------------------------------------------------------
# Commands
# ---------------------------------------------------------------------------


def _find(store, prefix):
    keys = [key for key, _, _ in store.native.list() if key.startswith(prefix)]
    if len(keys) != 1:
        raise SystemExit(f"tilewright cache: {len(keys)} entries start with '{prefix}'")
    return keys[0]


def list_command(arguments) -> int:
    store = _require_store()
    rows = headers(store, arguments.kernel)
    print(f"{store.directory}: {len(rows)} kernels, {sum(r[1] for r in rows) / 2**20:.1f} MiB")
    for key, size, last_use, header in rows:
        constants = ", ".join(f"{k[9:]}={v.rpartition(':')[2]}" for k, v in header["fields"].items()
                              if k.startswith("constant "))
        used = time.strftime("%Y-%m-%d %H:%M", time.localtime(last_use))
        print(plain(f"  {key[:12]}  {used}  {size:>9,}  {header['target']:<7} {header['kernel']}({constants}), "
                    f"{header['metadata'].get('num_warps')} warps"))
    return 0


def verify_command(arguments) -> int:
    good = bad = 0
    for area in (AREA, "tuning-1"):
        store = _require_store(area)
        for key, _, _ in store.native.list():
            header, _, damage, _ = store.native.load(key)
            if header is not None:
                good += 1
            else:
                bad += 1
                print(f"{key}: {damage or 'gone'}")
    print(f"{good} entries are whole, {bad} were damaged and set aside")
    return 1 if bad else 0


def why_command(arguments) -> int:
    store = _require_store()
    if arguments.signature is None:
        if len(arguments.what) != 2:
            raise SystemExit("tilewright cache why: give FILE:FUNCTION with --signature, or two keys")
        there, here = (json.loads(store.native.load(_find(store, k))[0])["fields"] for k in arguments.what)
        print("\n".join(differences(there, here)) or "they are the same")
        return 0
    from ..cli import source_of_arguments
    from .compiler import request_of

    source, options = source_of_arguments(arguments, arguments.what[0])
    print(explain_miss(store, request_of(source, arguments.target, options)))
    return 0


def gc_command(arguments) -> int:
    from .. import knobs

    size = knobs.cache.size_mb if arguments.size is None else arguments.size
    evicted, abandoned, left = _require_store().native.sweep(size << 20)
    print(f"removed {evicted} kernels and {abandoned} abandoned files; {left / 2**20:.1f} MiB are left")
    return 0


def clear_command(arguments) -> int:
    print(f"removed {_require_store().native.clear()} kernels; tuning results are kept (tilewright tune clear)")
    return 0


def export_command(arguments) -> int:
    count = 0
    with tarfile.open(arguments.file, "w") as archive:
        for area in (AREA, "tuning-1"):
            store = _require_store(area)
            for key, _, _ in sorted(store.native.list()):
                header, sections, _, _ = store.native.load(key)
                if header is None or (arguments.kernel and json.loads(header).get("kernel") != arguments.kernel):
                    continue
                content = _core.encode_entry(key, header, sections)
                member = tarfile.TarInfo(f"{area}/{key}.bin")
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
                count += 1
    print(f"{count} entries written to {arguments.file}")
    return 0


def import_command(arguments) -> int:
    taken = refused = 0
    with tarfile.open(arguments.file, "r:") as archive:
        for member in archive:
            reason, area, key = "its name is none of ours", "", ""
            if member.isfile() and member.size <= _MAX_BYTES and _NAME.fullmatch(member.name):
                area, _, name = member.name.partition("/")
                key = name[:-4]
                content = archive.extractfile(member).read()
                header, sections, reason = _core.decode_entry(content, key)
            if reason:
                refused += 1
                print(f"refused {ascii(member.name)}: {reason}")
                continue
            problem, _ = _require_store(area).native.store(key, header, sections)
            if problem is not None:
                raise SystemExit(f"tilewright cache: {default_directory()}: {problem[1]}")
            taken += 1
    print(f"{taken} entries taken, {refused} refused")
    return 1 if refused else 0


def add_parser(commands):
    """The command `cache` with its own commands."""
    cache = commands.add_parser("cache", help="look into the cache of compiled kernels").add_subparsers(
        dest="what_command", required=True)

    def add(name, call, help):
        parser = cache.add_parser(name, help=help)
        parser.set_defaults(call=call)
        return parser

    add("list", list_command, "what is kept").add_argument("--kernel", help="only kernels of this name")
    add("verify", verify_command, "read every entry; damaged ones are set aside")
    why = add("why", why_command, "why a kernel is not there, field by field")
    why.add_argument("what", nargs="+", metavar="FILE:FUNCTION | KEY KEY")
    why.add_argument("--signature", "-s")
    why.add_argument("--target", "-t", default="sm_90a")
    why.add_argument("--option", action="append", default=[], metavar="NAME=VALUE")
    add("gc", gc_command, "remove abandoned files and what is above the size").add_argument(
        "--size", type=int, metavar="MB")
    add("clear", clear_command, "remove every compiled kernel")
    export = add("export", export_command, "write entries to a tar file")
    export.add_argument("file")
    export.add_argument("--kernel", help="only kernels of this name")
    add("import", import_command, "take entries from a tar file").add_argument("file", type=os.fspath)
