# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names of Triton's file cache that libraries import.

The cache of compiled kernels is compiler/disk_cache.py; these functions answer where
it lies and give a manager for a caller's own files.
"""

from __future__ import annotations

import base64
import hashlib
import os
import tempfile


def default_cache_dir() -> str:
    """The per-user directory; TILEWRIGHT_CACHE_DIR decides where set."""
    from ..compiler.disk_cache import default_directory

    return default_directory()


def get_cache_key(src, backend, backend_options, env_vars=None) -> str:
    from ..compiler.compiler import compiler_key

    return hashlib.sha256(f"{compiler_key()}|{src.hash()}|{backend.hash()}|{backend_options}".encode()).hexdigest()


def _base32(key: str) -> str:
    """A digest as the name of a folder, in Triton's way; libraries look for files there."""
    return base64.b32encode(bytes.fromhex(key)).decode().rstrip("=")


def write_aside(path: str, content: bytes) -> str:
    """Makes a file that others see whole or not at all, in a folder for this user."""
    folder = os.path.dirname(path)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except OSError:
        os.unlink(temporary)
        raise
    return path


class CacheManager:
    """Interface of a file cache for one key."""

    def __init__(self, key, override=False, dump=False):
        self.key = key

    def get_file(self, filename):
        return None

    def put(self, data, filename, binary=True):
        raise NotImplementedError

    def get_group(self, filename):
        return None

    def put_group(self, filename, group):
        raise NotImplementedError


class FileCacheManager(CacheManager):
    """Files of one key in a private directory; written aside and renamed."""

    def __init__(self, key, override=False, dump=False):
        super().__init__(key, override, dump)
        digest = hashlib.sha256(str(key).encode()).hexdigest()
        self.cache_dir = os.path.join(default_cache_dir(), "files", digest[:2], digest)

    def _path(self, filename):
        if os.sep in filename or filename in ("", ".", ".."):
            raise ValueError(f"'{filename}' is no plain file name")
        return os.path.join(self.cache_dir, filename)

    def has_file(self, filename) -> bool:
        return os.path.isfile(self._path(filename))

    def get_file(self, filename):
        path = self._path(filename)
        return path if os.path.isfile(path) else None

    def put(self, data, filename, binary=True) -> str:
        return write_aside(self._path(filename), data if isinstance(data, bytes) else str(data).encode())


def get_cache_manager(key) -> CacheManager:
    return FileCacheManager(key)


def get_dump_manager(key) -> CacheManager:
    return FileCacheManager(key, dump=True)


def get_override_manager(key) -> CacheManager:
    return FileCacheManager(key, override=True)
