# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Explanations kept on disk, so that a second look at a configuration compiles nothing.

The entries of compiled kernels lack the layouts and places in shared memory that an explanation shows. They
also do not hold the lines in which a function stands, because its code is the same anywhere. So explanations
have an area of their own in the cache, whose keys hold the lines, too.
"""

from __future__ import annotations

import time
import zlib

from .. import _core
from ..compiler.disk_cache import store_of
from ..compiler.request import key_of
from ..runtime.lookups import recorded_lookups

AREA = "explanations-1"
_CAPACITY = 128 << 20
_TEXTS = ("facts", "remark_facts", "ptx")
_MAX_TEXT = 256 << 20


def _fields_of(request) -> dict:
    functions = [request.src.fn, *request.dependencies.functions]
    places = sorted({f"{function.file}:{function.def_file_line_number}" for function in functions})
    return {**request.fields, "places": ", ".join(places)}


def _load(store, key, fields):
    """The result as an entry has it, or None."""
    found = store.load(key)
    if found is None:
        return None
    header, sections = found
    try:
        if header["fields"] != fields:
            raise ValueError("its fields belong to another key")
        texts = {name: zlib.decompressobj().decompress(sections[name], _MAX_TEXT).decode() for name in _TEXTS}
        return {"name": header["symbol"], "metadata": dict(header["metadata"]), "cubin": sections["cubin"], **texts}
    except (KeyError, TypeError, ValueError, zlib.error) as error:
        store.discard(key, str(error))
        return None


def _compile(request) -> tuple:
    src = request.src
    with recorded_lookups() as lookups:
        result = _core.compile_kernel(
            src.fn,
            dict(src.runtime_signature),
            dict(src.constants),
            dict(src.divisibility),
            {**request.options, "facts": True},
            request.target.name,
        )
    return result, lookups


def compiled(request) -> dict:
    """The compiler's result with facts and remarks: an earlier one, or a new one that is kept where its key says all."""
    store = None if request.inexact else store_of(AREA, _CAPACITY)
    if store is None:
        return _compile(request)[0]
    fields = _fields_of(request)
    key = key_of(fields)
    if (known := _load(store, key, fields)) is not None:
        return known
    result, lookups = _compile(request)
    if result.get("cubin") and request.covers(lookups) and request.is_current():
        header = {
            "kernel": request.src.fn.__qualname__,
            "symbol": result["name"],
            "target": request.target.name,
            "created": int(time.time()),
            "fields": fields,
            "metadata": dict(result["metadata"]),
        }
        sections = {name: zlib.compress(result[name].encode(), 1) for name in _TEXTS}
        store.save(key, header, {**sections, "cubin": result["cubin"]})
    return result
