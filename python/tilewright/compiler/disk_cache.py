# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cache of compiled kernels on disk: entries, and what goes wrong.

The native side (runtime/cache) writes and reads the files; this module knows what they mean.
A key is the digest of named fields (request.py). The entry keeps the fields, so that
`tilewright cache why` can name those that differ. Any trouble with the cache is a miss and
one warning; TILEWRIGHT_CACHE_STRICT=1 makes it an error.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
import zlib

from .. import _core, errors, knobs
from .explain import explain_miss
from .request import Request, key_of, package_digest  # noqa: F401 - as all that says what the cache holds

AREA = "kernels-1"
_TEXT_STAGES = ("ttir", "ttgir", "llir", "ptx")
_MAX_TEXT = 256 << 20  # an unpacked stage; larger is no text of ours
_LOCK_SECONDS = 30


# ---------------------------------------------------------------------------
# Where
# ---------------------------------------------------------------------------


def default_directory() -> str:
    """TILEWRIGHT_CACHE_DIR, else the per-user cache directory."""
    return knobs.cache.dir


_scan_json = json.JSONDecoder().scan_once


class Store:
    """One area of the cache, with its warnings said once."""

    def __init__(self, directory, area, capacity):
        self.directory = directory
        self.native = _core.CacheStore(os.fsencode(directory), area, capacity)
        self.can_write = True

    def load(self, key):
        """(header, sections) of an entry that is whole, or None."""
        header, sections, damage, problem = self.native.load(key)
        if problem is not None:
            self._report(problem, 0)
        elif damage:
            warn("W0501", reason=damage)
        if header is None:
            return None
        try:
            # json.loads would first ask for the encoding, and for spaces at both ends.
            content, end = _scan_json(text := header.decode(), 0)
            if end != len(text):
                raise ValueError("something follows")
            return content, sections
        except (ValueError, StopIteration):
            self.discard(key, "its header is no JSON")
            return None

    def save(self, key, header: dict, sections: dict):
        if not self.can_write:
            return
        problem, evicted = self.native.store(key, json.dumps(header), sections)
        if problem is not None:
            # What failed once would fail for every kernel, slowly.
            self.can_write = False
            self._report(problem, evicted)

    def discard(self, key, reason):
        """An entry that is whole but wrong: set aside, reported as damaged."""
        self.native.quarantine(key)
        warn("W0501", reason=reason)

    def lock(self, key):
        """Held while one process compiles; None where that does not work."""
        return self.native.lock(key, _LOCK_SECONDS) if self.can_write else None

    def _report(self, problem, evicted):
        kind, reason = problem
        if kind == "not-a-directory" and knobs.configured("CACHE_DIR"):
            raise errors.make("E0505", p=self.directory)
        if kind == "unsafe":
            warn("W0503", dir=self.directory, reason=reason)
        elif kind == "no-space":
            warn("W0504", dir=self.directory, n=evicted)
        else:
            warn("W0502", dir=self.directory, errno=reason)


def warn(code, **arguments):
    """A warning, once per process and text; an error under CACHE_STRICT."""
    if knobs.cache.strict:
        raise errors.make(code, **arguments)
    errors.warn(code, **arguments)


_stores: dict = {}


def store_of(area=AREA, capacity=None):
    """The store of an area in the directory in force, or None where it is off."""
    if not knobs.cache.enabled:
        return None
    directory = default_directory()
    size = knobs.cache.size_mb << 20 if capacity is None else capacity
    key = (directory, area, size)
    store = _stores.get(key)
    if store is None:
        store = _stores[key] = Store(*key)
    return store


# ---------------------------------------------------------------------------
# Entries
# ---------------------------------------------------------------------------


class PackedText:
    """The compressed text of a stage, unpacked when somebody reads it."""

    def __init__(self, content):
        self.content = content

    def text(self) -> str:
        # The digest was right, so this is what a compiler wrote; the limit is for
        # a digest made to match.
        return zlib.decompressobj().decompress(self.content, _MAX_TEXT).decode()


def result_of(request, header, sections):
    """The compiler's result as an entry has it, or None with the reason."""
    try:
        if header["fields"] != request.fields:
            return None, "its fields belong to another key"
        if header["target"] != request.target.name:
            return None, f"it was compiled for {header['target']}"
        metadata, remarks, symbol = header["metadata"], header["remarks"], header["symbol"]
        well_formed = isinstance(metadata, dict) and isinstance(remarks, list) and isinstance(symbol, str)
        globals_read = [(int(index), str(name)) for index, name in header["globals"]]
    except (KeyError, TypeError, ValueError):
        well_formed = False
    if not well_formed or ("cubin" not in sections and "ptx" not in sections):
        return None, "its header is incomplete"
    if sections.get("cubin", b"\x7fELF")[:4] != b"\x7fELF":
        return None, "its machine code is none"
    result = {"name": symbol, "metadata": metadata, "remarks": remarks, "globals": globals_read, "cubin": sections.get("cubin")}
    result.update({stage: PackedText(sections[stage]) for stage in _TEXT_STAGES if stage in sections})
    return result, ""


def load(store, request):
    """The result of an earlier compilation, in this process or another, or None."""
    found = store.load(request.key)
    if found is None:
        return None
    result, problem = result_of(request, *found)
    if result is None:
        store.discard(request.key, problem)
        return None
    return result


def save(store, request, result, lookups):
    """Keeps a result, unless its key does not say all that it rests on."""
    if request.inexact or not request.covers(lookups) or not request.is_current():
        return
    header = {
        "kernel": request.src.fn.__qualname__,
        "symbol": result["name"],
        "target": request.target.name,
        "created": int(time.time()),
        "fields": request.fields,
        "metadata": dict(result["metadata"]),
        "remarks": list(result.get("remarks") or ()),
        "globals": result["globals"],
    }
    texts = () if knobs.compilation.store_binary_only and result.get("cubin") else _TEXT_STAGES
    sections = {stage: zlib.compress(result[stage].encode(), 1) for stage in texts if result.get(stage)}
    if result.get("cubin"):
        sections["cubin"] = result["cubin"]
    store.save(request.key, header, sections)


# ---------------------------------------------------------------------------
# Compile once
# ---------------------------------------------------------------------------


class _InFlight:
    """A compilation that other threads wait for."""

    def __init__(self):
        self.owner = threading.get_ident()
        self.working = threading.Lock()  # an Event takes a first launch twenty times as long
        self.working.acquire()
        self.result = None
        self.error = None


_in_flight: dict = {}
_in_flight_lock = threading.Lock()


def _after_fork():
    # The threads that would finish these do not exist in the child.
    global _in_flight_lock

    _in_flight.clear()
    _in_flight_lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)


@contextlib.contextmanager
def one_thread(key):
    """In the block this thread is the only one at work for the key: it puts what it makes
    into `.result` of what the block gets. Or another thread was, and that is there already.
    """
    while True:
        with _in_flight_lock:
            other = _in_flight.get(key)
            if other is None or other.owner == threading.get_ident():
                mine = _in_flight[key] = _InFlight()
                break
        with other.working:
            pass
        if other.result is not None:
            yield other
            return
        # An error of the compiler is the same for all; an interrupt was not ours.
        if isinstance(other.error, Exception):
            raise other.error
    try:
        yield mine
    except BaseException as error:
        mine.error = error
        raise
    finally:
        with _in_flight_lock:
            if _in_flight.get(key) is mine:
                del _in_flight[key]
        mine.working.release()


def _compile_and_note(request, compile_now):
    """Compiles, and notes which globals were read, as an entry would."""
    result, lookups = compile_now()
    known = ((request.dependencies.index_of(function), name) for function, name in lookups)
    result["globals"] = sorted({(index, name) for index, name in known if index is not None})
    return result, lookups


def load_or_compile(request, compile_now, refresh=False):
    """The result of the compiler, rarely made more than once among processes; from the
    disk where an entry is whole. `refresh` compiles anyway.

    `compile_now` returns (result of the compiler, names looked up).
    """
    store = store_of()
    if store is None or request.inexact or knobs.runtime.add_stages_inspection_hook is not None:
        return _compile_and_note(request, compile_now)[0]
    # What the compiler prints on the way has to be printed, so it has to run.
    if knobs.compilation.dump or knobs.nvidia.dump_nvptx or knobs.nvidia.dump_ptxas_log:
        refresh = True
    if not refresh and (result := load(store, request)) is not None:
        return result
    if knobs.cache.why and not refresh:
        print(explain_miss(store, request), file=sys.stderr)
    lock = store.lock(request.key)
    try:
        # Another process may have finished it while this one waited.
        if lock is not None and not refresh and (result := load(store, request)) is not None:
            return result
        result, lookups = _compile_and_note(request, compile_now)
        save(store, request, result, lookups)
        return result
    finally:
        if lock is not None:
            lock.release()
