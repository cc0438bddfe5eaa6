# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exported kernels beside the same launches from Python and the bare cuLaunchKernel.

    python benchmarks/exported.py [--quick] [--out FOLDER]
    python benchmarks/exported.py --share      # our own share of a call, against a driver that does nothing; no GPU

Exports the library of tests/e2e/data/exported, compiles it with the program beside it, and
measures vector add, softmax, products by tensor maps and attention:

  device   time on the GPU of a launch, from a CUDA graph
  call     host time of a launch without waiting for the GPU: in a C loop for the exported function
           and for cuLaunchKernel, `kernel[grid](...)` and a bound launch for Python
"""

import argparse
import ctypes
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import host_side
import peers

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "tests" / "e2e" / "data" / "exported"
KERNELS = ("add", "softmax", "matmul", "matmul_device", "attention")
# The order of Arrays in program.cpp: shape and type.
ARRAYS = [
    ("x", (98432,), "float32"),
    ("y", (98432,), "float32"),
    ("sum", (98432,), "float32"),
    ("scores", (300, 1000), "float32"),
    ("weights", (300, 1000), "float32"),
    ("a", (1024, 512), "float16"),
    ("b", (512, 1024), "float16"),
    ("c", (1024, 1024), "float16"),
    *((name, (4, 512, 64), "float16") for name in ("q", "k", "v", "out")),
    ("lse", (4, 512), "float32"),
]


def build(folder: str):
    """The exported library and the program as one shared library."""
    subprocess.run(
        [sys.executable, "-m", "tilewright", "export", DATA / "ops.json", "-o", f"{folder}/ops"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    subprocess.run(["cc", "-std=c11", "-O2", "-fPIC", "-c", f"{folder}/ops/ops.c", "-o", f"{folder}/ops.o"], check=True)
    subprocess.run(
        [
            "c++",
            "-std=c++17",
            "-O2",
            "-fPIC",
            "-shared",
            f"-I{folder}/ops",
            DATA / "program.cpp",
            f"{folder}/ops.o",
            "-o",
            f"{folder}/libops.so",
            "-ldl",
            "-lpthread",
        ],
        check=True,
    )
    library = ctypes.CDLL(f"{folder}/libops.so")
    library.timeExported.restype = ctypes.c_double
    library.ops_last_error.restype = ctypes.c_char_p
    return library


def python_launches(arrays) -> dict:
    """Kernel -> (its function, grid, arguments, options), as program.cpp launches it."""
    from tilewright.kernel_arguments import load_function
    from tilewright.tools.tensor_descriptor import TensorDescriptor

    def kernel(name):
        return load_function(str(ROOT / "tutorials" / name))

    a, b, c = (
        TensorDescriptor.from_tensor(arrays[name], block)
        for name, block in (("a", [128, 64]), ("b", [64, 128]), ("c", [128, 64]))
    )
    attention = [arrays[name] for name in ("q", "k", "v", "out", "lse")]
    blocks = (1024, 1024, 512, 128, 128, 64, 8, True)
    return {
        "add": (
            kernel("01_vector_add.py:add_kernel"),
            (97,),
            (arrays["x"], arrays["y"], arrays["sum"], 98432),
            {"BLOCK": 1024},
        ),
        "softmax": (
            kernel("02_fused_softmax.py:softmax_kernel"),
            (300,),
            (arrays["scores"], arrays["weights"], 1000, 1000, 1000),
            {"BLOCK": 1024},
        ),
        "matmul": (kernel("09_persistent_matmul.py:host_descriptor_kernel"), (64,), (a, b, c, *blocks), {"num_warps": 8}),
        "matmul_device": (
            kernel("09_persistent_matmul.py:device_descriptor_kernel"),
            (64,),
            (arrays["a"], arrays["b"], arrays["c"], *blocks),
            {"num_warps": 8},
        ),
        "attention": (
            kernel("06_fused_attention.py:forward_kernel"),
            (4, 4),
            (*attention, 0.125, 512),
            {"BLOCK_M": 128, "BLOCK_N": 64, "HEAD_DIM": 64, "CAUSAL": True, "num_warps": 8},
        ),
    }


def exported_call(library, number, addresses, batches: int) -> float:
    """Microseconds of the host for one launch of the exported function."""
    import torch

    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    times = []
    for _ in range(batches):
        nanoseconds = library.timeExported(number, addresses, stream, host_side.BATCH)
        if nanoseconds < 0:
            raise RuntimeError(library.ops_last_error().decode())
        times.append(nanoseconds / 1000)
        torch.cuda.synchronize()
    return statistics.median(times)


def measure(batches: int) -> list[dict]:
    import torch

    from tilewright import testing

    torch.manual_seed(0)
    arrays = {name: torch.randn(shape, device="cuda").to(getattr(torch, kind)) for name, shape, kind in ARRAYS}
    addresses = (ctypes.c_void_p * len(ARRAYS))(*(tensor.data_ptr() for tensor in arrays.values()))
    results = []
    with tempfile.TemporaryDirectory() as folder:
        library, floor = build(folder), host_side.build_floor(folder)
        for number, name in enumerate(KERNELS):
            kernel, grid, arguments, options = python_launches(arrays)[name]
            bound = kernel.bind(*arguments, grid=grid, **options)

            def exported():
                stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
                if library.launchExported(number, addresses, stream) != 0:
                    raise RuntimeError(library.ops_last_error().decode())

            exported(), bound()
            row = {"row": name}
            # In turn, the smallest counts: clocks swing, the host's too.
            for _ in range(3):
                found = {
                    "device, exported": testing.do_bench_cudagraph(exported) * 1000,
                    "device, Python": testing.do_bench_cudagraph(bound) * 1000,
                    "call, exported": exported_call(library, number, addresses, batches),
                    "call, driver": host_side.bare_launch(floor, bound, batches),
                    "call, bound": host_side.microseconds_per_launch(bound, batches),
                    "call, Python": host_side.microseconds_per_launch(lambda: kernel[grid](*arguments, **options), batches),
                }
                row.update({what: min(value, row.get(what, value)) for what, value in found.items()})
            results.append(row)
    return results


_SHARE = """
import ctypes
driver = ctypes.CDLL("libcuda.so.1", ctypes.RTLD_GLOBAL)
context = ctypes.c_void_p()
driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
driver.cuCtxSetCurrent(context)
driver.mockRecord(0)
library = ctypes.CDLL({library!r})
library.timeExported.restype = ctypes.c_double
addresses = (ctypes.c_void_p * {arrays})(*((1 << 40) + 0x1000000 * i for i in range({arrays})))
for number, name in enumerate({kernels!r}):
    print(name, round(min(library.timeExported(number, addresses, None, 100000) for _ in range(15)), 1), "ns")
"""


def print_share():
    """Nanoseconds of a call of each exported function, the recording driver's few included."""
    sys.path.insert(0, str(ROOT / "tests"))
    from harness import mock_driver

    with tempfile.TemporaryDirectory() as folder:
        build(folder)
        Path(mock_driver.build(folder)).rename(Path(folder) / "libcuda.so.1")
        code = _SHARE.format(library=f"{folder}/libops.so", arrays=len(ARRAYS), kernels=KERNELS)
        subprocess.run([sys.executable, "-c", code], env={**os.environ, "LD_LIBRARY_PATH": folder}, check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer batches: a check, not a figure")
    parser.add_argument("--out", help="a folder for exported.json and exported.md")
    parser.add_argument("--share", action="store_true", help="our own share of a call, without a GPU")
    options = parser.parse_args()
    if options.share:
        return print_share()
    results = measure(5 if options.quick else 31)
    columns = [what for what in results[0] if what != "row"]
    rows = [
        [
            r["row"],
            *(f"{r[what]:.2f}" for what in columns),
            f"{r['call, exported'] / r['call, driver']:.2f}",
            f"{r['device, exported'] / r['device, Python']:.3f}",
        ]
        for r in results
    ]
    peers.write_report(
        options.out,
        "exported",
        "Exported kernels (microseconds)",
        results,
        ["", *columns, "call to driver", "device to Python"],
        rows,
    )


if __name__ == "__main__":
    main()
