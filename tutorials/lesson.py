# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the lessons share that is not about kernels: where arrays live, reports.

A lesson runs on the GPU through torch where there is one, else on NumPy arrays,
for which `kernel[grid](...)` runs the interpreter on the CPU.
"""

import argparse
import datetime
import importlib
import json
import statistics
import sys
import time
from pathlib import Path

import numpy as np


def find_gpu() -> bool:
    try:
        import torch
    except ImportError:
        return False
    return torch.cuda.is_available()


ON_GPU = find_gpu()
OUTPUT = Path(__file__).parent / "out"


def framework(name: str, install: str, has_gpu=None):
    """The module of a framework that a lesson is about; ends the lesson with what is missing where it is not there.

    `has_gpu(module)` is given for one that has no arrays without a GPU.
    """
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        raise SystemExit(f"this lesson needs {name}, which cannot be imported ({error}): {install}") from None
    if has_gpu is not None and not has_gpu(module):
        raise SystemExit(f"this lesson needs a GPU that {name} can use, and there is none")
    return module


def to_device(array: np.ndarray):
    """A NumPy array as what the kernels of this run take."""
    if not ON_GPU:
        return array
    import torch

    return torch.from_numpy(array).cuda()


def to_numpy(array) -> np.ndarray:
    """An array of NumPy, torch or JAX on the host."""
    return array.detach().cpu().numpy() if hasattr(array, "detach") else np.asarray(array)


def empty_like(array):
    if not ON_GPU:
        return np.empty_like(array)
    import torch

    return torch.empty_like(array)


def strides(array) -> tuple:
    """In elements, for NumPy as for torch."""
    if ON_GPU:
        return array.stride()
    return tuple(stride // array.itemsize for stride in array.strides)


def empty(shape, dtype: str):
    if not ON_GPU:
        return np.empty(shape, dtype)
    import torch

    return torch.empty(shape, dtype=getattr(torch, dtype), device="cuda")


def zeros(shape, dtype: str):
    """Made on the GPU itself: a copy of zeros from the host would be timed with the kernels."""
    if not ON_GPU:
        return np.zeros(shape, dtype)
    import torch

    return torch.zeros(shape, dtype=getattr(torch, dtype), device="cuda")


def check(what: str, actual, expected, tolerance: float):
    """Compares with the reference and says how far off the worst element is."""
    actual, expected = to_numpy(actual).astype(np.float64), to_numpy(expected).astype(np.float64)
    error = np.max(np.abs(actual - expected) / np.maximum(1.0, np.abs(expected)))
    print(f"  {what:<28} largest error {error:.1e}  {'ok' if error <= tolerance else 'WRONG'}")
    if not error <= tolerance:  # also for NaN
        raise SystemExit(f"{what}: error {error:.3e} is above {tolerance:.0e}")


def multiprocessors() -> int:
    """Of the GPU; a small number for the interpreter, so that a program gets several tiles."""
    if not ON_GPU:
        return 3
    import torch

    return torch.cuda.get_device_properties(torch.cuda.current_device()).multi_processor_count


def tflops_per_second(function, operations: int) -> float:
    """Speed of `function`, which does so many operations, from the median of many runs."""
    import tilewright.testing

    milliseconds = tilewright.testing.do_bench(function, return_mode="median")
    return operations / milliseconds * 1e-9


def gigabytes_per_second(function, bytes_moved: int) -> float:
    """Bandwidth of `function`, which moves so many bytes, from the median of many runs."""
    import tilewright.testing

    milliseconds = tilewright.testing.do_bench(function, return_mode="median")
    return bytes_moved / milliseconds * 1e-6


def gigabytes_per_second_with_waiting(function, bytes_moved: int) -> float:
    """Bandwidth of `function`, which waits for the GPU itself, by the clock of the host: for arrays that are not torch's."""
    function()
    seconds = []
    for _ in range(20):
        began = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - began)
    return bytes_moved / statistics.median(seconds) * 1e-9


def record(name: str, x_label: str, xs: list, lines: dict[str, list[float]], unit: str):
    """Keeps a sweep of a GPU as JSON; copied to tutorials/recorded/, it is what the documentation site plots."""
    if not ON_GPU:
        return
    import torch

    OUTPUT.mkdir(exist_ok=True)
    path = OUTPUT / f"{Path(sys.argv[0]).stem[:2]}_{name.replace(' ', '_')}.json"
    board = f"{torch.cuda.get_device_name()}, torch {torch.__version__}"
    path.write_text(
        json.dumps(
            {
                "name": name,
                "board": board,
                "date": f"{datetime.date.today()}",
                "x_label": x_label,
                "unit": unit,
                "xs": xs,
                "lines": lines,
            },
            indent=1,
        )
    )


def show(name: str, x_label: str, xs: list, lines: dict[str, list[float]], unit: str = "GB/s"):
    """Prints the table of a sweep and draws it where matplotlib is installed."""
    width = max(len(x_label), 10)
    print(f"\n{x_label:>{width}}" + "".join(f"{line:>16}" for line in lines) + f"   ({unit})")
    for i, x in enumerate(xs):
        print(f"{x:>{width}}" + "".join(f"{values[i]:>16.0f}" for values in lines.values()))
    record(name, x_label, xs, lines, unit)
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        print("(no plot: matplotlib is not installed)")
        return
    figure, axes = plt.subplots(figsize=(6, 4))
    for line, values in lines.items():
        axes.plot(xs, values, marker="o", label=line)
    axes.set(xlabel=x_label, ylabel=unit, title=name, ylim=(0, None))
    axes.set_xscale("log", base=2)
    axes.legend()
    axes.grid(alpha=0.3)
    OUTPUT.mkdir(exist_ok=True)
    path = OUTPUT / f"{name.replace(' ', '-')}.png"
    figure.savefig(path, dpi=120, bbox_inches="tight")
    plt.close(figure)
    print(f"plot: {path}")


def arguments(description: str, on_gpu: bool = ON_GPU):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="one small problem, no sweep")
    options = parser.parse_args()
    print(f"running on {'the GPU' if on_gpu else 'the CPU, in the interpreter (no GPU here)'}")
    return options
