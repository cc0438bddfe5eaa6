# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names that a module has for its users, while their homes are loaded when one is first asked for.

A home is a text below the package: "runtime.jit:jit", or "runtime.driver" for a module. Modules
that hold names for users, such as those under Triton's paths, make their `__getattr__` with
`lazy_names`; nothing in the package takes a name from there (tests/tools/check_imports.py).
"""

from __future__ import annotations

import importlib
import sys


def at(home: str):
    """The object of a home."""
    path, _, attribute = home.partition(":")
    module = importlib.import_module(f"{__package__}.{path}")
    return getattr(module, attribute) if attribute else module


def lazy_names(module_name: str, homes: dict):
    """`__getattr__` of a module for the names in `homes`; each is looked for once."""

    def __getattr__(name):
        module = sys.modules[module_name]
        if name not in homes:
            raise AttributeError(f"module '{module_name}' has no attribute '{name}'", name=name, obj=module)
        value = vars(module)[name] = at(homes[name])
        return value

    __getattr__.homes = homes
    return __getattr__


def deferred(home: str):
    """A function that loads the function at `home` when it is called."""
    return lambda *args, **kwargs: at(home)(*args, **kwargs)
