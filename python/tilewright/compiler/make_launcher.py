# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names that libraries import from Triton's maker of launchers; the launcher here is native."""

from __future__ import annotations

import hashlib

from .. import foreign


def make_so_cache_key(version_hash, signature, constants, ids, **kwargs) -> str:
    """A digest of everything that is given."""
    named = sorted((str(key), str(value)) for key, value in kwargs.items())
    text = f"{version_hash}|{dict(signature)}|{constants}|{ids}|{named}"
    return hashlib.sha256(text.encode()).hexdigest()


def make_launcher_stub(*args, **kwargs):
    """E0125: there is no launcher in C to make."""
    raise foreign.error(
        "make_launcher_stub", "the inside of Triton's launcher", "launch by kernel[grid](...), or export the kernel"
    )
