# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sweeps over executors, with simulated kernels in real worker processes; run by test_tuning.py."""

import concurrent.futures
import io
import json
import os
import sys

import pytest

from harness import swept_kernels
from harness.swept_kernels import TARGET, processes_by_block, seconds_of_one_and_two
from harness.tuner_cases import records, simulated_device  # noqa: F401
from tilewright import _core, errors, tuning
from tilewright.tuning import executors, progress, sweep_worker, sweeping, table

if "MOCK_CASES" not in os.environ:
    pytest.skip("needs the mock driver; see test_tuning.py", allow_module_level=True)


@pytest.fixture(autouse=True)
def swept_log(tmp_path, monkeypatch):
    log = tmp_path / "log"
    log.touch()
    monkeypatch.setenv("SWEPT_LOG", str(log))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    return log


class Here(concurrent.futures.Executor):
    """Runs what it is given at once; `workers` is what it claims, `texts` what crossed."""

    def __init__(self, workers=1):
        self.workers, self.texts = workers, []

    def submit(self, function, /, *arguments):
        self.texts.append((function, *arguments))
        future = concurrent.futures.Future()
        try:
            future.set_result(function(*arguments))
        except Exception as error:
            future.set_exception(error)
        return future


def answers(text):
    """An executor whose workers answer the same to everything."""

    class Answering(concurrent.futures.Executor):
        def submit(self, function, /, *arguments):
            future = concurrent.futures.Future()
            future.set_exception(text) if isinstance(text, Exception) else future.set_result(text)
            return future

    return Answering()


def best_blocks():
    return {header["key"]: int(header["records"][header["best"]]["kwargs"]["BLOCK"]) for _, header in table.all_tables()}


# -- whole problems ------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["here", "threads", "processes"])
def test_sweep(kind):
    problems = [{"n": 1, "best": 1}, {"n": 2, "best": 2}, {"fails": "negative"}, {"n": 3, "best": 3}, {"n": 4, "best": 4}]
    problems = [{**problem, "configurations": 4} for problem in problems]
    if kind == "here":
        outcome = tuning.sweep(TARGET, problems)
    elif kind == "threads":
        with concurrent.futures.ThreadPoolExecutor(2) as executor:
            outcome = tuning.sweep(TARGET, problems, executor)
    else:
        with tuning.GpuPool(devices=[0, 1]) as executor:
            outcome = tuning.sweep(TARGET, problems, executor)
    assert outcome == ["", "", "ValueError: negative", "", ""]
    assert best_blocks() == {f"({n}, 'float64')": n for n in (1, 2, 3, 4)}


def test_processes_lose_nothing():
    """Many processes add configurations to one table at once."""
    target = TARGET.replace(":tune", ":add_configurations")
    with tuning.GpuPool(devices=range(4)) as executor:
        assert tuning.sweep(target, [{"number": n} for n in range(8)], executor) == [""] * 8
    wanted = {str(n * 10 + i) for n in range(8) for i in range(1, 6)} | {"1000"}
    assert set(records()) == wanted and all(r["status"] in ("ok", "slow") for r in records().values())


@pytest.mark.parametrize("answer", ["[]", "no JSON", '{"tables": 3}', RuntimeError("gone")])
def test_answers_that_are_none(answer):
    assert tuning.sweep("nothing:at_all", [{}], answers(answer))[0].startswith("the worker failed: ")
    assert not table.all_tables()


def test_only_tables_are_taken_from_workers():
    tables = [{"fields": [], "records": {}}, {"fields": {}, "records": {"a": 1}}, 3]
    assert tuning.sweep("nothing:at_all", [{}], answers(json.dumps({"error": "", "tables": tables}))) == [""]
    assert not table.all_tables()


def test_executor_that_takes_nothing():
    executor = concurrent.futures.ThreadPoolExecutor(1)
    executor.shutdown()
    assert tuning.sweep("nothing:at_all", [{}], executor)[0].startswith("the executor failed: RuntimeError")


def test_what_crosses_is_text():
    """A function by its name, and JSON that says all else; nothing of the kernel, its arguments or its configurations."""
    executor = Here(workers=2)
    assert tuning.sweep(TARGET, [{"configurations": 4}], executor) == [""]
    for function, text in executor.texts:
        assert function is sweep_worker.run_share and function.__module__ == "tilewright.tuning.sweep_worker"
        assert type(text) is str and json.loads(text)["problem"] == {"configurations": 4}
    assert len({text for _, text in executor.texts}) == len(executor.texts)  # an engine that remembers calls runs each
    with pytest.raises(TypeError, match="not JSON serializable"):
        tuning.sweep(TARGET, [{"n": object()}], executor)


def test_edited_file_is_loaded_again(tmp_path):
    path = tmp_path / "edited.py"
    path.write_text("def launch():\n    raise ValueError('first')\n")
    assert tuning.sweep(f"{path}:launch", [{}]) == ["ValueError: first"]
    path.write_text("def launch():\n    raise ValueError('second one')\n")
    assert tuning.sweep(f"{path}:launch", [{}]) == ["ValueError: second one"]


# -- parts of one problem --------------------------------------------------------------


def test_parts_meet_in_one_table(swept_log):
    """Every configuration is measured by one part; those near the best are measured side by side."""
    executor = Here(workers=3)
    assert tuning.sweep(TARGET, [{"best": 8, "apart": 0.02}], executor) == [""]
    assert best_blocks() == {"(1, 'float64')": 8} and len(records()) == 24
    shares = [json.loads(text)["share"] for _, text in executor.texts]
    assert [(s["part"], s["parts"]) for s in shares[:3]] == [(0, 3), (1, 3), (2, 3)] and len(shares) == 4
    (leaders,) = shares[3]["leaders"].values()
    blocks = {r["kwargs"]["BLOCK"]: identity for identity, r in shares[3]["tables"][0]["records"].items()}
    assert len(blocks) == 24 and leaders[0] == blocks["8"] and len(leaders) == 3
    # All is known: the next sweep measures nothing, and a launch neither.
    before = swept_log.read_text().count("\n")
    assert tuning.sweep(TARGET, [{"best": 8, "apart": 0.02}], Here(workers=3)) == [""]
    assert swept_log.read_text().count("\n") == before + 3  # each part launches once


def test_one_leader_is_not_measured_again():
    """Where the others are far behind, the figures of the parts decide."""
    executor = Here(workers=2)
    assert tuning.sweep(TARGET, [{"best": 8}], executor) == [""]
    assert len(executor.texts) == 2 and best_blocks() == {"(1, 'float64')": 8}
    alone = Here(workers=2)
    assert tuning.sweep(TARGET, [{"n": 2, "best": 1, "configurations": 2}], alone) == [""]
    assert len(alone.texts) == 3  # each was alone in its part: they are compared
    assert best_blocks() == {"(1, 'float64')": 8, "(2, 'float64')": 1}


@pytest.mark.parametrize("parts, wrong", [(2, [1]), (3, [1]), (4, [1, 5])])
def test_a_wrong_result_is_found_among_few(parts, wrong):
    """The fastest is wrong, and its part has too few others to tell: those of other parts have the majority."""
    configurations = 4 if parts == 2 else 2 * parts
    executor = Here(workers=parts)
    problem = {"best": 1, "configurations": configurations, "wrong": wrong}
    assert tuning.sweep(TARGET, [problem], executor) == [""]
    (block,) = best_blocks().values()
    assert block not in wrong and records()["1"]["status"] == "wrong"


def test_two_workers_take_less_time(swept_log):
    """24 configurations over two processes, in at most 0.65 of the time of one."""
    with tuning.GpuPool([0]) as one, tuning.GpuPool([0, 1]) as two:
        for executor in (one, two):
            warm = [{"n": -n, "configurations": 1, "seconds": 0.3} for n in range(executor.workers)]
            assert tuning.sweep(TARGET, warm, executor, workers=1) == [""] * executor.workers
        seconds = seconds_of_one_and_two((one, two), 10)
    assert len(records()) == 24 and seconds[1] <= 0.65 * seconds[0], seconds


def test_a_killed_worker_loses_none(swept_log):
    """A worker that dies in the middle is replaced; what it had measured is not measured again."""
    with tuning.GpuPool(devices=[0, 1]) as executor:
        assert tuning.sweep(TARGET, [{"best": 8, "seconds": 0.01, "deadly": 15}], executor) == [""]
    assert len(records()) == 24 and {r["status"] for r in records().values()} <= {"ok", "slow"}
    assert best_blocks() == {"(1, 'float64')": 8}
    ran = processes_by_block(swept_log)
    assert len(set().union(*ran.values())) == 3  # two, and the one in the place of the dead
    first = [line.split() for line in swept_log.read_text().splitlines()]
    dead = next(process for process, block in first if block == "15")
    measured_by_dead = {block for process, block in first if process == dead} - {"15"}
    again = {str(block) for block, processes in ran.items() if len(processes) > 1}
    assert len(measured_by_dead) > 3 and records()["15"]["status"] in ("ok", "slow")
    # What was compiled and run before the end is known; the candidates of the race go on with it.
    assert again <= {"15"} | measured_by_dead


def test_a_configuration_that_kills_costs_itself_alone():
    with tuning.GpuPool(devices=[0, 1]) as executor:
        outcome = tuning.sweep(TARGET, [{"best": 8, "deadly": 15, "always": True}], executor)
    assert outcome == [""] and len(records()) == 24
    bad = {block: r["reason"] for block, r in records().items() if r["status"] not in ("ok", "slow")}
    assert bad == {"15": "an earlier process ended while this ran"} and best_blocks() == {"(1, 'float64')": 8}


class LosesLeaders(Here):
    """Loses its worker with each task that is about the leaders."""

    def submit(self, function, /, *arguments):
        if json.loads(arguments[0])["share"]["leaders"] is not None:
            return answers(BrokenPipeError("gone")).submit(None)
        return super().submit(function, *arguments)


def test_parts_decide_where_the_leaders_are_lost():
    assert tuning.sweep(TARGET, [{"best": 8, "apart": 0.02}], LosesLeaders(2)) == ["the worker failed: BrokenPipeError: gone"]
    assert best_blocks() == {"(1, 'float64')": 8} and len(records()) == 24


class Mortal(Here):
    """Loses its worker with each task that has a certain configuration; nothing of it stays on disk."""

    def __init__(self, deadly):
        super().__init__(workers=2)
        self.deadly = deadly

    def submit(self, function, /, *arguments):
        share = json.loads(arguments[0])["share"]
        has_it = share["leaders"] is None and (self.deadly - 1) % share["parts"] == share["part"]
        return answers(BrokenPipeError("gone")).submit(None) if has_it else super().submit(function, *arguments)


def test_lost_parts_are_divided():
    """Where nothing tells what a worker died of, all but the configurations beside the deadly one are measured."""
    executor = Mortal(15)
    assert tuning.sweep(TARGET, [{"best": 8}], executor) == ["the worker failed: BrokenPipeError: gone"]
    assert set(records()) == {str(n) for n in range(1, 25)} - {"15"} and best_blocks() == {"(1, 'float64')": 8}


def test_parts_do_not_write_over_each_other():
    """A worker's copy of what another one is measuring is older than what the other has written since."""
    assert tuning.sweep(TARGET, [{"configurations": 3}]) == [""]
    ((_, header),) = table.all_tables()
    first, second = (table.Table.__new__(table.Table) for _ in range(2))
    for one in (first, second):
        one.__dict__.update(
            fields=header["fields"],
            name="identity",
            key_text="",
            known={},
            mine={},
            records={},
            pinned=None,
            best=None,
            circumstances={},
            store=table.store(),
            key=table.disk_cache.key_of(header["fields"]),
        )
    assert first.load()
    record = next(iter(header["records"].values()))

    def status(name):
        return {**record, "status": name, "median": None}

    first.save({"own": status("compiling")})
    assert second.load()
    first.save({"own": status("running")})
    second.save({"other": status("compiling")})
    first.save({"own": status("wrong")})
    second.save({"other": status("pruned")})
    kept = {i: r["status"] for i, r in table.all_tables()[0][1]["records"].items()}
    assert second.records["own"]["status"] == "wrong" and (kept["own"], kept["other"]) == ("wrong", "pruned")
    table.import_tables([{**header, "records": {"own": status("skipped")}}], they_win=True)
    assert table.all_tables()[0][1]["records"]["own"]["status"] == "wrong"


# -- turns and restarts ----------------------------------------------------------------


class Interrupted(Here):
    """The user stops the sweep after so many tasks; workers keep nothing on disk."""

    def __init__(self, tasks):
        super().__init__()
        self.tasks = tasks

    def submit(self, function, /, *arguments):
        if len(self.texts) == self.tasks:
            raise KeyboardInterrupt
        os.environ["TILEWRIGHT_TUNE_TABLES"] = "0"
        try:
            return super().submit(function, *arguments)
        finally:
            del os.environ["TILEWRIGHT_TUNE_TABLES"]


def test_a_sweep_goes_on_where_it_was_stopped(swept_log, monkeypatch):
    monkeypatch.setattr(sweeping, "_TURN_SECONDS", 0.05)
    problem = {"seconds": 0.01, "best": 1}
    with pytest.raises(KeyboardInterrupt):
        tuning.sweep(TARGET, [problem], Interrupted(2))
    known = {block for block, r in records().items() if r["status"] in table.FINAL}
    assert 0 < len(known) < 24
    before = len(swept_log.read_text().split("\n"))
    assert tuning.sweep(TARGET, [problem], Interrupted(100)) == [""]
    assert len(records()) == 24 and best_blocks() == {"(1, 'float64')": 1}
    again = {line.split()[1] for line in swept_log.read_text().split("\n")[before - 1 :] if line} & known
    assert again <= {"1"}  # the best so far is what each turn launches


def test_the_budget_holds_over_all_turns(monkeypatch):
    monkeypatch.setattr(sweeping, "_TURN_SECONDS", 0.05)
    monkeypatch.setenv("TILEWRIGHT_TUNE_BUDGET", "0.3")
    executor = Here()
    assert tuning.sweep(TARGET, [{"seconds": 0.03}], executor) == [""]
    statuses = [r["status"] for r in records().values()]
    assert len(executor.texts) < 12 and "skipped" in statuses and "ok" in statuses  # else there would be a turn for each


# -- boards ----------------------------------------------------------------------------


class TwoBoards(Here):
    """Every other task meets a worker with another GPU."""

    def submit(self, function, /, *arguments):
        original = table.device_fields
        if len(self.texts) % 2 == 1:
            table.device_fields = lambda device: {**original(device), "device": "Other GPU, 7 multiprocessors, 1 GiB"}
        try:
            return super().submit(function, *arguments)
        finally:
            table.device_fields = original


def test_boards_do_not_mix(monkeypatch):
    monkeypatch.setattr(sweep_worker, "_REST_SECONDS", 0)
    errors._warned.clear()
    with pytest.warns(
        errors.TuneWarning, match="W0607. .* has another board, driver or compiler than the sweep: Other GPU.*Mock GPU"
    ):
        assert tuning.sweep(TARGET, [{"best": 8}], TwoBoards(workers=2)) == [""]
    tables = {header["fields"]["device"].split(",")[0]: header for _, header in table.all_tables()}
    assert len(tables["Mock GPU"]["records"]) == 24 and tables["Mock GPU"]["best"]
    assert len(tables) == 2 and len(tables["Other GPU"]["records"]) == 12 and not tables["Other GPU"]["best"]


def test_the_board_can_be_named(monkeypatch):
    """A worker of another board hands the task back before it measures; where there is no other, the line says so."""
    monkeypatch.setattr(sweep_worker, "_REST_SECONDS", 0)
    errors._warned.clear()
    with pytest.warns(errors.TuneWarning, match="W0607"):
        assert tuning.sweep(TARGET, [{"best": 8}], TwoBoards(), board="Other GPU") == [""]
    assert {header["fields"]["device"].split(",")[0] for _, header in table.all_tables()} == {"Other GPU"}
    assert tuning.sweep(TARGET, [{"n": 2}], Here(), board="H200") == ["no worker with the board 'H200' took it"]


# -- what is shown ---------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_nothing_is_shown_where_nobody_looks(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert type(progress.display_of(None)) is progress.Silent and type(progress.display_of(False)) is progress.Silent
    assert tuning.sweep(TARGET, [{"configurations": 2}]) == [""] and not sys.stderr.getvalue()
    assert tuning.sweep(TARGET, [{"configurations": 2, "n": 9}], progress=True) == [""]
    assert "sweep: 1 of 1 problems, 2 configurations measured, 0:00 left, best of" in sys.stderr.getvalue()


def test_lines_where_rich_is_missing(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    assert type(progress.display_of(None)) is progress.Lines
    assert tuning.sweep(TARGET, [{}], answers(BrokenPipeError("gone")))
    assert "sweep: a worker was lost (BrokenPipeError: gone)" in sys.stderr.getvalue()


def test_bar(monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("COLUMNS", "160")
    assert tuning.sweep(TARGET, [{"configurations": 3}, {"n": 2, "best": 1}]) == ["", ""]
    text = sys.stderr.getvalue()
    assert "2 of 2 problems" in text and "27 configurations measured" in text and "2 ms with BLOCK: 1" in text
    assert "tuning identity" not in text  # the workers' own line


def test_time_left():
    display = progress.Silent()
    display.begin(4)
    assert display.left() == ""
    display.started -= 60
    display.show(1.0, 5)
    assert display.left() in ("3:00 left", "2:59 left")


# -- executors -------------------------------------------------------------------------


def test_visible_devices(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3, GPU-abc")
    assert executors.visible_devices() == ["3", "GPU-abc"]
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    assert executors.visible_devices() == ["0", "1"]
    monkeypatch.setattr(_core, "driver_available", lambda: False)
    with pytest.raises(ValueError, match="there is no GPU"):
        tuning.GpuPool()


def test_engines_are_not_imported():
    """Nothing of Dask, Ray or rich is loaded by those who do not ask for it."""
    assert not {"dask", "distributed", "ray"} & set(sys.modules)
    assert swept_kernels.TARGET.endswith("swept_kernels.py:tune")
