# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by scripts/generate_stubs.py: do not edit; `make stubs` writes it again.
"""`@autotune`, `@heuristics` and `Config`."""

from collections.abc import Callable
from typing import Any

from ..errors import AutotunerError as AutotunerError, OutOfResources as OutOfResources
from ..errors import AssemblerError as PTXASError
from ..tuning.config import Config as Config
from .heuristic_arguments import Heuristics as Heuristics, heuristics as heuristics


class Autotuner:
    """A kernel with configurations to choose from, as users hold and launch it.

    `tuned[grid](...)` is C++ down to the driver once the choice for such arguments is
    known (python/bindings/tuning/TunedDispatcher.cpp); `_launch` is the way until then. Which
    configuration it is to be, the tuner finds out (tuning/tuner.py)."""
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        ...
    def __getitem__(self, grid: Any, /) -> Callable[..., Any]:
        ...
    configs: list[Config]
    best_config: Config
    fn: Any
    arg_names: list[str]
    keys: Any
    nargs: Any
    reset_to_zero: Any
    restore_value: Any
    perf_model: Any
    configs_top_k: Any
    early_config_prune: Any
    cache_results: Any
    num_warmups: Any
    num_reps: Any
    use_cuda_graph: Any
    budget: Any
    check: Any
    reference: Any
    tolerance: Any
    tune_memory: Any
    isolate: Any
    def __init__(self, fn: Any, arg_names: Any, configs: Any, key: Any, reset_to_zero: Any = None, restore_value: Any = None, pre_hook: Any = None, post_hook: Any = None, prune_configs_by: Any = None, warmup: Any = None, rep: Any = None, use_cuda_graph: Any = False, do_bench: Any = None, cache_results: Any = False, *, budget: Any = None, check: Any = None, reference: Any = None, tolerance: Any = None, tune_memory: Any = 'device', isolate: Any = None) -> None:
        """`options` and `more` are those of TuningOptions."""
    def given_parameters(self) -> Any:
        """Names of the parameters that a launch gets from here."""
    cache: Any
    do_bench: Any
    def check_disk_cache(self, tuning_key: Any, configs: Any, bench_fn: Any) -> Any:
        """For subclasses that measure in their own way: whether measuring was spared, which
        tables on disk (tuning/table.py) do for those that leave it to this class."""
    def prune_configs(self, kwargs: Any) -> Any:
        """The configurations worth measuring for the arguments in `nargs` and `kwargs`."""
    run: Any
    def bind(self, *args: Any, grid: Any, **kwargs: Any) -> Any:
        """The launch with these arguments and the configuration chosen for them, frozen as
        JITFunction.bind does it; measures where nothing is known."""
    def interpret(self, *args: Any, grid: Any, **kwargs: Any) -> Any:
        """JITFunction.interpret with the first configuration that pruning leaves."""
    def precompile(self, *args: Any, grid: Any = ..., **kwargs: Any) -> Any:
        """Chooses for these arguments, tuning where nothing is known, and loads the
        kernel without launching it. A launch while a stream is captured needs this,
        or one earlier run."""
    def warmup(self, *args: Any, **kwargs: Any) -> Any:
        """Compiles every configuration."""


def autotune(configs: Any, key: Any, prune_configs_by: Any = None, reset_to_zero: Any = None, restore_value: Any = None, pre_hook: Any = None, post_hook: Any = None, warmup: Any = None, rep: Any = None, use_cuda_graph: Any = False, do_bench: Any = None, cache_results: Any = False, *, budget: Any = None, check: Any = None, reference: Any = None, tolerance: Any = None, tune_memory: Any = 'device', isolate: Any = None) -> Callable[[Any], Autotuner]:
    """Decorator: chooses among `configs` by measuring, once per values of `key`.

    `reset_to_zero` and `restore_value` name arguments that the kernel changes;
    what it writes is kept and put back in any case. `prune_configs_by` may hold
    early_config_prune, perf_model and top_k. `configs` may be a tuning.Space.

    Beyond Triton: `budget` in seconds; `check` (False, True, "strict") compares what
    configurations write, with the first that works or with what `reference(arguments)`
    writes, within `tolerance` of the largest element; `tune_memory="host"` keeps the
    copies of written arguments on the host; `isolate` runs each candidate in a child
    process first, which a fault or a hang may cost."""

__all__ = [
    "Autotuner", "AutotunerError", "Config", "Heuristics", "OutOfResources", "PTXASError", "autotune", "heuristics",
]
