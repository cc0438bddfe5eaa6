# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The campaigns with small counts; `python tests/campaigns/run.py` has the full ones."""

import sys

import pytest

from campaigns import differential, mutation, reducer, workers
from campaigns.run import CAMPAIGNS


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_campaign(name):
    program, small, _ = CAMPAIGNS[name]
    line = program(**small)
    assert line.startswith(name), line


def test_mutants_have_their_places():
    """A mutant whose text is gone, or stands twice, would test nothing or something else."""
    counts = {m.name: (mutation.FOLDER / m.file).read_text().count(m.text) for m in mutation.MUTANTS}
    assert {name: count for name, count in counts.items() if count != 1} == {}
    assert len(counts) == len(mutation.MUTANTS) > 20


class Answers:
    """Stands for the worker processes: which seeds were asked for, and what came of them."""

    def __init__(self, wrong=()):
        self.seen, self.wrong = [], wrong

    def answer(self, seed):
        self.seen.append(seed)
        return ("wrong", "sm_80: 3 elements of out1 differ") if seed in self.wrong else ("same", "")

    def end(self):
        pass


def test_a_campaign_goes_on_where_it_was_ended(tmp_path, monkeypatch):
    answers, state = Answers(wrong=(4,)), tmp_path / "state.json"
    monkeypatch.setattr(workers, "Worker", lambda command: answers)
    with pytest.raises(AssertionError, match=r"seeds \[4\] of 3 to 4 fail"):
        differential.run(2, 3, report=lambda *_, **__: None, state=state)
    with pytest.raises(AssertionError, match=r"seeds \[4\] of 3 to 6 fail"):
        differential.run(4, 3, report=lambda *_, **__: None, state=state)
    assert answers.seen == [3, 4, 5, 6]


def test_processes_share_the_seeds(monkeypatch):
    made = []
    monkeypatch.setattr(workers, "Worker", lambda command: made.append(Answers()) or made[-1])
    assert differential.run(30, 5, report=lambda *_, **__: None, jobs=3).startswith("F3: 30 kernels from seed 5")
    assert len(made) == 3 and sorted(seed for worker in made for seed in worker.seen) == list(range(5, 35))


def worker_that(code):
    return workers.Worker([sys.executable, "-c", code])


def test_a_worker_that_dies_is_replaced():
    worker = worker_that(
        "import os\nfor line in open(0):\n"
        ' os.abort() if int(line) == 2 else print(f\'[{int(line)}, "same", "", false]\', flush=True)'
    )
    answers = [worker.answer(seed) for seed in (1, 2, 3)]
    worker.end()
    assert answers == [("same", ""), ("wrong", "crash: status -6"), ("same", "")]


def test_a_worker_whose_gpu_has_failed_is_replaced():
    worker = worker_that(
        "import sys; sys.path.insert(0, sys.argv[1]); from campaigns import workers; served = []\n"
        "workers.serve(lambda seed: served.append(seed) or ('wrong', str(served)), ends_when_wrong=True)"
    )
    worker.command.append(str(workers.Path(workers.__file__).parents[1]))
    answers = [worker.answer(seed) for seed in (1, 2)]
    worker.end()
    assert answers == [("wrong", "[1]"), ("wrong", "[2]")]


def test_a_worker_that_hangs_is_ended(monkeypatch):
    monkeypatch.setattr(workers, "PATIENCE_IN_SECONDS", 0.2)
    outcome, problem = worker_that("import time; time.sleep(60)").answer(1)
    assert (outcome, problem) == ("wrong", "hang: no answer in 0.2 seconds")


def test_a_kernel_is_made_smaller_while_it_fails_alike():
    text = "\n".join(
        [
            "@tilewright.jit",
            "def helper1(x):",
            "    return x",
            "",
            "@tilewright.jit",
            "def kernel(out1):",
            "    v1 = tl.arange(0, 16)",
            "    if pid == 0:",
            "        v2 = v1 + 1",
            '        tl.store(out1 + v1, v2, eviction_policy="evict_first")',
            "    else:",
            "        pass",
            "    v3 = v1",
            "",
        ]
    )

    def problem_of(smaller):
        return "sm_80: differ" if "tl.store" in smaller else "oracle: differ"

    smaller = reducer.reduced(text, problem_of)
    assert smaller.split("\n") == ["", "@tilewright.jit", "def kernel(out1):", "    tl.store(out1 + v1, v2)", ""]
