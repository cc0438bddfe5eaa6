# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options of a tuning: the arguments of `@autotune` besides the configurations and the key."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any, Callable, Optional

from ..wiring import ask

#: Medians of equal configurations in two processes differ by so much (a fraction).
SAME = 0.005


@dataclass
class TuningOptions:
    """In Triton's order, in which libraries give them by position; then those beyond Triton (docs/autotuner.md)."""

    reset_to_zero: Optional[list] = None
    restore_value: Optional[list] = None
    pre_hook: Optional[Callable] = None
    post_hook: Optional[Callable] = None
    prune_configs_by: Optional[dict] = None
    warmup: Optional[float] = None
    rep: Optional[float] = None
    use_cuda_graph: bool = False
    do_bench: Optional[Callable] = None
    cache_results: bool = False
    budget: Optional[float] = field(default=None, kw_only=True)
    check: Any = field(default=None, kw_only=True)
    reference: Optional[Callable] = field(default=None, kw_only=True)
    tolerance: Optional[float] = field(default=None, kw_only=True)
    tune_memory: str = field(default="device", kw_only=True)
    isolate: Optional[bool] = field(default=None, kw_only=True)

    def __post_init__(self):
        self.reset_to_zero, self.restore_value = list(self.reset_to_zero or []), list(self.restore_value or [])
        prune = self.prune_configs_by or {}
        self.perf_model = prune.get("perf_model")
        self.top_k = prune.get("top_k", 1.0)
        self.early_config_prune = prune.get("early_config_prune")
        if self.tune_memory not in ("device", "host"):
            raise ValueError(f"tune_memory={self.tune_memory!r}: expected 'device' or 'host'")
        if self.names_times:
            warnings.warn(
                "warmup, rep and use_cuda_graph of autotune are deprecated; pass do_bench", DeprecationWarning, stacklevel=5
            )

    @property
    def names_times(self) -> bool:
        """Whether the older parameters say how long to measure."""
        return self.warmup is not None or self.rep is not None or self.use_cuda_graph

    def benchmark(self, driver):
        """The caller's function that measures, or the driver's with the times that the older parameters name."""
        if self.do_bench is None:
            rep = {} if self.rep is None else {"rep": self.rep}
            if self.use_cuda_graph:
                bench = ask("benchmark in a CUDA graph")
                self.do_bench = lambda call, quantiles: bench(call, quantiles=quantiles, **rep)
            else:
                bench = driver.get_benchmarker()
                warm = {} if self.warmup is None else {"warmup": self.warmup}
                self.do_bench = lambda call, quantiles: bench(call, quantiles=quantiles, **rep, **warm)
        return self.do_bench
