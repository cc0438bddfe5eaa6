# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names of element types: what frameworks, annotations and signatures call them, and the short name of each.

The short names ("fp16", "i32") are those of signatures. Nothing here needs NumPy or a framework.
"""

from __future__ import annotations

from . import errors
from .user_objects import attribute

#: The language's name of a type -> its short name.
SHORT_NAMES = {
    "bool": "i1",
    "int1": "i1",
    "uint1": "i1",
    "u1": "i1",
    **{f"int{n}": f"i{n}" for n in (8, 16, 32, 64)},
    **{f"uint{n}": f"u{n}" for n in (8, 16, 32, 64)},
    "float16": "fp16",
    "bfloat16": "bf16",
    "float32": "fp32",
    "float64": "fp64",
    "float8e4nv": "fp8e4nv",
    "float8e5": "fp8e5",
    "float8e4b15": "fp8e4b15",
    "float8e4b8": "fp8e4b8",
    "float8e5b16": "fp8e5b16",
}

#: The short names themselves.
KNOWN = frozenset(SHORT_NAMES.values())

#: What NumPy's extensions and torch call the narrow floats.
_FRAMEWORK_NAMES = {
    "float8_e4m3fn": "fp8e4nv",
    "float8_e5m2": "fp8e5",
    "float8_e4m3fnuz": "fp8e4b8",
    "float8_e5m2fnuz": "fp8e5b16",
}
# NumPy reads "u1" as an unsigned byte, so it names no type of an array here.
_ARRAY_NAMES = {
    **{name: short for name, short in SHORT_NAMES.items() if name not in ("u1", "uint1")},
    **_FRAMEWORK_NAMES,
    **{short: short for short in KNOWN},
}

#: Triton's name for the same table, with the short names themselves.
type_canonicalisation_dict = {**SHORT_NAMES, **{short: short for short in SHORT_NAMES.values()}, "void": "void"}

_sizes = {"i1": 1, "fp8e4nv": 1, "fp8e5": 1, "fp8e4b15": 1, "fp8e4b8": 1, "fp8e5b16": 1, "bf16": 2}


def short_type(name: str, dtype) -> str:
    """The short name of a framework's dtype; E0206 for one that the argument `name` cannot have."""
    text = str(attribute(dtype, "name", dtype)).rsplit(".", 1)[-1]
    if text not in _ARRAY_NAMES:
        raise errors.make("E0206", a=name, d=str(dtype))
    return _ARRAY_NAMES[text]


def size_of(short: str) -> int:
    """Bytes of an element, by the short name of its type."""
    return _sizes.get(short) or int(short.lstrip("iufp")) // 8


def last_part(text: str) -> str:
    """A type's text without its module, a star of pointers left in front: "*tl.int64" is "*int64"."""
    star = text[: len(text) - len(text.lstrip("*"))]
    return star + text[len(star) :].rsplit(".", 1)[-1]


def plain_type(text: str) -> str:
    """A type of a signature under the one name that the compiler knows: u1 and bool are i1."""
    text = str(text).strip()
    star = "*k" if text.startswith("*k") else "*" if text.startswith("*") else ""
    base = text[len(star) :]
    if base.startswith("tensordesc<"):
        return base.replace(" ", "")
    return star + SHORT_NAMES.get(base, base)


def map_types(entry, function):
    """A signature's entry with `function` applied to its types; a tuple keeps its class."""
    if isinstance(entry, (tuple, list)):
        items = [map_types(item, function) for item in entry]
        return type(entry)(*items) if hasattr(entry, "_fields") else tuple(items)
    return function(entry)
