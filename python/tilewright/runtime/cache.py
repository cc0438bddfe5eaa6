# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names of Triton's file cache that libraries import.

The cache of compiled kernels is compiler/disk_cache.py; these functions answer where
it lies and give a manager for a caller's own files.
"""

from __future__ import annotations

import abc
import hashlib
import json
import os

from .. import knobs
from .._version import compiler_key


_GROUP = "__grp__"


def default_cache_dir() -> str:
    """The per-user directory; TILEWRIGHT_CACHE_DIR decides where set."""
    return knobs.cache.dir


def default_dump_dir() -> str:
    """As releases up to 3.3 ask for the knob."""
    return knobs.cache.dump_dir


def default_override_dir() -> str:
    """As releases up to 3.3 ask for the knob."""
    return knobs.cache.override_dir


def get_cache_key(src, backend, backend_options, env_vars=None) -> str:
    return hashlib.sha256(f"{compiler_key()}|{src.hash()}|{backend.hash()}|{backend_options}".encode()).hexdigest()


def _base32(key: str) -> str:
    """A digest as the name of a folder, in Triton's way; libraries look for files there."""
    import base64  # as below

    return base64.b32encode(bytes.fromhex(key)).decode().rstrip("=")


def write_aside(path: str, content: bytes) -> str:
    """Makes a file that others see whole or not at all, in a folder for this user."""
    import tempfile  # the first kernel that is declared loads this module, and does not wait for what few need

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
        """{name: path} of files that were kept together; None where one of them is missing."""
        listed = self.get_file(_GROUP + filename)
        try:
            with open(listed or os.devnull, encoding="utf-8") as file:
                names = json.load(file)
        except (OSError, ValueError):
            return None
        found = {name: self.get_file(name) for name in names} if isinstance(names, list) else {None: None}
        return None if None in found.values() else found

    def put_group(self, filename, group):
        """Keeps which files belong together, by their names; the paths beside these are not needed."""
        return self.put(json.dumps(list(group)), _GROUP + filename, binary=False)


class FileCacheManager(CacheManager):
    """Files of one key in a private directory; written aside and renamed."""

    def __init__(self, key, override=False, dump=False):
        super().__init__(key, override, dump)
        digest = hashlib.sha256(str(key).encode()).hexdigest()
        if dump or override:
            # People look for these, so the key is the name.
            self.cache_dir = os.path.join(default_dump_dir() if dump else default_override_dir(), str(key))
        else:
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


class RemoteCacheBackend(abc.ABC):
    """A store of bytes by file name that a program brings; `knobs.cache.remote_manager_class`."""

    def __init__(self, key):
        self.key = key

    @abc.abstractmethod
    def get(self, filenames):
        """{file name: bytes} of those that are there."""

    @abc.abstractmethod
    def put(self, filename, data):
        """Keeps one file."""


class RedisRemoteCacheBackend(RemoteCacheBackend):
    """A Redis server, by the `redis` package; see `knobs.redis`."""

    def __init__(self, key):
        import redis  # an optional package of the user's

        super().__init__(key)
        self._redis = redis.Redis(host=knobs.redis.host, port=knobs.redis.port)

    def _key(self, filename):
        return knobs.redis.key_format.format(key=self.key, filename=filename)

    def get(self, filenames):
        found = self._redis.mget([self._key(name) for name in filenames])
        return {name: data for name, data in zip(filenames, found) if data is not None}

    def put(self, filename, data):
        self._redis.set(self._key(filename), data)


class RemoteCacheManager(CacheManager):
    """Files in a remote store; those that are asked for come to the local one."""

    def __init__(self, key, override=False, dump=False):
        super().__init__(key, override, dump)
        self._backend = (knobs.cache.remote_manager_class or RedisRemoteCacheBackend)(key)
        self._local = FileCacheManager(key, override, dump)

    def get_file(self, filename):
        found = self._backend.get([filename]).get(filename)
        return None if found is None else self._local.put(found, filename)

    def put(self, data, filename, binary=True):
        content = data if isinstance(data, bytes) else str(data).encode()
        self._backend.put(filename, content)
        return self._local.put(content, filename)


def get_cache_manager(key) -> CacheManager:
    return (knobs.cache.manager_class or FileCacheManager)(key)


def triton_key() -> str:
    """Identity of this compiler, which programs put into keys of their own."""
    return compiler_key()


def make_so_cache_key(version_hash, signature, constants, ids, **kwargs) -> str:
    """A key for a program's own launcher: by types, constants and whatever else it names."""
    parts = (version_hash, tuple(signature.values()), tuple(constants.items()), ids, sorted(kwargs.items()))
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def get_dump_manager(key) -> CacheManager:
    return FileCacheManager(_base32(key), dump=True)


def get_override_manager(key) -> CacheManager:
    return FileCacheManager(_base32(key), override=True)
