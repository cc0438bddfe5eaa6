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
    import triton
    from pretend_driver import PretendedDriver

    triton.runtime.driver.set_active(PretendedDriver())


# While the plugin is imported: a suite's conftest.py comes before every hook.
pretend_torch()
try:
    pretend_triton()
except Exception as error:
    print(f"no pretended driver: {error!r}")
