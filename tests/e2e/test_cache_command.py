# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command `tilewright cache`, on entries of the real compiler."""

import json

import pytest

import tilewright
from harness.cache_cases import ADD, entry_path, noted_compilations, private_cache, source
from tilewright import cli
from tilewright.compiler import cache_tools, disk_cache
from tilewright.compiler.compiler import request_of


@pytest.fixture
def cache(tmp_path, monkeypatch):
    yield from private_cache(tmp_path, monkeypatch)


@pytest.fixture
def compiled(monkeypatch):
    return noted_compilations(monkeypatch)


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
    assert run_command("why", ADD, "-s", "*fp16,*fp32,i32,64") == 0


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
    assert run_command("why", ADD, "-s", "*fp32,*fp32,i32,64", "-t", "sm_90a") == 0
    assert "is there, as" in capsys.readouterr().out
    assert run_command("why", ADD, "-s", "*fp16,*fp32,i32,64") == 0
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
