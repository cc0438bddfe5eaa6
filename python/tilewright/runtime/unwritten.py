# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays that hold nothing yet, so that the interpreter can report reads of them.

A region remembers for each byte whether a kernel has written it. Writes of the host between launches are not reported to
it. So the bytes are filled with a pattern, and a group of bytes that has changed counts as written.
"""

from __future__ import annotations

import sys
import weakref

import numpy as np

from .. import errors
from ..user_objects import attribute
from .host_arrays import read_array

__all__ = ["forget", "watch_arguments"]

# Bytes that the host writes together. Rounded up to a whole group, since a byte of what was written may happen to be
# that of the pattern.
_GROUP = 16

_regions = []


class _Region:
    def __init__(self, address, size):
        self.address, self.size = address, size
        self.pattern = np.random.default_rng(size).integers(1, 256, size, np.uint8)
        self.is_written = np.zeros(size, np.uint8)

    def note_host_writes(self, data):
        """`data`: the bytes as they are now. What no kernel has written and is not the pattern came from the host."""
        changed = (data != self.pattern) & (self.is_written == 0)
        if changed.any():
            groups = np.add.reduceat(changed, np.arange(0, self.size, _GROUP)) > 0
            self.is_written |= np.repeat(groups, _GROUP)[: self.size]


def _bytes_at(address, size):
    return np.ctypeslib.as_array((np.ctypeslib.ctypes.c_uint8 * size).from_address(address))


def _fill(array, host, pattern):
    """Writes the pattern over the array's bytes, which are dense."""
    if not host.device:
        _bytes_at(host.address, len(pattern))[:] = pattern
        return
    torch = sys.modules["torch"]
    flat = array.as_strided((array.numel(),), (1,)).view(torch.uint8)
    flat.copy_(torch.from_numpy(pattern))


def forget(array):
    """Declares that nothing is in `array`, which is dense, and fills it with a pattern; returns it.

    Raises E0204 for what is no array.
    """
    host = read_array("array", array)
    if host is None:
        raise errors.make("E0204", a="array", t=type(array).__name__)
    low, high = host.span()
    if high == low:
        return array
    region = _Region(low, high - low)
    _regions[:] = [other for other in _regions if other.address + other.size <= low or high <= other.address]
    _fill(array, host, region.pattern)
    _regions.append(region)
    # The memory lives as long as the array that owns it, of which this one may be a view.
    owner = array
    while attribute(owner, "base") is not None and isinstance(owner.base, type(array)):
        owner = owner.base
    weakref.finalize(owner, lambda: _regions.remove(region) if region in _regions else None)
    return array


def watch_arguments(context, arrays, copies):
    """Tells a launch which bytes of its arrays were never written."""
    if not _regions:
        return
    watched = set()
    for array in arrays:
        low, high = array.span()
        to_host = copies.host_address(array) - array.address
        for region in _regions:
            overlaps = low < region.address + region.size and region.address < high
            inside = low <= region.address and region.address + region.size <= high
            if not overlaps or id(region) in watched:
                continue
            if array.device and not inside:
                continue  # only part of it was copied to the host
            watched.add(id(region))
            start = region.address + to_host
            region.note_host_writes(_bytes_at(start, region.size))
            context.watch(start, start + region.size, region.is_written.ctypes.data)
