# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A kernel in a file of its own, and the whole text of the error that the front end makes of it.

Line numbers count from the kernel's first line; it is always called `kernel` and takes a float pointer and an int.
"""

import importlib.util
import textwrap

import pytest

from tilewright import _core, errors

HEADER = "import tilewright\nimport tilewright.language as tl\n"

FIRST_LINE = 3  # of a case, below the header


def load(tmp_path, text):
    path = tmp_path / "kernels.py"
    path.write_text(HEADER + textwrap.dedent(text).lstrip("\n"))
    spec = importlib.util.spec_from_file_location("kernels", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def emit(module, **constants):
    return _core.emit_ttir(module.kernel, {"p": "*fp32", "n": "i32"}, constants)


def error_of(tmp_path, text, **constants):
    module = load(tmp_path, text)
    with pytest.raises(errors.TilewrightError) as caught:
        emit(module, **constants)
    return caught.value


def check(tmp_path, text, expected, **constants):
    """The message of `text` is `expected`, but for the folder of the file."""
    error = error_of(tmp_path, text, **constants)
    shown = f"{type(error).__name__}{error}".replace(str(tmp_path) + "/", "")
    assert shown == textwrap.dedent(expected).strip("\n")
    return error
