# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Executors for sweeps (sweeping.py) whose workers have a GPU each and are replaced when they die.

A sweep takes any `concurrent.futures.Executor`; Dask's own is one (`Client.get_executor()`).
These two are a thread for each worker over engines that exist: the thread takes a task
from the pool's queue and waits for its worker, so the queue is Python's, and a worker is
Python's process pool of one, or an actor of Ray. Nothing of Ray is imported before it is asked for.
"""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
import queue
import threading
from concurrent.futures.process import BrokenProcessPool

from .. import _core


class _WorkerEach(concurrent.futures.ThreadPoolExecutor):
    """A thread for each of `places`, which `_start(place)` gives a worker; `_ask` waits for it and `_end` ends it.

    `lost` is what `_ask` raises where the worker is gone: the next task gets another one.
    """

    def __init__(self, places, lost):
        self._lost = lost
        self.workers = len(places)  # how many tasks run at once
        self._mine = threading.local()
        self._started: list = []
        free: queue.SimpleQueue = queue.SimpleQueue()
        for place in places:
            free.put(place)
        super().__init__(len(places), "tilewright-sweep", initializer=self._take_place, initargs=(free,))

    def _take_place(self, free):
        self._mine.place, self._mine.worker = free.get(), None

    def submit(self, function, /, *arguments):
        return super().submit(self._run, function, arguments)

    def _run(self, function, arguments):
        if self._mine.worker is None:
            self._mine.worker = self._start(self._mine.place)
            self._started.append(self._mine.worker)
        try:
            return self._ask(self._mine.worker, function, arguments)
        except self._lost:
            self._mine.worker = None
            raise

    def shutdown(self, wait=True, *, cancel_futures=False):
        super().shutdown(wait, cancel_futures=cancel_futures)
        while self._started:
            self._end(self._started.pop(), wait)


def _begin_process(device, threads):
    os.environ["CUDA_VISIBLE_DEVICES"] = device
    # The processes of one machine compile at the same time: each has its part of the cores.
    os.environ.setdefault("TILEWRIGHT_TUNE_THREADS", str(threads))


class GpuPool(_WorkerEach):
    """One process per GPU of this machine; each sees only its own, and a process that dies is replaced."""

    def __init__(self, devices=None):
        devices = visible_devices() if devices is None else list(devices)
        if not devices:
            raise ValueError("there is no GPU; name the devices")
        super().__init__(devices, BrokenProcessPool)

    def _start(self, device):
        return concurrent.futures.ProcessPoolExecutor(
            1,
            multiprocessing.get_context("spawn"),  # CUDA does not survive a fork
            _begin_process,
            (str(device), max(1, (os.cpu_count() or 1) // self.workers)),
        )

    def _ask(self, pool, function, arguments):
        return pool.submit(function, *arguments).result()

    def _end(self, pool, wait):
        pool.shutdown(wait, cancel_futures=True)


class RayExecutor(_WorkerEach):
    """Actors of Ray, each with a GPU of its own for all its life; one that dies is replaced.

    `ray.init()` comes before. `workers` is the number of actors, one per GPU of the cluster
    where it is not given; `options` are those of ray.remote for each of them.
    """

    def __init__(self, workers=None, **options):
        import ray

        self._ray = ray
        self._options = {"num_gpus": 1, **options}
        if workers is None:
            workers = int(ray.cluster_resources().get("GPU", 0) // (self._options["num_gpus"] or 1))
        if workers < 1:
            raise ValueError("Ray knows of no GPU; give the number of workers")
        super().__init__(range(workers), ray.exceptions.RayActorError)

    def _start(self, place):
        return self._ray.remote(**self._options)(_Actor).remote()

    def _ask(self, actor, function, arguments):
        return self._ray.get(actor.call.remote(function, *arguments))

    def _end(self, actor, wait):
        if self._ray.is_initialized():
            self._ray.kill(actor)


class _Actor:
    """What lives in a worker process of Ray."""

    def call(self, function, *arguments):
        return function(*arguments)


def visible_devices() -> list[str]:
    """The GPUs this process may use, as CUDA_VISIBLE_DEVICES would name them."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is not None:
        return [d.strip() for d in named.split(",") if d.strip()]
    return [str(i) for i in range(_core.device_count())] if _core.driver_available() else []
