# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names of element types: what frameworks, annotations and signatures call them, and the short name of each.

The short names ("fp16", "i32") are those of signatures. The table is ir/support/ScalarTypes.def; importing
this module takes neither NumPy nor a framework.
"""

from __future__ import annotations

from . import _core, errors
from .user_objects import attribute

#: The language's name of a type -> its short name.
SHORT_NAMES = {long: short for short, long, *_ in _core.language.scalar_types if short != "void"}
SHORT_NAMES |= {"bool": "i1", "uint1": "i1", "u1": "i1"}

#: The short names themselves.
KNOWN = frozenset(SHORT_NAMES.values())

#: Short name -> what NumPy, ml_dtypes and torch call the type; fp8e4b15 they do not have.
FRAMEWORK_NAMES = {short: name for short, _, name, _ in _core.language.scalar_types if name}

#: Short name -> bits of an element; 1 for the boolean.
BITS = {short: bits for short, *_, bits in _core.language.scalar_types}

# NumPy reads "u1" as an unsigned byte, so it names no type of an array here.
_ARRAY_NAMES = {
    **{name: short for name, short in SHORT_NAMES.items() if name not in ("u1", "uint1")},
    **{name: short for short, name in FRAMEWORK_NAMES.items()},
    **{short: short for short in KNOWN},
}

#: Triton's name for the same table, with the short names themselves.
type_canonicalisation_dict = {**SHORT_NAMES, **{short: short for short in SHORT_NAMES.values()}, "void": "void"}


def short_type(name: str, dtype) -> str:
    """The short name of a framework's dtype; E0206 for one that the argument `name` cannot have."""
    text = str(attribute(dtype, "name", dtype)).rsplit(".", 1)[-1]
    if text not in _ARRAY_NAMES:
        raise errors.make("E0206", a=name, d=str(dtype))
    return _ARRAY_NAMES[text]


def size_of(short: str) -> int:
    """Bytes of an element, by the short name of its type."""
    return (BITS[short] + 7) // 8


def numpy_type(short):
    """The NumPy type whose elements have the numbers of the language's type; of fp8e4b15 that of its codes."""
    import numpy as np

    name = FRAMEWORK_NAMES.get(short, "uint8")
    if short == "bf16" or short.startswith("fp8") and name != "uint8":
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))
    return np.dtype(name)


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
