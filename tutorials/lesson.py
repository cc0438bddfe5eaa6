# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the lessons share that is not about kernels: where arrays live, reports.

A lesson runs on the GPU through torch where there is one, else on NumPy arrays,
for which `kernel[grid](...)` runs the interpreter on the CPU.
"""

import argparse
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


def to_device(array: np.ndarray):
    """A NumPy array as what the kernels of this run take."""
    if not ON_GPU:
        return array
    import torch

    return torch.from_numpy(array).cuda()


def to_numpy(array) -> np.ndarray:
    return array.cpu().numpy() if ON_GPU else array


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


def zeros(shape, dtype: str):
    return to_device(np.zeros(shape, dtype))


def check(what: str, actual, expected, tolerance: float):
    """Compares with the reference and says how far off the worst element is."""
    actual = to_numpy(actual).astype(np.float64)
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


def show(name: str, x_label: str, xs: list, lines: dict[str, list[float]], unit: str = "GB/s"):
    """Prints the table of a sweep and draws it where matplotlib is installed."""
    width = max(len(x_label), 10)
    print(f"\n{x_label:>{width}}" + "".join(f"{line:>16}" for line in lines) + f"   ({unit})")
    for i, x in enumerate(xs):
        print(f"{x:>{width}}" + "".join(f"{values[i]:>16.0f}" for values in lines.values()))
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


def arguments(description: str):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="one small problem, no sweep")
    options = parser.parse_args()
    print(f"running on {'the GPU' if ON_GPU else 'the CPU, in the interpreter (no GPU here)'}")
    return options
