# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cache of compiled kernels on disk, with the real compiler and without a GPU."""

import json
import subprocess
import sys
import textwrap
import threading
import warnings

import pytest

import tilewright
from harness.cache_cases import entry_path, noted_compilations, private_cache, source
from tilewright import _core, errors, kernel_arguments, knobs
from tilewright.compiler import disk_cache


@pytest.fixture
def cache(tmp_path, monkeypatch):
    yield from private_cache(tmp_path, monkeypatch)


@pytest.fixture
def compiled(monkeypatch):
    return noted_compilations(monkeypatch)


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


# -- threads -------------------------------------------------------------------------


def test_threads_compile_different_kernels_alike(compiled):
    """The front end and all after it, from many threads at once, without a cache."""
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
