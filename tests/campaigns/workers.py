# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Processes that go through the seeds of a campaign, and the file that remembers how far it came.

A worker reads a seed a line and answers with a line of JSON. One that dies or takes too long
is replaced, and its seed has failed; so neither a crash nor a hang ends a campaign.
"""

import collections
import json
import os
import re
import select
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

# A kernel takes about a second; what takes this long hangs.
PATIENCE_IN_SECONDS = 180
# A process gives memory back at its end.
SEEDS_OF_A_WORKER = 400
SECONDS_BETWEEN_STATES = 5


def serve(outcome_of_seed, ends_when_wrong=False):
    """What a worker does. Answers go where standard output was; what kernels and libraries print is dropped.

    `ends_when_wrong`: after a fault on a GPU nothing runs in the process any more."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    for line in sys.stdin:
        seed = int(line)
        outcome, problem = outcome_of_seed(seed)
        is_last = ends_when_wrong and outcome == "wrong"
        answers.write(json.dumps([seed, outcome, problem, is_last]) + "\n")
        answers.flush()
        if is_last:
            break
    return 0


def in_child(function):
    """The result of a function in a forked process: (outcome, problem), or a crash."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer"
        child = os.fork()
        if child == 0:
            try:
                answer.write_text(json.dumps(function()))
            finally:
                os._exit(0)
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            return "wrong", f"crash: signal {os.WTERMSIG(status)}"
        return json.loads(answer.read_text()) if answer.exists() else ("wrong", "crash: no answer")


class Campaign:
    """Which seeds are done, with what outcome."""

    def __init__(self, first, count, state=None):
        self.state, self.done, self.failed, self.refused = state, {}, {}, {}
        if state is not None and state.exists():
            known = json.loads(state.read_text())
            self.done = {int(seed): outcome for seed, outcome in known["done"].items()}
            self.failed = {int(seed): problem for seed, problem in known["failed"].items()}
            self.refused = {int(seed): problem for seed, problem in known["refused"].items()}
        self.left = collections.deque(seed for seed in range(first, first + count) if seed not in self.done)
        self.saved_at = time.monotonic()

    def record(self, seed, outcome, problem):
        self.done[seed] = outcome
        if outcome == "refused":
            self.refused[seed] = problem
        elif outcome == "wrong":
            self.failed[seed] = problem
        if time.monotonic() - self.saved_at > SECONDS_BETWEEN_STATES:
            self.save()

    def save(self):
        """Written beside and renamed: an end at any moment leaves a whole file."""
        self.saved_at = time.monotonic()
        if self.state is not None:
            beside = self.state.with_name(self.state.name + ".new")
            beside.write_text(json.dumps({"done": self.done, "failed": self.failed, "refused": self.refused}))
            beside.replace(self.state)

    def summary(self):
        counts = collections.Counter(self.done.values())
        kinds = collections.Counter(self.kind(problem) for problem in self.failed.values())
        parts = [
            f"{len(self.done)} kernels: {counts['same']} same, {counts['wrong']} wrong, {counts['refused']} refused, "
            f"{counts['unfit']} do not fit"
        ]
        codes = collections.Counter(re.search(r"\[(E\d{4})\]", problem)[1] for problem in self.refused.values())
        parts += [f"refused: {dict(codes.most_common())}"] * bool(codes)
        parts += [f"wrong: {dict(kinds.most_common())}"] * bool(kinds)
        return "; ".join(parts)

    @staticmethod
    def kind(problem):
        code = re.search(r"E\d{4}", problem)
        return f"{problem.split(':')[0].split(' ')[0]} {code[0] if code else 'differs' if 'differ' in problem else 'fails'}"


class Worker:
    """One process; `answer` gives (outcome, problem) of a seed."""

    def __init__(self, command):
        self.command, self.process, self.served = command, None, 0

    def answer(self, seed):
        if self.process is None or self.served >= SEEDS_OF_A_WORKER:
            self.end()
            environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TILEWRIGHT_CACHE": "0"}
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=environment,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            self.served = 0
        self.served += 1
        try:
            self.process.stdin.write(f"{seed}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        if not select.select([self.process.stdout], [], [], PATIENCE_IN_SECONDS)[0]:
            self.end()
            return "wrong", f"hang: no answer in {PATIENCE_IN_SECONDS} seconds"
        line = self.process.stdout.readline()
        if not line:
            status = self.process.wait()
            self.end()
            return "wrong", f"crash: status {status}"
        _, outcome, problem, is_last = json.loads(line)
        if is_last:
            self.end()
        return outcome, problem

    def end(self):
        if self.process is not None:
            self.process.kill()
            # Waits, and closes the pipes.
            self.process.communicate()
            self.process = None


class Pool:
    def __init__(self, command, jobs):
        self.workers = [Worker(command) for _ in range(jobs)]
        self.lock = threading.Lock()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for worker in self.workers:
            worker.end()

    def go_through(self, campaign, seconds, report):
        deadline = time.monotonic() + seconds
        threads = [threading.Thread(target=self.serve, args=(worker, campaign, deadline, report)) for worker in self.workers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        campaign.save()

    def serve(self, worker, campaign, deadline, report):
        while time.monotonic() < deadline:
            with self.lock:
                if not campaign.left:
                    return
                seed = campaign.left.popleft()
            outcome, problem = worker.answer(seed)
            with self.lock:
                campaign.record(seed, outcome, problem)
                if outcome == "wrong":
                    report(f"seed {seed}: {problem}", flush=True)
