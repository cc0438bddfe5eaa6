# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tuner's tables as files, and its command; run by test_tuning.py."""

import math
import os
import sys
import warnings

import pytest

from harness import simulated
from harness.simulated import Array
from harness.tuner_cases import Planted, identity, launch, nothing, records, simulated_device, tuned  # noqa: F401
from tilewright import cli, errors
from tilewright.compiler import disk_cache
from tilewright.tuning import report, table

if "MOCK_CASES" not in os.environ:
    pytest.skip("needs the mock driver; see test_tuning.py", allow_module_level=True)


# -- tables as files, the command ----------------------------------------------------


def run_command(*words):
    return cli.main(["tune", *map(str, words)])


def test_show_export_import_pin(tmp_path, capsys, monkeypatch):
    launch(tuned(nothing, {64: 3.0, 128: 1.0}), Array([1.0]), 5)
    assert run_command("show", "--all") == 0
    out = capsys.readouterr().out
    assert "best: BLOCK: 128" in out and "BLOCK: 64" in out and "Mock GPU" in out
    exported = tmp_path / "tables.json"
    assert run_command("export", exported) == 0
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "other"))
    assert run_command("import", exported) == 0 and "1 tables taken" in capsys.readouterr().out
    tuner = tuned(nothing, {64: 3.0, 128: 1.0})
    launch(tuner, Array([1.0]), 5)
    assert not tuner.fn.compiled and tuner.best_config.kwargs == {"BLOCK": 128}
    assert run_command("pin", "BLOCK: 64") == 0
    pinned = tuned(nothing, {64: 3.0, 128: 1.0, 256: 0.1})
    launch(pinned, Array([1.0]), 5)
    assert pinned.best_config.kwargs == {"BLOCK": 64} and not pinned.fn.compiled
    assert run_command("pin", "none") == 0
    free = tuned(nothing, {64: 3.0, 128: 1.0, 256: 0.1})
    launch(free, Array([1.0]), 5)
    assert free.best_config.kwargs == {"BLOCK": 256}
    with pytest.raises(SystemExit, match=r"3 configurations match 'BLOCK'; there are[\s\S]*BLOCK: 128"):
        run_command("pin", "BLOCK")
    with pytest.raises(SystemExit, match=r"0 configurations match 'BLOCK: 65'; there are[\s\S]*BLOCK: 256"):
        run_command("pin", "BLOCK: 65")
    assert run_command("export", tmp_path / "nowhere" / "tables.json") == 1
    assert "nowhere" in capsys.readouterr().err
    assert run_command("clear") == 0 and not table.all_tables()
    assert run_command("show") == 0 and "no tables" in capsys.readouterr().out


def test_pinning_one_of_several(capsys):
    """The beginning of another number is not meant; several tables are listed."""
    launch(tuned(nothing, {64: 3.0, 640: 1.0}), Array([1.0]), 5)
    assert run_command("pin", "BLOCK: 64") == 0 and "pinned: BLOCK: 64," in capsys.readouterr().out
    launch(tuned(nothing, {64: 3.0, 640: 1.0}), Array([1.0]), 6)
    with pytest.raises(SystemExit, match=r"2 tables match[\s\S]*--key [0-9a-f]{12}  identity for \(6,"):
        run_command("pin", "BLOCK: 640")


def test_table_beside_a_package_is_only_read(tmp_path, monkeypatch):
    launch(tuned(nothing, {64: 3.0, 128: 1.0}), Array([1.0]), 5)
    folder = tmp_path / "package"
    folder.mkdir()
    shipped = folder / table.FILE_NAME
    assert run_command("export", shipped) == 0
    shipped.chmod(0o444)
    before = shipped.read_bytes()
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "empty"))
    monkeypatch.setenv("TILEWRIGHT_TUNE_PATH", str(folder))
    # Of another compiler and driver: shipped tables hold all the same.
    monkeypatch.setattr(disk_cache, "package_digest", lambda: "another")
    tuner = tuned(nothing, {64: 3.0, 128: 1.0})
    launch(tuner, Array([1.0]), 5)
    assert tuner.best_config.kwargs == {"BLOCK": 128} and not tuner.fn.compiled
    assert shipped.read_bytes() == before and not table.all_tables()


def test_damaged_tables_are_left_out(tmp_path, monkeypatch):
    for number, text in enumerate(
        [
            "",
            "{",
            "[]",
            '{"format": "x"}',
            '{"format": "%s", "tables": [1]}' % table.FORMAT,
            '{"format": "%s", "tables": [{"fields": {}, "records": {"a": 1}}]}' % table.FORMAT,
        ]
    ):
        path = tmp_path / f"{number}.json"
        path.write_text(text)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert table.read_file(str(path)) == []
    launch(tuned(nothing, {64: 3.0, 128: 1.0}), Array([1.0]), 5)
    ((key, header),) = table.all_tables()
    table.store().save(key, {**header, "records": {"x": {"config": 3}}}, {})
    with pytest.warns(errors.CacheWarning, match="W0501"):
        launch(tuned(nothing, {64: 3.0, 128: 1.0}), Array([1.0]), 5)
    assert len(records()) == 2


def test_report_is_one_page_and_escapes(tmp_path, capsys):
    def evil(arguments):
        raise Planted("<script>alert(1)</script>\x1b[31m")

    evil.__name__ = "<img src=x onerror=alert(1)>"
    with pytest.raises(Planted):
        launch(tuned(evil, {64: 1.0, 128: 2.0}, configs=simulated.configs(64, 128)), Array([1.0]), "<b>&")
    launch(tuned(nothing, {64: 3.0, 128: 1.0}), Array([1.0]), 5)
    page = tmp_path / "report.html"
    assert run_command("report", page) == 0
    text = page.read_text()
    assert "<script>" not in text and "<img" not in text and "\x1b" not in text and "&lt;script&gt;" in text
    assert "http" not in text.replace("http-equiv", "") and text.count("<h2>") == 2 and "<svg" in text
    assert "1980 MHz" in text


def test_printing(capsys, monkeypatch):
    monkeypatch.setenv("TRITON_PRINT_AUTOTUNING", "1")
    launch(
        tuned(nothing, {64: 3.0, 128: 1.0}, resources=lambda c: {"shared": 10**6} if c["BLOCK"] == 64 else {}), Array([1.0]), 5
    )
    out = capsys.readouterr().out
    assert "autotuning for function" in out and "best config selected: BLOCK: 128" in out
    assert "does not fit: 1000000 bytes of shared memory, 232448 allowed" in out


def test_progress_is_for_terminals(monkeypatch):
    import io

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    progress = report.Progress.if_wanted("kernel")
    progress.last = -1.0
    launch(tuned(nothing, {64: 3.0, 128: 1.0}), Array([1.0]), 5)
    assert "tuning identity" in terminal.getvalue() and terminal.getvalue().endswith("\r\x1b[2K")
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert report.Progress.if_wanted("kernel") is None


def test_text_table():
    text = report.text_table(
        [
            {"config": "B", "status": "failed", "reason": "why\x07", "median": None},
            {"config": "A", "status": "ok", "reason": "", "median": 1.0, "low": 0.9, "high": 1.1},
        ]
    )
    assert text.splitlines()[1].endswith("A") and text.splitlines()[2].endswith("B: why?")


def test_math_of_infinite_times():
    tuner = tuned(nothing, {64: 1.0, 128: 2.0}, resources=lambda c: {"shared": 10**6} if c["BLOCK"] == 128 else {})
    launch(tuner, Array([1.0]), 5)
    assert sorted(map(lambda t: math.isinf(t[0]), tuner.configs_timings.values())) == [False, True]
