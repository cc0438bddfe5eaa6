# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The built extension loads on old systems, and a wheel of it depends on nothing but its contents."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tools.sources import ROOT, load_script

finish_wheel = load_script(ROOT / "scripts/finish_wheel.py")
BUILD = Path(os.environ.get("TILEWRIGHT_BUILD_DIR", ROOT / "build"))


needs_build = pytest.mark.skipif("TILEWRIGHT_BUILD_DIR" not in os.environ, reason="make test names the build")


@pytest.fixture
def extension():
    return Path(pytest.importorskip("tilewright._core").__file__)


@needs_build
def test_extension_needs_no_later_glibc(extension):
    assert finish_wheel.problems_of(extension) == []


def small_library(tmp_path, *options):
    """A library with a function that glibc has since 2.36."""
    source, library = tmp_path / "small.c", tmp_path / "small.so"
    source.write_text(
        "unsigned arc4random(void);\n"
        '__attribute__((visibility("default"))) unsigned PyInit_small(void) { return arc4random(); }\n'
    )
    subprocess.run(["clang-19", "-shared", "-fPIC", *options, source, "-o", library], check=True)
    return finish_wheel.problems_of(library)


@needs_build
def test_later_symbols_are_found(tmp_path):
    assert small_library(tmp_path) == ["needs glibc 2.36"]
    # Against the stand-ins for 2.28 the name is bound to no version.
    (problem,) = small_library(tmp_path, f"-L{BUILD / 'glibc-2.28'}")
    assert problem.startswith("symbol arc4random is not in glibc 2.28")


@needs_build
def test_visible_symbols_and_libraries_are_found(tmp_path):
    libstdcxx = subprocess.run(
        ["clang-19", "-print-file-name=libstdc++.so.6"], capture_output=True, text=True, check=True
    ).stdout.strip()
    problems = finish_wheel.problems_of(Path(libstdcxx))
    assert any(p.startswith("symbol ") and p.endswith(" is visible") for p in problems)


MEMBERS = {
    "tilewright/_core.cpython-313t-x86_64-linux-gnu.so": b"\x7fELF",
    "tilewright/__init__.py": b"",
    "tilewright-0.1.0.dist-info/WHEEL": b"Wheel-Version: 1.0\nTag: cp313-cp313-linux_x86_64\n",
    "tilewright-0.1.0.dist-info/RECORD": b"",
}


def test_wheel_is_the_same_bytes(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    tag = finish_wheel.tag_of("tilewright/_core.cpython-313t-x86_64-linux-gnu.so")
    assert tag == "cp313-cp313t-manylinux_2_28_x86_64"
    first, second = tmp_path / "first.whl", tmp_path / "second.whl"
    finish_wheel.rewrite(dict(MEMBERS), tag, first)
    finish_wheel.rewrite(dict(reversed(MEMBERS.items())), tag, second)
    assert first.read_bytes() == second.read_bytes()
    with zipfile.ZipFile(first) as archive:
        assert archive.namelist() == sorted(MEMBERS)
        assert {member.date_time for member in archive.infolist()} == {(2023, 11, 14, 22, 13, 20)}
        assert archive.read("tilewright-0.1.0.dist-info/WHEEL") == f"Wheel-Version: 1.0\nTag: {tag}\n".encode()
        empty = "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
        assert f"tilewright/__init__.py,sha256={empty},0\n" in archive.read("tilewright-0.1.0.dist-info/RECORD").decode()


@needs_build
def test_no_path_of_this_checkout_is_in_the_extension(extension):
    """What is built elsewhere has the same bytes."""
    assert str(ROOT).encode() not in extension.read_bytes()


@pytest.mark.skipif(sys.version_info < (3, 14), reason="sub-interpreters are public from Python 3.14 on")
def test_a_subinterpreter_is_refused():
    """Tables of the extension hold objects of one interpreter."""
    from concurrent import interpreters

    interpreter = interpreters.create()
    try:
        with pytest.raises(interpreters.ExecutionFailed, match="_core does not support loading in subinterpreters"):
            interpreter.exec(f"import sys; sys.path[:] = {sys.path!r}; import tilewright")
    finally:
        interpreter.close()
