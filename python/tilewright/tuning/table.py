# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Figures of configurations on disk: what was measured is not measured again.

A table belongs to one kernel (by content), one tuning key and one kind of device,
and holds a record per configuration: its figures, its resources, or why it failed.
So a new configuration measures only itself, and another process measures nothing.
Tables are entries of the cache (area `tuning-1`) without machine code in them.

While one process tunes a key it holds the key's lock; others wait and then read.
Every change is read, merged and written under a second lock, so that none is lost.

Tables may also lie beside a package, as a file `tilewright_tuning.json` in the folder
of the kernel's file or of its package, or in TILEWRIGHT_TUNE_PATH. They are only
read, and hold for whatever compiler and driver the user has.
"""

from __future__ import annotations

import hashlib
import json
import os
import time

from .. import _core, knobs
from .._version import __version__
from ..compiler import disk_cache
from ..runtime.dependencies import Dependencies
from ..runtime.interface import kernel_inside

AREA = "tuning-1"
FORMAT = "tilewright-tuning-1"
FILE_NAME = "tilewright_tuning.json"
_CAPACITY = 64 << 20
# Records whose outcome is final: these need no further measuring.
FINAL = ("ok", "pruned", "failed", "wrong", "slow", "hung")


def store():
    return disk_cache.store_of(AREA, _CAPACITY) if knobs.autotuning.tables else None


_encode_parts = json.JSONEncoder(sort_keys=True).encode  # json.dumps would make one for each configuration


def config_identity(config):
    """(a text that is the same in every process, whether it is exact)."""
    dependencies = Dependencies()
    parts = {k: dependencies.encode(v) for k, v in config.all_kwargs().items()}
    if config.pre_hook is not None:
        parts["pre_hook"] = dependencies.encode(config.pre_hook)
    return _core.sha256(_encode_parts(parts).encode())[:20], not dependencies.inexact


def device_fields(device) -> dict:
    properties = _core.device_properties(device)
    _, version, _ = _core.driver_info()
    return {
        "device": f"{properties['name']}, {properties['multiprocessor_count']} multiprocessors, "
        f"{round(properties['total_memory'] / 2**30)} GiB",
        "driver": f"CUDA {version // 1000}",
    }


def identity_of_board(fields) -> str:
    """What two tables must have in common for their figures to be comparable, as one text."""
    return ", ".join(str(fields.get(name, "?")) for name in ("device", "driver", "compiler", "package"))


class Table:
    """Records of one kernel, key and device: `records` by identity of configuration."""

    def __init__(self, fn, name, key, device):
        function = kernel_inside(fn)
        dependencies = Dependencies(function) if function is not None else Dependencies()
        self.name = name
        encoded = dependencies.encode(tuple(key))
        self.kernel = dependencies.digest()
        self.fields = {
            "kernel": self.kernel,
            "key": encoded,
            "package": disk_cache.package_digest(),
            "compiler": f"{__version__} {_core.build_id()}",
            **device_fields(device),
        }
        self.key_text = repr(tuple(key))
        self.key = disk_cache.key_of(self.fields)
        self.file = getattr(function, "file", None)
        self.store = store() if function is not None and not dependencies.inexact else None
        self.records: dict = {}
        self.mine: dict = {}  # those of them that this process has written
        self.known: dict = {}  # records from elsewhere: a sweep tells its workers what others have measured
        self.pinned = None
        self.best = None
        self.circumstances: dict = {}  # what a report says about the measurement

    # -- reading ------------------------------------------------------------

    def load(self):
        """Reads what is on disk; False where there is no table."""
        found = self.store.load(self.key) if self.store is not None else None
        is_there = found is not None and self._take(found[0])
        self.records = merged_records(self.records, self.known)
        return is_there or bool(self.known)

    def _take(self, header) -> bool:
        records = header.get("records")
        if header.get("fields") != self.fields or not valid_records(records):
            self.store.discard(self.key, "its content is no tuning table")
            return False
        self.records = records
        self.pinned, self.best = header.get("pinned"), header.get("best")
        self.circumstances = {n: header[n] for n in ("clocks", "roof_ms") if n in header}
        return True

    def shipped_best(self):
        """Identity of the best configuration of a table beside the package, or None."""
        for path in shipped_files(self.file):
            for table in read_file(path):
                fields = table["fields"]
                if all(fields.get(n) == self.fields[n] for n in ("kernel", "key", "device")):
                    return table.get("pinned") or table.get("best")
        return None

    # -- writing ------------------------------------------------------------

    def lock(self, part=""):
        """Held while this process tunes the key, or a part of it; None where locks do not work."""
        if self.store is None:
            return None
        return self.store.lock(hashlib.sha256(f"{self.key} {part}".encode()).hexdigest() if part else self.key)

    def save(self, changed: dict, best=None):
        """Merges records into those on disk, which others may have changed."""
        self.records.update(changed)
        self.mine.update(changed)
        if best is not None:
            self.best = best
        self._write()

    def pin(self, identity):
        self.pinned = identity
        self._write(pin=True)

    def _write(self, pin=False):
        if self.store is None:
            return
        merge_lock = self.store.lock(hashlib.sha256(self.key.encode()).hexdigest())
        try:
            found = self.store.load(self.key)
            if found is not None and valid_records(found[0].get("records")):
                theirs = found[0]
                # This process has older copies of the records that others are writing.
                self.records = {**merged_records(theirs["records"], self.records), **self.mine}
                if not pin:
                    self.pinned = theirs.get("pinned")
                self.best = self.best or theirs.get("best")
            self.store.save(self.key, self.header(), {})
        finally:
            if merge_lock is not None:
                merge_lock.release()

    def header(self) -> dict:
        return {
            "kernel": self.name,
            "fields": self.fields,
            "key": self.key_text,
            "records": self.records,
            "best": self.best,
            "pinned": self.pinned,
            "changed": round(time.time(), 3),
            **self.circumstances,
        }


# ---------------------------------------------------------------------------
# Files
# ---------------------------------------------------------------------------


def merged_records(ours, theirs) -> dict:
    """Both; where both have one, theirs only if it is final and ours is not."""

    def wins(identity, record):
        return identity not in ours or (record["status"] in FINAL and ours[identity]["status"] not in FINAL)

    return {**ours, **{i: r for i, r in theirs.items() if wins(i, r)}}


def valid_records(records) -> bool:
    return isinstance(records, dict) and all(
        isinstance(r, dict)
        and isinstance(r.get("config"), str)
        and isinstance(r.get("status"), str)
        and isinstance(r.get("median"), (int, float, type(None)))
        for r in records.values()
    )


def valid_header(header) -> bool:
    return (
        isinstance(header, dict)
        and isinstance(header.get("fields"), dict)
        and valid_records(header.get("records"))
        and all(isinstance(header["fields"].get(n), str) for n in ("kernel", "key"))
    )


def shipped_files(kernel_file):
    """Tables beside a kernel's file and its package, and those of TILEWRIGHT_TUNE_PATH."""
    folders = []
    if kernel_file:
        folder = os.path.dirname(os.path.abspath(kernel_file))
        folders.append(folder)
        # Up to the package's root: the last folder with an __init__.py.
        while os.path.isfile(os.path.join(folder, "__init__.py")) and os.path.dirname(folder) != folder:
            folders.append(folder)
            folder = os.path.dirname(folder)
    for place in (knobs.autotuning.path or "").split(os.pathsep):
        if place:
            folders.append(place)
    paths = [p if p.endswith(".json") else os.path.join(p, FILE_NAME) for p in folders]
    return [p for p in dict.fromkeys(paths) if os.path.isfile(p)]


_files: dict = {}


def read_file(path) -> list:
    """The tables of an exported file; what is none is reported once and left out."""
    try:
        status = os.stat(path)
        stamp = (status.st_mtime_ns, status.st_size)
        if _files.get(path, (None,))[0] == stamp:
            return _files[path][1]
        if status.st_size > _CAPACITY:
            raise ValueError("too large")
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        if data.get("format") != FORMAT:
            raise ValueError("not a tuning table")
        tables = list(filter(valid_header, data["tables"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        disk_cache.warn("W0501", reason=f"{os.path.basename(path)}: {error}")
        return []
    _files[path] = (stamp, tables)
    return tables


def all_tables(kernel=None) -> list:
    """(key, header) of every table on disk, the latest first."""
    current = store()
    if current is None:
        return []
    found = []
    for key, _, _ in current.native.list():
        entry = current.load(key)
        if entry is not None and valid_records(entry[0].get("records")):
            if kernel is None or entry[0].get("kernel") == kernel:
                found.append((key, entry[0]))
    return sorted(found, key=lambda item: -item[1].get("changed", 0))


def pin(key, identity) -> dict:
    """Pins a configuration of a table on disk, or none; the table as it is then."""
    current = store()
    lock = current.lock(hashlib.sha256(key.encode()).hexdigest())
    try:
        header, _ = current.load(key)  # as it is now: others may be measuring
        header["pinned"] = identity
        current.save(key, header, {})
        return header
    finally:
        if lock is not None:
            lock.release()


def import_tables(tables, they_win=False) -> int:
    """Merges exported tables into the cache; the number taken. `they_win` where both have final figures."""
    current = store()
    taken = 0
    for table in tables:
        key = disk_cache.key_of(table["fields"])
        lock = current.lock(hashlib.sha256(key.encode()).hexdigest())
        try:
            found = current.load(key)
            ours = found[0] if found is not None and valid_records(found[0].get("records")) else {}
            mine, theirs = ours.get("records", {}), table["records"]
            final = {i: r for i, r in theirs.items() if r["status"] in FINAL} if they_win else {}
            merged = {
                **table,
                "records": {**merged_records(mine, theirs), **final},
                "best": ours.get("best") if ours.get("best") and not they_win else table.get("best") or ours.get("best"),
                "pinned": ours.get("pinned") or table.get("pinned"),
            }
            current.save(key, merged, {})
            taken += 1
        finally:
            if lock is not None:
                lock.release()
    return taken
