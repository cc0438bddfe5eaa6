# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The active driver under Triton's names. Importing it opens nothing; the first question does."""

from __future__ import annotations

import sys
import types

from .. import _core, errors, knobs, wiring
from ..backends.compiler import GPUTarget
from ..user_objects import attribute


class CudaUtils:
    """Low-level helpers that libraries reach through `driver.active.utils`."""

    def get_device_properties(self, device: int) -> dict:
        return _core.device_properties(device)

    def load_binary(self, name, image, shared, device):
        """(module, function, registers, spills, max threads) of a cubin or PTX text."""
        data = image.encode() if isinstance(image, str) else bytes(image)
        loaded = _core.load_kernel(device, data, name, [], 32, shared, 1, False, False, 0, 1, 0)
        self._keep = getattr(self, "_keep", [])
        self._keep.append(loaded)  # the raw handles must outlive this call
        return loaded.module, loaded.function, loaded.n_regs, loaded.n_spills, loaded.n_max_threads

    def set_printf_fifo_size(self, size: int):
        _core.set_printf_fifo_size(size)


class DriverBase:
    @classmethod
    def is_active(cls) -> bool:
        return False


class CudaDriver(DriverBase):
    """The CUDA driver API, loaded when first needed."""

    def __init__(self):
        self.utils = CudaUtils()

    @classmethod
    def is_active(cls) -> bool:
        # torch's compile workers are forked from a process that has used CUDA, which then cannot be
        # opened: they launch nothing, and torch knows without opening it that a GPU is there.
        torch = sys.modules.get("torch")
        return attribute(torch, "cuda") is not None and torch.cuda.is_available() or _core.driver_available()

    def get_current_device(self) -> int:
        return _core.current_device()

    def set_current_device(self, device: int):
        torch = sys.modules.get("torch")
        if torch is not None:
            torch.cuda.set_device(device)
        else:
            _core.set_current_device(device)

    def get_current_stream(self, device=None) -> int:
        return _core.current_stream(self.get_current_device() if device is None else device)

    def get_current_target(self, device=None) -> GPUTarget:
        """The target of a device; TILEWRIGHT_OVERRIDE_ARCH needs no device."""
        override = knobs.runtime.override_arch
        if override:
            return GPUTarget("cuda", int(override) if override.isdigit() else override, 32)
        return GPUTarget("cuda", _core.device_capability(self.get_current_device() if device is None else device), 32)

    def get_active_torch_device(self):
        import torch

        return torch.device("cuda", self.get_current_device())

    def get_device_interface(self):
        import torch

        return torch.cuda

    def get_benchmarker(self):
        return wiring.ask("benchmark")

    def get_empty_cache_for_benchmark(self):
        """A buffer of 256 MB: writing it evicts the L2 cache."""
        import torch

        return torch.empty(256 * 1024 * 1024 // 4, dtype=torch.int, device="cuda")

    def clear_cache(self, cache):
        cache.zero_()

    def map_python_to_cpp_type(self, ty: str) -> str:
        if ty.startswith("*"):
            return "CUdeviceptr"
        return {"i1": "int8_t", "fp16": "double", "bf16": "double", "fp32": "double", "fp64": "double"}.get(
            ty, ("u" if ty.startswith("u") else "") + f"int{ty[1:]}_t"
        )


def target_of(active, device) -> GPUTarget:
    """The target that a driver names for a device; None is the current one.

    A program's driver has Triton's interface, whose question takes no argument.
    """
    asked = active.get_current_target
    if getattr(asked, "__func__", None) is CudaDriver.get_current_target:
        return asked(device)
    return asked()


class DriverConfig:
    """Holds the active driver; libraries may put their own in its place."""

    def __init__(self):
        self._default = None
        self._active = None

    @property
    def default(self):
        if self._default is None:
            self._default = CudaDriver()
        return self._default

    @property
    def active(self):
        return self.default if self._active is None else self._active

    def set_active(self, driver):
        self._active = driver

    def reset_active(self):
        self._active = None


driver = DriverConfig()


class _DriverModule(types.ModuleType):
    """This module, which answers as the object `driver` does.

    `tilewright.runtime.driver` is the object until someone imports this module by its
    name, which puts the module there. Programs write `runtime.driver.active` either way.
    """

    @property
    def default(self):
        return driver.default

    @property
    def active(self):
        return driver.active

    def set_active(self, other):
        driver.set_active(other)

    def reset_active(self):
        driver.reset_active()


sys.modules[__name__].__class__ = _DriverModule

__all__ = ["CudaDriver", "CudaUtils", "DriverBase", "DriverConfig", "driver", "errors"]
