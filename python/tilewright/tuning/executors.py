# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tuning many problems on many devices.

    problems = [{"m": m, "n": n} for m in (512, 4096) for n in (512, 4096)]
    sweep("mypackage.kernels:launch_matmul", problems, GpuPool())

`launch_matmul(**problem)` makes the arguments of one problem and launches the tuned
kernel once. Each problem is run by a worker of the executor, which tunes and hands
its tables back as text; they are merged into the table of this process. Any
`concurrent.futures.Executor` will do, also Ray's and Dask's adapters: what crosses
between processes is the name of a function and JSON, nothing else.
"""

from __future__ import annotations

import concurrent.futures
import importlib
import importlib.util
import json
import multiprocessing
import os
import sys
import threading

from .. import _core
from . import table


def run_problem(target: str, problem: str) -> str:
    """In a worker: launches one problem; its tables as JSON."""
    function = _load(target)
    before = {key: header.get("changed") for key, header in table.all_tables()}
    try:
        function(**json.loads(problem))
    except Exception as error:  # noqa: BLE001 - one problem's failure is a line of the result
        return json.dumps({"error": f"{type(error).__name__}: {error}", "tables": []})
    changed = [header for key, header in table.all_tables() if key not in before or header.get("changed") != before[key]]
    return json.dumps({"error": "", "tables": changed})


_loading = threading.Lock()


def _load(target):
    """The function of "package.module:name" or "file.py:name"."""
    place, _, name = target.rpartition(":")
    if not place.endswith(".py"):
        return getattr(importlib.import_module(place), name)
    module_name = os.path.splitext(os.path.basename(place))[0]
    with _loading:  # workers may be threads: none may see a module that is half there
        module = sys.modules.get(module_name)
        if module is None or getattr(module, "__file__", None) != os.path.abspath(place):
            spec = importlib.util.spec_from_file_location(module_name, os.path.abspath(place))
            module = sys.modules[module_name] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
    return getattr(module, name)


def sweep(target: str, problems, executor=None) -> list[str]:
    """Tunes all problems; one line per problem: empty, or what went wrong.

    Without an executor they run here, one after the other.
    """
    texts = [json.dumps(problem) for problem in problems]
    if executor is None:
        results = (run_problem(target, text) for text in texts)
    else:
        futures = [executor.submit(run_problem, target, text) for text in texts]
        results = (_result(future) for future in futures)
    outcome = []
    for result in results:
        data = json.loads(result)
        tables = [t for t in data["tables"] if isinstance(t.get("fields"), dict) and table.valid_records(t.get("records"))]
        if tables and table.store() is not None:
            table.import_tables(tables)
        outcome.append(data["error"])
    return outcome


def _result(future) -> str:
    try:
        return future.result()
    except Exception as error:  # noqa: BLE001 - a worker that died is a line of the result
        return json.dumps({"error": f"the worker failed: {type(error).__name__}: {error}", "tables": []})


def _take_device(devices):
    os.environ["CUDA_VISIBLE_DEVICES"] = devices.get()


class GpuPool(concurrent.futures.ProcessPoolExecutor):
    """One process per GPU; each sees only its own."""

    def __init__(self, devices=None):
        context = multiprocessing.get_context("spawn")  # CUDA does not survive a fork
        if devices is None:
            devices = visible_devices()
        if not devices:
            raise ValueError("there is no GPU; name the devices")
        queue = context.Queue()
        for device in devices:
            queue.put(str(device))
        super().__init__(max_workers=len(devices), mp_context=context, initializer=_take_device, initargs=(queue, ))


def visible_devices() -> list[str]:
    """The GPUs this process may use, as CUDA_VISIBLE_DEVICES would name them."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is not None:
        return [d.strip() for d in named.split(",") if d.strip()]
    return [str(i) for i in range(_core.device_count())] if _core.driver_available() else []
