# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The runner of other people's suites: what dies, hangs or spoils the device costs one test and no other."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import causes  # noqa: E402
import time_table  # noqa: E402
from jobs import Job, Runner, Suite  # noqa: E402

TESTS = """
import os, time, pytest

@pytest.mark.parametrize("n", range(10))
def test_many(n):
    pass

def test_fails():
    raise ValueError("E0112: 3 rows at 0x7f12")

def test_dies():
    os.abort()

def test_after():
    pass

def test_hangs():
    time.sleep(600)

def test_last():
    pytest.skip("not here")
"""


def suite_in(folder: Path, **fields) -> Suite:
    checkout = folder / "owner+name"
    checkout.mkdir()
    (checkout / "test_one.py").write_text(TESTS)
    (checkout / "test_two.py").write_text("import absent_module\n")
    return Suite("example", "owner/name", "example", ["test_*.py"], timeout=3, **fields)


def run_job(folder: Path, suite: Suite, **fields) -> Job:
    job = Job(suite, "triton", suite.files(folder), **fields)
    Runner(folder, folder, float("inf")).run(job)
    return job


def test_dying_and_hanging_tests_cost_themselves(tmp_path):
    job = run_job(tmp_path, suite_in(tmp_path), sample=1)
    outcomes = {name.partition("::")[2] or name: line["outcome"] for name, line in job.results.items()}
    many = [name for name in outcomes if name.startswith("test_many")]
    assert len(many) == 1, "one case of each function"
    assert outcomes == {
        many[0]: "passed",
        "test_fails": "failed",
        "test_dies": "crashed",
        "test_after": "passed",
        "test_hangs": "timeout",
        "test_last": "skipped",
        "test_two.py": "failed",
    }
    assert "SIGABRT" in job.results["test_one.py::test_dies"]["text"]


def test_parts_of_a_file_are_its_tests(tmp_path):
    suite = suite_in(tmp_path, arguments=["-k", "many"])
    parts = [run_job(tmp_path, suite, part=part, parts=3) for part in range(3)]
    names = [name for job in parts for name in job.results if "::" in name]
    assert len(names) == len(set(names)) == 10


def test_only_named_tests_run_again(tmp_path):
    job = run_job(tmp_path, suite_in(tmp_path), only=["test_one.py::test_after"])
    assert [name for name in job.results if "::" in name] == ["test_one.py::test_after"]


def test_the_smallest_cases_of_a_sample(tmp_path):
    suite = suite_in(tmp_path)
    (suite.checkout(tmp_path) / "test_sizes.py").write_text(
        "import pytest\n"
        "@pytest.mark.parametrize('shape', [(64, 64), {'m': 8, 'n': [2, 3]}, (7, -7), (512,)],\n"
        "                         ids=['large', 'mixed', 'negative', 'row'])\n"
        "def test_shape(shape):\n    pass\n"
    )
    suite.tests = ["test_sizes.py"]
    job = Job(suite, "tilewright", suite.files(tmp_path), sample=2)
    scratch = tmp_path / "scratch-smallest"
    scratch.mkdir()
    Runner(tmp_path, scratch, float("inf"), smallest=True, keyword="not mixed").run(job)
    assert sorted(job.results) == ["test_sizes.py::test_shape[negative]", "test_sizes.py::test_shape[row]"]


def test_modules_that_lack_have_stand_ins(tmp_path):
    suite = suite_in(tmp_path, stand_ins=["absent_module", "json"])
    (suite.checkout(tmp_path) / "test_two.py").write_text(
        "import absent_module.below as below\nimport json\n\n@below.decorator\nclass Kernel:\n    pass\n\n"
        "def test_real():\n    assert json.loads('1') == 1\n"
    )
    suite.tests = ["test_two.py"]
    assert {name: line["outcome"] for name, line in run_job(tmp_path, suite).results.items()} == {
        "test_two.py::test_real": "passed"
    }


def test_files_are_added_to_a_checkout_and_edited(tmp_path):
    from pack import make_checkout

    source, into = tmp_path / "owner+name", tmp_path / "out"
    suite = suite_in(tmp_path, added={"built/_ops.py": "\nops = None\n"}, edits={r"\bnpu\b": "cuda"})
    (suite.checkout(tmp_path) / "test_two.py").write_text("DEVICE = 'npu'  # an npu, not an input\n")
    for command in (["init", "-q"], ["add", "."], ["-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "all"]):
        subprocess.run(["git", *command], cwd=source, check=True)
    make_checkout(source / ".git", [suite], into)
    assert (into / "built/_ops.py").read_text() == "ops = None\n"
    assert (into / "test_two.py").read_text() == "DEVICE = 'cuda'  # an cuda, not an input\n"


def test_causes_leave_out_what_differs():
    texts = [f"E   ValueError: E0112: {n} rows at 0x7f{n}" for n in (3, 4)]
    assert causes.error_code(texts[0]) == "E0112"
    assert causes.cause(texts[0]) == causes.cause(texts[1])
    assert causes.first_line("some\nE   KeyError: 'a'\nmore\nE   TypeError: last") == "TypeError: last"


def test_program_from_the_command_line(tmp_path):
    """The whole of it, with a suite of its own table."""
    suite_in(tmp_path)
    ran = subprocess.run(
        [sys.executable, str(HERE / "run_suites.py"), str(tmp_path), "--list", "--suite", "attorch"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": ""},
    )
    assert ran.returncode == 0 and "attorch: 0 files of BobMcDear/attorch" in ran.stdout, ran.stderr


def test_report_of_results(tmp_path):
    from types import SimpleNamespace

    from report import write_report

    suite = suite_in(tmp_path)
    (tmp_path / "owner+name" / "COMMIT").write_text("abc\n")

    def line(outcome, text="", phase="call"):
        return {"outcome": outcome, "text": text, "phase": phase, "seconds": 1.0}

    here = Job(
        suite,
        "tilewright",
        [],
        results={
            "t::a": line("passed"),
            "t::b": line("failed", "E   ValueError: E0112"),
            "t::c": line("crashed"),
            "t::e": line("failed", "E   AssertionError: 12 of 64 differ"),
            "t::f": line("failed", "E   AssertionError: 12 of 64 differ"),
            "u.py": line("failed", "E   ImportError: x", "collect"),
        },
    )
    results = {
        "t::b": line("passed"),
        "t::c": line("failed"),
        "t::e": line("failed", "E   TypeError: 25 arguments (21 given)"),
        "t::f": line("failed", "E   AssertionError: 9 of 64 differ"),
        "u.py::d": line("passed"),
    }
    there = Job(suite, "triton", [], results=results)
    write_report(
        SimpleNamespace(out=tmp_path / "out", checkouts=tmp_path, sample="suite", suite=None), [suite], [here, there], 1.0
    )
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    row = summary["suites"][0]
    assert (row["passed"], row["failed"], row["crashed"], row["failed_only_here"], row["commit"]) == (1, 5, 1, 2, "abc")
    assert (row["failed_under_both"], row["not_asked"], row["unavailable"]) == (3, 0, 0)
    assert [group["example"] for group in summary["causes_otherwise"]] == ["t::e"]
    failures = [json.loads(text) for text in (tmp_path / "out" / "failures.jsonl").read_text().splitlines()]
    assert {failure["id"]: failure["only_here"] for failure in failures} == {
        "t::b": True,
        "t::c": False,
        "t::e": False,
        "t::f": False,
        "u.py": True,
    }
    assert failures[0]["code"] == "E0112"


def test_page_gets_the_table(tmp_path):
    import report

    row = {
        "suite": "one",
        "repository": "owner/name",
        "area": "area",
        "commit": "0123456789abcdef",
        "passed": 3,
        "failed_only_here": 0,
        "failed_under_both": 1,
        "not_asked": 0,
        "skipped": 2,
    }
    summary = {"board": "board", "torch": "1", "triton": "2", "date": "today", "sample": 2, "suites": [row]}
    text = report.page_section(summary)
    assert "| [one](https://github.com/owner/name) | area | 0123456789 | 3 | 0 | 1 | 0 | 2 |" in text
    later = report.merged([summary, {**summary, "suites": [{**row, "passed": 4}, {**row, "suite": "two"}]}])
    assert [(each["suite"], each["passed"]) for each in later["suites"]] == [("one", 4), ("two", 3)]
    assert "| together |" in text and "board, torch 1, Triton 2, today; 2 of each test function's cases." in text


# -- speed.py --------------------------------------------------------------------------


def test_times_of_kernels_are_compared_by_test(tmp_path):
    def line(under, test, kernel, launches, ns):
        return json.dumps({"suite": "s", "under": under, "test": test, "kernel": kernel, "launches": launches, "ns": ns}) + "\n"

    ours = line("tilewright", "t1", "slow", 2, 9000) + line("tilewright", "t2", "slow", 1, 20000)
    ours += line("tilewright", "t1", "level", 1, 4000) + line("tilewright", "t1", "tiny", 1, 2900)
    (tmp_path / "s-tilewright-0-0.times").write_text(ours)
    # A second process repeats a test: the shorter time counts.
    (tmp_path / "s-tilewright-0-1.times").write_text(line("tilewright", "t1", "slow", 1, 8000))
    theirs = line("triton", "t1", "slow", 2, 4000) + line("triton", "t1", "level", 1, 4000)
    theirs += line("triton", "t1", "tiny", 1, 1000) + line("triton", "t3", "slow", 1, 1000)
    (tmp_path / "s-triton-0-0.times").write_text(theirs)
    table = time_table.table_of(time_table.read_times(tmp_path))
    assert table.startswith("2 kernels of tests took at least 3 us under Triton;")
    assert "by the time there: 1.414\n" in table
    assert "| s | slow | 8.0 | 4.0 | 2.00 | 1, 2 | t1 |" in table
    assert "level" not in table and "tiny" not in table


def test_timing_without_a_gpu_changes_no_test(tmp_path):
    suite = suite_in(tmp_path)
    job = Job(suite, "triton", suite.files(tmp_path), sample=1, only=["test_one.py::test_after", "test_one.py::test_last"])
    Runner(tmp_path, tmp_path, float("inf"), times=True).run(job)
    assert {name: line["outcome"] for name, line in job.results.items() if "test_one" in name} == {
        "test_one.py::test_after": "passed",
        "test_one.py::test_last": "skipped",
    }
    assert time_table.read_times(tmp_path) == {"tilewright": {}, "triton": {}}


def test_the_summary_of_times():
    import speed

    lines = [{"case": "a", "ratio": 2.0}, {"case": "b", "ratio": 0.5}, {"case": "c", "errors": {"triton": "died"}}]
    assert speed.summary(lines) == "2 measured; geometric mean of Triton's time to ours 1.000; least 0.500; 1 below 0.95"
    assert speed.summary(lines[2:]) == "nothing was measured"


def test_timing_nothing_is_a_failure(tmp_path):
    def speed(*words):
        command = [sys.executable, str(HERE / "speed.py"), str(tmp_path), "--out", str(tmp_path / "speed.json"), *words]
        return subprocess.run(command, capture_output=True, text=True)

    nothing = speed("--case", "no such case")
    assert (nothing.returncode, nothing.stdout) == (1, "nothing was measured\n")
    refused = speed("--devices", "0")
    assert refused.returncode == 2 and "at least 1 is needed, got 0" in refused.stderr


def test_what_a_script_runs_is_left_out(tmp_path):
    import speed_cases

    (tmp_path / "10-lesson.py").write_text(
        "import math\n\ndef twice(x):\n    return 2 * x\n\nSIZE = twice(4)\nLOST = missing(1)\n"
        "raise RuntimeError\n\nif __name__ == '__main__':\n    raise RuntimeError\n"
    )
    module = speed_cases.definitions_of(tmp_path / "10-lesson.py")
    assert module.SIZE == 8 and module.math and not hasattr(module, "LOST")


def test_findings_of_checked_suites_are_told_once():
    from types import SimpleNamespace

    from report import findings_text

    frame = {"file": "a.py", "line": 7, "source_line": "x = tl.load(p)"}
    report = {
        "launches": [{"file": "a.py", "line": 3}, {"file": "a.py", "line": 3}],
        "findings": [{"code": "E0407", "kernel": "k", "text": "load of 'p'", "notes": ["no mask"], "frames": [frame]}],
    }
    job = SimpleNamespace(suite=SimpleNamespace(name="some"), checked=[report, report])
    text = findings_text([job])
    assert text.startswith("some: 4 launches of 1 kernels, 1 findings\n") and text.count("E0407 a.py:7 k: load of 'p'") == 1
