# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`@autotune`, `@heuristics` and `Config`.

With one configuration nothing is measured. With several, each is compiled and
measured in turn the first time a key is seen; the result stays in memory.
"""

from __future__ import annotations

import builtins
import inspect
import threading
import time
import warnings

from .. import errors
from ..errors import AssemblerError, CompileTimeAssertionFailure, ConfigWarning, OutOfResources
from .jit import KernelInterface

__all__ = ["Autotuner", "Config", "Heuristics", "OutOfResources", "PTXASError", "autotune", "heuristics"]

PTXASError = AssemblerError


class Config:
    """One tuning point: constexpr meta-parameters in `kwargs`, and launch options."""

    def __init__(self, kwargs, num_warps=4, num_stages=3, num_ctas=1, maxnreg=None, pre_hook=None, ir_override=None):
        self.kwargs = kwargs
        self.num_warps = num_warps
        self.num_stages = num_stages
        self.num_ctas = num_ctas
        self.maxnreg = maxnreg
        self.pre_hook = pre_hook
        self.ir_override = ir_override

    def _options(self):
        return {"num_warps": self.num_warps, "num_ctas": self.num_ctas, "num_stages": self.num_stages,
                "maxnreg": self.maxnreg, "ir_override": self.ir_override}

    def all_kwargs(self):
        """Meta-parameters and the options that are set."""
        return {**self.kwargs, **{k: v for k, v in self._options().items() if v is not None}}

    def _identity(self):
        return (*self.all_kwargs().items(), self.pre_hook)

    def __eq__(self, other):
        return isinstance(other, Config) and self._identity() == other._identity()

    def __hash__(self):
        return hash(self._identity())

    def __str__(self):
        parts = [f"{k}: {v}" for k, v in self.kwargs.items()]
        parts += [f"{k}: {v}" for k, v in self._options().items() if k != "ir_override"]
        return ", ".join(parts)

    __repr__ = __str__


def _dtype_text(value):
    return str(value.dtype) if hasattr(value, "dtype") else None


class Autotuner(KernelInterface):
    """A kernel with configurations to choose from."""

    def __init__(self, fn, arg_names, configs, key, reset_to_zero=None, restore_value=None, pre_hook=None,
                 post_hook=None, prune_configs_by=None, warmup=None, rep=None, use_cuda_graph=False, do_bench=None,
                 cache_results=False):
        self.configs = list(configs) if configs else [Config({})]
        self.keys = list(key or [])
        self.cache = {}
        self.fn = fn
        self.arg_names = arg_names
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
        self.best_config = None
        self.configs_timings = None
        self.bench_time = None
        self.nargs = None
        self._lock = threading.RLock()
        for name in self.keys:
            if name not in arg_names:
                # Triton takes such keys in silence, so this is no error.
                text = str(errors.make("E0602", k=name, name=self.base_fn.__name__, list=", ".join(arg_names)))
                warnings.warn(text, ConfigWarning, stacklevel=3)

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

    def _check_conflicts(self, config, kwargs):
        for name in config.kwargs:
            if name in kwargs:
                raise errors.make("E0603", k=name)

    def _bench(self, nargs, args, config, kwargs):
        """Timings of one configuration: (median, fast, slow), infinite where it cannot run."""
        self._check_conflicts(config, kwargs)
        current = {**kwargs, **config.all_kwargs()}
        full = {**nargs, **current}

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
            return self.do_bench(call, quantiles=(0.5, 0.2, 0.8)), None
        except (OutOfResources, CompileTimeAssertionFailure, PTXASError) as error:
            return [float("inf")] * 3, error

    def _tune(self, nargs, args, kwargs):
        """Measures all configurations that pruning leaves; the best."""
        pruned = self.prune_configs(kwargs, nargs)
        start = time.perf_counter()
        timings, reasons = {}, {}
        for config in pruned:
            timings[config], reasons[config] = self._bench(nargs, args, config, kwargs)
        self.bench_time = time.perf_counter() - start
        self.configs_timings = timings
        best = builtins.min(timings, key=lambda c: _median(timings[c]))
        if all(reasons.values()):
            table = [f"{config}: {str(reason).splitlines()[0]}" for config, reason in reasons.items()]
            raise errors.make("E0601", n=len(pruned), notes=table, cause=reasons[best])
        self.pre_hook({**nargs, **kwargs, **best.all_kwargs()}, reset_only=True)
        return best

    def _interpreted(self, all_args):
        kernel = self.fn
        while not hasattr(kernel, "interpreted") and hasattr(kernel, "fn"):
            kernel = kernel.fn
        return getattr(kernel, "interpreted", False) or any(
            type(a).__module__ == "numpy" and type(a).__name__ == "ndarray" for a in all_args.values())

    def _key(self, nargs, kwargs):
        arguments = {k: v for k, v in {**nargs, **kwargs}.items() if k in self.arg_names}
        values = [arguments[k] for k in self.keys if k in arguments]
        return (*values, *filter(None, map(_dtype_text, arguments.values())))

    def run(self, *args, **kwargs):
        nargs = dict(zip(self.arg_names, args))
        self.nargs = nargs
        if len(self.configs) == 1 or self._interpreted({**nargs, **kwargs}):
            # Times mean nothing on the CPU: the first that pruning leaves is taken.
            config = self.configs[0] if len(self.configs) == 1 else self.prune_configs(kwargs, nargs)[0]
            self._check_conflicts(config, kwargs)
        else:
            key = self._key(nargs, kwargs)
            config = self.cache.get(key)
            hit = config is not None
            if not hit:
                with self._lock:
                    config = self.cache.get(key)
                    if config is None:
                        config = self.cache[key] = self._tune(nargs, args, kwargs)
            self._report(key, config, hit)
        self.best_config = config
        if config.pre_hook is not None:
            config.pre_hook({**nargs, **kwargs, **config.all_kwargs()})
        result = self.fn.run(*args, **kwargs, **config.all_kwargs())
        self.nargs = None
        return result

    def _report(self, key, config, hit):
        from .. import knobs

        if not hit and knobs.autotuning.print:
            print(f"Tilewright autotuning for function {self.base_fn.__name__},\nwith key as {key},\n"
                  f"finished after {self.bench_time:.2f}s,\nbest config selected: {config};")
        listener = knobs.autotuning.listener
        if listener is not None:
            listener(fn=self.base_fn, key=key, best_config=config, configs_timings=self.configs_timings,
                     duration=self.bench_time, cache_hit=hit)

    def prune_configs(self, kwargs, nargs=None):
        """The configurations worth measuring for these arguments."""
        nargs = self.nargs if nargs is None else nargs
        pruned = self.configs
        if self.early_config_prune is not None:
            pruned = self.early_config_prune(self.configs, nargs, **kwargs)
            if not pruned:
                raise errors.make("E0605")
        if self.perf_model is not None:
            top = self.configs_top_k
            if isinstance(top, float) and top <= 1.0:
                top = int(len(self.configs) * top)
            elif not isinstance(top, int):
                raise TypeError("top_k of prune_configs_by must be an int, or a float of at most 1")
            if len(pruned) > top:
                estimates = {c: self.perf_model(**nargs, **kwargs, **c.all_kwargs()) for c in pruned}
                pruned = sorted(estimates, key=estimates.get)[:top]
        return list(pruned)

    def warmup(self, *args, **kwargs):
        """Compiles every configuration."""
        nargs = dict(zip(self.arg_names, args))
        return [self.fn.warmup(*args, **kwargs, **config.all_kwargs()) for config in self.prune_configs(kwargs, nargs)]


def _median(timing):
    return timing[0] if isinstance(timing, (list, tuple)) else timing


def autotune(configs, key, prune_configs_by=None, reset_to_zero=None, restore_value=None, pre_hook=None,
             post_hook=None, warmup=None, rep=None, use_cuda_graph=False, do_bench=None, cache_results=False):
    """Decorator: chooses among `configs` by measuring, once per values of `key`.

    `reset_to_zero` and `restore_value` name arguments that the kernel changes;
    `prune_configs_by` may hold early_config_prune, perf_model and top_k.
    """

    def decorate(fn):
        return Autotuner(fn, fn.arg_names, configs, key, reset_to_zero, restore_value, pre_hook=pre_hook,
                         post_hook=post_hook, prune_configs_by=prune_configs_by, warmup=warmup, rep=rep,
                         use_cuda_graph=use_cuda_graph, do_bench=do_bench, cache_results=cache_results)

    return decorate


class Heuristics(KernelInterface):
    """A kernel some of whose arguments are computed from the others."""

    def __init__(self, fn, arg_names, values):
        self.fn = fn
        self.values = values
        self.arg_names = arg_names

    def run(self, *args, **kwargs):
        for name, function in self.values.items():
            # Later functions see what earlier ones found.
            kwargs[name] = function({**dict(zip(self.arg_names, args)), **kwargs})
        return self.fn.run(*args, **kwargs)


def heuristics(values):
    """Decorator: `values` maps parameters to functions of the bound arguments."""

    def decorate(fn):
        return Heuristics(fn, fn.arg_names, values)

    return decorate
