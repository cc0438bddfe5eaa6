# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Python imports this module while it starts where PYTHONPATH names this folder.

`tilewright run` puts the folder there, so that `import triton` means Tilewright in every
child process, also where the package was not installed into the interpreter's own
folders. A `sitecustomize` that this one hides runs as if it were not there.
"""

import importlib.machinery
import importlib.util
import os
import sys

_FOLDER = os.path.dirname(os.path.abspath(__file__))


def _start():
    try:
        import _tilewright_startup  # noqa: F401 - the import is what counts
    except ModuleNotFoundError:
        path = os.path.join(os.path.dirname(os.path.dirname(_FOLDER)), "_tilewright_startup.py")
        spec = importlib.util.spec_from_file_location("_tilewright_startup", path)
        sys.modules[spec.name] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)


def _run_the_next():
    """Finds the module of this name on the rest of the path, and puts it in this one's place."""
    others = [entry for entry in sys.path if os.path.abspath(entry or ".") != _FOLDER]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is None or spec.loader is None:
        return
    sys.modules["sitecustomize"] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)


_start()
_run_the_next()
