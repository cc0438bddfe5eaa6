# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A device that the tuner's tests can write on: arrays, kernels, a clock.

A simulated kernel is a Python function on NumPy arrays with a time per
configuration. It stands where a jit function stands, so the tuner above it is the
real one: compilation, protection, rounds, tables. Nothing here claims to have run
on a GPU.
"""

import numpy as np

import tilewright
from tilewright.runtime.jit import KernelInterface
from tilewright.tuning import bench, memory


class Array:
    """Host memory that plays the device's; `view` shares it."""

    def __init__(self, values, dtype=None):
        self.values = np.asarray(values, dtype)
        self.dtype = str(self.values.dtype)

    def data_ptr(self):
        return self.values.__array_interface__["data"][0]

    def view(self, start, end):
        return Array(self.values[start:end])

    def clone(self):
        return Array(self.values.copy())

    def copy_(self, other):
        self.values[...] = other.values

    def zero_(self):
        self.values[...] = 0


class HostRegion:
    """memory.RawRegion for host arrays."""

    def __init__(self, array):
        self.bytes = array.values.reshape(-1).view(np.uint8)
        self.dtype = array.dtype
        self.key = (array.data_ptr(), self.bytes.size)

    @property
    def nbytes(self):
        return self.key[1]

    def copy(self, on_host):
        return self.bytes.copy()

    def restore(self, kept):
        self.bytes[...] = kept

    def poison(self):
        self.bytes[...] = 255

    def difference(self, kept, tolerance):
        return memory.difference_of_arrays(self.bytes, kept, self.dtype, tolerance)


class Metadata:
    def __init__(self, **values):
        self.written_args = self.read_args = None
        self.n_regs, self.n_spills, self.shared, self.num_warps, self.warp_size = 32, 0, 0, 4, 32
        self.__dict__.update(values)


class Compiled:
    def __init__(self, metadata):
        self.metadata = metadata


class Bench:
    """A clock that each run of a simulated kernel sets forward."""

    now = 0.0
    late = float("inf")  # any time may be the processor's

    def time(self, run, before, count, patience):
        times = []
        for _ in range(count):
            before()
            start = Bench.now
            run()
            if Bench.now - start > patience * 1e3:
                raise TimeoutError
            times.append(Bench.now - start)
        return times

    def synchronize(self):
        pass

    def clocks(self):
        return {"sm": 1980, "memory": 2619}


class Simulated(KernelInterface):
    """A kernel: `body(arguments)` acts, `milliseconds(arguments)` is its time."""

    def __init__(self, body, arg_names, milliseconds=lambda arguments: 1.0, resources=lambda config: {}, jit=None):
        def python_function():
            pass

        python_function.__name__ = getattr(body, "__name__", "simulated")
        self.fn = jit if jit is not None else python_function
        self.arg_names = list(arg_names)
        self.body, self.milliseconds, self.resources = body, milliseconds, resources
        self.compiled, self.launched = [], []

    def run(self, *args, grid, warmup, **kwargs):
        arguments = {**dict(zip(self.arg_names, args)), **kwargs}
        if warmup:
            self.compiled.append(kwargs)
            return Compiled(Metadata(**self.resources(kwargs)))
        self.launched.append(kwargs)
        self.body(arguments)
        Bench.now += self.milliseconds(arguments)
        return None


def install(monkeypatch):
    """Puts the simulated device in the place of the GPU for one test."""
    monkeypatch.setattr(bench, "DeviceBench", Bench)
    original = memory.region_of
    monkeypatch.setattr(memory, "region_of", lambda v: HostRegion(v) if isinstance(v, Array) else original(v))
    monkeypatch.setattr(bench, "region_of", memory.region_of)


def configs(*blocks, **options):
    return [tilewright.Config({"BLOCK": b}, **options) for b in blocks]
