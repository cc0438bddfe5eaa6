# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The policy of a tuning: which configurations are worth measuring, what is known about them, which one wins.

A tuner belongs to one tuned kernel (runtime/autotuner.py). It calls that object for everything that
libraries override or replace (`prune_configs`, `_bench`, hooks); that object also launches.
"""

from __future__ import annotations

import contextlib
import warnings

from .. import _core, errors
from ..runtime.driver import driver
from . import shares
from .candidate import Candidate, first_line
from .config import check_conflicts
from .options import SAME
from .table import FINAL, Table, config_identity

_FAILED = [float("inf")] * 3


class Tuner:
    """Finds the configuration of a kernel for given arguments; `candidates` are those of the latest tuning."""

    def __init__(self, kernel, options, space):
        self.kernel, self.options = kernel, options
        self.space = space  # where configurations are searched, not listed (space.py)
        self.candidates: list = []
        self.left_out: list = []  # (configuration, why it was not tried) of the latest pruning
        self.bench_errors: dict = {}  # id of a configuration -> why its benchmark gave no time

    # -- pruning --------------------------------------------------------------

    def prune(self, configs, nargs, kwargs):
        """The configurations worth measuring for these arguments."""
        options, pruned = self.options, configs
        self.left_out = []
        if options.early_config_prune is not None:
            pruned = list(options.early_config_prune(configs, nargs, **kwargs))
            if not pruned:
                raise errors.make("E0605")
            self._leave_out(configs, pruned, "early_config_prune left it out")
        if options.perf_model is not None:
            top = options.top_k
            if isinstance(top, float) and top <= 1.0:
                top = int(len(configs) * top)
            elif not isinstance(top, int):
                raise TypeError("top_k of prune_configs_by must be an int, or a float of at most 1")
            if len(pruned) > top:
                estimates = {c: options.perf_model(**nargs, **kwargs, **c.all_kwargs()) for c in pruned}
                best = sorted(estimates, key=estimates.get)[:top]
                self._leave_out(pruned, best, f"perf_model puts {len(best)} before it, of which top_k are tried")
                pruned = best
        return list(pruned)

    def _leave_out(self, configs, kept, reason):
        kept = set(map(id, kept))
        self.left_out += [(c, reason) for c in configs if id(c) not in kept]

    # -- one tuning -----------------------------------------------------------

    def tune(self, call, configs, key, device, has_own_bench):
        """The configuration for a call (nargs, args, kwargs), measured where nothing is known."""
        kernel, kwargs = self.kernel, call[2]
        for config in configs:
            check_conflicts(config, kwargs)
        name = kernel.base_fn.__name__
        share = shares.current()
        if has_own_bench and not self.options.cache_results:
            if share is not None and share.part != 0:
                raise shares.NothingToLaunch  # nothing is kept, so once is enough
            _core.check_not_capturing(device, name)
            return self._measure_with_own_bench(call, configs)
        table = Table(kernel.fn, name, key, device)
        identities = [config_identity(c) for c in configs]
        if not all(exact for _, exact in identities):
            table.store = None  # a hook that has no name in another process
        by_identity = {identity: config for config, (identity, _) in zip(configs, identities)}
        part = ""
        if share is not None:
            by_identity = share.take(table, by_identity, is_searched=self.space is not None)
            part = f"part {share.part} of {share.parts}"
        known = self._known(table, by_identity)
        if known is not None:
            return known
        with contextlib.ExitStack() as stack:
            stack.enter_context(_current(device))
            _core.check_not_capturing(device, name)
            lock = table.lock(part)
            if lock is not None:
                stack.callback(lock.release)
                # Another process may have measured while this one waited.
                known = self._known(table, by_identity)
                if known is not None:
                    return known
            if has_own_bench:
                return self._measure_and_keep(call, table, by_identity)
            # A process whose figures are on disk never loads it.
            from . import session

            return self._measure(session.start(kernel, *call, table), table, by_identity)

    def _known(self, table, by_identity):
        """The choice that needs no measuring, or None."""
        share = shares.current()
        if table.load():
            if share is not None:
                share.begins_anew(table)
            if table.pinned in by_identity:
                return self._chosen(table, by_identity, table.pinned)
            records = table.records
            complete = self.space is not None or all(records.get(i, {}).get("status") in FINAL for i in by_identity)
            # A search has measured what it wanted when it has named its best.
            if complete and records.get(table.best, {}).get("median") is not None and table.best in by_identity:
                return self._chosen(table, by_identity, table.best)
            if complete and self.space is None:
                working = [(r["median"], i) for i, r in records.items() if r["status"] == "ok" and i in by_identity]
                return self._chosen(table, by_identity, min(working)[1]) if working else None
        # A part of a sweep measures what it was given: its best is compared with those of other parts.
        return by_identity.get(table.shipped_best()) if share is None else None

    def _chosen(self, table, by_identity, identity):
        """The configuration, with the figures of all where libraries look for them."""
        timings = {}
        for other, config in by_identity.items():
            record = table.records.get(other)
            if record is not None:
                has_time = record["median"] is not None and record["status"] in ("ok", "slow")
                timings[config] = [record["median"], record["q20"], record["q80"]] if has_time else _FAILED
        self.kernel.configs_timings = timings
        return by_identity[identity]

    # -- with the caller's benchmark ------------------------------------------

    def _measure_with_own_bench(self, call, configs):
        """Triton's way: one configuration after the other, the smallest median wins."""
        nargs, args, kwargs = call
        timings, candidates = {}, []
        for config in configs:
            self.kernel.nargs = nargs
            timings[config], error = self._benched(args, kwargs, config)
            candidate = Candidate(config, "")
            if error is None and _median(timings[config]) == float("inf"):
                candidate.end("failed", "no time was measured")
            else:
                candidate.end("failed" if error else "ok", first_line(error), error)
            candidate.samples = [_median(timings[config])] if candidate.runs else []
            candidates.append(candidate)
        self.kernel.configs_timings = timings
        self._raise_if_none_works(candidates)
        self.candidates = candidates
        return min(timings, key=lambda c: _median(timings[c]))

    def _benched(self, args, kwargs, config):
        """Timings of one configuration, and what went wrong."""
        try:
            timing = self.kernel._bench(*args, config=config, **kwargs)
        except (errors.DeviceFault, errors.ContextLost):
            raise  # nothing runs in this context any more
        except Exception as error:  # noqa: BLE001 - recorded, and raised when all fail
            return _FAILED, error
        return timing, self.bench_errors.pop(id(config), None)

    def _measure_and_keep(self, call, table, by_identity):
        best = self._measure_with_own_bench(call, list(by_identity.values()))
        for candidate, identity in zip(self.candidates, by_identity):
            candidate.identity = identity
        identity = next(i for i, c in by_identity.items() if c is best)
        table.save({c.identity: c.record() for c in self.candidates}, best=identity if _decides() else None)
        return best

    # -- with a session -------------------------------------------------------

    def _measure(self, session, table, by_identity):
        try:
            if self.space is not None and not (session.share is not None and session.share.leaders):
                self._search(session, by_identity)
            else:
                # Where nothing works, what failed before is tried again: the reasons may be gone,
                # and if not the error can tell them.
                works = any(table.records.get(i, {}).get("status") == "ok" for i in by_identity)
                session.measure([(c, i) for i, c in by_identity.items() if _is_open(table.records.get(i, {}), works)])
        finally:
            session.finish()
        self.candidates = session.candidates
        self._report_odd(session)
        best = _pick(table, by_identity)
        if best is None and not _decides():
            raise shares.NothingToLaunch
        if best is None:
            self._raise_if_none_works(session.candidates + _earlier_failures(session, table, by_identity))
        table.save({}, best=best if _decides() else None)
        return self._chosen(table, by_identity, best)

    def _search(self, session, by_identity):
        """Batches of points until the search is satisfied or the budget is spent."""
        search = self.space.search()
        while (batch := search.next_batch()) and not session.is_over():
            points = {}
            for point in batch:
                config = self.space.config_at(point)
                points[config_identity(config)[0]] = (point, config)
            session.measure(
                [
                    (config, identity)
                    for identity, (_, config) in points.items()
                    if session.table.records.get(identity, {}).get("status") not in FINAL
                ]
            )
            for identity, (point, config) in points.items():
                record = session.table.records.get(identity, {})
                works = record.get("status") in ("ok", "slow") and record.get("median") is not None
                search.report(point, record["median"] if works else float("inf"))
                by_identity.setdefault(identity, config)

    def _report_odd(self, session):
        """E0604: told, and with check='strict' raised; the choice is among the others."""
        if not session.odd:
            return
        notes = [f"{c.config}: {c.reason}" for c in session.odd]
        error = errors.make("E0604", k=len(session.odd), n=len(session.candidates), notes=notes)
        if self.options.check == "strict":
            raise error
        warnings.warn(str(error), errors.TuneWarning, stacklevel=6)

    def _raise_if_none_works(self, candidates):
        if any(c.runs for c in candidates):
            return
        problems = [c.error for c in candidates]
        # One mistake in the kernel or the call is the error, not that of tuning.
        texts = {(type(e), str(e)) for e in problems}
        if problems and problems[0] is not None and len(texts) == 1 and not isinstance(problems[0], errors.OutOfResources):
            raise problems[0]
        table = [f"{c.config}: {c.status}: {c.reason}" for c in candidates]
        table += [f"{config}: not tried: {reason}" for config, reason in self.left_out]
        if problems and all(isinstance(e, errors.OutOfResources) for e in problems):
            raise errors.NothingFits(problems[0], table)
        raise errors.make("E0601", n=len(candidates), notes=table, cause=next((e for e in problems if e), None))


@contextlib.contextmanager
def _current(device):
    """Makes a device the current one for the block: events and copies go there."""
    before = _core.current_device()
    if device == before:
        yield
        return
    driver.active.set_current_device(device)
    try:
        yield
    finally:
        driver.active.set_current_device(before)


def _decides() -> bool:
    """Whether the best that is found here is the best of all: in a part of a sweep it is not."""
    share = shares.current()
    return share is None or share.decides


def _pick(table, by_identity):
    """The identity of the fastest, or of the earlier choice inside the noise: a choice that flips
    with the noise changes the low bits of results from run to run."""
    working = {i: r for i, r in table.records.items() if i in by_identity and r["status"] == "ok" and r["median"] is not None}
    if not working:
        return None
    best = min(working, key=lambda i: working[i]["median"])
    earlier = table.best
    if earlier not in working or earlier == best:
        return best
    new, old = working[best], working[earlier]
    if old["low"] <= new["high"] or old["median"] <= new["median"] * (1 + SAME):
        errors.warn(
            "W0606",
            d=f"{(old['median'] / new['median'] - 1) * 100:.1f}",
            c=f"{(new['high'] - new['low']) / 2 / new['median'] * 100:.1f}",
        )
        return earlier
    return best


def _median(timing):
    return timing[0] if isinstance(timing, (list, tuple)) else timing


def _is_open(record, works) -> bool:
    """Whether a configuration is still to be measured."""
    if record.get("status") not in FINAL:
        return True
    return not works and not record.get("lost") and record["status"] in ("failed", "pruned")


def _earlier_failures(session, table, by_identity):
    """What earlier sessions know of configurations that this one did not try."""
    tried, earlier = {c.identity for c in session.candidates}, []
    for identity, config in by_identity.items():
        record = table.records.get(identity)
        if record is not None and identity not in tried:
            candidate = Candidate(config, identity)
            candidate.end(record["status"], record["reason"] + " (in an earlier run)")
            earlier.append(candidate)
    return earlier
