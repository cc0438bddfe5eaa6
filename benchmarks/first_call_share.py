# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Our own share of a process's first launch from the disk cache, in microseconds; needs no GPU.

    python benchmarks/first_call_share.py [--processes N] [--stages] [--case NAME] [--profile]

The driver is the recording one of tests/mock, so opening it and loading the kernel
take next to nothing. One process compiles and fills an empty cache directory; each
of the others measures one first call. With torch installed the tensors are torch's
own, as in launch_share.py.

`--stages` adds what the parts of the call take (in processes of their own, as
looking costs time); what is indented is part of the line above it.
"""

import argparse
import ctypes
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

CASES = ("add", "helpers", "tuned", "tuned, 24 configs")

# (module, class or None, function), in the order in which they are mostly met.
STAGES = [
    ("runtime.autotuner", "Autotuner", "_tune"),
    ("tuning.table", "Table", "__init__"),
    ("tuning.table", "Table", "load"),
    ("tuning.table", None, "config_identity"),
    ("runtime.jit", "JITFunction", "_compile_specialization"),
    ("compiler.compiler", None, "parse_options"),
    ("runtime.driver", "CudaDriver", "get_current_target"),
    ("compiler.compiler", None, "source_of_specialization"),
    ("compiler.compiler", None, "Request"),
    ("runtime.dependencies", "Dependencies", "__init__"),
    ("runtime.dependencies", None, "_text_digest"),
    ("runtime.dependencies", None, "_code_names"),
    ("_core", None, "toolchain_identity"),
    ("compiler.disk_cache", None, "_knob_fields"),
    ("compiler.disk_cache", None, "key_of"),
    ("compiler.compiler", None, "load_or_compile"),
    ("compiler.disk_cache", "Store", "load"),
    ("compiler.disk_cache", None, "result_of"),
    ("compiler.compiler", "CompiledKernel", "__init__"),
    ("compiler.compiler", "CompiledKernel", "load"),
    ("_core", None, "load_kernel"),
]


def declare():
    """What a user's module holds."""
    import tilewright as tw
    import tilewright.language as tl

    SCALE, SHIFT, SQUARE = tl.constexpr(2.0), tl.constexpr(1.0), tl.constexpr(True)  # noqa: F841 - read by the kernels

    @tw.jit
    def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = offsets < n
        tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask) + tl.load(y_ptr + offsets, mask), mask)

    @tw.jit
    def scaled(value):
        return value * SCALE + SHIFT

    @tw.jit
    def combined(x, y):
        sum = scaled(x) + y
        return sum * sum if SQUARE else sum

    @tw.jit
    def helpers(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = offsets < n
        x, y = tl.load(x_ptr + offsets, mask), tl.load(y_ptr + offsets, mask)
        tl.store(out_ptr + offsets, combined(x, y) + scaled(y), mask)

    def tuned(configs):
        # As if measured: the times do not matter here. The table is kept as for others.
        return tw.autotune(configs, key=["n"], do_bench=lambda call, quantiles: [1.0] * 3, cache_results=True)(add)

    few = [tw.Config({"BLOCK": 1024}, num_warps=warps) for warps in (4, 8)]
    many = [
        tw.Config({"BLOCK": block}, num_warps=warps, num_stages=stages)
        for block in (256, 512, 1024, 2048)
        for warps in (2, 4, 8)
        for stages in (2, 3)
    ]
    return {
        "add": (add, {"BLOCK": 1024}),
        "helpers": (helpers, {"BLOCK": 1024}),
        "tuned": (tuned(few), {}),
        "tuned, 24 configs": (tuned(many), {}),
    }


def watch(rows):
    """Puts a clock around every stage: rows of [depth, name, seconds]."""
    depth = 0

    def timed(name, function):
        def run(*arguments, **keywords):
            nonlocal depth
            row = [depth, name, 0.0]
            rows.append(row)
            depth += 1
            begin = time.perf_counter()
            try:
                return function(*arguments, **keywords)
            finally:
                row[2] = time.perf_counter() - begin
                depth -= 1

        return run

    for module, owner, name in STAGES:
        place = importlib.import_module("tilewright." + module)
        place = getattr(place, owner) if owner else place
        setattr(place, name, timed(f"{owner or module.rpartition('.')[2]}.{name}", getattr(place, name)))


def child(case, how):
    """One first call; prints its seconds and the stages as JSON."""
    from launch_share import make_tensors

    ctypes.CDLL(os.environ["TILEWRIGHT_LIBCUDA_PATH"])  # as the framework has opened the driver
    tensors, _ = make_tensors(3)
    kernel, constants = declare()[case]
    rows: list = []
    if how == "stages":
        watch(rows)
    if how == "profile":
        import cProfile

        profile = cProfile.Profile()
        profile.runcall(lambda: kernel[(4,)](*tensors, 1000, **constants))
        profile.print_stats("cumulative")
        return
    start = time.perf_counter()
    kernel[(4,)](*tensors, 1000, **constants)
    seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, "rows": rows}))


def measure(case, how, environment):
    done = subprocess.run([sys.executable, __file__, "--child", case, how], env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout if how == "profile" else json.loads(done.stdout.splitlines()[-1])


def show(name, seconds):
    print(f"{name:48} {min(seconds) * 1e6:8.0f} {statistics.median(seconds) * 1e6:8.0f}")


def report(case, options, environment):
    measure(case, "plain", environment)  # compiles, and leaves the entry
    show(case, [measure(case, "plain", environment)["seconds"] for _ in range(options.processes)])
    if options.stages:
        runs = [measure(case, "stages", environment)["rows"] for _ in range(options.processes)]
        for stage in zip(*runs):
            show("  " * (stage[0][0] + 1) + stage[0][1], [row[2] for row in stage])
    if options.profile:
        print(measure(case, "profile", environment))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=15, help="how many first calls are measured")
    parser.add_argument("--stages", action="store_true", help="what the parts of the call take")
    parser.add_argument("--profile", action="store_true", help="the profile of one call")
    parser.add_argument("--case", choices=CASES, help="only this one")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(*options.child)
        return 0
    from launch_share import ROOT
    from harness.mock_driver import build

    with tempfile.TemporaryDirectory() as folder:
        environment = dict(
            os.environ,
            TILEWRIGHT_LIBCUDA_PATH=build(folder),
            TILEWRIGHT_CACHE="1",
            TILEWRIGHT_CACHE_DIR=os.path.join(folder, "cache"),
        )
        environment["PYTHONPATH"] = os.pathsep.join([str(ROOT / "tests"), environment.get("PYTHONPATH", "")])
        print(f"{'first call of a process, cached (us)':48} {'least':>8} {'median':>8}")
        for case in [options.case] if options.case else CASES:
            report(case, options, environment)
    return 0


if __name__ == "__main__":
    sys.exit(main())
