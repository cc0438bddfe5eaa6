# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Puts the finder that makes `import triton` mean Tilewright into a starting process.

Why a module of its own beside the package: it runs while Python starts, in every process
of a program that TILEWRIGHT_AS_TRITON=1 is set for, and most of them never import
Triton. So it needs no more than the standard library's basic modules, and imports the
package only when `triton` is asked for.

Who imports it: `tilewright-startup.pth`, where a wheel is installed; else
`tilewright/startup/sitecustomize.py`, whose folder `tilewright run` puts on PYTHONPATH;
and `tilewright.triton_alias`.
"""

import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES

ROOT = os.path.dirname(os.path.abspath(__file__))


def is_wanted() -> bool:
    """Whether the environment asks for it, in the words that every switch takes."""
    return os.environ.get("TILEWRIGHT_AS_TRITON", "").lower() in ("1", "true", "on", "yes", "y")


def fits_this_python(folder=os.path.join(ROOT, "tilewright"), suffixes=tuple(EXTENSION_SUFFIXES)) -> bool:
    """False where the package beside this file was built for another Python than this one.

    The environment reaches children of any interpreter; theirs keep the Triton they have.
    """
    try:
        built = [name for name in os.listdir(folder) if name.startswith("_core.")]
    except OSError:
        return True  # an editable installation has its sources elsewhere
    return not built or any(name == "_core" + suffix for name in built for suffix in suffixes)


def alias():
    """The module `tilewright.triton_alias`; the package is found beside this file where nothing else finds it."""
    try:
        import tilewright.triton_alias as found
    except ModuleNotFoundError as error:
        if error.name != "tilewright" or ROOT in sys.path:
            raise
        sys.path.append(ROOT)
        import tilewright.triton_alias as found
    return found


def distribution():
    """What `importlib.metadata` tells of triton: the version that the alias reports, and no files."""
    from importlib import metadata  # whoever asks has imported it

    class TritonDistribution(metadata.Distribution):
        # Listing all entry points of an environment asks for no more than this name.
        _normalized_name = "triton"

        def read_text(self, filename):
            if filename in ("METADATA", "PKG-INFO"):
                return f"Metadata-Version: 2.1\nName: triton\nVersion: {alias().TRITON_VERSION}\n"
            return "triton\n" if filename == "top_level.txt" else None

        def locate_file(self, path):
            return os.path.join(ROOT, path)

    return TritonDistribution()


class TritonFinder:
    """Finds `triton` and its submodules, and the distribution of that name."""

    def find_spec(self, fullname, path=None, target=None):
        if self in sys.meta_path[1:]:
            self._go_first()
        if fullname != "triton" and not fullname.startswith("triton."):
            return None
        return alias().spec_of(fullname)

    def _go_first(self):
        """Before finders that came later: pytest's takes what its `python_files` match by its place on the disk.

        A submodule of `triton` would be read a second time there, and its types be others.
        """
        sys.meta_path.insert(0, self)
        try:  # contextlib would cost every process its time
            del sys.meta_path[sys.meta_path.index(self, 1)]
        except ValueError:
            pass  # another thread was here

    def find_distributions(self, context=None):
        name = getattr(context, "name", None)
        if name is not None and name.lower() != "triton":
            return []
        return [distribution()]

    def invalidate_caches(self):
        """Part of the protocol; nothing is kept."""


def install():
    """Puts the finder before all others; idempotent."""
    if fits_this_python() and not any(isinstance(finder, TritonFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, TritonFinder())


if is_wanted():
    install()
