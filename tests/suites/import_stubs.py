# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Imports a file of a checkout whose requirements are not installed.

A module that cannot be found becomes a stub whose attributes are stubs, which can be
called, subscripted, inherited from and used as decorators. So the functions that a
file defines come into being, though what they call on the host may not exist.
"""

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from pathlib import Path


# Parts of Triton for hardware that this compiler does not know.
_OTHER_VENDORS = (
    "triton.backends.mlu",
    "triton.backends.ascend",
    "triton.backends.amd",
    "triton.language.extra.mlu",
    "triton.language.extra.hip",
    "triton.language.extra.xpu",
    "triton.language.extra.cann",
)


class _StubType(type):
    """The class of stubs: the class `Stub` and its instances act alike."""

    def __getattr__(cls, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Stub()

    def __setitem__(cls, key, value):
        pass


class Stub(metaclass=_StubType):
    """Takes the place of anything; a decorator made of it returns the function unchanged."""

    def __init__(self, *args, **kwargs):
        pass

    def __init_subclass__(cls, **kwargs):
        pass

    def __call__(self, *args, **kwargs):
        is_decorating = len(args) == 1 and not kwargs and (callable(args[0]) or hasattr(args[0], "fn"))
        return args[0] if is_decorating and not isinstance(args[0], Stub) else Stub()

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Stub()

    def __getitem__(self, key):
        return Stub()

    def __setitem__(self, key, value):
        pass

    def __contains__(self, key):
        return False

    def __mro_entries__(self, bases):
        return (Stub,)

    def __iter__(self):
        return iter(())

    def __len__(self):
        return 0

    def __bool__(self):
        return False

    def __hash__(self):
        return 0

    def __int__(self):
        return 1

    __index__ = __int__

    def __float__(self):
        return 1.0

    def __str__(self):
        return "0.0"

    def __enter__(self):
        return self

    def __exit__(self, *details):
        return None

    def _same(self, *others):
        return Stub()

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _same
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = _same
    __or__ = __ror__ = __and__ = __rand__ = __neg__ = _same

    def _compare(self, other):
        return False

    __lt__ = __le__ = _compare

    def __gt__(self, other):
        return True

    __ge__ = __gt__


class StubModule(types.ModuleType):
    """A module that has every name."""

    def __init__(self, name):
        super().__init__(name)
        self.__path__ = []
        self.__version__ = "99.0.0"
        self.__all__ = []

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Stub()


class _StubFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Comes after all other finders, so that only what is not there becomes a stub.

    Only files of the checkout get stubs: installed packages ask for modules that they can do without.
    What belongs to the compiler is never stubbed: its absence is a finding.
    """

    def __init__(self, checkout, never):
        self.checkout, self.never = str(Path(checkout).resolve()), never
        self.stubbed = []

    def find_spec(self, fullname, path=None, target=None):
        is_ours = fullname.split(".")[0] in self.never and not fullname.startswith(_OTHER_VENDORS)
        if is_ours or not _importing_file().startswith(self.checkout):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec):
        self.stubbed.append(spec.name)
        return StubModule(spec.name)

    def exec_module(self, module):
        pass


class _BarePackage(types.ModuleType):
    """A package whose `__init__` was not run: its modules are there, its other names are stubs."""

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        try:
            return importlib.import_module(f"{self.__name__}.{name}")
        except Exception:  # noqa: BLE001 - a stranger's module may raise anything
            return Stub()


def dotted_name(path) -> tuple[str, Path]:
    """(module name, folder for sys.path) of a file: packages are folders with an `__init__.py`."""
    path = Path(path).resolve()
    parts, folder = [path.stem], path.parent
    while (folder / "__init__.py").exists() and folder.name.isidentifier():
        parts.insert(0, folder.name)
        folder = folder.parent
    if parts[-1] == "__init__":
        parts.pop()
    return ".".join(parts), folder


def _importing_file() -> str:
    """The file that asks for a module; that of a stub module's own parts is the asker of those."""
    frame = sys._getframe(1)
    while frame is not None and ("importlib" in frame.f_code.co_filename or frame.f_code.co_filename == __file__):
        frame = frame.f_back
    return frame.f_code.co_filename if frame is not None else ""


def install_stubs(checkout, never=("triton", "tilewright")):
    """From now on modules that are not installed are stubs for the files of a checkout."""
    finder = _StubFinder(checkout, set(never))
    sys.meta_path.append(finder)
    return finder


def _forget(top):
    for name in [name for name in sys.modules if name == top or name.startswith(top + ".")]:
        del sys.modules[name]


def _make_bare(parts, root, real):
    """Bare packages for those of a module name, but for the first `real` ones."""
    for depth in range(real + 1, len(parts)):
        package = ".".join(parts[:depth])
        module = _BarePackage(package)
        module.__path__ = [str(Path(root, *parts[:depth]))]
        module.__package__ = package
        module.__spec__ = importlib.machinery.ModuleSpec(package, None, is_package=True)
        sys.modules[package] = module


def _load_alone(name, path):
    """The file as a module without a package; as far as it came, where its own tests then ask for a GPU."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception:  # noqa: BLE001 - a stranger's module may raise anything
        if not any(hasattr(value, "run") and hasattr(value, "fn") for value in vars(module).values()):
            raise
    return module


def _load_in_folders(path):
    """The file as a module of the folders that it is in, as far as their names can be those of packages."""
    parts, root = [path.stem], path.parent
    while root.name.isidentifier():
        parts.insert(0, root.name)
        root = root.parent
    _make_bare(parts, root, 0)
    return importlib.import_module(".".join(parts))


def import_file(path):
    """The module of a file: in its package, else with packages that are not run; raises what the first way raised."""
    name, root = dotted_name(path)
    sys.path.insert(0, str(root))
    if "." not in name or not all(part.isidentifier() for part in name.split(".")):
        sys.path.insert(0, str(Path(path).resolve().parent))
        alone = "".join(c if c.isalnum() else "_" for c in Path(path).stem)
        try:
            return _load_alone("kernels_of_" + alone, path)
        except ImportError as error:
            if "no known parent package" not in str(error):
                raise
        # Folders count as packages without an `__init__`, too.
        return _load_in_folders(Path(path).resolve())
    parts = name.split(".")
    try:
        return importlib.import_module(name)
    except Exception as error:  # noqa: BLE001 - a stranger's module may raise anything
        first = error
    # The package that cannot be imported is mostly the innermost: its `__init__` imports all that lies beside.
    for real in range(len(parts) - 2, -1, -1):
        _forget(".".join(parts[: real + 1]))
        _make_bare(parts, root, real)
        with contextlib.suppress(Exception):
            return importlib.import_module(name)
    raise first


def import_package(path):
    """The package that a file is in, so that forked processes share it; nothing where that raises."""
    name, root = dotted_name(path)
    if "." not in name:
        return
    before = set(sys.modules)
    sys.path.insert(0, str(root))
    try:
        importlib.import_module(name.split(".")[0])
    except BaseException:  # noqa: BLE001 - a stranger's module may raise anything, and end the process
        for added in set(sys.modules) - before:
            if added.startswith(name.split(".")[0]):
                del sys.modules[added]
