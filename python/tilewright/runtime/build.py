# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Building C and C++ for the host, for libraries that bring launchers or extensions of their own.

Nothing here is used by Tilewright itself, which needs no compiler of the host.
`knobs.build.impl` may do the building, `CC` and `CXX` name the compilers.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import shutil
import subprocess
import sysconfig
import tempfile

from .. import knobs
from .cache import get_cache_manager

_suffixes = {"c": ".c", "c++": ".cpp"}


def platform_key() -> str:
    """What tells machines apart whose libraries cannot be exchanged."""
    return ",".join([platform.machine(), platform.system(), *platform.architecture()])


def _find_compiler(language):
    variable, candidates = ("CC", ("clang", "gcc", "cc")) if language == "c" else ("CXX", ("clang++", "g++", "c++"))
    named = os.environ.get(variable) or (knobs.build.cc if language == "c" else None)
    found = named or next(filter(None, map(shutil.which, candidates)), None)
    if found is None:
        raise RuntimeError(f"no {language.upper()} compiler was found; install one or name it by {variable}")
    return found


def _library_flag(library):
    is_file = library.endswith(".a") or ".so" in os.path.basename(library)
    return f"-l:{library}" if is_file else f"-l{library}"


def _build(name, src, srcdir, library_dirs, include_dirs, libraries, ccflags=(), language="c"):
    """The path of the shared library made of the file `src`, in the folder `srcdir`."""
    if knobs.build.impl is not None:
        return knobs.build.impl(name, src, srcdir, library_dirs, include_dirs, libraries)
    output = os.path.join(srcdir, name + (sysconfig.get_config_var("EXT_SUFFIX") or ".so"))
    folders = [sysconfig.get_path("include"), srcdir, *include_dirs]
    command = [
        _find_compiler(language),
        src,
        "-O3",
        "-shared",
        "-fPIC",
        "-Wno-psabi",
        "-o",
        output,
        *map(_library_flag, libraries),
        *(f"-L{d}" for d in library_dirs),
        *(f"-I{d}" for d in folders),
        *ccflags,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{os.path.basename(command[0])} could not build {src}:\n{done.stderr.strip()}")
    return output


def _load_module_from_path(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise RuntimeError(f"{path} is no module that can be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compile_so_from_src(
    src, name, library_dirs=None, include_dirs=None, libraries=None, ccflags=None, language="c", *, anew=False
):
    """The path of the shared library of a text, built once per text, flags and machine, or `anew`."""
    if language not in _suffixes:
        raise ValueError(f"language={language!r}: expected 'c' or 'c++'")
    lists = [list(given or []) for given in (library_dirs, include_dirs, libraries, ccflags)]
    digest = hashlib.sha256(repr((src, name, language, lists, platform_key())).encode()).hexdigest()
    manager = get_cache_manager(digest)
    file = name + (sysconfig.get_config_var("EXT_SUFFIX") or ".so")
    known = manager.get_file(file)
    if known is not None and not anew:
        return known
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, name + _suffixes[language])
        with open(path, "w", encoding="utf-8") as source:
            source.write(src)
        with open(_build(name, path, folder, *lists, language), "rb") as built:
            return manager.put(built.read(), file, binary=True)


def _read(src_path):
    with open(src_path, encoding="utf-8") as file:
        language = "c" if os.path.splitext(src_path)[1] == ".c" else "c++"
        return file.read(), language


def compile_so_from_file(src_path, name, library_dirs=None, include_dirs=None, libraries=None, ccflags=None):
    """As compile_so_from_src for a file; its folder is searched for what it includes."""
    text, language = _read(src_path)
    folders = [*(include_dirs or []), os.path.dirname(os.path.abspath(src_path))]
    return compile_so_from_src(text, name, library_dirs, folders, libraries, ccflags, language)


def compile_module_from_src(src, name, library_dirs=None, include_dirs=None, libraries=None, ccflags=None, language="c"):
    """The Python extension module of a text; what cannot be loaded, as its file was damaged, is built anew."""
    flags = (library_dirs, include_dirs, libraries, ccflags, language)
    try:
        return _load_module_from_path(name, compile_so_from_src(src, name, *flags))
    except ImportError:
        return _load_module_from_path(name, compile_so_from_src(src, name, *flags, anew=True))


def compile_module_from_file(src_path, name, library_dirs=None, include_dirs=None, libraries=None, ccflags=None):
    """The Python extension module of a file."""
    text, language = _read(src_path)
    folders = [*(include_dirs or []), os.path.dirname(os.path.abspath(src_path))]
    return compile_module_from_src(text, name, library_dirs, folders, libraries, ccflags, language)


__all__ = ["compile_module_from_file", "compile_module_from_src", "compile_so_from_file", "compile_so_from_src", "platform_key"]
