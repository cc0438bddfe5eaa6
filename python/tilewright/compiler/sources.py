# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The sources that can be compiled: a function with the types and constants of one specialisation, or a file of one stage."""

from __future__ import annotations

import functools
import hashlib
import os

from .. import errors
from ..runtime.dependencies import encode_value
from ..scalar_types import map_types, plain_type

_plain_type = functools.lru_cache(1024)(plain_type)


class ASTSource:
    """A function with the types and constants of one specialisation.

    `signature` maps parameters to type strings ("constexpr" is allowed) or tuples of
    them, `constexprs` maps names, positions or paths of positions to values, `attrs`
    maps the same keys to the divisibility, or to Triton's [["tt.divisibility", 16]].
    An element of a tuple is named "t[0]", as Triton's path (position of t, 0).
    """

    ext = "ttir"

    def __init__(self, fn, signature, constexprs=None, attrs=None):
        self.fn = fn
        self.name = fn.__name__
        self.constants = {k if type(k) is str else self._name_of(k): v for k, v in (constexprs or {}).items()}
        self.signature = {k if type(k) is str else self._name_of(k): v for k, v in dict(signature).items()}
        self.attrs = dict(attrs or {})
        # Python orders arguments by the declaration, never by the dict given.
        self.runtime_signature = {
            p: map_types(self.signature[p], _plain_type)
            for p in fn.arg_names
            if p in self.signature and p not in self.constants and self.signature[p] != "constexpr"
        }
        self.divisibility = {}
        for key, value in self.attrs.items():
            number = value if type(value) is int else self._divisibility_of(value)
            name = key if type(key) is str else self._name_of(key)
            if number > 1 and name.split("[")[0] in self.runtime_signature:
                self.divisibility[name] = number
        self._check()

    @property
    def constexprs(self):
        return self.constants

    def _name_of(self, key):
        if isinstance(key, tuple):
            return self._name_of(key[0]) + "".join(f"[{position}]" for position in key[1:])
        return self.fn.arg_names[key] if isinstance(key, int) else key

    @staticmethod
    def _divisibility_of(value) -> int:
        if isinstance(value, int):
            return value
        return next((int(entry[1]) for entry in value if entry[0] == "tt.divisibility"), 1)

    def _check(self):
        names = self.fn.arg_names
        for name in (*self.signature, *self.constants):
            if name not in names and name.split("[")[0] not in names:
                raise errors.make("E0205", problem="unexpected", a=name, sig=self._text())
        for param in self.fn.params:
            if param.name in self.constants or param.name in self.runtime_signature:
                continue
            if not param.has_default:
                raise errors.make("E0205", problem="missing", a=param.name, sig=self._text())
            self.constants[param.name] = param.default
        for param in self.fn.params:
            if param.is_constexpr and (param.do_not_specialize or param.do_not_specialize_on_alignment):
                raise errors.make(
                    "E0117",
                    message=f"{param.name} marked as constexpr and listed in do_not_specialize: "
                    "every value of a constexpr is a specialisation",
                    help="drop one of the two",
                )

    def _text(self) -> str:
        return f"{self.fn.__name__}({', '.join(self.fn.arg_names)})"

    def make_ir(self, target, options, codegen_fns, module_map, context):
        """A module from which others can tell which arguments are written and read."""
        from .argument_access import module_of  # for torch alone

        return module_of(self, target)

    def hash(self) -> str:
        constants = {k: encode_value(v) for k, v in sorted(self.constants.items())}
        text = f"{self.fn.cache_key}|{self.runtime_signature}|{constants}|{sorted(self.divisibility.items())}"
        return hashlib.sha256(text.encode()).hexdigest()


class IRSource:
    """A file with one stage's text, which is compiled from there on."""

    def __init__(self, path):
        self.path = os.fspath(path)
        self.ext = os.path.splitext(self.path)[1].lstrip(".")
        with open(self.path) as file:
            self.src = file.read()
        self.name = os.path.basename(self.path).split(".")[0]

    def hash(self) -> str:
        return hashlib.sha256(f"{self.ext}|{self.src}".encode()).hexdigest()
