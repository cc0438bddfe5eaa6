# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Peaks of GPUs, for shares of them."""

from .. import _core


def max_flops(device_type, arch, width, num_sms, clock_rate):
    """Operations per second of dense products of `width` bits; `clock_rate` in kHz."""
    rates = _core.peak_rates(int(arch), num_sms, clock_rate) if device_type == "CUDA" and str(arch).isdigit() else {}
    if not rates.get("products8"):
        raise ValueError(f"the peak of {device_type} {arch} is not known")
    return rates["products8"] / (width / 8)


def max_bps(device_type, arch, bus_width, memory_clock_rate):
    """Bytes per second of the memory; `bus_width` in bits, `memory_clock_rate` in kHz."""
    if device_type != "CUDA":
        raise ValueError(f"the peak of {device_type} {arch} is not known")
    return 2 * bus_width * memory_clock_rate * 1e3 / 8
