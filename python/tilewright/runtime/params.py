# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The parameters of a kernel: what their declarations say, and the types of arguments in signatures."""

from __future__ import annotations

import inspect

from ..scalar_types import KNOWN, SHORT_NAMES, last_part, type_canonicalisation_dict
from ..user_objects import attribute
from .interface import is_kernel


def annotation_text(annotation) -> str:
    """An annotation as text without its module: `tl.int64`, "tl.int64" and int64 alike."""
    if annotation is inspect.Parameter.empty:
        return ""
    if isinstance(annotation, str):
        text = annotation.strip().strip("'\"")
    elif isinstance(annotation, type):
        text = annotation.__name__
    else:
        text = str(annotation)
    return last_part(text)


class KernelParam:
    """One parameter of a kernel: what its declaration says."""

    def __init__(self, num: int, param: inspect.Parameter, do_not_specialize: bool, do_not_specialize_on_alignment: bool):
        self.num = num
        self._param = param
        self.name = param.name
        self.do_not_specialize = do_not_specialize
        self.do_not_specialize_on_alignment = do_not_specialize_on_alignment
        self.annotation = annotation_text(param.annotation)
        self.is_constexpr = self.annotation.startswith("constexpr")
        self.is_const = self.annotation == "const" or self.annotation.startswith("*k")
        self.default = param.default
        self.has_default = param.default is not inspect.Parameter.empty
        self.annotation_type = self._annotation_type()

    def _annotation_type(self) -> str:
        """The short name of an explicit type ("i64", "*fp32"), else empty."""
        text = self.annotation
        star = "*k" if text.startswith("*k") else "*" if text.startswith("*") else ""
        base = SHORT_NAMES.get(text[len(star) :], text[len(star) :])
        return star + base if base in KNOWN else ""

    def __getstate__(self):
        # The declaration's own objects, an annotation or a default, may be anything.
        return {**self.__dict__, "_param": None, "default": None}

    def __repr__(self):
        return f"KernelParam({self.name!r})"


def mangle_type(arg, specialize=False) -> str:
    """The type that an argument has in a signature: "*fp32", "i32", "constexpr"."""
    if arg is None or isinstance(arg, str) or is_kernel(arg) or type(arg).__name__ in ("constexpr", "dtype"):
        return "constexpr"
    if isinstance(arg, bool):
        return "u1"
    if isinstance(arg, int):
        return "i32" if -(2**31) <= arg < 2**31 else "i64" if -(2**63) <= arg < 2**63 else "u64"
    if isinstance(arg, float):
        return "fp32"
    if isinstance(arg, tuple):
        return tuple(mangle_type(item) for item in arg)
    text = annotation_text(str(attribute(arg, "dtype", type(arg).__name__)))
    return "*" + type_canonicalisation_dict.get(text, text)
