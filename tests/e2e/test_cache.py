# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cache of compiled kernels on disk, with the real compiler and without a GPU."""

import json
import os
import shutil
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.mock_driver import run_in_mock_process
from tilewright import _core, cli, errors, kernel_arguments, knobs
from tilewright.compiler import cache_tools, disk_cache
from tilewright.compiler import request as requests
from tilewright.compiler.compiler import request_of
from tilewright.runtime import dependencies
from tilewright.runtime.dependencies import Dependencies


@tilewright.jit
def add(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(y_ptr + offsets, value + 1, mask=offsets < n)


def source(block=64, fn=add):
    return tilewright.ASTSource(fn, {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32"}, {"BLOCK": block})


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A private cache that is on, as in a process that has just started."""
    monkeypatch.setenv("TILEWRIGHT_CACHE", "1")
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    disk_cache._stores.clear()
    errors._warned.clear()
    yield tmp_path / "cache"
    disk_cache._stores.clear()


@pytest.fixture
def compiled(monkeypatch):
    """The compilations that really happen, as a list of constants."""
    calls, original = [], _core.compile_kernel

    def compile_kernel(fn, signature, constexprs, *rest):
        calls.append(dict(constexprs))
        return original(fn, signature, constexprs, *rest)

    monkeypatch.setattr(_core, "compile_kernel", compile_kernel)
    return calls


# -- hits and misses -----------------------------------------------------------------


def test_second_compilation_is_read(cache, compiled):
    first = tilewright.compile(source(), "sm_90a")
    second = tilewright.compile(source(), "sm_90a")
    assert len(compiled) == 1 and first is not second
    for stage in ("source", "ttir", "ttgir", "llir", "ptx", "cubin"):
        assert first.asm.get(stage) == second.asm[stage], stage
    assert first.metadata == second.metadata and first.remarks == second.remarks
    assert dict(first.asm.items()) == dict(second.asm.items())
    tilewright.compile(source(128), "sm_90a")
    tilewright.compile(source(), "sm_80")
    assert len(compiled) == 3


def test_off_means_off(cache, compiled, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE", "0")
    tilewright.compile(source(), "sm_90a")
    tilewright.compile(source(), "sm_90a")
    assert len(compiled) == 2 and not cache.exists()


def test_always_compile_and_dump_compile(cache, compiled, monkeypatch, capfd):
    tilewright.compile(source(), "sm_90a")
    monkeypatch.setenv("TILEWRIGHT_ALWAYS_COMPILE", "1")
    tilewright.compile(source(), "sm_90a")
    monkeypatch.delenv("TILEWRIGHT_ALWAYS_COMPILE")
    monkeypatch.setenv("TILEWRIGHT_DUMP", "frontend")
    tilewright.compile(source(), "sm_90a")
    assert len(compiled) == 3 and "tw.store" in capfd.readouterr().err


def test_another_process_reads(cache, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        import tilewright, tilewright.language as tl
        from tilewright import _core
        @tilewright.jit
        def k(x_ptr, B: tl.constexpr):
            tl.store(x_ptr + tl.arange(0, B), 1.0)
        original, calls = _core.compile_kernel, []
        _core.compile_kernel = lambda *a: calls.append(1) or original(*a)
        kernel = tilewright.compile(tilewright.ASTSource(k, {"x_ptr": "*fp32"}, {"B": 32}), "sm_90a")
        print(len(calls), kernel.hash, len(kernel.asm["cubin"] if "cubin" in kernel.asm else kernel.asm["ptx"]))
    """)
    )
    runs = [
        subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True).stdout.split()
        for _ in range(2)
    ]
    assert runs[0][0] == "1" and runs[1][0] == "0" and runs[0][1:] == runs[1][1:]


def test_entry_is_private_and_named_by_its_digest(cache):
    kernel = tilewright.compile(source(), "sm_90a")
    path = cache / disk_cache.AREA / kernel.hash[:2] / f"{kernel.hash}.bin"
    assert path.stat().st_mode & 0o777 == 0o600 and cache.stat().st_mode & 0o777 == 0o700
    header, sections, problem = _core.decode_entry(path.read_bytes(), kernel.hash)
    assert problem == "" and json.loads(header)["target"] == "sm_90a" and "ptx" in sections
    assert disk_cache.key_of(json.loads(header)["fields"]) == kernel.hash


# -- what is in a key ----------------------------------------------------------------


def test_globals_of_a_cached_kernel_are_watched(tmp_path, cache):
    """A kernel from the disk has frozen its globals like a compiled one."""
    code, output = run_in_mock_process(os.path.join(os.path.dirname(__file__), "cases_cache.py"), tmp_path)
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


# -- threads -------------------------------------------------------------------------


def test_threads_compile_different_kernels_alike(compiled):
    """The front end and all behind it, from many threads at once, without a cache."""
    blocks = [16, 32, 64, 128, 256, 512]
    expected = {b: tilewright.compile(source(b), "sm_90a").asm["ptx"] for b in blocks}
    problems = []

    def body(order):
        try:
            for block in order:
                assert tilewright.compile(source(block), "sm_90a").asm["ptx"] == expected[block]
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=body, args=(blocks[i:] + blocks[:i],)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems, problems


def test_error_reaches_every_waiting_thread(monkeypatch):
    started, raised = threading.Event(), []

    def fail(*_):
        started.wait(5)
        raise errors.make("E0104", n="nothing", near="something")

    monkeypatch.setattr(_core, "compile_kernel", fail)

    def body():
        try:
            tilewright.compile(source(), "sm_90a")
        except errors.CompilationError as error:
            raised.append(error)

    threads = [threading.Thread(target=body) for _ in range(4)]
    for thread in threads:
        thread.start()
    started.set()
    for thread in threads:
        thread.join(30)
    assert len(raised) == 4 and not disk_cache._in_flight


# -- trouble -------------------------------------------------------------------------


def entry_path(cache, kernel):
    return cache / disk_cache.AREA / kernel.hash[:2] / f"{kernel.hash}.bin"


def test_damaged_entry_is_compiled_again(cache, compiled):
    path = entry_path(cache, tilewright.compile(source(), "sm_90a"))
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.warns(errors.CacheWarning, match=r"\[W0501\] discarded a damaged cache entry \(a wrong length\)"):
        tilewright.compile(source(), "sm_90a")
    assert len(compiled) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tilewright.compile(source(), "sm_90a")
    assert len(compiled) == 2


def test_strict_raises(cache, monkeypatch):
    path = entry_path(cache, tilewright.compile(source(), "sm_90a"))
    path.write_bytes(b"short")
    monkeypatch.setenv("TILEWRIGHT_CACHE_STRICT", "1")
    with pytest.raises(errors.CacheWarning, match="W0501"):
        tilewright.compile(source(), "sm_90a")


def test_directory_that_cannot_be_written(cache, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", "/proc/nowhere/cache")
    with pytest.warns(
        errors.CacheWarning, match=r"\[W0502\] cache at /proc/nowhere/cache is not writable \(\w+\); kernels stay in memory"
    ):
        tilewright.compile(source(), "sm_90a")


def test_unsafe_directory_is_not_used(cache, compiled):
    cache.mkdir()
    cache.chmod(0o777)
    with pytest.warns(errors.CacheWarning, match=r"\[W0503\] cache .* is writable by others; not used"):
        tilewright.compile(source(), "sm_90a")
    assert not list(cache.iterdir())


def test_full_disk(cache, monkeypatch):
    store = disk_cache.store_of()
    monkeypatch.setattr(
        store,
        "native",
        type(
            "Full",
            (),
            {
                "load": lambda self, key: (None, {}, "", None),
                "lock": lambda self, key, seconds: None,
                "store": lambda self, *_: (("no-space", "ENOSPC"), 3),
            },
        )(),
    )
    with pytest.warns(errors.CacheWarning, match=r"\[W0504\] no space in .*; evicted 3 entries, still full"):
        tilewright.compile(source(), "sm_90a")
    assert not store.can_write


def test_configured_file_is_an_error(cache):
    cache.write_text("text")
    with pytest.raises(errors.ConfigError, match=r"\[E0505\] cache_dir .* is not a directory"):
        tilewright.compile(source(), "sm_90a")


def test_hostile_names_do_not_reach_the_file_system(cache, tmp_path):
    """Names of kernels are in headers only; files are digests."""
    text = "import tilewright\nclass constexpr: pass\n@tilewright.jit\ndef {}(x): pass\n"
    for name in ("a" * 300, "_" * 50, "ü" * 120, "CON", "tmp_x"):
        path = tmp_path / "module.py"
        path.write_text(text.format(name))
        function = kernel_arguments.load_function(f"{path}:{name}")
        tilewright.compile(tilewright.ASTSource(function, {"x": "*fp32"}), "sm_90a")
        sys.modules.pop("module", None)
    for path in cache.rglob("*.bin"):
        assert len(path.name) == 68


# -- the command ---------------------------------------------------------------------


def run_command(*words):
    return cli.main(["cache", *map(str, words)])


def test_list_verify_gc_clear(cache, capsys):
    first = tilewright.compile(source(), "sm_90a")
    tilewright.compile(source(128), "sm_80")
    assert run_command("list") == 0
    out = capsys.readouterr().out
    assert "2 kernels" in out and first.hash[:12] in out and "add(BLOCK=64)" in out and "sm_80" in out
    assert run_command("verify") == 0 and "2 entries are whole" in capsys.readouterr().out
    path = entry_path(cache, first)
    path.write_bytes(path.read_bytes()[:-100])
    assert run_command("verify") == 1
    assert f"{first.hash}: a wrong length" in capsys.readouterr().out
    assert run_command("gc", "--size", 0) == 0 and "removed 1 kernels" in capsys.readouterr().out
    tilewright.compile(source(), "sm_90a")
    assert run_command("clear") == 0 and "removed 1 kernels" in capsys.readouterr().out
    assert not list((cache / disk_cache.AREA).rglob("*.bin"))


def test_export_and_import(cache, tmp_path, capsys, compiled, monkeypatch):
    tilewright.compile(source(), "sm_90a")
    archive = tmp_path / "entries.tar"
    assert run_command("export", archive) == 0
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "other"))
    assert run_command("import", archive) == 0
    tilewright.compile(source(), "sm_90a")
    assert len(compiled) == 1
    assert run_command("export", archive, "--kernel", "nothing") == 0 and "0 entries" in capsys.readouterr().out


def test_strange_headers_are_not_listed(cache, capsys):
    """Whole entries whose header says something else, and names that write to terminals."""
    kernel = tilewright.compile(source(), "sm_90a")
    native = disk_cache.store_of().native
    header, sections, _, _ = native.load(kernel.hash)
    for number, text in enumerate(["[]", "{}", "3", "null", '{"kernel": 3}', "not json"]):
        native.store(f"{number:064x}", text, {})
    named = {**json.loads(header), "kernel": "evil\x1b[2J\n"}
    native.store("ab" * 32, json.dumps(named), sections)
    assert run_command("list") == 0
    out = capsys.readouterr().out
    assert "2 kernels" in out and "\x1b" not in out and "evil?[2J?" in out
    assert run_command("why", f"{__file__}:add", "-s", "*fp16,*fp32,i32,64") == 0


def test_import_refuses_what_is_no_entry(cache, tmp_path, capsys):
    import io
    import tarfile

    kernel = tilewright.compile(source(), "sm_90a")
    good = entry_path(cache, kernel).read_bytes()
    archive = tmp_path / "hostile.tar"
    members = {
        "../../escape.bin": good,
        f"kernels-1/{'0' * 64}.bin": good,
        f"kernels-1/{kernel.hash}.bin": good[:-3],
        "kernels-1/x\x1b[31m.bin": good,
        f"/kernels-1/{kernel.hash}.bin": good,
    }
    with tarfile.open(archive, "w") as tar:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
        link = tarfile.TarInfo(f"kernels-1/{'1' * 64}.bin")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    assert run_command("clear") == 0
    capsys.readouterr()
    assert run_command("import", archive) == 1
    out = capsys.readouterr().out
    assert "0 entries taken, 6 refused" in out and "\x1b" not in out
    assert sorted(p.name for p in tmp_path.iterdir()) == ["cache", "hostile.tar"]


def test_why_names_the_fields(cache, capsys):
    tilewright.compile(source(), "sm_90a")
    text = cache_tools.explain_miss(disk_cache.store_of(), request_of(source(128), "sm_90a", {"num_warps": 8}))
    assert "constant BLOCK: int:64 there, int:128 here" in text and "option num_warps: NoneType:None there, int:8 here" in text
    assert len(text.splitlines()) == 3
    # The command asks as a launch on separate arrays would.
    tilewright.compile(source(), "sm_90a", {"arguments_may_overlap": False})
    here = f"{__file__}:add"
    assert run_command("why", here, "-s", "*fp32,*fp32,i32,64", "-t", "sm_90a") == 0
    assert "is there, as" in capsys.readouterr().out
    assert run_command("why", here, "-s", "*fp16,*fp32,i32,64") == 0
    assert "signature: x_ptr: *fp32" in capsys.readouterr().out
    other = tilewright.compile(source(128), "sm_90a")
    assert run_command("why", tilewright.compile(source(), "sm_90a").hash[:20], other.hash[:20]) == 0
    assert capsys.readouterr().out.startswith("constant BLOCK")


def test_why_on_a_miss(cache, capsys, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE_WHY", "1")
    tilewright.compile(source(), "sm_90a")
    assert "there is no entry of 'add'" in capsys.readouterr().err
    tilewright.compile(source(256), "sm_90a")
    assert "constant BLOCK: int:64 there, int:256 here" in capsys.readouterr().err


def test_capacity_is_a_knob(cache, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE_SIZE_MB", "0")
    tilewright.compile(source(), "sm_90a")
    assert not list((cache / disk_cache.AREA).rglob("*.bin"))


def test_default_directory(monkeypatch):
    monkeypatch.delenv("TILEWRIGHT_CACHE_DIR", raising=False)
    monkeypatch.delenv("TRITON_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert disk_cache.default_directory() == "/somewhere/tilewright"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", "/home/me")
    assert disk_cache.default_directory() == "/home/me/.cache/tilewright"
    with knobs.cache.scope():
        knobs.cache.dir = "/elsewhere"
        assert disk_cache.default_directory() == "/elsewhere"
