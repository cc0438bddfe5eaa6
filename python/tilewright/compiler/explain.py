# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Why a request has no entry in the cache: the fields in which it differs from the nearest entry."""

from __future__ import annotations

import json
import re
import time

from ..user_objects import printable
from .request import default_text


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
    return (
        isinstance(header, dict)
        and all(isinstance(header.get(n), str) for n in ("kernel", "target"))
        and all(isinstance(header.get(n), dict) for n in ("fields", "metadata"))
        and all(isinstance(v, str) for v in header["fields"].values())
    )


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
            lines.append(printable(f"{name}: {before} there, {now} here"))
    return lines


def _nearest(store, kernel, fields):
    candidates = [
        (len(differences(header.get("fields", {}), fields)), key, header) for key, _, _, header in headers(store, kernel)
    ]
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
