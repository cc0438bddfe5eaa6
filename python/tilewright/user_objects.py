# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Safe questions to objects of the user's.

Frameworks compute attributes when they are asked for, and may raise anything: torch
raises RuntimeError for `__cuda_array_interface__` of a CUDA tensor that requires a
gradient, a lazy proxy may raise what its connection raised. `hasattr` and a default of
`getattr` only understand AttributeError. Here an attribute that raises counts as missing.
"""

from __future__ import annotations


def attribute(value, name, default=None):
    """`value.name`, or `default` where asking for it fails in whatever way."""
    try:
        return getattr(value, name)
    except Exception:  # noqa: BLE001 - see above
        return default


_absent = object()


def has_attribute(value, *names) -> bool:
    """Whether all of these attributes can be read."""
    return all(attribute(value, name, _absent) is not _absent for name in names)


def printable(text) -> str:
    """A text without control characters: it goes to terminals."""
    return "".join(c if c.isprintable() else "?" for c in str(text))


def text_of(value) -> str:
    """`repr(value)`, or nothing where that fails."""
    try:
        return repr(value)
    except Exception:  # noqa: BLE001 - see above
        return ""
