# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes `import triton` mean Tilewright, submodules included, here and in child processes.

`tilewright run` installs it before a script starts, so the script and every library
that it imports get Tilewright. Submodules are the very same module objects; the top
level is a thin module of its own, because programs compare `triton.__version__`.

The finder is that of `_tilewright_startup`, a module beside the package that a process
imports while it starts, without the package. This module is what the finder finds.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import types

from . import foreign
from ._version import TRITON_VERSION

_PACKAGE = os.path.dirname(os.path.abspath(__file__))
STARTUP_FOLDER = os.path.join(_PACKAGE, "startup")


class _TritonModule(types.ModuleType):
    """`triton`: attributes are those of `tilewright`."""

    __version__ = TRITON_VERSION

    def __getattr__(self, name):
        return getattr(sys.modules[__package__], name)

    def __dir__(self):
        return dir(sys.modules[__package__])


class _ModuleName(str):
    """The name of a module that begins with triton's name, too.

    torch writes the source of a user's kernel into a file of its own, and there imports
    the functions that the kernel names without their module if they are triton's.
    """

    def startswith(self, prefix, *bounds):
        return str.startswith(self, prefix, *bounds) or ("triton" + self[len("tilewright") :]).startswith(prefix, *bounds)

    def __reduce__(self):
        return str, (str(self),)


def _name_as_triton(module):
    """Gives the functions of a module of ours names of modules that begin with triton's."""
    for value in vars(module).values():
        if (
            isinstance(value, types.FunctionType)
            and type(value.__module__) is str
            and value.__module__.startswith("tilewright.")
        ):
            value.__module__ = _ModuleName(value.__module__)


class _Loader(importlib.abc.Loader):
    def __init__(self, target):
        self.target = target
        self.spec = None

    def create_module(self, spec):
        if self.target == "tilewright":
            return _TritonModule("triton")
        module = importlib.import_module(self.target)
        self.spec = module.__spec__
        _name_as_triton(module)
        return module

    def get_code(self, fullname):
        """For `python -m triton.tools.compile`."""
        return importlib.util.find_spec(self.target).loader.get_code(self.target)

    def exec_module(self, module):
        # The import system has put its own spec on the shared module: put it back.
        if self.spec is not None:
            module.__spec__ = self.spec


def spec_of(fullname):
    """The spec of `triton` or a submodule; None for what Tilewright does not have."""
    if problem := foreign.module_error(fullname.removeprefix("triton.")):
        raise problem
    name = "tilewright" + fullname[len("triton") :]
    try:
        found = importlib.util.find_spec(name)
    except ModuleNotFoundError:
        found = None
    if found is None:
        return None
    return importlib.machinery.ModuleSpec(
        fullname, _Loader(name), origin=found.origin, is_package=found.submodule_search_locations is not None
    )


def _startup_module():
    """`_tilewright_startup`, whose file lies beside the package, also where that is not on the path."""
    try:
        return importlib.import_module("_tilewright_startup")
    except ModuleNotFoundError:
        path = os.path.join(os.path.dirname(_PACKAGE), "_tilewright_startup.py")
        spec = importlib.util.spec_from_file_location("_tilewright_startup", path)
        sys.modules[spec.name] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module


def install():
    """In this process. Idempotent; refuses when the real package is loaded already."""
    loaded = sys.modules.get("triton")
    if loaded is not None and not isinstance(loaded, _TritonModule):
        raise ImportError("another 'triton' is imported already; start the program with 'tilewright run'")
    _startup_module().install()


def install_as_triton():
    """In this process and in all Python processes that it will start.

    The environment carries it: TILEWRIGHT_AS_TRITON, which an installed package looks at
    when Python starts, and PYTHONPATH for one that is only on the path.
    """
    install()
    os.environ["TILEWRIGHT_AS_TRITON"] = "1"
    before = os.environ.get("PYTHONPATH")
    if STARTUP_FOLDER not in (before or "").split(os.pathsep):
        os.environ["PYTHONPATH"] = STARTUP_FOLDER + (os.pathsep + before if before else "")
    if STARTUP_FOLDER not in sys.path:
        # Programs such as torch hand sys.path to their children as PYTHONPATH. The first
        # entry stays: it is the folder of the script.
        sys.path.insert(1, STARTUP_FOLDER)


def install_where_wanted():
    """Does what TILEWRIGHT_AS_TRITON asks for."""
    if _startup_module().is_wanted():
        install_as_triton()
