# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A launch in a file, from which `tilewright replay` runs it again.

The file is a zip archive: `launch.json` (kernel, grid, options, arguments, texts of the
functions, versions, digests), `memory/N.npy` (the bytes of the arrays before the launch,
arrays that overlap in one), and `digest` (of launch.json). Nothing in it is a pickle.
Replaying runs the texts in it, so trust such a file as you would trust a script.
"""

from __future__ import annotations

import hashlib
import io
import json
import platform
import zipfile
import zlib

import numpy as np

from .. import _core, errors
from .._version import __version__
from .saved_functions import decode, encode_functions
from .saved_values import SavedArray, ValueReader, ValueWriter

FORMAT = 1
#: Bytes of all arrays together, before they are packed.
LARGEST = 2 << 30
_LARGEST_TEXT = 16 << 20


def save(path, call, snapshot, finding=None):
    """Writes the launch `call`, whose arrays held what is in `snapshot`."""
    jit_function, sizes, bound, options = call
    size = sum(kept.nbytes for kept in snapshot.kept)
    if size > LARGEST:
        raise errors.make(
            "E0706", name=jit_function.__name__, reason=f"its arrays have {size:,} bytes, and the limit is {LARGEST:,}"
        )
    writer = ValueWriter(jit_function.__name__, snapshot)
    arguments = {name: writer.encode(name, value) for name, value in bound.items()}
    launch_options = {name: writer.encode(name, value) for name, value in options.items()}
    functions = encode_functions(jit_function, writer)
    memory = [_packed(kept) for kept in snapshot.kept]
    record = {
        "format": FORMAT,
        "kernel": jit_function.__name__,
        "grid": list(sizes),
        "arguments": arguments,
        "options": launch_options,
        "functions": functions,
        "arrays": writer.arrays,
        "memory": [
            {"size": kept.nbytes, "alignment": address % 256, "digest": _digest(data)}
            for kept, (address, _), data in zip(snapshot.kept, snapshot.ranges, memory)
        ],
        "versions": {
            "tilewright": __version__,
            "build": _core.build_id(),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "platform": platform.platform(),
        },
        "finding": finding.record() if finding is not None else None,
    }
    text = json.dumps(record).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("launch.json", text)
        archive.writestr("digest", _digest(text))
        for number, data in enumerate(memory):
            archive.writestr(f"memory/{number}.npy", data)


def _packed(array) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class SavedLaunch:
    """What a file holds, checked; E0705 for one that is cut, changed or of another format."""

    def __init__(self, path):
        self.path = path
        try:
            with zipfile.ZipFile(path) as archive:
                self._read(archive)
        except (zipfile.BadZipFile, zlib.error, KeyError, ValueError, EOFError, TypeError, AttributeError) as error:
            raise self._bad(str(error) or type(error).__name__) from error

    def _bad(self, reason):
        return errors.make("E0705", file=self.path, reason=reason)

    def _entry(self, archive, name, limit) -> bytes:
        """One member; what it unpacks to is known before it is unpacked."""
        if archive.getinfo(name).file_size > limit:
            raise ValueError(f"{name} is larger than {limit:,} bytes")
        return archive.read(name)

    def _read(self, archive):
        text = self._entry(archive, "launch.json", _LARGEST_TEXT)
        if self._entry(archive, "digest", 64).decode() != _digest(text):
            raise ValueError("launch.json was changed")
        self.record = json.loads(text)
        if self.record["format"] != FORMAT:
            raise ValueError(f"it has format {self.record['format']}, and this version reads format {FORMAT}")
        left = LARGEST
        self.memory = []
        for number, entry in enumerate(self.record["memory"]):
            data = self._entry(archive, f"memory/{number}.npy", min(left, entry["size"]) + 4096)
            if _digest(data) != entry["digest"]:
                raise ValueError(f"memory/{number}.npy was changed")
            array = np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
            if array.dtype != np.uint8 or array.shape != (entry["size"],):
                raise ValueError(f"memory/{number}.npy is no {entry['size']:,} bytes")
            left -= array.nbytes
            self.memory.append(array)
        self.kernel, self.functions = decode(self.record["functions"])
        for array in self.record["arrays"]:
            SavedArray.of(array, self.memory, check=True)

    @property
    def name(self) -> str:
        return self.record["kernel"]

    @property
    def grid(self):
        return tuple(self.record["grid"])

    def launch(self, make_array):
        """(arguments, options) for a launch whose arrays `make_array(number, SavedArray)` makes."""
        arrays = [make_array(number, SavedArray.of(array, self.memory)) for number, array in enumerate(self.record["arrays"])]
        reader = ValueReader(arrays, self.functions)
        return (
            {name: reader.decode(value) for name, value in self.record["arguments"].items()},
            {name: reader.decode(value) for name, value in self.record["options"].items()},
        )
