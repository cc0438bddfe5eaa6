# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures how long a call takes on the GPU."""

from __future__ import annotations

import contextlib
import gc
import math
import time
from typing import Any

from .. import _core
from . import checks

__all__ = ["cuda_graph_without_gc", "do_bench", "do_bench_cudagraph"]

# Above the L2 cache of every GPU: writing it evicts what the kernel left there.
_CACHE_BYTES = 256 * 1024 * 1024


def _quantile(values, q):
    """Linear interpolation between order statistics, as torch.quantile."""
    ordered = sorted(values)
    position = q * (len(ordered) - 1)
    low = math.floor(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def _summarize_statistics(times, quantiles, return_mode):
    if quantiles is not None:
        result = [_quantile(times, q) for q in quantiles]
        return result[0] if len(result) == 1 else result
    if return_mode == "all":
        return times
    import statistics  # a first launch does not wait for it

    return {"min": min, "max": max, "mean": statistics.fmean, "median": statistics.median}[return_mode](times)


def _check_mode(return_mode):
    modes = ("min", "max", "mean", "median", "all")
    if return_mode not in modes:
        raise ValueError(f"return_mode={return_mode!r}: expected one of {', '.join(modes)}")


def _is_checked_program() -> bool:
    """Whether `tilewright check` runs the program: times mean nothing then, and once is enough."""
    return checks.session() is not None


def _once(fn) -> float:
    """Milliseconds of one call."""
    start = time.perf_counter()
    fn()
    return (time.perf_counter() - start) * 1e3


def do_bench(fn, warmup=25, rep=100, grad_to_none=None, quantiles=None, return_mode="mean") -> Any:
    """Milliseconds that `fn` takes on the GPU, the L2 cache cleared before each run.

    `warmup` and `rep` are times in ms, not counts. `quantiles` (a list) takes
    precedence over `return_mode` (min, max, mean, median, all).
    """
    _check_mode(return_mode)
    if _is_checked_program():
        return _summarize_statistics([_once(fn)], quantiles, return_mode)
    device = _core.current_device()
    stream = _core.current_stream(device)
    fn()
    _core.synchronize(device)
    cache = _core.DeviceBuffer(_CACHE_BYTES, "int8", device)

    def clear():
        _core.memset_async(cache.data_ptr(), 0, _CACHE_BYTES, stream)

    start, end = _core.Event(), _core.Event()
    start.record(stream)
    for _ in range(5):
        clear()
        fn()
    end.record(stream)
    end.synchronize()
    estimate = max(end.elapsed_since(start) / 5, 1e-6)

    for _ in range(max(1, int(warmup / estimate))):
        fn()
    count = max(1, int(rep / estimate))
    events = [(_core.Event(), _core.Event()) for _ in range(count)]
    for start, end in events:
        for tensor in grad_to_none or ():
            tensor.grad = None
        clear()
        start.record(stream)
        fn()
        end.record(stream)
    _core.synchronize(device)
    return _summarize_statistics([end.elapsed_since(start) for start, end in events], quantiles, return_mode)


@contextlib.contextmanager
def cuda_graph_without_gc(*args, **kwargs):
    """torch.cuda.graph with the collector off: a collection may free device memory."""
    import torch

    was_enabled = gc.isenabled()
    gc.disable()
    try:
        with torch.cuda.graph(*args, **kwargs):
            yield
    finally:
        if was_enabled:
            gc.enable()


def do_bench_cudagraph(fn, rep=20, grad_to_none=None, quantiles=None, return_mode="mean") -> Any:
    """Milliseconds per call of `fn` replayed in a CUDA graph: no host time in it. Needs torch."""
    _check_mode(return_mode)
    if _is_checked_program():
        return _summarize_statistics([_once(fn)], quantiles, return_mode)
    import torch

    with torch.cuda.stream(torch.cuda.Stream()):
        fn()
        if grad_to_none is not None:
            for tensor in grad_to_none:
                tensor.detach_()
                tensor.requires_grad_(True)
                tensor.grad = None
        torch.cuda.synchronize()
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(5):
            fn()
        end.record()
        torch.cuda.synchronize()
        estimate = start.elapsed_time(end) / 5
        count = 1000 if estimate == 0 else max(1, int(rep / estimate))
        graph = torch.cuda.CUDAGraph()
        with cuda_graph_without_gc(graph):
            for _ in range(count):
                for tensor in grad_to_none or ():
                    tensor.grad = None
                fn()
        torch.cuda.synchronize()
        times = []
        for _ in range(10):
            start.record()
            graph.replay()
            end.record()
            torch.cuda.synchronize()
            times.append(start.elapsed_time(end) / count)
    return _summarize_statistics(times, quantiles, return_mode)
