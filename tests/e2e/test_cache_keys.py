# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the key of a compiled kernel is made of, with the real compiler and without a GPU."""

import json
import os
import shutil
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.cache_cases import noted_compilations, private_cache, source
from harness.mock_driver import run_in_mock_process
from tilewright import _core, errors
from tilewright.compiler import cache_tools, disk_cache
from tilewright.compiler import request as requests
from tilewright.compiler.compiler import request_of
from tilewright.runtime import dependencies
from tilewright.runtime.dependencies import Dependencies


@pytest.fixture
def cache(tmp_path, monkeypatch):
    yield from private_cache(tmp_path, monkeypatch)


@pytest.fixture
def compiled(monkeypatch):
    return noted_compilations(monkeypatch)


# -- what is in a key ----------------------------------------------------------------


def test_globals_of_a_cached_kernel_are_watched(tmp_path, cache):
    """A kernel from the disk has frozen its globals like a compiled one."""
    code, output = run_in_mock_process(os.path.join(os.path.dirname(__file__), "mock", "cases_cache.py"), tmp_path)
    assert code == 0, output


def test_value_without_encoding_stays_off_the_disk(cache, compiled, monkeypatch):

    class Opaque:
        __slots__ = ("number",)

    deps = Dependencies()
    deps.encode({"a": Opaque()})
    assert "Opaque" in deps.inexact
    monkeypatch.setattr(disk_cache.Request, "inexact", property(lambda self: "an Opaque"))
    tilewright.compile(source(), "sm_90a")
    tilewright.compile(source(), "sm_90a")
    assert len(compiled) == 2 and not cache.exists()


def test_objects_are_encoded_by_content():
    import dataclasses
    import enum
    import types

    @dataclasses.dataclass
    class Shape:
        rows: int
        scale: float = 1.0

    class Mode(enum.Enum):
        A = 1
        B = 2

    def encoded(value):
        deps = Dependencies()
        text = deps.encode(value)
        assert not deps.inexact, deps.inexact
        return text

    values = [
        Shape(1),
        Shape(2),
        Shape(1, 2.0),
        Mode.A,
        Mode.B,
        types.SimpleNamespace(a=1),
        types.SimpleNamespace(a=2),
        frozenset({1, 2}),
        {1, 3},
        range(3),
        ...,
        lambda n: n + 1,
        lambda n: n + 2,
        tl.float16,
        tl.float32,
    ]
    assert len({encoded(v) for v in values}) == len(values)
    assert encoded(Shape(1)) == encoded(Shape(1)) and encoded({"b", "a", "c"}) == encoded({"c", "b", "a"})


def test_incomplete_dependencies_stay_off_the_disk(cache, compiled, monkeypatch):
    """A name that the front end reads and the key lacks keeps the kernel in memory."""
    monkeypatch.setattr(disk_cache.Request, "covers", lambda self, lookups: False)
    tilewright.compile(source(), "sm_90a")
    assert len(compiled) == 1 and not list(cache.rglob("*.bin"))


def _parsed(meaning, column):
    """A meaning is dedented, or, where it holds an f-string, the text as it stands."""
    import ast

    try:
        return ast.parse(meaning).body[0]
    except SyntaxError:
        return ast.parse(f"if 1:\n{' ' * column}{meaning}").body[0].body[0]


def test_scan_ends_where_python_does():
    """Every function of this file and of the package, against Python's own parser."""
    import ast
    import pathlib

    count = 0
    for path in [pathlib.Path(__file__), *pathlib.Path(tilewright.__file__).parent.rglob("*.py")]:
        text = path.read_text()
        lines = text.splitlines(keepends=True)
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.FunctionDef):
                continue
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            length, meaning = _core.scan_source_block("".join(lines[first - 1 :]).encode())
            meaning = meaning.decode()
            assert first + length - 1 == node.end_lineno, (path, node.name)
            node.decorator_list = []
            body = _parsed(meaning, node.col_offset)
            assert ast.dump(body) == ast.dump(node), (path, node.name)
            count += 1
    assert count > 400


@tilewright.jit
def product(a_ptr, b_ptr, c_ptr, n, BLOCK: tl.constexpr):
    i, k = tl.arange(0, BLOCK), tl.arange(0, 64)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, n, 64):
        a = tl.load(a_ptr + i[:, None] * n + (start + k)[None, :])
        b = tl.load(b_ptr + (start + k)[:, None] * BLOCK + i[None, :])
        total += tl.dot(a, b)
    tl.store(c_ptr + i[:, None] * BLOCK + i[None, :], total)


def test_compiler_leaves_python_running():
    """Candidates of a tuner compile on all cores: the interpreter's lock is not held."""
    kernel = tilewright.ASTSource(
        product,
        {"a_ptr": "*fp16", "b_ptr": "*fp16", "c_ptr": "*fp32", "n": "i32"},
        {"BLOCK": 128},
        {"a_ptr": 16, "b_ptr": 16, "c_ptr": 16, "n": 16},
    )
    request = request_of(kernel, "sm_90a", {"num_warps": 4})
    thread = threading.Thread(
        target=lambda: _core.compile_kernel(
            product,
            dict(kernel.runtime_signature),
            dict(kernel.constants),
            dict(kernel.divisibility),
            dict(request.options),
            "sm_90a",
        )
    )
    thread.start()
    ticks = 0
    while thread.is_alive():
        time.sleep(0.001)
        ticks += 1
    assert ticks > 10, "a compilation takes a tenth of a second"


# -- keys ----------------------------------------------------------------------------


def encoded(value):
    """(text, what has no stable encoding) of one value, as in a new process."""
    found = Dependencies()
    return found.encode(value), found.inexact


def test_installed_packages_count_by_version(monkeypatch, tmp_path):
    """A kernel that names `numpy` or `json` does not drag their code into its key."""
    import types

    text, inexact = encoded(np.average)
    assert f"numpy {np.__version__}" in text and not inexact
    assert "Python 3." in encoded(json.dumps)[0]
    monkeypatch.setattr(np, "__version__", "0.0")
    monkeypatch.setattr(dependencies, "_versions", {})
    assert encoded(np.average)[0] != text
    # Not installed, or without a version: then the code counts.
    for place, version in ((tmp_path / "tool.py", "1.0"), (tmp_path / "site-packages" / "tool.py", None)):
        module = types.ModuleType("tool")
        module.__file__, module.__version__ = str(place), version
        monkeypatch.setitem(sys.modules, "tool", module)
        texts = []
        for body in ("x + 1", "x + 2"):
            exec(f"def function(x): return {body}", vars(module))
            monkeypatch.setattr(dependencies, "_versions", {})
            texts.append(encoded(module.function)[0])
        assert texts[0] != texts[1], place


def test_state_beside_the_dictionary_is_seen():
    import functools

    class Slotted:
        __slots__ = ("value", "__dict__")

    def function(x, y):
        return x + y

    slotted = Slotted()
    slotted.value = 1
    assert encoded(slotted)[1]
    texts = {encoded(functools.partial(function, n))[0] for n in (1, 2)}
    assert len(texts) == 2 and not encoded(functools.partial(function, 1))[1]


def test_every_file_of_the_language_counts(tmp_path):
    package = Path(tilewright.__file__).parent
    for name in ("language", "frontend_rules.py", "compiler/options.py"):
        copy = shutil.copytree if (package / name).is_dir() else shutil.copy
        (tmp_path / name).parent.mkdir(exist_ok=True)
        copy(package / name, tmp_path / name)
    files = [*(tmp_path / "language").rglob("*.py"), tmp_path / "frontend_rules.py", tmp_path / "compiler" / "options.py"]
    assert tmp_path / "language" / "extra" / "libdevice.py" in files
    digest = requests._digest_of_package(str(tmp_path))
    assert digest == requests.package_digest()
    for path in files:
        text = path.read_bytes()
        path.write_bytes(text + b"\n")
        assert requests._digest_of_package(str(tmp_path)) != digest, path
        path.write_bytes(text)


def test_what_is_at_its_default_is_left_out(monkeypatch):
    """The defaults are in the digest of the package and the build id."""
    launched = request_of(source(), "sm_90a", {"arguments_may_overlap": False})
    assert not [name for name in launched.fields if name.startswith(("option ", "TILEWRIGHT_"))]
    plain = request_of(source(), "sm_90a")
    assert plain.key != launched.key, "without a launch nobody looks at the arguments"
    assert request_of(source(), "sm_90a", {"num_stages": 3, "maxnreg": None}).key == plain.key
    keys = {plain.key}
    for options in (
        {"num_stages": 4},
        {"num_stages": 0},
        {"num_warps": 4},
        {"launch_pdl": True},
        {"launch_pdl": 1},
        {"sanitize_overflow": False},
        {"sanitize_overflow": 1},
        {"supported_fp8_dtypes": ["fp8e5", "fp8e4nv"]},
    ):
        keys.add(request_of(source(), "sm_90a", options).key)
    assert len(keys) == 9, "1 and True differ, as do a list and a tuple"
    entry = next(e for e in requests._key_knobs.values() if e.type == "bool")
    monkeypatch.setenv(entry.key, "yes" if entry.default_value else "no")
    assert request_of(source(), "sm_90a").key == plain.key
    monkeypatch.setenv(entry.key, "no" if entry.default_value else "yes")
    assert request_of(source(), "sm_90a").key not in keys
    monkeypatch.setenv(entry.key, "maybe")
    with pytest.raises(errors.TilewrightError, match=entry.variable):
        request_of(source(), "sm_90a")


def test_defaults_are_told_where_keys_differ(monkeypatch):
    plain, other = (request_of(source(), "sm_90a", options).fields for options in ({}, {"num_stages": 4}))
    assert cache_tools.differences(plain, other) == ["option num_stages: int:3 there, int:4 here"]
    assert cache_tools.differences({"text of f": "a"}, {}) == ["text of f: only there"]


def test_keys_of_a_field_are_not_those_of_another():
    texts = [{"a": "b, c"}, {"a": "b", "c": ""}, {"a": "b', 'c"}, {"a\n": "b"}, {"a": "\nb"}, {"a": "\udc80"}, {"a": "\\udc80"}]
    assert len({disk_cache.key_of(fields) for fields in texts}) == len(texts)
    assert disk_cache.key_of({"a": "1", "b": "2"}) == disk_cache.key_of({"b": "2", "a": "1"})
