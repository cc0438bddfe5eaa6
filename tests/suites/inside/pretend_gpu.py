# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""pytest plugin: torch and Triton say that a Hopper GPU is here, so that suites can be imported without one.

Many suites ask for the GPU while they are imported. With this, `run_suites.py --collect` tells on any
machine whether everything they import is there. No test can run so.
"""

import types


def pretend_torch():
    import torch

    properties = types.SimpleNamespace(
        name="NVIDIA H200",
        major=9,
        minor=0,
        total_memory=140 << 30,
        multi_processor_count=132,
        warp_size=32,
        max_threads_per_multi_processor=2048,
        regs_per_multiprocessor=65536,
        gcnArchName="",
        L2_cache_size=60 << 20,
        shared_memory_per_block=49152,
        shared_memory_per_block_optin=232448,
        shared_memory_per_multiprocessor=233472,
    )
    cuda = torch.cuda
    cuda.is_available = lambda: True
    cuda.device_count = lambda: 1
    cuda.current_device = lambda: 0
    cuda.get_device_capability = lambda device=None: (9, 0)
    cuda.get_device_name = lambda device=None: properties.name
    cuda.get_device_properties = lambda device=None: properties
    cuda.is_bf16_supported = lambda *args, **kwargs: True
    cuda.mem_get_info = lambda device=None: (130 << 30, 140 << 30)
    cuda.manual_seed = cuda.manual_seed_all = lambda seed: None
    cuda.synchronize = lambda device=None: None
    cuda.set_device = lambda device: None
    cuda.is_initialized = lambda: False


def pretend_triton():
    import torch
    import triton
    from triton.backends.compiler import GPUTarget

    class Driver:
        utils = types.SimpleNamespace(
            get_device_properties=lambda device: {
                "max_shared_mem": 232448,
                "max_num_regs": 65536,
                "multiprocessor_count": 132,
                "warpSize": 32,
                "sm_clock_rate": 1980000,
                "mem_clock_rate": 3201000,
                "mem_bus_width": 5120,
            }
        )

        def get_current_target(self):
            return GPUTarget("cuda", 90, 32)

        def get_current_device(self):
            return 0

        def get_device_interface(self):
            return torch.cuda

        def get_active_torch_device(self):
            return torch.device("cuda", 0)

    triton.runtime.driver.set_active(Driver())


# While the plugin is imported: a suite's conftest.py comes before every hook.
pretend_torch()
try:
    pretend_triton()
except Exception as error:
    print(f"no pretended driver: {error!r}")
