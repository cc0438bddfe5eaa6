# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What Triton's driver says of an H200 that is not there."""

import types

import torch


class PretendedDriver:
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
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", 90, 32)

    def get_current_device(self):
        return 0

    def get_device_interface(self):
        return torch.cuda

    def get_active_torch_device(self):
        return torch.device("cuda", 0)
