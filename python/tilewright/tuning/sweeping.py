# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tuning many problems, or many configurations of few, on many devices.

    problems = [{"m": m, "n": n} for m in (512, 4096) for n in (512, 4096)]
    sweep("mypackage.kernels:launch_matmul", problems, GpuPool())

`launch_matmul(**problem)` makes the arguments of one problem and launches the tuned
kernel once. The executor decides which worker runs what (sweep_worker.py); here is what
is asked of it:

  1. A problem is one task where there are many, else a task for each worker, which
     measures a part of the configurations (shares.py) and hands back after some seconds
     what it has. What is left is the next task.
  2. Answers are merged into the tables of this process at once, and each task tells its
     worker what is known. So a sweep that is started again goes on where it was.
  3. A task that is lost with its worker becomes two of half the size: what comes back is
     kept, and a configuration that costs its worker each time is alone in the end.
  4. When all parts are there, one worker measures those near the best side by side.

Figures of another board, driver or compiler than the first worker's are kept under their
own key, the user is told, and the task is given out again.
"""

from __future__ import annotations

import concurrent.futures
import itertools
import json
import time

from .. import errors
from ..compiler import disk_cache
from ..user_objects import printable
from . import table
from .progress import display_of
from .sweep_worker import run_share

_TURN_SECONDS = 10.0  # of one task: what is lost with a worker, where workers share no directory
_MOST_LOSSES = 6  # of one part: 2**5 times smaller in the end
_MOST_REFUSALS = 200  # of one part by workers with another board; each has rested before
_LEADERS_WITHIN = 1.05  # of the best: what another board of the same kind than its own may change
_MOST_LEADERS = 3
_FEWEST_COMPARED = 3  # results: of two that differ, nothing tells which is wrong
_JOURNAL_CAPACITY = 16 << 20


def sweep(target: str, problems, executor=None, *, workers=None, board=None, progress=None) -> list[str]:
    """Tunes all problems; one line per problem: empty, or what went wrong.

    `target` names a function as "package.module:name" or "file.py:name", and a problem is a
    dict of its arguments, of plain data. Without an executor they run here, one after the other.

    `workers` is how many tasks the executor runs at once, where it does not say so itself: few
    problems are divided among them. `board` is part of the name of the board that counts,
    else it is that of the first answer. `progress`: shown on a terminal; True: also elsewhere.
    """
    return _Sweep(
        target, [json.dumps(problem, sort_keys=True) for problem in problems], executor, workers, board, display_of(progress)
    ).run()


class _Problem:
    """One problem: what is known of it, and what is still out."""

    def __init__(self, text, tables):
        self.text, self.tables = text, tables  # headers by key
        self.parts_of: dict = {}  # (key, identity) -> the part that measured it
        self.open = 0  # tasks that are not answered for good
        self.done = 0.0  # the share of its parts that is
        self.measured = 0
        self.is_divided = self.is_decided = False
        self.lines: list = []


class _Task:
    """Part `part` of `parts` of a problem, or its leaders."""

    def __init__(self, problem, part=0, parts=1, leaders=None, losses=0):
        self.problem, self.part, self.parts, self.leaders, self.losses = problem, part, parts, leaders, losses
        self.spent, self.refusals, self.final = 0.0, 0, -1

    def text(self, target, board, number) -> str:
        tables = [header for header in self.problem.tables.values() if board is None or board in _board_of(header)]
        share = {
            "part": self.part,
            "parts": self.parts,
            "leaders": self.leaders,
            "board": board,
            "seconds": _TURN_SECONDS,
            "spent": self.spent,
            "tables": tables,
        }
        # The number makes each text another: engines may remember what a call has given.
        return json.dumps({"target": target, "problem": json.loads(self.problem.text), "share": share, "number": number})


class _Answer:
    """What a worker says (sweep_worker.py); raises where it is nothing of the kind."""

    def __init__(self, text):
        data = json.loads(text)
        self.error, self.apart, self.where = (str(data.get(name, "")) for name in ("error", "apart", "where"))
        self.seconds, self.left, self.measured = (
            float(data.get("seconds", 0)),
            int(data.get("left", 0)),
            int(data.get("measured", 0)),
        )
        self.tables = list(filter(table.valid_header, data["tables"]))


class _Sweep:
    """The tasks that are out, and what becomes of their answers."""

    def __init__(self, target, problems, executor, workers, board, display):
        self.target, self.executor, self.board, self.display = target, executor, board, display
        self.waiting: list = []  # tasks to be given out
        self.futures: dict = {}  # future -> task
        self.numbers = itertools.count(time.time_ns())
        if workers is None:
            workers = getattr(executor, "workers", getattr(executor, "_max_workers", 1))
        self.journal = disk_cache.store_of("sweeps-1", _JOURNAL_CAPACITY) if table.store() is not None else None
        self.problems = [_Problem(text, self._remembered(text)) for text in problems]
        # Parts cost a task for the leaders: worth it where whole problems would leave workers idle.
        parts = workers if len(self.problems) < 2 * workers else 1
        for problem in self.problems:
            for part in range(parts):
                self._give(_Task(problem, part, parts))

    def run(self) -> list[str]:
        self.display.begin(len(self.problems))
        try:
            while self.waiting or self.futures:
                # Here, one runs at a time, while it is submitted.
                while self.waiting and (self.executor is not None or not self.futures):
                    self._submit(self.waiting.pop(0))
                done, _ = concurrent.futures.wait(self.futures, 0.5, concurrent.futures.FIRST_COMPLETED)
                for future in [f for f in self.futures if f in done]:  # in the order of submission
                    self._hear(self.futures.pop(future), future)
                self.display.show(sum(p.done for p in self.problems), sum(p.measured for p in self.problems))
        finally:
            for future in self.futures:
                future.cancel()
            self.display.end()
        return ["; ".join(dict.fromkeys(problem.lines)) for problem in self.problems]

    # -- giving out --------------------------------------------------------------

    def _give(self, task):
        task.problem.open += 1
        task.problem.is_divided |= task.parts > 1
        self.waiting.append(task)

    def _submit(self, task):
        text = task.text(self.target, self.board, next(self.numbers))
        if self.executor is None:
            future = concurrent.futures.Future()
            future.set_result(run_share(text))
        else:
            try:
                future = self.executor.submit(run_share, text)
            except Exception as error:  # noqa: BLE001 - an executor that is broken takes nothing any more
                self._finish(task, f"the executor failed: {type(error).__name__}: {error}")
                return
        self.futures[future] = task

    # -- answers -----------------------------------------------------------------

    def _hear(self, task, future):
        task.problem.open -= 1
        try:
            answer = _Answer(future.result())
        except Exception as error:  # noqa: BLE001 - a worker that died costs its task alone
            self._lost(task, f"{type(error).__name__}: {error}".splitlines()[0])
            return
        if answer.apart or not self._is_ours(answer):
            self._refused(task, answer)
            return
        before = task.final
        task.final = self._take(task, answer.tables)
        task.spent += answer.seconds
        task.problem.measured += answer.measured
        if answer.left and task.final > before and not answer.error:
            self._give(task)
        else:
            self._finish(task, answer.error)

    def _is_ours(self, answer) -> bool:
        """Whether figures are of this sweep's board; others are kept, apart."""
        if answer.tables and self.board is None:
            self.board = _board_of(answer.tables[0])
        foreign = [header for header in answer.tables if self.board not in _board_of(header)]
        if foreign:
            answer.apart = _board_of(foreign[0])
            self._keep(foreign)
        return not foreign

    def _refused(self, task, answer):
        errors.warn("W0607", where=printable(answer.where), board=printable(answer.apart), wanted=self.board)
        task.refusals += 1
        if task.refusals > _MOST_REFUSALS:
            self._finish(task, f"no worker with the board '{self.board}' took it")
        else:
            self._give(task)

    def _lost(self, task, reason):
        """Nothing came back: two tasks of half the size, or once more where nothing can be divided."""
        task.losses += 1
        self.display.say(f"a worker was lost ({reason}); its configurations are given out again")
        if task.losses >= _MOST_LOSSES:
            self._finish(task, f"the worker failed: {reason}")
        elif task.leaders is not None or self.executor is None:
            self._give(task)
        else:
            for part in (task.part, task.part + task.parts):
                self._give(_Task(task.problem, part, 2 * task.parts, losses=task.losses))

    def _take(self, task, tables) -> int:
        """Merges an answer; how many of its configurations need no further turn."""
        problem, final, is_new = task.problem, 0, False
        for header in tables:
            key = disk_cache.key_of(header["fields"])
            known = problem.tables.get(key, {"records": {}})
            is_new |= key not in problem.tables
            header["best"] = header.get("best") or known.get("best")
            for identity, record in header["records"].items():
                final += record["status"] in table.FINAL
                problem.parts_of.setdefault((key, identity), task.part)
            header["records"] = {**known["records"], **header["records"]}
            problem.tables[key] = header
        self._keep(tables)
        if is_new and self.journal is not None:
            self.journal.save(self._journal_key(problem.text), {"tables": sorted(problem.tables)}, {})
        self.display.tell_best(problem.text, tables)
        return final

    def _keep(self, tables):
        if tables and table.store() is not None:
            table.import_tables(tables, they_win=True)

    def _finish(self, task, line):
        problem = task.problem
        if line:
            problem.lines.append(line)
            for key, found in (task.leaders or {}).items():  # then their figures by several workers decide
                self._choose(problem.tables[key], found[0])
        problem.done += 0.0 if task.leaders is not None else 1.0 / task.parts
        if problem.open == 0 and not problem.is_decided:
            problem.is_decided = True
            self._decide(problem)

    # -- the best of all parts ---------------------------------------------------

    def _decide(self, problem):
        """The best of each table, where no worker has named it for all parts."""
        leaders = {}
        for key, header in problem.tables.items():
            if self.board is None or self.board not in _board_of(header) or not problem.is_divided:
                continue
            found = self._leaders(problem, key, header["records"])
            if header.get("best") in header["records"] and not problem.measured:
                continue
            if len(found) > 1:
                leaders[key] = found
            elif found:
                self._choose(header, found[0])
        if leaders:
            self._give(_Task(problem, leaders=leaders))

    def _choose(self, header, identity):
        header["best"] = identity
        self._keep([header])

    def _leaders(self, problem, key, records):
        """Identities near the best, the fastest first: the parts measure briefly, and leave it to these who is the best.

        The result of the best was compared with those of its part. Where too few of these agree with it, the fastest
        of other parts join the leaders, until they are more than the leaders of its part: a wrong result that
        has the majority in a small part does not have it among them.
        """
        part_of = {i: problem.parts_of.get((key, i)) for i in records}
        times = {i: r["median"] for i, r in records.items() if r["status"] == "ok" and r["median"] is not None}
        ordered = sorted(times, key=times.get)
        near = [i for i in ordered if times[i] <= _LEADERS_WITHIN * times[ordered[0]]][:_MOST_LEADERS]
        if not near:
            return near
        own = part_of[near[0]]
        agreeing = sum(r["status"] in ("ok", "slow") and part_of[i] == own for i, r in records.items())
        if agreeing < _FEWEST_COMPARED:
            wanted = sum(part_of[i] == own for i in near) + 1
            others = [i for i in ordered if part_of[i] != own][:wanted]
            near = sorted({*near, *others}, key=times.get)
        return near

    # -- the journal -------------------------------------------------------------

    def _journal_key(self, text):
        return disk_cache.key_of({"target": self.target, "problem": text})

    def _remembered(self, text) -> dict:
        """What an earlier sweep has kept of a problem: tables by key."""
        found = self.journal.load(self._journal_key(text)) if self.journal is not None else None
        keys = found[0].get("tables") if found is not None else None
        entries = {key: table.store().load(key) for key in keys if isinstance(key, str)} if isinstance(keys, list) else {}
        return {key: entry[0] for key, entry in entries.items() if entry is not None and table.valid_header(entry[0])}


def _board_of(header) -> str:
    return table.identity_of_board(header["fields"])
