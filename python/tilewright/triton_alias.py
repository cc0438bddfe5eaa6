# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes `import triton` mean Tilewright in this process, submodules included.

`tilewright run` installs it before a script starts, so the script and every library
that it imports get Tilewright. Submodules are the very same module objects; the top
level is a thin module of its own, because programs compare `triton.__version__`.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types

from . import foreign

# The release whose names and meanings are all present.
TRITON_VERSION = "3.5.0"


class _TritonModule(types.ModuleType):
    """`triton`: attributes are those of `tilewright`."""

    __version__ = TRITON_VERSION

    def __getattr__(self, name):
        import tilewright

        return getattr(tilewright, name)

    def __dir__(self):
        import tilewright

        return dir(tilewright)


class _Loader(importlib.abc.Loader):
    def __init__(self, target):
        self.target = target
        self.spec = None

    def create_module(self, spec):
        if self.target == "tilewright":
            return _TritonModule("triton")
        module = importlib.import_module(self.target)
        self.spec = module.__spec__
        return module

    def exec_module(self, module):
        # The import system has put its own spec on the shared module: put it back.
        if self.spec is not None:
            module.__spec__ = self.spec


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname, path=None, target=None):
        if fullname != "triton" and not fullname.startswith("triton."):
            return None
        if problem := foreign.module_error(fullname.removeprefix("triton.")):
            raise problem
        name = "tilewright" + fullname[len("triton"):]
        try:
            found = importlib.util.find_spec(name)
        except ModuleNotFoundError:
            found = None
        if found is None:
            return None
        return importlib.machinery.ModuleSpec(fullname, _Loader(name), is_package=found.submodule_search_locations
                                              is not None)


def install():
    """Idempotent. Refuses when the real package is loaded already."""
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    loaded = sys.modules.get("triton")
    if loaded is not None:
        raise ImportError("another 'triton' is imported already; start the program with 'tilewright run'")
    sys.meta_path.insert(0, _Finder())
