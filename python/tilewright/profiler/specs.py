# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Peaks of GPUs, for shares of them."""

# Operations per second of dense products of 8 bits; half of it per doubling of the width.
_fixed = {"80": 624e12, "89": 330.3e12}
_HOPPER_8BIT, _HOPPER_MULTIPROCESSORS, _HOPPER_CLOCK = 1513e12, 114, 1755e3  # of an H100 PCIe, kHz


def max_flops(device_type, arch, width, num_sms, clock_rate):
    """Operations per second on numbers of `width` bits; `clock_rate` in kHz."""
    if device_type != "CUDA" or arch not in (*_fixed, "90"):
        raise ValueError(f"the peak of {device_type} {arch} is not known")
    scale = num_sms / _HOPPER_MULTIPROCESSORS * clock_rate / _HOPPER_CLOCK
    return (_fixed[arch] if arch in _fixed else _HOPPER_8BIT * scale) / (width / 8)


def max_bps(device_type, arch, bus_width, memory_clock_rate):
    """Bytes per second of the memory; `bus_width` in bits, `memory_clock_rate` in kHz."""
    if device_type != "CUDA":
        raise ValueError(f"the peak of {device_type} {arch} is not known")
    return 2 * bus_width * memory_clock_rate * 1e3 / 8
