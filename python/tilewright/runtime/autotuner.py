# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`@autotune`, `@heuristics` and `Config`.

With one configuration nothing is measured. With several, the first launch with a
key measures those whose figures are not on disk yet (tuning/session.py), and the
choice stays in memory. With a benchmark function of the caller's (`do_bench`, and
the older `warmup`, `rep`, `use_cuda_graph`) each configuration goes through it in
turn instead, hooks included, as in Triton.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import sys
import threading
import time
import warnings
import weakref

from .. import _core, errors
from ..errors import AssemblerError, AutotunerError, ConfigWarning, OutOfResources
from ..tools.tensor_descriptor import TensorDescriptor
from ..user_objects import attribute
from .jit import JITFunction, KernelInterface
from .launch_method import LaunchableType, launches_by_run, on_replacement

__all__ = ["Autotuner", "AutotunerError", "Config", "Heuristics", "OutOfResources", "PTXASError", "autotune", "heuristics"]

PTXASError = AssemblerError

# Medians of equal configurations in two processes differ by so much (a fraction).
_SAME = 0.005


class Config:
    """One tuning point: constexpr meta-parameters in `kwargs`, and launch options.

    It has Triton's attributes and no others: programs take its options from dir(), and
    make copies by Config(**config.__dict__).
    """

    def __init__(self, kwargs, num_warps=4, num_stages=3, num_ctas=1, maxnreg=None, pre_hook=None, ir_override=None):
        self.kwargs = kwargs
        self.num_warps = num_warps
        self.num_stages = num_stages
        self.num_ctas = num_ctas
        self.maxnreg = maxnreg
        self.pre_hook = pre_hook
        self.ir_override = ir_override

    def all_kwargs(self):
        """Meta-parameters and the options that are set."""
        return {**self.kwargs, **{k: v for k, v in _options(self).items() if v is not None}}

    def __eq__(self, other):
        return isinstance(other, Config) and _identity(self) == _identity(other)

    def __hash__(self):
        return hash(_identity(self))

    def __str__(self):
        parts = [f"{k}: {v}" for k, v in self.kwargs.items()]
        parts += [f"{k}: {v}" for k, v in _options(self).items() if k != "ir_override"]
        return ", ".join(parts)

    __repr__ = __str__


def _options(config):
    return {"num_warps": config.num_warps, "num_ctas": config.num_ctas, "num_stages": config.num_stages,
            "maxnreg": config.maxnreg, "ir_override": config.ir_override}


def _identity(config):
    return (*config.all_kwargs().items(), config.pre_hook)


def _device_of(nargs, kwargs) -> int:
    """The device of the first argument that has one, else the current one."""
    for value in (*nargs.values(), *kwargs.values()):
        device = attribute(value, "device")
        index = attribute(device, "index", attribute(device, "id", device))
        if isinstance(index, int) and attribute(device, "type", "cuda") == "cuda":
            return index
    return _core.current_device()


@contextlib.contextmanager
def _current(device):
    """Makes a device the current one for the block: events and copies go there."""
    from .driver import driver

    before = _core.current_device()
    if device == before:
        yield
        return
    driver.active.set_current_device(device)
    try:
        yield
    finally:
        driver.active.set_current_device(before)


# What has no dtype, and is asked on every launch.
_PLAIN = frozenset((int, float, bool, str, bytes, tuple, type(None)))
_dtype_texts: dict = {}  # of frameworks' dtype objects, which are few


def _dtype_text(value):
    if type(value) in _PLAIN:
        return None
    if isinstance(value, TensorDescriptor):
        value = value.base
    dtype = attribute(value, "dtype")
    if dtype is None:
        return None
    try:
        return _dtype_texts[dtype]
    except KeyError:
        text = _dtype_texts[dtype] = str(dtype)
    except TypeError:  # not hashable
        text = str(dtype)
    return text


class _Choices(dict):
    """Choices by key. What the native side has made of them goes when one changes."""

    def __init__(self, forget):
        super().__init__()
        self._forget = forget

    def _changing(name):  # noqa: N805 - makes methods
        change = getattr(dict, name)

        @functools.wraps(change)
        def method(self, *args, **kwargs):
            try:
                return change(self, *args, **kwargs)
            finally:
                self._forget()

        return method

    __setitem__, __delitem__, __ior__ = _changing("__setitem__"), _changing("__delitem__"), _changing("__ior__")
    clear, pop, popitem, update = _changing("clear"), _changing("pop"), _changing("popitem"), _changing("update")

    def enter(self, key, config):
        """For a key that is new: nothing that is known changes."""
        super().__setitem__(key, config)


class _HookedLaunch:
    """A bound launch whose configuration has a pre_hook, called before each launch."""

    def __init__(self, bound, hook, named):
        self._bound, self._hook, self._named = bound, hook, named

    @property
    def kernel(self):
        return self._bound.kernel

    @property
    def grid(self):
        return self._bound.grid

    def __call__(self):
        self._hook(self._named)
        return self._bound()


_tuners: weakref.WeakSet = weakref.WeakSet()


@on_replacement
def _look_at_kernels_again():
    for tuner in list(_tuners):
        tuner._tell_native_side()


class Autotuner(_core.TunedDispatcher, KernelInterface, metaclass=LaunchableType):
    """A kernel with configurations to choose from.

    `tuned[grid](...)` is C++ down to the driver once the choice for such arguments is
    known (python/bindings/TunedDispatcher.cpp); `_launch` is the way until then.
    """

    def __init__(self, fn, arg_names, configs, key, reset_to_zero=None, restore_value=None, pre_hook=None,
                 post_hook=None, prune_configs_by=None, warmup=None, rep=None, use_cuda_graph=False, do_bench=None,
                 cache_results=False, *, budget=None, check=None, reference=None, tolerance=None, tune_memory="device",
                 isolate=None):
        # A space (tuning/space.py) that is too large to be listed is searched.
        self.space = configs if hasattr(configs, "search") and not configs.is_small else None
        if hasattr(configs, "search"):
            configs = configs.configs()
        self._of_thread = threading.local()
        self._keys = [key] if isinstance(key, str) else list(key or [])
        self._choices = _Choices(self._forget)
        self._configs = list(configs) if configs else [Config({})]
        for config in self._configs:
            if not hasattr(config, "all_kwargs"):
                raise TypeError(f"configs of autotune are Config objects, not {type(config).__name__}: "
                                'Config({"BLOCK": 128}, num_warps=4)')
        if len(self._configs) > 1:
            # With the declaration: a first launch whose choice is on disk needs it.
            from ..tuning import table  # noqa: F401
        self._fn = fn
        self.arg_names = arg_names
        self._places = {name: position for position, name in enumerate(arg_names)}
        self.base_fn = fn
        while not inspect.isfunction(self.base_fn):
            self.base_fn = self.base_fn.fn
        self.reset_to_zero = list(reset_to_zero or [])
        self.restore_value = list(restore_value or [])
        self.restore_copies = {}
        self.user_defined_pre_hook = pre_hook is not None
        self.user_defined_post_hook = post_hook is not None
        self.pre_hook = pre_hook or self._protect
        self.post_hook = post_hook or self._restore
        prune = prune_configs_by or {}
        self.perf_model = prune.get("perf_model")
        self.configs_top_k = prune.get("top_k", 1.0)
        self.early_config_prune = prune.get("early_config_prune")
        self.num_warmups, self.num_reps, self.use_cuda_graph = warmup, rep, use_cuda_graph
        if warmup is not None or rep is not None or use_cuda_graph:
            warnings.warn("warmup, rep and use_cuda_graph of autotune are deprecated; pass do_bench",
                          DeprecationWarning, stacklevel=3)
        self._do_bench = do_bench
        self.cache_results = cache_results
        self.budget, self.check, self.reference = budget, check, reference
        self.tolerance, self.tune_memory, self.isolate = tolerance, tune_memory, isolate
        if tune_memory not in ("device", "host"):
            raise ValueError(f"tune_memory={tune_memory!r}: expected 'device' or 'host'")
        self.configs_timings = None
        self.bench_time = None
        self._candidates: list = []
        self._left_out: list = []  # (configuration, why it was not tried) of the latest pruning
        self._bench_errors: dict = {}
        # One thread tunes at a time: others would disturb its times, and what hooks keep
        # for a run is kept in this object. Recursive, as hooks may launch.
        self._tuning = threading.RLock()
        for name in self.keys:
            if name not in arg_names:
                # Triton takes such keys in silence, so this is no error.
                text = str(errors.make("E0602", k=name, name=self.base_fn.__name__, list=", ".join(arg_names)))
                warnings.warn(text, ConfigWarning, stacklevel=3)
        self._tell_native_side()
        _tuners.add(self)

    def __call__(self, *args, **kwargs):
        return self.fn(*args, **kwargs)  # inside a kernel; on the host it says what is missing

    # -- what the native side knows of --------------------------------------

    def _tell_native_side(self):
        """What warm launches go by: the kernel, and the parameters that others give."""
        base, added = self._fn, {name for config in self._configs for name in config.kwargs}
        while isinstance(base, (Autotuner, Heuristics)):
            if isinstance(base, Heuristics):
                added.update(base.values)
            else:
                added.update(name for config in base.configs for name in config.kwargs)
            base = base.fn
        # Others' interfaces, kernels with a `run` of the program's, and mappings that may
        # forget a choice or be given another are asked in Python on each launch.
        is_plain = isinstance(base, JITFunction) and not launches_by_run(base) and type(self._choices) is _Choices
        self._set_up(base if is_plain else None, self._fn, self._configs, self._keys, added)

    @property
    def fn(self):
        return self._fn

    @fn.setter
    def fn(self, fn):
        self._fn = fn
        self._tell_native_side()

    @property
    def configs(self):
        return self._configs

    @configs.setter
    def configs(self, configs):
        self._configs = configs if type(configs) is list else list(configs)
        self._tell_native_side()

    @property
    def keys(self):
        """The names of the arguments whose values tell launches apart."""
        return self._keys

    @keys.setter
    def keys(self, keys):
        self._keys = list(keys)
        self._tell_native_side()

    @property
    def nargs(self):
        """The positional arguments by name, while a launch of this thread goes on."""
        return getattr(self._of_thread, "nargs", None)

    @nargs.setter
    def nargs(self, nargs):
        self._of_thread.nargs = nargs

    @property
    def cache(self):
        """Choices by key: the values of the arguments that `key` names, and element types.

        A program may put a mapping of its own in its place, which is asked by `in` and
        `[key]` on each launch and gets what is chosen by `[key] = config`.
        """
        return self._choices

    @cache.setter
    def cache(self, choices):
        if type(choices) is dict:
            self._choices = _Choices(self._forget)
            self._choices.update(choices)
        else:
            self._choices = choices
        self._tell_native_side()

    def _known_choice(self, key):
        choices = self._choices
        if type(choices) is _Choices:
            return choices.get(key)
        return choices[key] if key in choices else None

    def _enter_choice(self, key, config):
        if type(self._choices) is _Choices:
            self._choices.enter(key, config)
        else:
            self._choices[key] = config

    # -- what protects the caller's data --------------------------------------

    def _protect(self, named, reset_only=False):
        """Default pre-hook: zeroes, and keeps copies of what `restore_value` names."""
        for name in self.reset_to_zero:
            if named.get(name) is not None:
                named[name].zero_()
        if not reset_only:
            self.restore_copies = {n: named[n].clone() for n in self.restore_value if named.get(n) is not None}

    def _restore(self, named, exception):
        for name, copy in self.restore_copies.items():
            named[name].copy_(copy)
        self.restore_copies = {}

    # -- measuring ------------------------------------------------------------

    @property
    def do_bench(self):
        if self._do_bench is None:
            from ..runtime.driver import driver
            from ..testing import do_bench_cudagraph

            rep = {} if self.num_reps is None else {"rep": self.num_reps}
            if self.use_cuda_graph:
                self._do_bench = lambda call, quantiles: do_bench_cudagraph(call, quantiles=quantiles, **rep)
            else:
                bench = driver.active.get_benchmarker()
                warm = {} if self.num_warmups is None else {"warmup": self.num_warmups}
                self._do_bench = lambda call, quantiles: bench(call, quantiles=quantiles, **rep, **warm)
        return self._do_bench

    @do_bench.setter
    def do_bench(self, function):
        self._do_bench = function

    @property
    def _has_own_bench(self):
        """Whether the caller said how to measure."""
        return (self._do_bench is not None or self.num_warmups is not None or self.num_reps is not None
                or self.use_cuda_graph or getattr(self._bench, "__func__", None) is not Autotuner._bench)

    def _check_conflicts(self, config, kwargs):
        for name in config.all_kwargs():
            if name in kwargs:
                raise errors.make("E0603", k=name)

    def _bench(self, *args, config, **meta):
        """Timings of one configuration by the caller's function; infinite where it does not
        fit or does not compile. Subclasses call and override it, with `nargs` set.
        """
        self._check_conflicts(config, meta)
        current = {**meta, **config.all_kwargs()}
        full = {**self.nargs, **current}

        def call():
            if config.pre_hook is not None:
                config.pre_hook(full)
            self.pre_hook(full)
            try:
                self.fn.run(*args, **current)
            except Exception as error:
                self.post_hook(full, exception=error)
                raise
            self.post_hook(full, exception=None)

        try:
            return self.do_bench(call, quantiles=(0.5, 0.2, 0.8))
        except (OutOfResources, errors.CompileTimeAssertionFailure, AssemblerError) as error:
            self._bench_errors[id(config)] = error
            return [float("inf")] * 3

    def _benched(self, args, kwargs, config):
        """Timings of one configuration, and what went wrong."""
        try:
            timing = self._bench(*args, config=config, **kwargs)
        except (errors.DeviceFault, errors.ContextLost):
            raise  # nothing runs in this context any more
        except Exception as error:  # noqa: BLE001 - recorded, and raised when all fail
            return [float("inf")] * 3, error
        return timing, self._bench_errors.pop(id(config), None)

    def check_disk_cache(self, tuning_key, configs, bench_fn):
        """For subclasses that measure in their own way: whether measuring was spared, which
        tables on disk (tuning/table.py) do for those that leave it to this class."""
        bench_fn()
        return False

    def _tune_with_own_bench(self, nargs, args, kwargs, configs):
        """Triton's way: one configuration after the other, the smallest median wins."""
        from ..tuning.session import Candidate

        timings, candidates = {}, []
        for config in configs:
            self.nargs = nargs
            timings[config], error = self._benched(args, kwargs, config)
            candidate = Candidate(config, "")
            if error is None and _median(timings[config]) == float("inf"):
                candidate.end("failed", "no time was measured")
            else:
                candidate.end("failed" if error else "ok", _first_line(error), error)
            candidate.samples = [_median(timings[config])] if candidate.runs else []
            candidates.append(candidate)
        self.configs_timings = timings
        self._raise_if_none_works(candidates)
        return min(timings, key=lambda c: _median(timings[c])), candidates

    def _raise_if_none_works(self, candidates):
        if any(c.runs for c in candidates):
            return
        problems = [c.error for c in candidates]
        # One mistake in the kernel or the call is the error, not that of tuning.
        texts = {(type(e), str(e)) for e in problems}
        if problems and problems[0] is not None and len(texts) == 1 and not isinstance(problems[0], OutOfResources):
            raise problems[0]
        table = [f"{c.config}: {c.status}: {c.reason}" for c in candidates]
        table += [f"{config}: not tried: {reason}" for config, reason in self._left_out]
        if problems and all(isinstance(e, OutOfResources) for e in problems):
            raise errors.NothingFits(problems[0], table)
        raise errors.make("E0601", n=len(candidates), notes=table, cause=next((e for e in problems if e), None))

    def _tune(self, nargs, args, kwargs, key):
        """The configuration for these arguments, measured where nothing is known."""
        from ..tuning.table import Table, config_identity

        configs = self._pruned(nargs, kwargs)
        for config in configs:
            self._check_conflicts(config, kwargs)
        device = _device_of(nargs, kwargs)
        if self._has_own_bench and not self.cache_results:
            _core.check_not_capturing(device, self.base_fn.__name__)
            best, self._candidates = self._tune_with_own_bench(nargs, args, kwargs, configs)
            return best
        table = Table(self.fn, self.base_fn.__name__, key, device)
        identities = [config_identity(c) for c in configs]
        if not all(exact for _, exact in identities):
            table.store = None  # a hook that has no name in another process
        by_identity = {identity: config for config, (identity, _) in zip(configs, identities)}
        known = self._known(table, by_identity)
        if known is not None:
            return known
        with contextlib.ExitStack() as stack:
            stack.enter_context(_current(device))
            _core.check_not_capturing(device, self.base_fn.__name__)
            lock = table.lock()
            if lock is not None:
                stack.callback(lock.release)
                # Another process may have measured while this one waited.
                known = self._known(table, by_identity)
                if known is not None:
                    return known
            if self._has_own_bench:
                return self._tune_own_and_keep(nargs, args, kwargs, table, by_identity)
            from ..tuning.bench import DeviceBench
            from ..tuning.report import Progress
            from ..tuning.session import Session

            session = Session(self, nargs, args, kwargs, table, DeviceBench(), Progress.if_wanted(self.base_fn.__name__))
            return self._measure(session, table, by_identity)

    def _known(self, table, by_identity):
        """The choice that needs no measuring, or None."""
        from ..tuning.table import FINAL

        if table.load():
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
        shipped = table.shipped_best()
        return by_identity.get(shipped)

    def _chosen(self, table, by_identity, identity):
        self._note_timings(table, by_identity)
        return by_identity[identity]

    def _note_timings(self, table, by_identity):
        infinite = [float("inf")] * 3
        timings = {}
        for identity, config in by_identity.items():
            record = table.records.get(identity)
            if record is not None:
                timings[config] = infinite if record["median"] is None or record["status"] not in ("ok", "slow") else [
                    record["median"], record["q20"], record["q80"]]
        self.configs_timings = timings

    def _tune_own_and_keep(self, nargs, args, kwargs, table, by_identity):
        best, candidates = self._tune_with_own_bench(nargs, args, kwargs, list(by_identity.values()))
        self._candidates = candidates
        for candidate, identity in zip(candidates, by_identity):
            candidate.identity = identity
        table.save({c.identity: c.record() for c in candidates}, best=next(i for i, c in by_identity.items() if c is best))
        return best

    def _measure(self, session, table, by_identity):
        from ..tuning.table import FINAL

        try:
            if self.space is not None:
                self._search(session, by_identity)
            else:
                # Where nothing works, what failed before is tried again: the reasons may be gone,
                # and if not the error can tell them.
                works = any(table.records.get(i, {}).get("status") == "ok" for i in by_identity)
                session.measure([(c, i) for i, c in by_identity.items()
                                 if _is_open(table.records.get(i, {}), FINAL, works)])
        finally:
            session.finish()
        self._candidates = session.candidates
        self._report_odd(session)
        best = self._pick(session, table, by_identity)
        if best is None:
            self._raise_if_none_works(session.candidates + _earlier_failures(session, table, by_identity))
        table.save({}, best=best)
        self._note_timings(table, by_identity)
        return by_identity[best]

    def _search(self, session, by_identity):
        """Batches of points until the search is satisfied or the budget is spent."""
        from ..tuning.table import FINAL, config_identity

        search = self.space.search()
        while (batch := search.next_batch()) and not session.is_over():
            points = {}
            for point in batch:
                config = self.space.config_at(point)
                points[config_identity(config)[0]] = (point, config)
            session.measure([(config, identity) for identity, (_, config) in points.items()
                             if session.table.records.get(identity, {}).get("status") not in FINAL])
            for identity, (point, config) in points.items():
                record = session.table.records.get(identity, {})
                works = record.get("status") in ("ok", "slow") and record.get("median") is not None
                search.report(point, record["median"] if works else float("inf"))
                by_identity.setdefault(identity, config)

    def _pick(self, session, table, by_identity):
        """The identity of the fastest, or of the earlier choice inside the noise."""
        working = {i: r for i, r in table.records.items()
                   if i in by_identity and r["status"] == "ok" and r["median"] is not None}
        if not working:
            return None
        best = min(working, key=lambda i: working[i]["median"])
        earlier = table.best
        if earlier not in working or earlier == best:
            return best
        new, old = working[best], working[earlier]
        if old["low"] <= new["high"] or old["median"] <= new["median"] * (1 + _SAME):
            errors.warn("W0606", d=f"{(old['median'] / new['median'] - 1) * 100:.1f}",
                        c=f"{(new['high'] - new['low']) / 2 / new['median'] * 100:.1f}")
            return earlier
        return best

    def _report_odd(self, session):
        """E0604: told, and with check='strict' raised; the choice is among the others."""
        if not session.odd:
            return
        notes = [f"{c.config}: {c.reason}" for c in session.odd]
        error = errors.make("E0604", k=len(session.odd), n=len(session.candidates), notes=notes)
        if self.check == "strict":
            raise error
        warnings.warn(str(error), errors.TuneWarning, stacklevel=5)

    def _is_interpreted_kernel(self):
        kernel = self.fn
        while not hasattr(kernel, "interpreted") and hasattr(kernel, "fn"):
            kernel = kernel.fn
        return getattr(kernel, "interpreted", False)

    def _interpreted(self, all_args):
        return self._is_interpreted_kernel() or any(
            type(a).__module__ == "numpy" and type(a).__name__ == "ndarray" for a in all_args.values())

    def _key(self, args, kwargs):
        """Values of the arguments that `key` names, and the element types of all."""
        key = []
        for name in self._keys:
            position = self._places.get(name)
            if position is not None and position < len(args):
                key.append(args[position])
            elif name in kwargs and position is not None:
                key.append(kwargs[name])
        for value in args:
            text = _dtype_text(value)
            if text is not None:
                key.append(text)
        for name, value in kwargs.items():
            if name in self._places:
                text = _dtype_text(value)
                if text is not None:
                    key.append(text)
        return tuple(key)

    def _launch(self, grid, args, kwargs):
        """A launch whose choice the native side does not know: (kernel, what it may enter).

        Nothing is entered where Python has to take part in each launch.
        """
        kwargs = {**kwargs, "grid": grid, "warmup": False}
        kernel, config = self._run(args, kwargs)
        takes_part = config.pre_hook is not None
        return kernel, None if takes_part or self._interpreted({**dict(zip(self.arg_names, args)), **kwargs}) else config

    def _choose(self, nargs, args, kwargs):
        """The configuration of this call: the only one, the known one, or by tuning."""
        if len(self.configs) == 1:
            self._check_conflicts(self.configs[0], kwargs)
            return self.configs[0]
        key = self._key(args, kwargs)
        if self._interpreted({**nargs, **kwargs}):
            return self._chosen_without_measuring(nargs, kwargs, key)
        config = self._known_choice(key)
        if config is None:
            with self._tuning:
                config = self._known_choice(key)
                if config is None:
                    start = time.perf_counter()
                    self._candidates = []
                    config = self._tune(nargs, args, kwargs, key)
                    self.bench_time = time.perf_counter() - start
                    self._enter_choice(key, config)
                    # What `reset_to_zero` names starts at zero in the run that counts.
                    if self._candidates:
                        self.pre_hook({**nargs, **kwargs, **config.all_kwargs()}, reset_only=True)
                    self._report(key, config, cache_hit=not self._candidates)
        return config

    def _chosen_without_measuring(self, nargs, kwargs, key):
        """Times mean nothing on the CPU: the first that pruning leaves is taken."""
        only_here = self._is_interpreted_kernel()
        config = self._known_choice(key) if only_here else None
        if config is None:
            try:
                config = self._pruned(nargs, kwargs)[0]
            except errors.TilewrightError as error:
                if error.code != "E0404":
                    raise
                config = self.configs[0]  # pruning asked a GPU that is not there, and any will do
            self._check_conflicts(config, kwargs)
            if only_here:  # else the GPU may be asked for the same key later
                self.configs_timings, self.bench_time = {}, 0.0
                self._enter_choice(key, config)
                self._report(key, config, cache_hit=False)
        return config

    def run(self, *args, **kwargs):
        return self._run(args, kwargs)[0]

    def _run(self, args, kwargs):
        """(what the launch returns, the configuration that was chosen)"""
        nargs = dict(zip(self.arg_names, args))
        self.nargs = nargs
        config = self._choose(nargs, args, kwargs)
        self.best_config = config
        self._check_conflicts(config, kwargs)
        if config.pre_hook is not None:
            config.pre_hook({**nargs, **kwargs, **config.all_kwargs()})
        result = self.fn.run(*args, **kwargs, **config.all_kwargs())
        self.nargs = None
        return result, config

    def bind(self, *args, grid, **kwargs):
        """The launch with these arguments and the configuration chosen for them, frozen as
        JITFunction.bind does it; measures where nothing is known."""
        nargs = dict(zip(self.arg_names, args))
        config = self._choose(nargs, args, {**kwargs, "grid": grid, "warmup": False})
        self.best_config = config
        self._check_conflicts(config, kwargs)
        bound = self.fn.bind(*args, grid=grid, **kwargs, **config.all_kwargs())
        if config.pre_hook is None:
            return bound
        return _HookedLaunch(bound, config.pre_hook, {**nargs, **kwargs, **config.all_kwargs()})

    def interpret(self, *args, grid, **kwargs):
        """JITFunction.interpret with the first configuration that pruning leaves."""
        config = self._pruned(dict(zip(self.arg_names, args)), kwargs)[0]
        self._check_conflicts(config, kwargs)
        return self.fn.interpret(*args, grid=grid, **kwargs, **config.all_kwargs())

    def precompile(self, *args, grid=(1, ), **kwargs):
        """Chooses for these arguments, tuning where nothing is known, and loads the
        kernel without launching it. A launch while a stream is captured needs this,
        or one earlier run.
        """
        nargs = dict(zip(self.arg_names, args))
        kwargs = {**kwargs, "grid": grid, "warmup": False}
        config = self._choose(nargs, args, kwargs)
        kernel = self.fn.run(*args, **{**kwargs, **config.all_kwargs(), "warmup": True})
        if hasattr(kernel, "load"):
            kernel.load(_device_of(nargs, kwargs))
        return kernel

    def _report(self, key, config, cache_hit):
        """Tells of a choice that was made; `cache_hit`: from the disk, without measuring."""
        from .. import knobs

        if not cache_hit and knobs.autotuning.print:
            print(f"Tilewright autotuning for function {self.base_fn.__name__},\nwith key as {key},\n"
                  f"finished after {self.bench_time:.2f}s,\nbest config selected: {config};")
            if self._candidates:
                from ..tuning.report import text_table

                print(text_table([c.record() for c in self._candidates]))
        listener = knobs.autotuning.listener
        if listener is not None:
            kernel = self.fn
            while not isinstance(kernel, JITFunction) and hasattr(kernel, "fn"):
                kernel = kernel.fn
            listener(fn=kernel, key=key, best_config=config, configs_timings=self.configs_timings,
                     duration=None if cache_hit else self.bench_time, cache_hit=cache_hit)

    def _pruned(self, nargs, kwargs):
        """`prune_configs` in the form that subclasses override: the arguments are in `nargs`."""
        self.nargs = nargs
        return list(self.prune_configs(kwargs))

    def prune_configs(self, kwargs):
        """The configurations worth measuring for the arguments in `nargs` and `kwargs`."""
        nargs, pruned = self.nargs, self.configs
        self._left_out = []
        if self.early_config_prune is not None:
            pruned = list(self.early_config_prune(self.configs, nargs, **kwargs))
            if not pruned:
                raise errors.make("E0605")
            self._leave_out(self.configs, pruned, "early_config_prune left it out")
        if self.perf_model is not None:
            top = self.configs_top_k
            if isinstance(top, float) and top <= 1.0:
                top = int(len(self.configs) * top)
            elif not isinstance(top, int):
                raise TypeError("top_k of prune_configs_by must be an int, or a float of at most 1")
            if len(pruned) > top:
                estimates = {c: self.perf_model(**nargs, **kwargs, **c.all_kwargs()) for c in pruned}
                best = sorted(estimates, key=estimates.get)[:top]
                self._leave_out(pruned, best, f"perf_model puts {len(best)} before it, of which top_k are tried")
                pruned = best
        return list(pruned)

    def _leave_out(self, configs, kept, reason):
        kept = set(map(id, kept))
        self._left_out += [(c, reason) for c in configs if id(c) not in kept]

    def warmup(self, *args, **kwargs):
        """Compiles every configuration."""
        nargs = dict(zip(self.arg_names, args))
        return [self.fn.warmup(*args, **kwargs, **config.all_kwargs()) for config in self._pruned(nargs, kwargs)]


def _median(timing):
    return timing[0] if isinstance(timing, (list, tuple)) else timing


def _first_line(error) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0] if error else ""


def _is_open(record, final, works) -> bool:
    """Whether a configuration is still to be measured."""
    if record.get("status") not in final:
        return True
    return not works and not record.get("lost") and record["status"] in ("failed", "pruned")


def _earlier_failures(session, table, by_identity):
    """What earlier sessions know of configurations that this one did not try."""
    from ..tuning.session import Candidate

    tried, earlier = {c.identity for c in session.candidates}, []
    for identity, config in by_identity.items():
        record = table.records.get(identity)
        if record is not None and identity not in tried:
            candidate = Candidate(config, identity)
            candidate.end(record["status"], record["reason"] + " (in an earlier run)")
            earlier.append(candidate)
    return earlier


def autotune(configs, key, prune_configs_by=None, reset_to_zero=None, restore_value=None, pre_hook=None,
             post_hook=None, warmup=None, rep=None, use_cuda_graph=False, do_bench=None, cache_results=False, *,
             budget=None, check=None, reference=None, tolerance=None, tune_memory="device", isolate=None):
    """Decorator: chooses among `configs` by measuring, once per values of `key`.

    `reset_to_zero` and `restore_value` name arguments that the kernel changes;
    what it writes is kept and put back in any case. `prune_configs_by` may hold
    early_config_prune, perf_model and top_k. `configs` may be a tuning.Space.

    Beyond Triton: `budget` in seconds; `check` (False, True, "strict") compares what
    configurations write, with the first that works or with what `reference(arguments)`
    writes, within `tolerance` of the largest element; `tune_memory="host"` keeps the
    copies of written arguments on the host; `isolate` runs each candidate in a child
    process first, which a fault or a hang may cost.
    """

    def decorate(fn):
        return Autotuner(fn, fn.arg_names, configs, key, reset_to_zero, restore_value, pre_hook=pre_hook,
                         post_hook=post_hook, prune_configs_by=prune_configs_by, warmup=warmup, rep=rep,
                         use_cuda_graph=use_cuda_graph, do_bench=do_bench, cache_results=cache_results, budget=budget,
                         check=check, reference=reference, tolerance=tolerance, tune_memory=tune_memory,
                         isolate=isolate)

    return decorate


_native_heuristic_launcher = _core.HeuristicDispatcher.__getitem__


def _follow_torch():
    """Lets torch.compile follow launches with heuristics, where torch is loaded.

    It follows Python, not native code, and finds the kernel below by way of `run`. Without torch a
    launch stays native altogether.
    """
    is_compiling = attribute(attribute(sys.modules.get("torch"), "compiler"), "is_compiling")
    if is_compiling is None or "__getitem__" in vars(Heuristics):
        return

    def __getitem__(self, grid):
        if is_compiling():
            return functools.partial(self.run, grid=grid, warmup=False)
        return _native_heuristic_launcher(self, grid)

    Heuristics.__getitem__ = __getitem__


class Heuristics(_core.HeuristicDispatcher, KernelInterface, metaclass=LaunchableType):
    """A kernel some of whose arguments are computed from the others.

    The native base class calls the functions for `kernel[grid](...)`.
    """

    def __init__(self, fn, arg_names, values):
        if not isinstance(values, dict):
            raise TypeError(f"heuristics takes a dict of functions by parameter, not {type(values).__name__}")
        self.fn = fn
        self.values = values
        self.arg_names = arg_names
        _follow_torch()

    def __call__(self, *args, **kwargs):
        return self.fn(*args, **kwargs)  # inside a kernel; on the host it says what is missing

    def _with_values(self, args, kwargs):
        for name, function in self.values.items():
            # Later functions see what earlier ones found.
            kwargs[name] = function({**dict(zip(self.arg_names, args)), **kwargs})
        return kwargs

    def run(self, *args, **kwargs):
        return self.fn.run(*args, **self._with_values(args, kwargs))

    def interpret(self, *args, grid, **kwargs):
        return self.fn.interpret(*args, grid=grid, **self._with_values(args, kwargs))

    def bind(self, *args, grid, **kwargs):
        """The launch with these arguments and the values of now, frozen (JITFunction.bind)."""
        return self.fn.bind(*args, grid=grid, **self._with_values(args, kwargs))


def __getattr__(name):
    """Triton's module holds these, and programs that replace a tuner's methods take them from it."""
    if name == "driver":
        from .driver import driver

        return driver
    if name == "knobs":
        from .. import knobs

        return knobs
    if name == "get_cache_invalidating_env_vars":
        from ..knobs import variables_set

        return variables_set
    if name in ("builtins", "copy", "hashlib", "json", "math", "os"):
        return importlib.import_module(name)
    if name in ("get_cache_manager", "triton_key"):
        from . import cache

        return getattr(cache, name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def heuristics(values):
    """Decorator: `values` maps parameters to functions of the bound arguments."""

    def decorate(fn):
        return Heuristics(fn, fn.arg_names, values)

    return decorate
