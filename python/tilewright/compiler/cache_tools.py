# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command of the cache: `tilewright cache list|verify|why|gc|clear|export|import`.

An export is a tar file of entries under their keys. An import takes only what is a
whole entry under its own key, so a file from elsewhere can bring no more than data
(and machine code for the GPU: import from people you trust).
"""

from __future__ import annotations

import io
import json
import re
import tarfile
import time

from .. import _core, knobs
from ..kernel_arguments import source_of_arguments
from ..user_objects import printable
from .compiler import request_of
from .disk_cache import AREA, default_directory, store_of
from .explain import differences, explain_miss, headers

_NAME = re.compile(r"(kernels|tuning)-1/[0-9a-f]{64}\.bin")
_MAX_BYTES = 256 << 20


def _require_store(area=AREA):
    store = store_of(area)
    if store is None:
        raise SystemExit("tilewright cache: the cache is off (TILEWRIGHT_CACHE=0)")
    return store


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
        constants = ", ".join(
            f"{k[9:]}={v.rpartition(':')[2]}" for k, v in header["fields"].items() if k.startswith("constant ")
        )
        used = time.strftime("%Y-%m-%d %H:%M", time.localtime(last_use))
        print(
            printable(
                f"  {key[:12]}  {used}  {size:>9,}  {header['target']:<7} {header['kernel']}({constants}), "
                f"{header['metadata'].get('num_warps')} warps"
            )
        )
    return 0


def verify_command(arguments) -> int:
    good = bad = 0
    for area in (AREA, "tuning-1", "explanations-1"):
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
    source, options = source_of_arguments(arguments, arguments.what[0])
    print(explain_miss(store, request_of(source, arguments.target, options)))
    return 0


def gc_command(arguments) -> int:
    size = knobs.cache.size_mb if arguments.size is None else arguments.size
    evicted, abandoned, left = _require_store().native.sweep(size << 20)
    print(f"removed {evicted} kernels and {abandoned} abandoned files; {left / 2**20:.1f} MiB are left")
    return 0


def clear_command(arguments) -> int:
    _require_store("explanations-1").native.clear()
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
