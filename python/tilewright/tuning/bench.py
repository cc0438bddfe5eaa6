# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times of single runs on the GPU, with the state of the machine at the time."""

from __future__ import annotations

import ctypes
import time

from .. import _core, errors
from .memory import region_of


class DeviceBench:
    """Milliseconds of runs on the framework's current stream, the L2 cache cleared
    before each. Only the run itself is timed: what comes before it is not."""

    def __init__(self):
        self.device = _core.current_device()
        self.stream = _core.current_stream(self.device)
        # Twice the L2 cache: writing it leaves nothing of the kernel's data there.
        self.late = 0.0
        self._bytes = min(max(2 * _core.device_properties(self.device)["l2_cache_size"], 16 << 20), 256 << 20)
        try:
            self._cache = _core.DeviceBuffer(self._bytes, "int8", self.device)
        except (RuntimeError, errors.TilewrightError):
            # Nearly full: a cache that is partly cleared is better than no tuning.
            self._bytes = 1 << 20
            self._cache = _core.DeviceBuffer(self._bytes, "int8", self.device)

    def time(self, run, before, count, patience) -> list:
        """Times of `count` runs; raises TimeoutError when one takes longer than
        `patience` seconds: the GPU is then still busy with it. `late` says how many of the
        milliseconds the GPU may have waited for the processor, at most."""
        events, self.late = [], 0.0
        for _ in range(count):
            before()
            _core.memset_async(self._cache.data_ptr(), 0, self._bytes, self.stream)
            start, end = _core.Event(), _core.Event()
            start.record(self.stream)
            began = time.perf_counter()
            run()
            end.record(self.stream)
            self.late = max(self.late, 1e3 * (time.perf_counter() - began))
            events.append((start, end))
        if not events[-1][1].wait_for(patience * count):
            raise TimeoutError
        return [end.elapsed_since(start) for start, end in events]

    def synchronize(self):
        _core.synchronize(self.device)

    def clocks(self):
        return read_clocks(self.device)


def read_clocks(device):
    """MHz of the multiprocessors and of the memory now, or None; needs NVML, not a
    child process."""
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
        if nvml.nvmlInit_v2() != 0:
            return None
        handle, clock = ctypes.c_void_p(), ctypes.c_uint()
        if nvml.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(device), ctypes.byref(handle)) != 0:
            return None
        values = {}
        for name, kind in (("sm", 1), ("memory", 2)):
            if nvml.nvmlDeviceGetClockInfo(handle, kind, ctypes.byref(clock)) == 0:
                values[name] = clock.value
        return values or None
    except (OSError, AttributeError):
        return None


def roof(arguments):
    """Milliseconds in which memory can move every argument once, or None."""
    properties = _core.device_properties(_core.current_device())
    bytes_per_ms = properties["mem_clock_rate"] * 2 * properties["mem_bus_width"] / 8
    regions = {r.key: r.nbytes for v in arguments.values() if (r := region_of(v)) is not None}
    return sum(regions.values()) / bytes_per_ms if regions and bytes_per_ms else None
