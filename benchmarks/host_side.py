# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the host pays: launches, first calls, the import.

    python benchmarks/host_side.py [--quick] [--out FOLDER]

launch      host time per warm launch, without waiting for the GPU, beside the
            bare driver call, a bound launch (kernel.bind) and Triton; the last
            row's kernel is tuned (@autotune) before
first call  vector add, softmax, layer norm with nothing cached for them, in a
            process that has compiled something else before; waits for the GPU
import      `import tilewright` in a fresh process that has imported NumPy
"""

import argparse
import ctypes
import importlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import peers

# The driver queues about a thousand launches before it makes the host wait, so a
# batch stays below that and the GPU is drained, untimed, between batches.
BATCH = 200


def microseconds_per_launch(launch, batches: int) -> float:
    """Median over batches of the host time of one launch."""
    import torch

    launch()
    torch.cuda.synchronize()
    times = []
    for _ in range(batches):
        start = time.perf_counter()
        for _ in range(BATCH):
            launch()
        times.append((time.perf_counter() - start) / BATCH * 1e6)
        torch.cuda.synchronize()
    return statistics.median(times)


def build_floor(folder: str):
    """launch_floor.c as a library, or None without a C compiler."""
    compiler = next((c for c in ("cc", "gcc", "clang", "clang-19") if shutil.which(c)), None)
    if not compiler:
        return None
    library = Path(folder) / "launch_floor.so"
    source = Path(__file__).with_name("launch_floor.c")
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", source, "-o", library, "-ldl"], check=True)
    function = ctypes.CDLL(str(library)).launch_floor
    function.restype = ctypes.c_double
    return function


def bare_launch(floor, bound, batches: int) -> float:
    """Microseconds of cuLaunchKernel itself with the kernel and the parameters of a bound launch."""
    import torch

    metadata = bound.kernel.metadata
    stream = torch.cuda.current_stream().cuda_stream
    times = []
    for _ in range(batches):
        nanoseconds = floor(
            ctypes.c_void_p(bound.kernel.function),
            metadata.num_warps * 32,
            metadata.shared,
            ctypes.c_void_p(stream),
            ctypes.c_void_p(bound.parameters),
            BATCH,
        )
        if nanoseconds < 0:
            raise RuntimeError("cuLaunchKernel failed")
        times.append(nanoseconds / 1000)
        torch.cuda.synchronize()
    return statistics.median(times)


def describe(tensor, peer):
    """A descriptor in blocks of 64 x 64, of the class that the peer takes."""
    if peer == "Tilewright":
        from tilewright.tools.tensor_descriptor import TensorDescriptor
    else:
        from triton.tools.tensor_descriptor import TensorDescriptor
    return TensorDescriptor.from_tensor(tensor, [64, 64])


def tuned_add(peer, kernels):
    """The first row's kernel with configurations to choose from."""
    module = importlib.import_module(peer.lower())
    configs = [module.Config({"BLOCK": 1024}, num_warps=warps) for warps in (4, 8)]
    return module.autotune(configs=configs, key=["n"])(kernels.add_kernel)


def launch_cases(torch):
    """Row -> function of (peer, its kernels) that returns kernel, positional arguments, constants."""
    a, b, c, d, e = (torch.rand(1024, device="cuda") for _ in range(5))
    square = [torch.rand(64, 64, device="cuda") for _ in range(3)]
    return {
        "launch, 3 tensors, 1 int": lambda peer, k: (k.add_kernel, (a, b, c, 1000), {"BLOCK": 1024}),
        "launch, 4 tensors, 6 ints": lambda peer, k: (
            k.many_arguments_kernel,
            (a, b, c, d, 100, 200, 300, 2, 3, 4),
            {"BLOCK": 1024},
        ),
        "launch, 19 arguments": lambda peer, k: (
            k.nineteen_arguments_kernel,
            (a, b, c, d, e, *range(2, 11)),
            {"BLOCK": 1024, "C": 1, "D": 2, "E": 3, "F": 4},
        ),
        "launch, 3 descriptors": lambda peer, k: (
            k.descriptors_kernel,
            tuple(describe(t, peer) for t in square),
            {"BLOCK": 64},
        ),
        "launch, 3 tensors, tuned": lambda peer, k: (tuned_add(peer, k), (a, b, c, 1000), {}),
    }


def call_of(kernel, positional, constants):
    """`kernel[(1,)](...)` as a function whose source names every argument, as programs do."""
    names = {f"p{i}": value for i, value in enumerate(positional)}
    arguments = [*names, *(f"{name}={value}" for name, value in constants.items())]
    return eval(f"lambda: kernel[(1,)]({', '.join(arguments)})", {"kernel": kernel, **names})


def measure_launches(ours, triton, batches: int) -> list[dict]:
    import torch

    results = []
    with tempfile.TemporaryDirectory() as folder:
        floor = build_floor(folder)
        for name, case in launch_cases(torch).items():
            result = {"row": name, "unit": "us"}
            calls = {
                peer: call_of(*case(peer, kernels)) for peer, kernels in (("Tilewright", ours), ("Triton", triton)) if kernels
            }
            bound = None
            if ours:
                kernel, positional, constants = case("Tilewright", ours)
                bound = kernel.bind(*positional, grid=(1,), **constants)
            # Three times in turn, the smallest counts: the host's clock swings too.
            for _ in range(3):
                measured = {peer: microseconds_per_launch(call, batches) for peer, call in calls.items()}
                if bound:
                    measured["bound"] = microseconds_per_launch(bound, batches)
                if bound and floor:
                    measured["driver"] = bare_launch(floor, bound, batches)
                for peer, value in measured.items():
                    result[peer] = min(value, result.get(peer, value))
            results.append(result)
    return results


def renamed_kernels(compiler: str, folder: str, number: int):
    """kernels.py with other names for its kernels, so that no cache can know them."""
    text = peers.KERNELS.read_text().replace("_kernel(", f"_kernel_{number}(")
    path = Path(folder) / f"kernels_{number}.py"
    path.write_text(text)
    return peers.load_kernels(compiler, path), f"_kernel_{number}"


def first_calls(compiler: str, repetitions: int) -> dict[str, float]:
    """Median milliseconds of the first call of each kernel."""
    import torch

    rows, columns = 64, 4096
    x = torch.rand(rows, columns, device="cuda")
    weight, out = torch.rand(columns, device="cuda"), torch.empty_like(x)
    times: dict[str, list[float]] = {"vector add": [], "softmax": [], "layer norm": []}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(repetitions + 1):
            kernels, suffix = renamed_kernels(compiler, folder, number)
            if kernels is None:
                return {}
            calls = {
                "vector add": lambda: getattr(kernels, "add" + suffix)[(rows * columns // 1024,)](
                    x, x, out, rows * columns, BLOCK=1024
                ),
                "softmax": lambda: getattr(kernels, "softmax" + suffix)[(rows,)](x, out, columns, columns, BLOCK=columns),
                "layer norm": lambda: getattr(kernels, "layer_norm" + suffix)[(rows,)](
                    x, weight, weight, out, columns, columns, 1e-5, BLOCK=columns
                ),
            }
            for name, call in calls.items():
                torch.cuda.synchronize()
                start = time.perf_counter()
                call()
                torch.cuda.synchronize()
                if number > 0:  # the first set warms the process
                    times[name].append((time.perf_counter() - start) * 1e3)
    return {name: statistics.median(values) for name, values in times.items()}


def import_milliseconds(package: str, repetitions: int) -> float | None:
    """Time of the import on top of NumPy, each in a process of its own."""
    script = f"import time, numpy; start = time.perf_counter(); import {package}; print((time.perf_counter() - start) * 1e3)"
    times = []
    for _ in range(repetitions):
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
        if done.returncode:
            return None
        times.append(float(done.stdout))
    return statistics.median(times)


FIRST_EVER = """
import sys, time, torch
sys.path.insert(0, {folder!r})
import peers
x = torch.rand(4096, device="cuda"); torch.cuda.synchronize()
kernels = peers.load_kernels({compiler!r})
loading = 0.0
if {compiler!r} == "tilewright":  # what the driver takes to load the machine code
    from tilewright import _core
    load_kernel = _core.load_kernel
    def timed(*arguments):
        global loading
        begin = time.perf_counter()
        loaded = load_kernel(*arguments)
        loading += time.perf_counter() - begin
        return loaded
    _core.load_kernel = timed
start = time.perf_counter()
kernels.add_kernel[(4,)](x, x, x, 4096, BLOCK=1024)
launched = time.perf_counter() - start
torch.cuda.synchronize()
print((time.perf_counter() - start) * 1e3, launched * 1e3, loading * 1e3)
"""


def first_call_ever(compiler: str) -> list[float | None]:
    """First kernel of a process, with an empty cache directory; and of another
    process, with what the first one left there (the best of five): until it has
    run, until the launch returns, and what loading the machine code takes of that."""
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, TILEWRIGHT_CACHE="1", TILEWRIGHT_CACHE_DIR=folder + "/cache", TRITON_CACHE_DIR=folder)
        script = FIRST_EVER.format(folder=str(Path(__file__).parent), compiler=compiler)
        runs = [
            subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment) for _ in range(6)
        ]
    times = [[float(t) for t in done.stdout.split()[-3:]] for done in runs if done.returncode == 0]
    if len(times) < 2:
        return [None] * 4
    return [times[0][0], *min(times[1:])]


def other_rows(repetitions: int) -> list[dict]:
    """First calls and imports."""
    results = []
    first = {"Tilewright": first_calls("tilewright", repetitions), "Triton": first_calls("triton", repetitions)}
    for name in ("vector add", "softmax", "layer norm"):
        results.append(
            {"row": f"first call, {name}", "unit": "ms", **{peer: values.get(name) for peer, values in first.items()}}
        )
    ever = {"Tilewright": first_call_ever("tilewright"), "Triton": first_call_ever("triton")}
    for index, row in enumerate(
        (
            "first call of a process",
            "first call of a process, cached",
            "  until the launch returns",
            "  of that, loading into the device",
        )
    ):
        results.append({"row": row, "unit": "ms", **{peer: values[index] for peer, values in ever.items()}})
    results.append(
        {
            "row": "import, on top of NumPy",
            "unit": "ms",
            "Tilewright": import_milliseconds("tilewright", repetitions),
            "Triton": import_milliseconds("triton", repetitions),
        }
    )
    return results


def line_of(result: dict) -> list[str]:
    def cell(name):
        value = result.get(name)
        return f"{value:.2f}" if value is not None else "-"

    ratio = f"{result['Tilewright'] / result['driver']:.2f}" if result.get("driver") and result.get("Tilewright") else "-"
    return [result["row"], result["unit"], cell("driver"), cell("Triton"), cell("Tilewright"), cell("bound"), ratio]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument("--only-launches", action="store_true", help="the rows of launches")
    parser.add_argument("--out", default="", help="folder for the JSON and Markdown reports")
    options = parser.parse_args()
    import torch

    if not torch.cuda.is_available():
        print("needs a GPU", file=sys.stderr)
        return 2
    repetitions = 3 if options.quick else 7
    with tempfile.TemporaryDirectory() as cache:
        # Read by both packages when they are imported: nothing is cached before.
        os.environ["TILEWRIGHT_CACHE_DIR"] = os.environ["TRITON_CACHE_DIR"] = cache
        ours, triton = peers.load_kernels("tilewright"), peers.load_kernels("triton")
        results = measure_launches(ours, triton, batches=10 if options.quick else 50)
        if not options.only_launches:
            results += other_rows(repetitions)
    header = ["host side", "unit", "bare driver", "Triton", "Tilewright", "bound", "to driver"]
    peers.write_report(options.out, "host_side", "Host side", results, header, [line_of(r) for r in results])
    return 0


if __name__ == "__main__":
    sys.exit(main())
