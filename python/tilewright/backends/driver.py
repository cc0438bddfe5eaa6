# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Triton's path to the driver classes."""

from ..runtime.driver import CudaDriver, DriverBase

import re
from typing import Callable

GPUDriver = CudaDriver
Benchmarker = Callable  # bench(call, *, quantiles) -> timings

__all__ = ["Benchmarker", "CudaDriver", "DriverBase", "GPUDriver", "expand_signature"]

_descriptor = re.compile(r"tensordesc\w*<(\w+)\[([^\]]*)\](?:,input_rank=(\d+))?.*>")


def expand_signature(signature, tensordesc_meta, descriptor_type) -> list:
    """The types of a launch's arguments where a descriptor takes several places, in Triton's order.

    Without `tensordesc_meta` it is a pointer, its extents and strides, whether it pads with NaN and rounds to TF32;
    with it a tensor map, of type `descriptor_type`. Its extents and strides follow in both cases.
    """
    expanded = []
    for entry in signature:
        found = _descriptor.fullmatch(entry) if isinstance(entry, str) else None
        if isinstance(entry, tuple):
            expanded.append(tuple(expand_signature(entry, tensordesc_meta, descriptor_type)))
        elif found is None:
            expanded.append(entry)
        else:
            rank = int(found[3] or len(found[2].split(",")))
            first = [descriptor_type] if tensordesc_meta else ["*" + found[1], *["i64"] * 2 * rank, "i1", "i1"]
            expanded += [*first, *["i32"] * rank, *["i64"] * rank]
    return expanded
