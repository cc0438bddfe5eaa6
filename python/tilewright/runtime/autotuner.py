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

import builtins  # noqa: F401 - with hashlib and json, for programs that replace a tuner's methods
import hashlib  # noqa: F401
import inspect
import json  # noqa: F401
import threading
import time
import warnings
import weakref
from dataclasses import fields

from .. import _core, errors, knobs, observers
from ..errors import AssemblerError, AutotunerError, ConfigWarning, OutOfResources
from ..lazy_names import lazy_names
from ..tuning import shares
from ..tuning.choices import Choices, enter_choice, known_choice
from ..tuning.config import Config, check_conflicts
from ..tuning.options import TuningOptions
from ..tuning.report import text_table
from ..tuning.tuner import Tuner
from . import tuned_interpreter
from .driver import driver as drivers
from .heuristic_arguments import Heuristics, heuristics
from .interface import KernelInterface, function_inside, kernel_inside
from .launch_method import LaunchableType, launches_by_run, on_replacement
from .tuned_arguments import device_of, dtype_text, key_value
from .tuned_attributes import OfThread, Option, ToldNative

__all__ = ["Autotuner", "AutotunerError", "Config", "Heuristics", "OutOfResources", "PTXASError", "autotune", "heuristics"]

PTXASError = AssemblerError

# Triton's module holds these, and programs take them from it.
__getattr__ = lazy_names(
    __name__,
    {
        "driver": "runtime.driver:driver",
        "JITFunction": "runtime.jit:JITFunction",
        "get_cache_invalidating_env_vars": "knobs:switches",
        "get_cache_manager": "runtime.cache:get_cache_manager",
        "triton_key": "runtime.cache:triton_key",
    },
)


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
    """A kernel with configurations to choose from, as users hold and launch it.

    `tuned[grid](...)` is C++ down to the driver once the choice for such arguments is
    known (python/bindings/tuning/TunedDispatcher.cpp); `_launch` is the way until then. Which
    configuration it is to be, the tuner finds out (tuning/tuner.py).
    """

    fn = ToldNative()
    configs = ToldNative(lambda configs: configs if type(configs) is list else list(configs))
    #: The names of the arguments whose values tell launches apart.
    keys = ToldNative(list)
    #: The positional arguments by name, while a launch of this thread goes on.
    nargs = OfThread()

    reset_to_zero, restore_value = Option("reset_to_zero"), Option("restore_value")
    perf_model, configs_top_k = Option("perf_model"), Option("top_k")
    early_config_prune, cache_results = Option("early_config_prune"), Option("cache_results")
    num_warmups, num_reps, use_cuda_graph = Option("warmup"), Option("rep"), Option("use_cuda_graph")
    _do_bench, budget, check, reference = Option("do_bench"), Option("budget"), Option("check"), Option("reference")
    tolerance, tune_memory, isolate = Option("tolerance"), Option("tune_memory"), Option("isolate")

    def __init__(self, fn, arg_names, configs, key, *options, **more):
        """`options` and `more` are those of TuningOptions."""
        self.options = TuningOptions(*options, **more)
        # A space (tuning/space.py) that is too large to be listed is searched.
        self.space = configs if hasattr(configs, "search") and not configs.is_small else None
        if hasattr(configs, "search"):
            configs = configs.configs()
        self._configs = list(configs) if configs else [Config({})]
        for config in self._configs:
            if not hasattr(config, "all_kwargs"):
                raise TypeError(
                    f"configs of autotune are Config objects, not {type(config).__name__}: "
                    'Config({"BLOCK": 128}, num_warps=4)'
                )
        self._of_thread = threading.local()
        self._fn, self.arg_names, self.base_fn = fn, arg_names, function_inside(fn)
        self._keys = [key] if isinstance(key, str) else list(key or [])
        self._choices = Choices(self._forget)
        self._places = {name: position for position, name in enumerate(arg_names)}
        self.restore_copies = {}
        given = self.options
        self.user_defined_pre_hook, self.user_defined_post_hook = given.pre_hook is not None, given.post_hook is not None
        self.pre_hook, self.post_hook = given.pre_hook or self._protect, given.post_hook or self._restore
        self.configs_timings = self.bench_time = None
        self.tuner = Tuner(self, self.options, self.space)
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

    # What programs ask to learn which options there are.
    __init__.__signature__ = inspect.Signature(
        [
            *(
                inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD)
                for name in ("self", "fn", "arg_names", "configs", "key")
            ),
            *(
                inspect.Parameter(
                    option.name,
                    inspect.Parameter.KEYWORD_ONLY if option.kw_only else inspect.Parameter.POSITIONAL_OR_KEYWORD,
                    default=option.default,
                )
                for option in fields(TuningOptions)
            ),
        ]
    )

    def __call__(self, *args, **kwargs):
        return self.fn(*args, **kwargs)  # inside a kernel; on the host it says what is missing

    # -- what the native side knows of --------------------------------------

    def given_parameters(self):
        """Names of the parameters that a launch gets from here."""
        return {name for config in self._configs for name in config.all_kwargs()}

    def _tell_native_side(self):
        """What warm launches go by: the kernel, and the parameters that others give."""
        base, added = self._fn, self.given_parameters()
        while hasattr(type(base), "given_parameters"):
            added |= base.given_parameters()
            base = base.fn
        # Others' interfaces, kernels with a `run` of the program's, and mappings that may
        # forget a choice or be given another are asked in Python on each launch.
        is_plain = isinstance(base, _core.KernelDispatcher) and not launches_by_run(base) and type(self._choices) is Choices
        self._set_up(base if is_plain else None, self._fn, self._configs, self._keys, added)

    @property
    def cache(self):
        """Choices by key: the values of the arguments that `key` names, and element types.

        A program may put a mapping of its own in its place, which is asked by `in` and
        `[key]` on each launch and gets what is chosen by `[key] = config`.
        """
        return self._choices

    @cache.setter
    def cache(self, choices):
        self._choices = Choices(self._forget) if type(choices) is dict else choices
        if type(choices) is dict:
            self._choices.update(choices)
        self._tell_native_side()

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

    # -- what subclasses override ---------------------------------------------

    @property
    def do_bench(self):
        return self.options.benchmark(drivers.active)

    @do_bench.setter
    def do_bench(self, function):
        self.options.do_bench = function

    def _bench(self, *args, config, **meta):
        """Timings of one configuration by the caller's function; infinite where it does not
        fit or does not compile. Subclasses call and override it, with `nargs` set.
        """
        check_conflicts(config, meta)
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
            self.tuner.bench_errors[id(config)] = error
            return [float("inf")] * 3

    def check_disk_cache(self, tuning_key, configs, bench_fn):
        """For subclasses that measure in their own way: whether measuring was spared, which
        tables on disk (tuning/table.py) do for those that leave it to this class."""
        bench_fn()
        return False

    def prune_configs(self, kwargs):
        """The configurations worth measuring for the arguments in `nargs` and `kwargs`."""
        return self.tuner.prune(self.configs, self.nargs, kwargs)

    def _pruned(self, nargs, kwargs):
        """`prune_configs` in the form that subclasses override: the arguments are in `nargs`."""
        self.nargs = nargs
        return list(self.prune_configs(kwargs))

    # -- choosing -------------------------------------------------------------

    def _tune(self, nargs, args, kwargs, key):
        """The configuration for these arguments, measured where nothing is known."""
        has_own_bench = (
            self.options.do_bench is not None
            or self.options.names_times
            or getattr(self._bench, "__func__", None) is not Autotuner._bench
        )
        return self.tuner.tune((nargs, args, kwargs), self._pruned(nargs, kwargs), key, device_of(nargs, kwargs), has_own_bench)

    def _key(self, args, kwargs):
        """Values of the arguments that `key` names, and the element types of all."""
        key = []
        for name in self._keys:
            position = self._places.get(name)
            if position is not None and position < len(args):
                key.append(key_value(args[position]))
            elif name in kwargs and position is not None:
                key.append(key_value(kwargs[name]))
        for value in args:
            text = dtype_text(value)
            if text is not None:
                key.append(text)
        for name, value in kwargs.items():
            if name in self._places:
                text = dtype_text(value)
                if text is not None:
                    key.append(text)
        return tuple(key)

    def _launch(self, grid, args, kwargs):
        """A launch whose choice the native side does not know: (kernel, what it may enter).

        Nothing is entered where Python has to take part in each launch.
        """
        kwargs = {**kwargs, "grid": grid, "warmup": False}
        kernel, config = self._run(args, kwargs)
        takes_part = config.pre_hook is not None or shares.current() is not None
        named = {**dict(zip(self.arg_names, args)), **kwargs}
        return kernel, None if takes_part or tuned_interpreter.runs(self.fn, named) else config

    def _choose(self, nargs, args, kwargs):
        """The configuration of this call: the only one, the known one, or by tuning."""
        if len(self.configs) == 1:
            check_conflicts(self.configs[0], kwargs)
            return self.configs[0]
        key = self._key(args, kwargs)
        if tuned_interpreter.runs(self.fn, {**nargs, **kwargs}):
            return tuned_interpreter.choose(self, nargs, kwargs, key)
        # What a worker chooses among its share of a sweep holds for this launch alone.
        choices = self._choices if shares.current() is None else {}
        config = known_choice(choices, key)
        if config is None:
            with self._tuning:
                config = known_choice(choices, key)
                if config is None:
                    start = time.perf_counter()
                    self.tuner.candidates = []
                    with observers.tuning():
                        config = self._tune(nargs, args, kwargs, key)
                    self.bench_time = time.perf_counter() - start
                    enter_choice(choices, key, config)
                    # What `reset_to_zero` names starts at zero in the run that counts.
                    if self.tuner.candidates:
                        self.pre_hook({**nargs, **kwargs, **config.all_kwargs()}, reset_only=True)
                    _report(self, key, config, cache_hit=not self.tuner.candidates)
                    observers.tell_of_choice(self, nargs, kwargs, key, config)
        return config

    def run(self, *args, **kwargs):
        return self._run(args, kwargs)[0]

    def _run(self, args, kwargs):
        """(what the launch returns, the configuration that was chosen)"""
        nargs = dict(zip(self.arg_names, args))
        self.nargs = nargs
        config = self._choose(nargs, args, kwargs)
        try:
            result = self._run_with(config, nargs, args, kwargs)
        except errors.StaticAssertFailed as refusal:
            others = tuned_interpreter.others(self, nargs, kwargs, config)
            result, config = tuned_interpreter.run_another(self, others, refusal, nargs, args, kwargs)
        self.nargs = None
        return result, config

    def _tell_of_choice(self, key, config):
        _report(self, key, config, cache_hit=False)

    def _run_with(self, config, nargs, args, kwargs):
        self.best_config = config
        check_conflicts(config, kwargs)
        if config.pre_hook is not None:
            config.pre_hook({**nargs, **kwargs, **config.all_kwargs()})
        return self.fn.run(*args, **kwargs, **config.all_kwargs())

    def bind(self, *args, grid, **kwargs):
        """The launch with these arguments and the configuration chosen for them, frozen as
        JITFunction.bind does it; measures where nothing is known."""
        nargs = dict(zip(self.arg_names, args))
        config = self._choose(nargs, args, {**kwargs, "grid": grid, "warmup": False})
        self.best_config = config
        check_conflicts(config, kwargs)
        bound = self.fn.bind(*args, grid=grid, **kwargs, **config.all_kwargs())
        if config.pre_hook is None:
            return bound
        return _HookedLaunch(bound, config.pre_hook, {**nargs, **kwargs, **config.all_kwargs()})

    def interpret(self, *args, grid, **kwargs):
        """JITFunction.interpret with the first configuration that pruning leaves."""
        config = self._pruned(dict(zip(self.arg_names, args)), kwargs)[0]
        check_conflicts(config, kwargs)
        return self.fn.interpret(*args, grid=grid, **kwargs, **config.all_kwargs())

    def precompile(self, *args, grid=(1,), **kwargs):
        """Chooses for these arguments, tuning where nothing is known, and loads the
        kernel without launching it. A launch while a stream is captured needs this,
        or one earlier run.
        """
        nargs = dict(zip(self.arg_names, args))
        kwargs = {**kwargs, "grid": grid, "warmup": False}
        config = self._choose(nargs, args, kwargs)
        kernel = self.fn.run(*args, **{**kwargs, **config.all_kwargs(), "warmup": True})
        if hasattr(kernel, "load"):
            kernel.load(device_of(nargs, kwargs))
        return kernel

    def warmup(self, *args, **kwargs):
        """Compiles every configuration."""
        nargs = dict(zip(self.arg_names, args))
        return [self.fn.warmup(*args, **kwargs, **config.all_kwargs()) for config in self._pruned(nargs, kwargs)]


def _report(tuned, key, config, cache_hit):
    """Tells of a choice that was made; `cache_hit`: from the disk, without measuring."""
    if not cache_hit and knobs.autotuning.print:
        print(
            f"Tilewright autotuning for function {tuned.base_fn.__name__},\nwith key as {key},\n"
            f"finished after {tuned.bench_time:.2f}s,\nbest config selected: {config};"
        )
        if tuned.tuner.candidates:
            print(text_table([c.record() for c in tuned.tuner.candidates]))
    listener = knobs.autotuning.listener
    if listener is not None:
        listener(
            fn=kernel_inside(tuned.fn) or tuned.base_fn,
            key=key,
            best_config=config,
            configs_timings=tuned.configs_timings,
            duration=None if cache_hit else tuned.bench_time,
            cache_hit=cache_hit,
        )


def autotune(
    configs,
    key,
    prune_configs_by=None,
    reset_to_zero=None,
    restore_value=None,
    pre_hook=None,
    post_hook=None,
    warmup=None,
    rep=None,
    use_cuda_graph=False,
    do_bench=None,
    cache_results=False,
    *,
    budget=None,
    check=None,
    reference=None,
    tolerance=None,
    tune_memory="device",
    isolate=None,
):
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
        return Autotuner(
            fn,
            fn.arg_names,
            configs,
            key,
            reset_to_zero,
            restore_value,
            pre_hook=pre_hook,
            post_hook=post_hook,
            prune_configs_by=prune_configs_by,
            warmup=warmup,
            rep=rep,
            use_cuda_graph=use_cuda_graph,
            do_bench=do_bench,
            cache_results=cache_results,
            budget=budget,
            check=check,
            reference=reference,
            tolerance=tolerance,
            tune_memory=tune_memory,
            isolate=isolate,
        )

    return decorate
