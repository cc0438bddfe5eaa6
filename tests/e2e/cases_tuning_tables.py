# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tuner's tables as files, its command and sweeps over processes; run by test_tuning.py."""

import concurrent.futures
import json
import math
import os
import sys
import textwrap
import warnings

import pytest

from harness import simulated
from harness.simulated import Array
from harness.tuner_cases import Planted, identity, launch, nothing, records, simulated_device, tuned  # noqa: F401
from tilewright import cli, errors, tuning
from tilewright.compiler import disk_cache
from tilewright.tuning import executors, report, table

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
    for number, text in enumerate(["", "{", "[]", '{"format": "x"}', '{"format": "%s", "tables": [1]}' % table.FORMAT,
                                   '{"format": "%s", "tables": [{"fields": {}, "records": {"a": 1}}]}' % table.FORMAT]):
        path = tmp_path / f"{number}.json"
        path.write_text(text)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert table.read_file(str(path)) == []
    launch(tuned(nothing, {64: 3.0, 128: 1.0}), Array([1.0]), 5)
    (key, header), = table.all_tables()
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
    launch(tuned(nothing, {64: 3.0, 128: 1.0}, resources=lambda c: {"shared": 10**6} if c["BLOCK"] == 64 else {}), Array([1.0]), 5)
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
    text = report.text_table([{"config": "B", "status": "failed", "reason": "why\x07", "median": None},
                              {"config": "A", "status": "ok", "reason": "", "median": 1.0, "low": 0.9, "high": 1.1}])
    assert text.splitlines()[1].endswith("A") and text.splitlines()[2].endswith("B: why?")


# -- many processes ------------------------------------------------------------------

def sweep_module(tmp_path):
    path = tmp_path / "sweep_problems.py"
    path.write_text(textwrap.dedent("""
        import tilewright
        from harness import simulated
        from harness.simulated import Array, Simulated
        from tilewright.runtime.autotuner import Autotuner
        from tilewright.tuning import bench
        bench.DeviceBench = simulated.Bench

        @tilewright.jit
        def identity(x, n, BLOCK):
            pass

        def add_configurations(number):
            for block in range(number * 10 + 1, number * 10 + 6):
                kernel = Simulated(lambda a: None, ["x", "n"], lambda a: float(a["BLOCK"]), jit=identity)
                tuner = Autotuner(kernel, ["x", "n"], simulated.configs(block, 1000), ["n"])
                tuner.run(Array([1.0]), 5, grid=(1, ), warmup=False)

        def problem(n, best):
            if n < 0:
                raise ValueError("negative")
            kernel = Simulated(lambda a: None, ["x", "n"], lambda a: 1.0 + (a["BLOCK"] != best), jit=identity)
            tuner = Autotuner(kernel, ["x", "n"], simulated.configs(16, 32, 64), ["n"])
            tuner.run(Array([1.0]), n, grid=(1, ), warmup=False)
    """))
    return f"{path}:problem"


@pytest.mark.parametrize("kind", ["here", "threads", "processes"])
def test_sweep(tmp_path, kind, monkeypatch):
    target = sweep_module(tmp_path)
    problems = [{"n": 1, "best": 16}, {"n": 2, "best": 32}, {"n": -1, "best": 0}, {"n": 3, "best": 64}]
    if kind == "here":
        outcome = tuning.sweep(target, problems)
    elif kind == "threads":
        with concurrent.futures.ThreadPoolExecutor(2) as executor:
            outcome = tuning.sweep(target, problems, executor)
    else:
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
        with tuning.GpuPool(devices=[0, 1]) as executor:
            outcome = tuning.sweep(target, problems, executor)
    assert outcome[:2] == ["", ""] and outcome[2].startswith("ValueError: negative") and outcome[3] == ""
    best = {header["key"]: header["records"][header["best"]]["kwargs"]["BLOCK"] for _, header in table.all_tables()}
    assert best == {"(1, 'float64')": "16", "(2, 'float64')": "32", "(3, 'float64')": "64"}


def test_sweep_takes_only_tables_from_workers(tmp_path):
    class Hostile(concurrent.futures.Executor):
        def submit(self, function, *args):
            future = concurrent.futures.Future()
            future.set_result(json.dumps({"error": "", "tables": [{"fields": [], "records": {}}, {"fields": {}, "records": {"a": 1}}]}))
            return future

    assert tuning.sweep("nothing:at_all", [{}], Hostile()) == [""]
    assert not table.all_tables()


def test_worker_that_dies_is_a_line(tmp_path):
    class Broken(concurrent.futures.Executor):
        def submit(self, function, *args):
            future = concurrent.futures.Future()
            future.set_exception(BrokenPipeError("gone"))
            return future

    assert tuning.sweep("nothing:at_all", [{}], Broken()) == ["the worker failed: BrokenPipeError: gone"]


def test_dask_adapter(tmp_path, monkeypatch):
    """The recipe of docs/autotuner.md, with a worker in a process of its own."""
    distributed = pytest.importorskip("distributed")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    target = sweep_module(tmp_path)
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster, \
            distributed.Client(cluster) as client:
        assert tuning.sweep(target, [{"n": 1, "best": 16}, {"n": -1, "best": 0}], client.get_executor()) == [
            "", "ValueError: negative"]
    assert len(table.all_tables()) == 1


def test_ray_recipe(tmp_path, monkeypatch):
    """The recipe of docs/autotuner.md."""
    ray = pytest.importorskip("ray")

    class RayExecutor(concurrent.futures.Executor):
        def submit(self, function, *arguments):
            return ray.remote(function).remote(*arguments).future()

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    target = sweep_module(tmp_path)
    ray.init(num_cpus=1, include_dashboard=False)
    try:
        assert tuning.sweep(target, [{"n": 1, "best": 16}, {"n": -1, "best": 0}], RayExecutor()) == [
            "", "ValueError: negative"]
    finally:
        ray.shutdown()
    assert len(table.all_tables()) == 1


def test_visible_devices(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3, GPU-abc")
    assert executors.visible_devices() == ["3", "GPU-abc"]
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    assert executors.visible_devices() == ["0", "1"]


def test_math_of_infinite_times():
    tuner = tuned(nothing, {64: 1.0, 128: 2.0}, resources=lambda c: {"shared": 10**6} if c["BLOCK"] == 128 else {})
    launch(tuner, Array([1.0]), 5)
    assert sorted(map(lambda t: math.isinf(t[0]), tuner.configs_timings.values())) == [False, True]


def test_processes_lose_nothing(tmp_path, monkeypatch):
    """Many processes add configurations to one table at once."""
    target = sweep_module(tmp_path).replace(":problem", ":add_configurations")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    with tuning.GpuPool(devices=range(4)) as executor:
        outcome = tuning.sweep(target, [{"number": n} for n in range(8)], executor)
    assert outcome == [""] * 8
    wanted = {str(n * 10 + i) for n in range(8) for i in range(1, 6)} | {"1000"}
    assert set(records()) == wanted and all(r["status"] in ("ok", "slow") for r in records().values())
