# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiling in a worker process, so that a crash of the compiler is an error in this process.

The front end runs here, because it walks Python objects, after a rehearsal in a forked child
(rehearsal.py); passes, LLVM and the assembler run in the worker (worker.py). If a signal ends
the worker, or if it takes longer than TILEWRIGHT_COMPILE_TIMEOUT or wants more than
TILEWRIGHT_COMPILE_MEMORY_MB, another worker writes the reproducer, and the error names kernel,
configuration and pass.

Workers are kept for the next compilation, one for each thread that compiles.
"""

from __future__ import annotations

import atexit
import os
import sys
import tempfile
import threading

from .. import _core, errors, knobs
from ..child_process import Child
from .options import DEFAULTS
from .rehearsal import can_rehearse, rehearse

#: Seconds that a worker may take where TILEWRIGHT_COMPILE_TIMEOUT says nothing; a guess, ten times what the slowest
#: kernel of the tests takes.
_USUAL_SECONDS = 600.0
_START_SECONDS = 60.0
#: After its own limit a worker raises E0305 between two stages, and names it better.
_GRACE_SECONDS = 0.5
#: Options that matter after the front end.
_OPTIONS = ("enable_fp_fusion", "maxnreg", "num_ctas", "num_stages", "launch_pdl", "ptx_version", "ptx_options")
_MOST_NOTES = 5


class _Worker:
    """One process, and what it has written to its error stream."""

    def __init__(self, memory_mb):
        self.memory_mb = memory_mb
        self.stderr = tempfile.TemporaryFile()
        self.child = Child("tilewright.compiler.worker", memory_mb, stderr=self.stderr)
        try:
            self.child.answer(_START_SECONDS)
        except BaseException:
            self.close()
            raise

    def said(self) -> str:
        """What was written since the last call."""
        self.stderr.seek(0)
        text = self.stderr.read().decode(errors="replace")
        self.stderr.seek(0)
        self.stderr.truncate()
        return text

    def close(self):
        self.child.close()
        self.stderr.close()


_idle: list = []
_lock = threading.Lock()


def _forget():
    """In a forked child: the workers belong to the parent."""
    global _lock

    _idle.clear()
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_forget)


@atexit.register
def _close_all():
    with _lock:
        workers = list(_idle)
        _idle.clear()
    for worker in workers:
        worker.close()


def _take() -> _Worker:
    memory = knobs.compilation.memory_mb
    while True:
        with _lock:
            worker = next((w for w in _idle if w.memory_mb == memory), None)
            if worker is None:
                break
            _idle.remove(worker)
        if worker.child.process.poll() is None:
            return worker
        worker.close()  # it died while it was idle
    return _Worker(memory)


def _give_back(worker):
    with _lock:
        _idle.append(worker)


def _seconds():
    if not knobs.is_set("COMPILE_TIMEOUT"):
        return _USUAL_SECONDS
    return knobs.compilation.timeout or None


class Job:
    """One compilation: the tile IR of a kernel, empty before the front end, and what its errors call it."""

    def __init__(self, name, configuration, text, options, target):
        self.name, self.configuration = name, configuration
        self.text, self.options, self.target = text, options, target
        self.step, self.place = "frontend", 0

    def rehearse(self, front_end):
        """Raises E0305 or E0901 where the front end would not come to its end, or would end this process."""
        if not can_rehearse():
            return
        try:
            how = rehearse(front_end, _seconds())
        except TimeoutError:
            raise self._late(_seconds()) from None
        except OSError:  # no process, or no memory for one
            raise self._lost(None) from None
        if how:
            raise self._failure(how)

    def run(self) -> dict:
        """The compiler's result; its error, E0305, or E0901."""
        seconds, worker = _seconds(), None
        try:
            worker = _take()
            worker.child.send(self._message("compile"), self.text.encode())
            answer, blob = self._answer(worker, seconds)
        except TimeoutError:
            if worker is None:
                raise self._lost(None) from None
            worker.close()
            raise self._late(seconds) from None
        except (EOFError, BrokenPipeError):
            raise self._lost(worker) from None
        except OSError:  # no process, no file, no memory for one
            if worker is not None:
                worker.close()
            raise self._lost(None) from None
        except BaseException:  # an interrupt leaves the worker in the middle
            if worker is not None:
                worker.close()
            raise
        sys.stderr.write(worker.said())
        _give_back(worker)
        if answer["status"] == "error":
            raise errors.from_native(**answer["error"])
        result = answer["result"]
        result["cubin"] = blob or None
        return result

    def _message(self, what, **more):
        return {"what": what, "options": self.options, "target": self.target, "switches": knobs.switches(), **more}

    def _answer(self, worker, seconds):
        allowed = None if seconds is None else seconds + _GRACE_SECONDS
        while True:
            answer, blob = worker.child.answer(allowed)
            if answer["status"] != "step":
                return answer, blob
            self.step, self.place = answer["step"], answer["place"]

    # -- what went wrong ---------------------------------------------------------

    def _late(self, seconds):
        path, help = self._reproduce("timeout", "")
        return errors.make(
            "E0305",
            s=f"{seconds:g}",
            stage=self.step,
            path=path,
            help=help,
            notes=[f"compiling '{self.name}' with {self.configuration}"],
        )

    def _lost(self, worker):
        if worker is None:
            how, notes = "could not be started", []
        else:
            how = worker.child.wait()
            peak = worker.child.usage.ru_maxrss >> 10
            if worker.memory_mb and peak > worker.memory_mb // 2:
                how += f" when it had taken {peak} of {worker.memory_mb} MiB"
            notes = [line for line in worker.said().splitlines() if line.strip()][-_MOST_NOTES:]
            worker.close()
        return self._failure(how, notes)

    def _failure(self, how, notes=()):
        path, help = self._reproduce(how, "this is a bug; ")
        return errors.make(
            "E0901",
            name=self.name,
            how=how,
            config=self.configuration,
            path=path,
            notes=list(notes),
            help=help,
            **{"pass": self.step},
        )

    def _reproduce(self, message, whose):
        """(path, help): no help where the catalogue's fits."""
        if not self.text:
            return "", whose + "the kernel and its arguments reproduce it, as the front end reads Python's objects"
        path, problem = self._reproducer(message)
        return path, f"{whose}no reproducer could be written to {problem}" if problem else None

    def _reproducer(self, message):
        """(path, problem). The passes before the failure run once more, so a worker does that, too."""
        if "reproducer" in self.options:
            return self.options["reproducer"], ""
        worker = None
        try:
            worker = _take()
            worker.child.send(
                self._message("reproducer", step=self.step, place=self.place, message=message), self.text.encode()
            )
            answer, _ = worker.child.answer(_START_SECONDS)
            if answer["status"] == "done":
                return answer["path"], answer["problem"]
        except (OSError, EOFError):
            pass
        finally:
            if worker is not None:
                worker.close()
        return _core.write_reproducer(self.text, self.options, self.target, self.step, self.place, message, False)


def _shown(value) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _configuration(src, options) -> str:
    chosen = {
        **src.constants,
        "num_warps": options["num_warps"],
        "num_stages": options["num_stages"],
        **{k: v for k, v in options.items() if k in DEFAULTS and v != DEFAULTS[k]},
    }
    return ", ".join(f"{name}={_shown(value)}" for name, value in chosen.items())


def compile_kernel(src, options, target) -> dict:
    """What _core.compile_kernel returns."""

    def front_end():
        signature, constants, divisibility = dict(src.runtime_signature), dict(src.constants), dict(src.divisibility)
        return _core.emit_ttir(src.fn, signature, constants, divisibility, dict(options), target, locations=True)

    kept = {name: options[name] for name in _OPTIONS if options.get(name) is not None}
    job = Job(src.fn.__name__, _configuration(src, options), "", kept, target)
    job.rehearse(front_end)
    job.text = front_end()
    return job.run()
