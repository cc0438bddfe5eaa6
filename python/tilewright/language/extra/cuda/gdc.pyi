# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by scripts/generate_stubs.py: do not edit; `make stubs` writes it again.
"""Triton's path to the waits of dependent launches."""


from . import gdc_launch_dependents as gdc_launch_dependents
from . import gdc_wait as gdc_wait

__all__ = [
    "gdc_launch_dependents", "gdc_wait",
]
