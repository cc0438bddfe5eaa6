# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How long 24 configurations take when a sweep tunes them on one device and on several.

    python benchmarks/sweeping.py [--devices 0,1] [--engines processes,pool,dask,ray] [--size N] [--compiled] [--out FOLDER]

  processes   concurrent.futures.ProcessPoolExecutor, whose workers take a device each as they start
  pool        tilewright.tuning.GpuPool
  dask, ray   where they are installed

Each row begins with nothing cached (--compiled: with all configurations compiled) and with workers
that are awake: they have imported everything, made a context and run a kernel. Workers of one machine
share its cores when they compile. "a worker killed" ends one of them in the middle;
"found" counts the configurations that have a figure or a reason at the end. A pool of Python's
takes nothing more after a worker has died: there the row has the time of a second sweep, too,
which goes on where the first one was.
"""

import argparse
import concurrent.futures
import contextlib
import importlib.util
import json
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # workers load this file by its path

import numpy as np  # noqa: E402
import peers  # noqa: E402

from tilewright import _core, tuning  # noqa: E402
from tilewright.tuning import table  # noqa: E402

TARGET = f"{Path(__file__).resolve()}:launch"
_made: dict = {}


def tuned_kernel():
    """The matrix product of tuning.py with its 24 configurations, once per process."""
    if not _made:
        module = peers.load_kernels("tilewright", Path(__file__).with_name("matmul_kernels.py"))
        blocks = [(128, 256, 64), (128, 128, 64), (128, 128, 32), (64, 256, 32), (64, 128, 64), (64, 64, 64)]
        configs = [
            module.tw.Config({"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "GROUP_M": 8}, num_warps=w, num_stages=s)
            for m, n, k in blocks
            for w in (4, 8)
            for s in (3, 4)
        ]
        _made["kernel"] = module.tw.autotune(configs, key=["M", "N", "K"])(module.pointer_kernel)
        _made["tw"] = module.tw
    return _made["kernel"], _made["tw"]


def arrays(size):
    """Three matrices, of torch where it is installed."""
    if importlib.util.find_spec("torch"):
        import torch

        return [torch.randn(size, size, device="cuda", dtype=torch.float16) for _ in range(3)]
    buffers = [_core.DeviceBuffer(2 * size * size, "float16") for _ in range(3)]
    for buffer in buffers:
        buffer.copy_from(np.random.default_rng(0).standard_normal((size, size), np.float32).astype(np.float16))
    return buffers


def launch(size, rest=0.0, wakes=False):
    """The function that the workers run: one product of two random matrices; to wake up, with a configuration of no sweep."""
    with open(os.environ["SWEEPING_LOG"], "a") as log:
        log.write(f"{os.getpid()} {size}\n")
    kernel, tw = tuned_kernel()
    if size not in _made:
        _made[size] = arrays(size)
    a, b, c = _made[size]
    arguments = (a, b, c, size, size, size, size, 1, size, 1, size, 1)
    if wakes:
        kernel.fn[(tw.cdiv(size, 32) ** 2,)](*arguments, BLOCK_M=32, BLOCK_N=32, BLOCK_K=32, GROUP_M=8)
    else:
        kernel[lambda meta: (tw.cdiv(size, meta["BLOCK_M"]) * tw.cdiv(size, meta["BLOCK_N"]),)](*arguments)
    time.sleep(rest)


# -- engines -----------------------------------------------------------------------------


def take_device(devices):
    os.environ["CUDA_VISIBLE_DEVICES"] = devices.get()


@contextlib.contextmanager
def processes(devices):
    context = multiprocessing.get_context("spawn")  # CUDA does not survive a fork
    queue = context.Queue()
    for device in devices:
        queue.put(device)
    with concurrent.futures.ProcessPoolExecutor(len(devices), context, take_device, (queue,)) as executor:
        yield executor


@contextlib.contextmanager
def pool(devices):
    with tuning.GpuPool(devices) as executor:
        yield executor


@contextlib.contextmanager
def dask(devices):
    import distributed

    workers = {
        device: {"cls": distributed.Nanny, "options": {"nthreads": 1, "env": {"CUDA_VISIBLE_DEVICES": device}}}
        for device in devices
    }
    scheduler = {"cls": distributed.Scheduler, "options": {"dashboard": False}}
    with distributed.SpecCluster(workers, scheduler) as cluster, distributed.Client(cluster) as client:
        yield client.get_executor()


@contextlib.contextmanager
def ray(devices):
    import ray as engine

    os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(devices)
    os.environ.setdefault("RAY_worker_niceness", "0")  # 15 otherwise, which the other engines' workers have not
    engine.init(include_dashboard=False, log_to_driver=False, num_gpus=len(devices))
    try:
        with tuning.RayExecutor() as executor:
            yield executor
    finally:
        engine.shutdown()
        del os.environ["CUDA_VISIBLE_DEVICES"]


ENGINES = {"processes": processes, "pool": pool, "dask": dask, "ray": ray}
NEEDS = {"dask": "distributed", "ray": "ray"}


# -- rows --------------------------------------------------------------------------------


def workers_in(log, size) -> list:
    return [int(line.split()[0]) for line in Path(log).read_text().splitlines() if line.split()[1] == str(size)]


def kill_one(log, size, seconds):
    """Ends a worker so many seconds after it has begun."""
    deadline = time.monotonic() + 120
    while not (found := workers_in(log, size)) and time.monotonic() < deadline:
        time.sleep(0.005)
    time.sleep(seconds)
    os.kill(found[0], signal.SIGKILL)


@contextlib.contextmanager
def fresh_folder():
    """Nothing cached, for this process and the workers that start in the block."""
    with tempfile.TemporaryDirectory() as folder:
        names = {
            "TILEWRIGHT_CACHE": "1",
            "TILEWRIGHT_CACHE_DIR": folder + "/cache",
            "SWEEPING_LOG": folder + "/log",
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        }
        before = {name: os.environ.get(name) for name in names}
        os.environ.update(names)
        Path(names["SWEEPING_LOG"]).touch()
        try:
            yield names["SWEEPING_LOG"]
        finally:
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})


def measure(engine, devices, size, compiled, kill_after=None) -> dict:
    """One sweep over the workers of an engine: seconds, and what is known at the end."""
    with fresh_folder() as log:

        def one_sweep(killer=None):
            with ENGINES[engine](devices) as executor:
                # Another size than the one that counts; each worker rests while the others get theirs.
                warm = [{"size": 256 + 16 * n, "rest": 1.0, "wakes": not compiled} for n in range(len(devices))]
                lines = tuning.sweep(TARGET, warm, executor, workers=1)
                if killer is not None:
                    threading.Thread(target=killer, daemon=True).start()
                start = time.monotonic()
                lines += tuning.sweep(TARGET, [{"size": size}], executor, workers=len(devices))
                return time.monotonic() - start, "; ".join(filter(None, lines))

        seconds, problem = one_sweep(kill_after and (lambda: kill_one(log, size, kill_after)))
        if problem and kill_after:  # a pool of Python's is broken then: the next one goes on
            again, problem = one_sweep()
            seconds += again
        tables = [header for _, header in table.all_tables() if header["key"].startswith(f"({size},")]
        records = [r for header in tables for r in header["records"].values()]
        best = [header["records"][header["best"]] for header in tables if header["best"] in header["records"]]
        return {
            "engine": engine,
            "devices": len(devices),
            "killed": kill_after is not None,
            "seconds": seconds,
            "problem": problem,
            "found": sum(r["status"] in table.FINAL for r in records),
            "workers": len(set(workers_in(log, size))),
            "chosen": best[0]["config"] if best else "",
            "milliseconds": best[0]["median"] if best else None,
        }


def row_of(result, alone) -> list:
    name = f"{result['engine']}, {result['devices']} device{'s' if result['devices'] > 1 else ''}"
    return [
        name + (", a worker killed" if result["killed"] else ""),
        f"{result['seconds']:.2f}",
        f"{result['seconds'] / alone:.2f}",
        str(result["found"]),
        f"{result['milliseconds']:.4f}" if result["milliseconds"] is not None else "-",
        result["problem"] or result["chosen"],
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--devices", default="0,1", help="as CUDA_VISIBLE_DEVICES names them; with one the ratio is left out")
    parser.add_argument("--engines", default=",".join(ENGINES), help="some of " + ", ".join(ENGINES))
    parser.add_argument("--size", type=int, default=16384)
    parser.add_argument(
        "--compiled", action="store_true", help="the workers have compiled all configurations before: measuring alone counts"
    )
    parser.add_argument("--out", default="", help="folder for the JSON and Markdown reports")
    options = parser.parse_args()
    devices, results, rows = options.devices.split(","), [], []
    for engine in options.engines.split(","):
        if importlib.util.find_spec(NEEDS.get(engine, "json")) is None:
            print(f"# {engine}: {NEEDS[engine]} is not installed", file=sys.stderr)
            continue
        of_engine = [measure(engine, devices[:1], options.size, options.compiled)]
        if len(devices) > 1:
            of_engine.append(measure(engine, devices, options.size, options.compiled))
            of_engine.append(measure(engine, devices, options.size, options.compiled, kill_after=0.4 * of_engine[1]["seconds"]))
        results += of_engine
        rows += [row_of(result, of_engine[0]["seconds"]) for result in of_engine]
        print(json.dumps(of_engine), flush=True)
    header = ["24 configurations tuned", "seconds", "of one device's", "found", "ms of the chosen", "chosen"]
    if options.out:
        peers.write_report(options.out, "sweeping", f"A sweep of a matrix product {options.size}", results, header, rows)
    else:
        print(peers.plain_table(header, rows))
    return 0 if results and all(r["found"] == 24 for r in results) else 1


if __name__ == "__main__":
    sys.exit(main())
