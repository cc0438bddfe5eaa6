# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One tuning: from configurations to figures.

  1. compile all candidates on all cores; a candidate that does not fit the device, or does
     not compile, ends here with its reason. Each is marked on disk before: if an earlier
     process has ended while it compiled one, all are compiled in worker processes
     (compiler/isolated.py)
  2. as each is compiled: run it once on the caller's data, compare what it wrote with
     the first that worked, and estimate its time
  3. measure the ones that can still win in interleaved rounds (autotune/Race.h)
  4. put the caller's data back

A candidate that fails is recorded and the others go on. Each is marked in the table
before its first run: a process that dies in it leaves the mark, and the next one
skips it. Figures are saved after every round, so a killed tuning resumes.
"""

from __future__ import annotations

import math
import os
import time
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout  # another class before Python 3.11

from .. import _core, errors, knobs, observers
from ..compiler.options import must_isolate
from ..tools.tensor_descriptor import TensorDescriptor, copy_of_descriptor
from . import bench as benches
from . import shares
from .candidate import Candidate, as_compiled
from .isolation import Trials, Unsupported
from .memory import Protection
from .options import SAME
from .report import Progress

# A candidate so much slower than the best estimate is not measured further.
_HOPELESS = 4.0
# In a part of a sweep, which only names those that are then measured side by side.
_NO_LEADER = 1.5
_ROUNDS_OF_A_PART = 3
_ROUND_MILLISECONDS = 2.0
_MAX_SAMPLES = 8


def start(tuner, nargs, args, kwargs, table):
    """A session on the current device, which shows its progress where somebody looks."""
    # A sweep shows its own, and its workers would write over that.
    progress = Progress.if_wanted(tuner.base_fn.__name__) if shares.current() is None else None
    return Session(tuner, nargs, args, kwargs, table, benches.DeviceBench(), progress)


class Session:
    """Measures configurations of one kernel for one set of arguments."""

    def __init__(self, tuner, nargs, args, kwargs, table, bench, progress=None):
        self.tuner, self.nargs, self.args, self.kwargs = tuner, nargs, args, kwargs
        self.table, self.bench, self.progress = table, bench, progress
        self.share = shares.current()  # of a sweep, or None
        self.started = time.monotonic() - (self.share.spent if self.share is not None else 0.0)
        self.budget = tuner.budget if tuner.budget is not None else knobs.autotuning.budget
        self.timeout = knobs.autotuning.timeout
        self.check = tuner.check if tuner.check is not None else knobs.autotuning.check
        named = {**nargs, **{k: v for k, v in kwargs.items() if k in tuner.arg_names}}
        self.protection = Protection(named, on_host=tuner.tune_memory == "host")
        self.trials = None
        self.lost = False  # the GPU, to this process
        known = table.records if self.share is None else self.share.records(table)
        isolate = tuner.isolate
        if isolate is None:
            # Where one candidate has cost a process, others may: two are not to cost two.
            isolate = knobs.autotuning.isolate or any(map(_has_cost_a_process, known.values()))
        if isolate:
            self.trials = Trials(self.timeout)
            self.trials.keep(named)
        self.isolates_compiling = any(map(_has_cost_a_compiler, known.values()))
        self.reference = None  # what the first working candidate wrote
        self.candidates: list = []
        self.odd: list = []  # candidates that disagree with the reference
        table.circumstances = {"clocks": bench.clocks(), "roof_ms": benches.roof(named)}

    # -- time -----------------------------------------------------------------

    def elapsed(self):
        return time.monotonic() - self.started

    def is_over(self):
        return self.elapsed() > self.budget

    def _time_left(self):
        return max(self.budget - self.elapsed(), 0.1)

    def _turn_is_over(self):
        """Whether the sweep waits for what this worker has; the rest is for its next turn."""
        return self.share is not None and self.elapsed() - self.share.spent > self.share.seconds

    # -- 1: compile -----------------------------------------------------------

    def _compile(self, candidate, args, kwargs):
        token = must_isolate.set(self.isolates_compiling)
        try:
            with observers.tuning():  # this is a thread of the pool
                return self.tuner.fn.run(*args, **{**kwargs, **candidate.config.all_kwargs(), "warmup": True})
        finally:
            must_isolate.reset(token)

    def _arguments_for(self, candidate):
        """(args, kwargs) that the candidate is compiled for: its hook completes descriptors, each candidate's its own.

        Other hooks prepare a run, and are left to it: what they do to arrays is nothing that a compilation sees.
        """
        if candidate.config.pre_hook is None:
            return self.args, self.kwargs
        copies = {
            id(value): copy_of_descriptor(value)
            for value in (*self.args, *self.kwargs.values(), *self.nargs.values())
            if isinstance(value, TensorDescriptor)
        }
        if not copies:
            return self.args, self.kwargs

        def own(value):
            return copies.get(id(value), value)

        candidate.config.pre_hook({name: own(value) for name, value in self._full(candidate).items()})
        return [own(value) for value in self.args], {name: own(value) for name, value in self.kwargs.items()}

    def start_compiling(self, candidates, pool):
        for candidate in candidates:
            candidate.status = "compiling"
        self.table.save({c.identity: c.record() for c in candidates})
        for candidate in candidates:
            try:
                args, kwargs = self._arguments_for(candidate)
            except Exception as error:  # noqa: BLE001 - a hook that fails is this candidate's alone
                candidate.future = Future()
                candidate.future.set_exception(error)
                continue
            candidate.future = pool.submit(self._compile, candidate, args, kwargs)

    def finish_compiling(self, candidate):
        """Waits for one candidate; whether it may run."""
        try:
            candidate.kernel = candidate.future.result(timeout=self._time_left())
        except (TimeoutError, FutureTimeout):
            candidate.end("skipped", "the budget was spent before it was compiled")
            return False
        except errors.OutOfResources as error:
            candidate.end("pruned", _first_line(error), error)
            return False
        except Exception as error:  # noqa: BLE001 - any failure is this candidate's alone
            candidate.end("failed", _first_line(error), error)
            candidate.crashed = getattr(error, "code", "") == "E0901"
            return False
        metadata = getattr(candidate.kernel, "metadata", None)
        if metadata is None:
            return True
        candidate.resources = {
            "registers": metadata.n_regs,
            "spills": metadata.n_spills,
            "shared": metadata.shared,
            "threads": metadata.num_warps * metadata.warp_size,
        }
        return self._fits(candidate, metadata)

    def _fits(self, candidate, metadata):
        limits = _core.device_properties(_core.current_device())
        problem, blocks = _core.judge_fit(
            metadata.shared,
            -1 if metadata.n_regs is None else metadata.n_regs,
            metadata.num_warps * metadata.warp_size,
            limits["max_shared_mem"],
            limits["max_num_regs"],
            limits["max_threads_per_block"],
            str(limits["capability"]),
        )
        candidate.resources["blocks"] = blocks
        if problem:
            candidate.end(
                "pruned",
                f"does not fit: {problem}",
                errors.from_native("E0301", "OutOfResources", problem) if "shared" in problem else None,
            )
        return not problem

    # -- 2: first run ---------------------------------------------------------

    def _full(self, candidate):
        return {**self.nargs, **self.kwargs, **candidate.config.all_kwargs()}

    def _hooked(self, candidate):
        if candidate.config.pre_hook is not None:
            candidate.config.pre_hook(self._full(candidate))

    def _before(self, candidate):
        """Everything that a run needs and that is not timed."""
        self.protection.restore()
        self._hooked(candidate)
        self.tuner.pre_hook(self._full(candidate))

    def _run(self, candidate):
        self.tuner.fn.run(*self.args, **{**self.kwargs, **candidate.config.all_kwargs()})

    def _timed(self, candidate, count, checked=False):
        full = self._full(candidate)

        def before():
            self._before(candidate)
            if checked:
                self.protection.poison()

        try:
            times = self.bench.time(lambda: self._run(candidate), before, count, self.timeout)
        except Exception as error:
            self.tuner.post_hook(full, exception=error)
            raise
        if checked:
            self._compare(candidate)
        self.tuner.post_hook(full, exception=None)
        return times

    def first_run(self, candidate):
        metadata = getattr(candidate.kernel, "metadata", None)
        self.protection.add(
            metadata.written_args if metadata is not None else None, metadata.read_args if metadata is not None else None
        )
        candidate.status = "running"
        self._note(candidate)
        if self._fails_in_isolation(candidate):
            self._note(candidate)
            return
        times = self._measured(candidate, 1, checked=self.check is not False)
        if times:
            candidate.estimate, candidate.late = times[0], self.bench.late
            if candidate.status == "running":
                candidate.status = "ready"
        self._note(candidate)

    def _measured(self, candidate, count, checked=False):
        """Times of so many runs; None where the candidate fails, which ends it alone. A
        hang or a fault ends the tuning, after it was noted: this process has lost the GPU.
        """
        try:
            return self._timed(candidate, count, checked)
        except TimeoutError:
            self._hung(candidate)
        except (errors.DeviceFault, errors.DeviceAssert, errors.ContextLost) as error:
            self._faulted(candidate, error)
        except Exception as error:  # noqa: BLE001 - any failure is this candidate's alone
            candidate.end("failed", _first_line(error), error)
            return None

    def _fails_in_isolation(self, candidate):
        """Runs the candidate in a child first, where that is wanted and possible."""
        if self.trials is None or candidate.config.pre_hook is not None or candidate.kernel is None:
            return False
        full = {**getattr(candidate.kernel, "constants", {}), **self._full(candidate)}
        grid = full["grid"](full) if callable(full["grid"]) else full["grid"]
        try:
            status, reason = self.trials.trial(candidate.kernel, full, grid)
        except Unsupported:
            return False
        if status != "ok":
            candidate.end(status, reason)
        return status != "ok"

    def _hung(self, candidate):
        candidate.end("hung", f"ran longer than {self.timeout:g} s")
        self._lose(candidate)
        # The GPU still runs it, and nothing can stop it from here.
        _core.set_abandoned(True)
        raise errors.make(
            "E0406",
            name=self.tuner.base_fn.__name__,
            s=f"{self.timeout:g}",
            config=str(candidate.config),
            instruction=self._what_to_do(),
        )

    def _faulted(self, candidate, error):
        candidate.end("failed", _first_line(error), error)
        self._lose(candidate)
        notes = [
            f"met while '{self.tuner.base_fn.__name__}' was tuned, by its configuration {candidate.config}",
            self._what_to_do(),
        ]
        text = str(error) + "".join(f"\n  note: {note}" for note in notes)
        raise errors.from_native(
            error.code, type(error).__name__, error.message, error.help, error.frames, [*error.notes, *notes], text
        ) from error

    def _lose(self, candidate):
        self.lost = candidate.lost = True
        self._note(candidate)

    def _what_to_do(self):
        if self.table.store is None:
            return (
                "nothing is kept on disk for this kernel, so a new process will meet it again; with isolate=True "
                "each configuration is tried in a child process"
            )
        return (
            "the GPU is lost to this process; run again in a new one: it leaves this configuration out, and tries "
            "the others in a child process first"
        )

    def _note(self, candidate):
        self.table.save({candidate.identity: candidate.record()})

    # -- checking -------------------------------------------------------------

    def _compare(self, candidate):
        protection = self.protection
        if not protection.regions:
            return
        if self.tuner.reference is not None and self.reference is None:
            self.reference = self._outputs_of_reference()
            self.bench.synchronize()
            self._before(candidate)
            protection.poison()
            self._run(candidate)
            self.bench.synchronize()
        if self.reference is None:
            self.reference = protection.outputs()
            return
        problem = protection.difference(self.reference, self.tuner.tolerance)
        if problem:
            candidate.end("wrong", problem)
            self.odd.append(candidate)

    def _outputs_of_reference(self):
        """What the user's own function leaves in the written arguments."""
        self.protection.restore()
        self.tuner.reference({**self.nargs, **{k: v for k, v in self.kwargs.items() if k not in ("grid", "warmup")}})
        self.bench.synchronize()
        return self.protection.outputs()

    def settle_disagreement(self):
        """Where most candidates disagree with the first, the first is the odd one.

        The others are compared among themselves; a majority of them wins.
        """
        working = [c for c in self.candidates if c.runs]
        if self.tuner.reference is not None or len(self.odd) <= len(working):
            return
        odd, self.odd, self.reference = self.odd, [], None
        for candidate in odd:
            candidate.end("ready")
            if times := self._measured(candidate, 1, checked=True):
                candidate.estimate, candidate.late = times[0], self.bench.late
        if len(odd) - len(self.odd) <= len(working):
            # No majority anywhere: the first keeps its word.
            for candidate in odd:
                candidate.end("wrong", "no majority of the configurations agrees with it")
            self.odd = odd
            return
        for candidate in working:
            candidate.end("wrong", "most configurations disagree with it")
            self.odd.append(candidate)

    # -- 3: rounds ------------------------------------------------------------

    def _best_of_estimates(self, candidates, hopeless):
        """The least estimate, after those that may look hopeless by accident have been timed again.

        The first runs share the processor with the compiler's threads: a launch that
        comes late after its event looks like a slow kernel.
        """
        best = min((c.estimate for c in candidates), default=math.inf)
        for candidate in candidates:
            limit = hopeless * best
            if candidate.estimate - candidate.late <= limit < candidate.estimate and not self.is_over():
                candidate.estimate = min(candidate.estimate, *(self._measured(candidate, 1) or ()), math.inf)
                best = min(best, candidate.estimate)
        return best

    def _rounds(self, candidates, seed):
        """Interleaved rounds over the candidates that can still win."""
        decides = self.share is None or self.share.decides
        hopeless = _HOPELESS if decides else _NO_LEADER
        best = self._best_of_estimates(candidates, hopeless)
        most = {} if decides else {"max_rounds": _ROUNDS_OF_A_PART}
        race = _core.Race(len(candidates), seed=seed, tolerance=SAME, **most)
        for index, candidate in enumerate(candidates):
            if candidate.samples:  # of a tuning that was killed
                race.add(index, candidate.samples)
            if candidate.status != "ready":  # it has failed meanwhile
                race.drop(index)
            elif candidate.estimate > hopeless * best:
                race.drop(index)
                candidate.samples = candidate.samples or [candidate.estimate]
                candidate.end("slow", f"one run took {candidate.estimate:.3g} ms, the best {best:.3g} ms")
        while not self.is_over() and (order := race.next_round()):
            for index in order:
                candidate = candidates[index]
                count = max(1, min(_MAX_SAMPLES, int(_ROUND_MILLISECONDS / max(candidate.estimate, 1e-3))))
                times = self._measured(candidate, count)
                if times is None:
                    race.drop(index)
                    continue
                candidate.samples += times
                race.add(index, times)
                self._show(candidates)
                if self.is_over():
                    break
            self.table.save({c.identity: c.record() for c in candidates})
        for candidate in candidates:
            if candidate.status == "ready":
                candidate.status = "ok"
                candidate.samples = candidate.samples or [candidate.estimate]
        return race

    def _show(self, candidates):
        if self.progress is not None:
            self.progress.update(self, candidates)

    # -- the whole ------------------------------------------------------------

    def measure(self, configs, seed=0):
        """Figures of configurations; those of them that work, fastest first."""
        batch = [Candidate(config, identity) for config, identity in configs]
        self.candidates += batch
        if self.share is not None:
            self.share.measured += len(batch)
        for candidate in batch:
            earlier = self.table.records.get(candidate.identity)
            if earlier is not None and earlier["status"] == "running":
                self._judge_interrupted(candidate, earlier)
            elif earlier is not None and earlier["status"] == "ready":
                candidate.samples = [s for s in earlier.get("samples", []) if isinstance(s, float)]
        pool = ThreadPoolExecutor(max_workers=_compile_threads(len(batch)), thread_name_prefix="tilewright-tune")
        try:
            compiled = [c for c in batch if c.runs]
            self.start_compiling(compiled, pool)
            for candidate in as_compiled(compiled, self._time_left):
                if any(c.status == "ready" for c in self.candidates) and (self.is_over() or self._turn_is_over()):
                    self._skip(candidate)
                    continue
                if self.finish_compiling(candidate):
                    self.first_run(candidate)
                else:
                    self._note(candidate)
                self._show(batch)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
        self.settle_disagreement()
        self._rounds([c for c in batch if c.status == "ready"], seed)
        # What was skipped is saved too: its mark must go, or the next process would take it for a crash.
        self.table.save({c.identity: c.record() for c in batch})
        return sorted((c for c in batch if c.status == "ok"), key=lambda c: c.record()["median"])

    def _judge_interrupted(self, candidate, earlier):
        """A candidate that ran when its process ended: nothing tells which of the two was the reason.

        A sweep's worker may have been stopped from outside, and its candidates are not to be lost with
        it: each has a second try, in a child process first. Here, the first end is enough.
        """
        if self.share is not None and not earlier.get("interrupted"):
            candidate.interrupted = True
            return
        candidate.end("failed", "an earlier process ended while this ran")
        candidate.lost = True
        self._note(candidate)

    def _skip(self, candidate):
        if self.is_over():
            candidate.end("skipped", f"the budget of {self.budget:g} s was spent")
        else:
            candidate.end("skipped", "left for the next turn of the sweep")
            self.share.is_cut_short = True

    def finish(self):
        """The caller's data as it was."""
        if self.trials is not None:
            self.trials.close()
        if not self.lost:  # else there is nothing that could be put back, or waited for
            self.protection.restore()
            self.bench.synchronize()
        if self.progress is not None:
            self.progress.close()


def _has_cost_a_compiler(record) -> bool:
    """Whether the compiler, or the process that it ran in, ended while it compiled its configuration."""
    return record.get("crashed") is True or record["status"] == "compiling"


def _has_cost_a_process(record) -> bool:
    """Whether its configuration faulted, hung or ended a process that ran it."""
    return record.get("lost") is True or record["status"] == "running"


def _compile_threads(count):
    return max(1, min(count, knobs.autotuning.threads or os.cpu_count() or 1))


def _first_line(error) -> str:
    return f"{type(error).__name__} {str(error).splitlines()[0] if str(error) else ''}"
