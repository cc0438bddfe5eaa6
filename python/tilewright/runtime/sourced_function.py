# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The source of a kernel: where it stands, and the global names that it reads.

Values of globals become part of the compiled code, so each launch checks that they are still the same.
"""

from __future__ import annotations

import builtins
import weakref
from typing import Any

from .. import errors
from ..annotations import module_annotations
from ..language import constexpr, dtype
from .lookups import compiling


def _told(read):
    """A property that programs may set: generators of kernels say of which text theirs was made. The compiler reads its own."""
    name = "_told_" + read.__name__
    return property(
        lambda self: self.__dict__.get(name) if name in self.__dict__ else read(self),
        lambda self, value: self.__dict__.__setitem__(name, value),
        doc=read.__doc__,
    )


def _is_frozen_value(value) -> bool:
    """Whether a kernel takes a copy of the value into its code."""
    if type(value).__name__ == "constexpr":
        return True
    return isinstance(value, (bool, int, float, str, tuple, dtype, type(None)))


def _is_same_constant(before, now) -> bool:
    if before is now:  # a NaN too, which equals nothing
        return True
    return type(before) is type(now) and bool(getattr(before, "value", before) == getattr(now, "value", now))


class SourcedFunction:
    """A base of JITFunction, which fills in `fn`, `_source` and the tables of what was read."""

    @property
    def file(self) -> str:
        """Path of the file that holds the function."""
        return self._source.file

    @property
    def src(self) -> str:
        """The text from `def` on, dedented."""
        return self._source.src

    @src.setter
    def src(self, value):
        raise AttributeError("'src' is read-only; a changed text goes through _unsafe_update_src(text)")

    def _unsafe_update_src(self, text: str):
        """Compiles `text` instead of the function's own source from now on."""
        self._source.replace(text)
        self.hash = None
        self.used_global_vals.clear()
        self._watched_keys.clear()
        self._constants_before.clear()
        self.device_caches.clear()

    @_told
    def raw_src(self):
        """The lines of the text, decorators included."""
        return self._source.text.splitlines(keepends=True)

    @_told
    def file_name(self) -> str:
        return self.file

    @_told
    def def_file_line_number(self) -> int:
        """The line of `def` in its file."""
        return self.parse().lineno

    @_told
    def def_file_col_number(self) -> int:
        """The column of `def` in its file."""
        return self.parse().col_offset

    @_told
    def starting_line_number(self) -> int:
        """The line of the first decorator."""
        return self._source.first_line

    def parse(self):
        """The `ast.FunctionDef` with the file's own line and column numbers; cached."""
        return self._source.tree()

    def source_line(self, number: int) -> str:
        """One line of the file, for messages."""
        try:
            return self._source.line(number)
        except errors.SourceUnavailable:
            return ""

    def lookup_global(self, name: str) -> Any:
        """The value a free name has: closure, then module globals, then builtins.

        Raises KeyError for an unknown name. Values that a kernel may freeze are
        remembered: later launches check that they are still the same.
        """
        fn = self.fn
        free = fn.__code__.co_freevars
        lookups = getattr(compiling, "lookups", None)
        if lookups is not None and (name in free or name in fn.__globals__):
            lookups.add((self, name))
        if name in free:
            cell = fn.__closure__[free.index(name)]
            try:
                value = cell.cell_contents
            except ValueError:
                raise KeyError(name) from None
            self._remember_global(name, value, cell)
            return value
        if name in fn.__globals__:
            value = fn.__globals__[name]
            self._remember_global(name, value, fn.__globals__)
            return value
        return vars(builtins)[name]

    def is_annotated_constexpr(self, name: str) -> bool:
        """Whether the module annotates the name as one: `N: tl.constexpr = 4`."""
        annotation = module_annotations(self.fn.__globals__).get(name)
        return annotation is constexpr or (isinstance(annotation, str) and "constexpr" in annotation)

    def _remember_global(self, name, value, owner):
        if not _is_frozen_value(value):
            return
        key = (name, id(owner))
        before, _ = self.used_global_vals.setdefault(key, (value, owner))
        # The kernel that is being compiled watches what its helpers have read, too.
        kernel = getattr(compiling, "kernel", None)
        if kernel is not None and not _is_same_constant(before, value):
            # Two kernels would call one helper that means two things; Triton refuses it as well.
            raise RuntimeError(
                f"Global variable {name} has value {value!r} as '{kernel.__name__}' is compiled, but had {before!r} when "
                f"'{self.__name__}' was compiled before; pass it as an argument instead"
            )
        if kernel is not None and key not in kernel._watched_keys:
            kernel._watched_keys.add(key)
            kernel._watch_global(name, value, owner)
            if hasattr(type(value), "_kernels"):
                # The launch looks at the object alone; of another value inside it that tells.
                value._kernels = [*getattr(value, "_kernels", ()), weakref.ref(kernel)]

    def _global_changed(self, name, before, now):
        """Called by a launch that found another object under a watched name."""
        if _is_same_constant(before, now):
            return
        raise RuntimeError(
            f"Global variable {name} has changed since we compiled this kernel, from {before!r} to {now!r}; "
            f"pass it to '{self.__name__}' as an argument instead"
        )

    def _constant_changed(self, constant, before):
        """Called by a constexpr in the kernel's code that has got another value: the next launch must look."""
        self._constants_before.setdefault(id(constant), (constant, before))
        self._clear_table()

    def _check_constants(self):
        """Raises where a constexpr has another value than the one that the kernel was compiled with."""
        for constant, before in self._constants_before.values():
            name = next((key[0] for key, (value, _) in self.used_global_vals.items() if value is constant), "")
            self._global_changed(name, constexpr(before), constant)
