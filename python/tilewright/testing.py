# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measuring and comparing.

`do_bench` times with the driver's own events on the framework's current stream, so
it needs no framework. pandas and matplotlib are used by `perf_report` where found.
"""

from __future__ import annotations

import contextlib
import csv
import functools
import html
import os
import sys

from . import _core
from .lazy_names import lazy_names
from .runtime.timing import cuda_graph_without_gc, do_bench, do_bench_cudagraph
from .user_objects import attribute, has_attribute

__all__ = [
    "Benchmark",
    "Mark",
    "assert_close",
    "cuda_graph_without_gc",
    "do_bench",
    "do_bench_cudagraph",
    "forget",
    "get_dram_gbps",
    "get_max_simd_tflops",
    "get_max_tensorcore_tflops",
    "nvsmi",
    "perf_report",
    "uninitialized",
    "watch_empty",
]


# Programs reach for `triton.testing.runtime.driver`.
__getattr__ = lazy_names(
    __name__,
    {
        "runtime": "runtime",
        "_quantile": "runtime.timing:_quantile",
        "_summarize_statistics": "runtime.timing:_summarize_statistics",
    },
)


# ---------------------------------------------------------------------------
# Comparing
# ---------------------------------------------------------------------------


def _as_numpy(value):
    import numpy as np

    if has_attribute(value, "detach"):  # a torch tensor; bfloat16 has no NumPy type
        value = value.detach().cpu()
        return value.float().numpy() if value.is_floating_point() else value.numpy()
    if has_attribute(value, "get", "__cuda_array_interface__"):  # CuPy
        return value.get()
    return np.asarray(value)


def assert_close(x, y, atol=None, rtol=None, err_msg=""):
    """Raises AssertionError unless x and y agree; by default within 1e-2 absolutely, 0 relatively.

    Tolerances may be callables of the dtype of x. NaN equals NaN.
    """
    import numpy as np

    def tolerance(given, default):
        if callable(given):
            return given(attribute(x, "dtype"))
        return default if given is None else given

    atol, rtol = tolerance(atol, 1e-2), tolerance(rtol, 0.0)
    a, b = _as_numpy(x), _as_numpy(y)
    if a.dtype.kind not in "biufc":  # ml_dtypes
        a = a.astype(np.float32)
    if b.dtype.kind not in "biufc":
        b = b.astype(np.float32)
    if a.size <= 1 and b.size <= 1 and a.shape != b.shape:
        a, b = a.reshape(()), b.reshape(())
    np.testing.assert_allclose(a, b, atol=atol, rtol=rtol, equal_nan=True, err_msg=str(err_msg))


# ---------------------------------------------------------------------------
# Memory that was never written
# ---------------------------------------------------------------------------


def uninitialized(shape, dtype="float32"):
    """A NumPy array that holds nothing: the interpreter reports a kernel that reads an element of it before one has
    written it, or the host has."""
    import numpy as np

    return forget(np.empty(shape, dtype))


def forget(array):
    """Declares that nothing is in `array`, as in the output of a kernel; returns it. Its elements are overwritten."""
    from .runtime import unwritten  # it brings NumPy

    return unwritten.forget(array)


@contextlib.contextmanager
def watch_empty():
    """While it lasts, what `empty`, `empty_like` and kin of NumPy and torch return is as by `uninitialized`."""
    import numpy as np

    torch = sys.modules.get("torch")
    places = [(np, name) for name in ("empty", "empty_like")]
    if torch is not None:
        places += [(torch, name) for name in ("empty", "empty_like", "empty_strided")]
        places += [(torch.Tensor, "new_empty")]

    def watched(function):

        @functools.wraps(function)
        def call(*args, **kwargs):
            array = function(*args, **kwargs)
            try:
                return forget(array)
            except Exception:  # noqa: BLE001 - arrays that no kernel takes are none of our business
                return array

        return call

    originals = [(place, name, getattr(place, name)) for place, name in places]
    try:
        for place, name, function in originals:
            setattr(place, name, watched(function))
        yield
    finally:
        for place, name, function in originals:
            setattr(place, name, function)


# ---------------------------------------------------------------------------
# Reports
# ---------------------------------------------------------------------------


class Benchmark:
    """A sweep: `x_names` take the values of `x_vals`, one line per value of `line_arg`."""

    def __init__(
        self,
        x_names,
        x_vals,
        line_arg,
        line_vals,
        line_names,
        plot_name,
        args,
        xlabel="",
        ylabel="",
        x_log=False,
        y_log=False,
        styles=None,
    ):
        self.x_names, self.x_vals = x_names, x_vals
        self.line_arg, self.line_vals, self.line_names = line_arg, line_vals, line_names
        self.plot_name, self.args = plot_name, args
        self.xlabel, self.ylabel = xlabel, ylabel
        self.x_log, self.y_log = x_log, y_log
        self.styles = styles


class _Table:
    """Rows with named columns; what is returned where pandas is missing."""

    def __init__(self, columns, rows):
        self.columns, self.rows = columns, rows

    def __str__(self):
        cells = [[str(c) for c in self.columns]]
        cells += [[f"{v:.6g}" if isinstance(v, float) else str(v) for v in row] for row in self.rows]
        widths = [max(len(row[i]) for row in cells) for i in range(len(self.columns))]
        return "\n".join("  ".join(c.rjust(w) for c, w in zip(row, widths)) for row in cells)

    def to_csv(self, path, index=False, **_):
        with open(path, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(self.columns)
            writer.writerows(self.rows)


class Mark:
    """What `perf_report` makes of a function: `run()` measures, prints, plots, saves."""

    def __init__(self, fn, benchmarks):
        self.fn = fn
        self.benchmarks = benchmarks
        functools.update_wrapper(self, fn)

    def _measure(self, bench, kwargs):
        x_names = list(bench.x_names)
        low, high = [f"{n}-min" for n in bench.line_names], [f"{n}-max" for n in bench.line_names]
        rows, spreads = [], []
        for x in bench.x_vals:
            values = list(x) if isinstance(x, (list, tuple)) else [x] * len(x_names)
            if len(values) != len(x_names):
                raise ValueError(f"expected {len(x_names)} values, got {len(values)}")
            arguments = dict(zip(x_names, values))
            middle, below, above = [], [], []
            for line in bench.line_vals:
                result = self.fn(**arguments, **{bench.line_arg: line}, **bench.args, **kwargs)
                y, least, most = result if isinstance(result, (list, tuple)) else (result, None, None)
                middle.append(y)
                below.append(least)
                above.append(most)
            rows.append(values + middle)
            spreads.append((below, above))
        return [*x_names, *bench.line_names], rows, spreads, low, high

    def _run(self, bench, save_path, show_plots, print_data, kwargs):
        columns, rows, spreads, low, high = self._measure(bench, kwargs)
        if bench.plot_name:
            _plot(bench, rows, spreads, save_path, show_plots)
        table = _Table(columns, rows)
        if print_data:
            print(f"{bench.plot_name}:\n{table}")
        if save_path:
            table.to_csv(os.path.join(save_path, f"{bench.plot_name}.csv"))
        try:
            import pandas
        except ImportError:
            return table
        return pandas.DataFrame(rows, columns=columns)

    def run(self, show_plots=False, print_data=False, save_path="", return_df=False, **kwargs):
        many = isinstance(self.benchmarks, (list, tuple))
        benchmarks = self.benchmarks if many else [self.benchmarks]
        if save_path:
            os.makedirs(save_path, exist_ok=True)
        tables = [self._run(b, save_path, show_plots, print_data, kwargs) for b in benchmarks]
        if save_path:
            with open(os.path.join(save_path, "results.html"), "w") as page:
                page.write("<html><body>\n")
                for bench in benchmarks:
                    page.write(f'<img src="{html.escape(bench.plot_name, quote=True)}.png"/>\n')
                page.write("</body></html>\n")
        if return_df:
            return tables if many else tables[0]
        return None


def _plot(bench, rows, spreads, save_path, show_plots):
    """Draws one benchmark where matplotlib is found and somebody will see it."""
    if not save_path and not show_plots:
        return
    try:
        if not show_plots:
            import matplotlib

            matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        print("matplotlib was not found; no plot is drawn", file=sys.stderr)
        return
    plt.figure()
    axes = plt.subplot()
    width = len(bench.x_names)
    xs = [row[0] for row in rows]
    for i, name in enumerate(bench.line_names):
        color, style = bench.styles[i] if bench.styles else (None, None)
        axes.plot(xs, [row[width + i] for row in rows], label=name, color=color, ls=style)
        below, above = [s[0][i] for s in spreads], [s[1][i] for s in spreads]
        if None not in below and None not in above:
            axes.fill_between(xs, below, above, alpha=0.15, color=color)
    axes.legend()
    axes.set_xlabel(bench.xlabel or bench.x_names[0])
    axes.set_ylabel(bench.ylabel)
    axes.set_xscale("log" if bench.x_log else "linear")
    axes.set_yscale("log" if bench.y_log else "linear")
    if save_path:
        plt.savefig(os.path.join(save_path, f"{bench.plot_name}.png"))
    if show_plots:
        plt.show()
    plt.close()


def perf_report(benchmarks):
    """Decorator: the function is measured over one Benchmark or a list of them."""
    return lambda fn: Mark(fn, benchmarks)


# ---------------------------------------------------------------------------
# The device
# ---------------------------------------------------------------------------


def nvsmi(attributes):
    """Integers of `nvidia-smi --query-gpu` for the first device."""
    import shutil
    import subprocess

    program = shutil.which("nvidia-smi")
    if program is None:
        raise FileNotFoundError("nvidia-smi was not found")
    done = subprocess.run(
        [program, "-i", "0", f"--query-gpu={','.join(attributes)}", "--format=csv,noheader,nounits"],
        capture_output=True,
        text=True,
        check=True,
    )
    return [int(float(value)) for value in done.stdout.replace("\n", ",").split(",") if value.strip()]


def _properties(device=None):
    return _core.device_properties(_core.current_device() if device is None else device)


def get_dram_gbps(device=None):
    """Peak memory bandwidth in GB/s from the clock and the width of the bus."""
    p = _properties(device)
    return p["mem_clock_rate"] * 2 * p["mem_bus_width"] / 8 / 1e6


def get_max_simd_tflops(dtype, clock_rate=None, device=None):
    """Peak of the ordinary units in TFLOP/s at `clock_rate` in kHz (the highest where not given): fp32, and twice that
    for 16 bits."""
    p = _properties(device)
    clock_rate = p["sm_clock_rate"] if clock_rate is None else clock_rate
    per_cycle = 256 * (2 if str(dtype).endswith(("16", "fp16", "bf16")) else 1)
    return p["multiprocessor_count"] * per_cycle * clock_rate * 1e-9


def get_max_tensorcore_tflops(dtype, clock_rate=None, device=None):
    """Peak of the tensor cores in TFLOP/s at `clock_rate` in kHz (the highest where not given), dense."""
    p = _properties(device)
    clock_rate = p["sm_clock_rate"] if clock_rate is None else clock_rate
    bits = 8 if "8" in str(dtype) else 16 if str(dtype).endswith("16") else 32
    base = _TF32_OPERATIONS.get(p["capability"])
    if base is None:
        raise ValueError(f"the peak of sm_{p['capability']} is not known")
    # Each halving of the width doubles the rate.
    return p["multiprocessor_count"] * base * (32 // bits) * clock_rate * 1e-9


# tf32 operations (a multiply and an add are two) per multiprocessor and cycle, from
# NVIDIA's data sheets.
_TF32_OPERATIONS = {80: 1024, 86: 256, 89: 256, 90: 2048}


# ---------------------------------------------------------------------------
# Names of newer and older Tritons
# ---------------------------------------------------------------------------

# Times of events around each run already leave the host out, which is what the profiler's are for there.
do_bench_proton, do_bench_cudagraph_proton = do_bench, do_bench_cudagraph


@contextlib.contextmanager
def set_gpu_clock(ref_sm_clock=1350, ref_mem_clock=1215):
    """Locks the clocks (MHz) for the block, which needs administrator's rights; gives (TFLOP/s, GB/s) of 16 bits there."""
    import subprocess

    def nvidia_smi(*arguments):
        subprocess.run(["nvidia-smi", "-i", "0", *arguments], check=True, stdout=subprocess.DEVNULL)

    try:
        nvidia_smi("-pm", "1")
        nvidia_smi(f"--lock-gpu-clocks={ref_sm_clock},{ref_sm_clock}")
        nvidia_smi(f"--lock-memory-clocks={ref_mem_clock},{ref_mem_clock}")
        yield get_max_tensorcore_tflops("float16", ref_sm_clock * 1e3), get_dram_gbps()
    finally:
        for setting in ("-rgc", "-rmc"):
            nvidia_smi(setting)


def cuda_memcheck(**target_kwargs):
    """Decorator of tests: nothing here, as the interpreter and compute-sanitizer check what they run."""
    return lambda test: test
