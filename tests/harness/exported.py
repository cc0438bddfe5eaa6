# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exported libraries in Python's hands: built as shared libraries, called by ctypes against the recording driver."""

import os
import shutil
import subprocess
import sys

import pytest

from harness import mock_driver

# A process in which `library` is the exported one, and `launch()` the numbers of the latest launch with its parameters.
_BEGIN = """
import ctypes, struct
driver = ctypes.CDLL({driver!r}, ctypes.RTLD_GLOBAL)
context = ctypes.c_void_p()
driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
driver.cuCtxSetCurrent(context)
library = ctypes.CDLL({library!r})
library.{name}_last_error.restype = ctypes.c_char_p
pointer, stream = ctypes.c_void_p(1 << 40), None
def launch():
    numbers, data = (ctypes.c_uint64 * 10)(), ctypes.create_string_buffer(4096)
    size = driver.mockLaunch(ctypes.c_long(driver.mockLaunchCount() - 1), numbers, data)
    return list(numbers), data.raw[:size]
"""


def compile_c(source, target, *more):
    """Compiles C without a warning; skips where there is no compiler."""
    compiler = shutil.which("cc") or shutil.which("clang-19")
    if compiler is None:
        pytest.skip("no C compiler on this machine")
    subprocess.run(
        [compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", str(source), "-o", str(target), *more], check=True
    )


def lines_of(folder, name, body):
    """What `body` prints in a process with the library `name` of `folder / name`."""
    library = folder / f"lib{name}.so"
    compile_c(folder / name / f"{name}.c", library, "-shared", "-fPIC")
    (folder / "driver").mkdir()
    driver = shutil.copy(mock_driver.build(folder), folder / "driver" / "libcuda.so.1")
    code = _BEGIN.format(driver=str(driver), library=str(library), name=name) + body
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "LD_LIBRARY_PATH": str(folder / "driver")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
