# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One request to compile: its named fields, and the key that is the digest of them.

Whatever decides the machine code is a field, so that two requests with equal keys have
equal results. An entry of the cache keeps the fields, and `explain.py` names those that differ.
"""

from __future__ import annotations

import hashlib
import os
import sys

from .. import _core, knobs
from .._version import __version__
from ..runtime.dependencies import Dependencies
from .options import DEFAULTS

# Knobs of these groups are part of every key, except those that only show things
# or name places. A new knob is therefore in the keys unless it is listed here.
_KEY_GROUPS = ("compilation", "language")
_NOT_IN_KEYS = {
    "DUMP",
    "KERNEL_DUMP",
    "KERNEL_OVERRIDE",  # what is taken instead is an option of the request
    "STORE_BINARY_ONLY",
    "REMARKS",
    "TIMING",
    "ALWAYS_COMPILE",
    "REPRODUCER_DIR",
    "CHECK",
    "COMPILE_TIMEOUT",
    "COMPILE",
    "COMPILE_MEMORY_MB",
}


def _digest_of_package(package: str) -> str:
    total = hashlib.sha256()
    files = [
        os.path.join(folder, name)
        for folder, _, names in os.walk(os.path.join(package, "language"))
        for name in names
        if name.endswith(".py")
    ]
    for path in (*sorted(files), os.path.join(package, "frontend_rules.py"), os.path.join(package, "compiler", "options.py")):
        with open(path, "rb") as file:
            total.update(file.read())
    return total.hexdigest()[:32]


# With the import of this module, which the first declared kernel brings: a first
# launch should not wait for a dozen files.
_package_digest = _digest_of_package(os.path.dirname(os.path.dirname(__file__)))


def package_digest() -> str:
    """Digest of the Python files that take part in the meaning of a kernel.

    The native library has its build id; these files can change without it.
    """
    return _package_digest


_key_knobs = {e.key: e for e in knobs._entries if e.group in _KEY_GROUPS and e.variable not in _NOT_IN_KEYS}


def knob_fields() -> dict:
    """Knobs that are not at their default; those stand in the native library, which has its build id."""
    values = {name: (entry.get(), entry.default_value) for name, entry in _key_knobs.items()}
    return {name: str(value) for name, (value, default) in values.items() if value != default}


def _option_fields(dependencies, options) -> dict:
    """Options that are not at their default; those stand in options.py, which is in the package's digest."""
    return {
        f"option {k}": _option_text(dependencies, k, v)
        for k, v in options.items()
        if v is not DEFAULTS[k] and (type(v) is not type(DEFAULTS[k]) or v != DEFAULTS[k])
    }


def default_text(field):
    """What a field would hold that is left out because it is at its default; None where it is no such field."""
    if field in _key_knobs:
        return str(_key_knobs[field].default_value)
    option = field.removeprefix("option ")
    return Dependencies().encode(DEFAULTS[option]) if option != field and option in DEFAULTS else None


class Request:
    """One compilation: what is asked for, its fields, its key."""

    def __init__(self, src, target, options):
        self.src, self.target, self.options = src, target, options
        self.dependencies = dependencies = Dependencies(src.fn)
        constants = {f"constant {k}": dependencies.encode(v) for k, v in src.constants.items()}
        _core.find_wheel_folders(sys.path)
        self.fields = {
            "compiler": f"{__version__} {_core.build_id()}",
            "package": package_digest(),
            "python": f"{sys.version_info[0]}.{sys.version_info[1]}",
            "assembler": _core.toolchain_identity(),
            "target": target.name,
            "signature": ", ".join(f"{k}: {v}" for k, v in src.runtime_signature.items()),
            "divisibility": ", ".join(f"{k}: {v}" for k, v in sorted(src.divisibility.items())),
            **constants,
            **_option_fields(dependencies, options),
            **knob_fields(),
        }
        if options["debug"]:
            # Assertions carry their place, so here it is part of the meaning.
            self.fields["place"] = f"{src.fn.file}:{src.fn.starting_line_number}"
        self.fields.update(dependencies.fields)
        self.key = key_of(self.fields)

    @property
    def inexact(self) -> str:
        return self.dependencies.inexact

    def is_current(self) -> bool:
        """Whether the same request has the same key now: no global has changed."""
        return Request(self.src, self.target, self.options).key == self.key

    def covers(self, lookups) -> bool:
        """Whether every name that the front end has looked up is in the key."""
        names = self.dependencies.names
        return all((self.dependencies.index_of(function), name) in names for function, name in lookups)


def _option_text(dependencies, name, value) -> str:
    text = dependencies.encode(value)
    paths = [value] if name == "ir_override" else list(dict(value).values()) if name == "extern_libs" and value else []
    for path in paths:
        if path:
            try:
                with open(path, "rb") as file:
                    text += ":" + hashlib.sha256(file.read()).hexdigest()
            except OSError:
                text += ":missing"
    return text


def key_of(fields: dict) -> str:
    # All are texts, so Python's own form of them says which is which.
    return _core.sha256(repr(sorted(fields.items())).encode())
