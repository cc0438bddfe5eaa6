# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The memory behind arguments: kept, restored, filled with garbage, compared.

Tuning runs a kernel many times. The memory that it writes is kept before the first run and
put back before each further one. So a kernel that updates in place sees the same input every
time, and the caller's data is as it was when tuning ends. Memory that is written but never
read is filled with garbage before the run that is checked: a candidate that leaves elements
out cannot pass with those of another.
"""

from __future__ import annotations

import sys

from .. import _core, errors
from ..user_objects import attribute, has_attribute

_SAMPLE_BYTES = 16 << 20  # of a region that is compared on the host

# How far apart two correct configurations may be, relative to the largest element:
# they add in another order. By the number of bits of the significand.
_TOLERANCE = {"float64": 1e-9, "float32": 2e-2, "float16": 2e-2, "bfloat16": 5e-2}
_TOLERANCE_8BIT = 0.3


_MAX_WRAPPERS = 8  # of one array; an object that answers to every name would have no end


def _unwrapped(value, tensor_type):
    """The framework's array inside wrappers and descriptors."""
    for _ in range(_MAX_WRAPPERS):
        # By type first: torch refuses its interface for what requires a gradient.
        if isinstance(value, tensor_type) or has_attribute(value, "__cuda_array_interface__"):
            break
        base = attribute(value, "base")
        if base is None:
            break
        value = base
    return value


def region_of(value):
    """The memory of an argument, or None where it is not known to have some."""
    torch = sys.modules.get("torch")
    tensor_type = attribute(torch, "Tensor", ())
    value = _unwrapped(value, tensor_type)
    if isinstance(value, tensor_type):
        return TorchRegion.of_tensor(value, torch)
    interface = attribute(value, "__cuda_array_interface__")
    if interface is not None:
        return RawRegion.of_interface(interface)
    if isinstance(value, _core.DeviceBuffer):
        return RawRegion(value.data_ptr(), value.nbytes, str(value.dtype))
    return None


class TorchRegion:
    """The elements from a tensor's first to its last, gaps included."""

    def __init__(self, tensor, torch):
        self.torch = torch
        span = 1 + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride()))
        self.flat = torch.as_strided(tensor.detach(), (span,), (1,), tensor.storage_offset())
        self.key = (self.flat.data_ptr(), span * tensor.element_size())
        self._scaled, self._largest = None, 0.0

    @classmethod
    def of_tensor(cls, tensor, torch):
        """None where it is empty, or has no strides: sparse, nested and functional tensors."""
        try:
            return cls(tensor, torch) if tensor.numel() else None
        except (RuntimeError, NotImplementedError):
            return None

    @property
    def nbytes(self):
        return self.key[1]

    def copy(self, on_host):
        return self.flat.cpu() if on_host else self.flat.clone()

    def restore(self, kept):
        self.flat.copy_(kept)

    def poison(self):
        self.flat.view(self.torch.uint8).fill_(255)

    def difference(self, kept, tolerance) -> str:
        """What is wrong with the memory's content now, or nothing."""
        torch, now = self.torch, self.flat
        step = 1 << 24  # what is made on the way stays small beside the arrays
        pieces = list(zip(now.split(step), kept.split(step)))
        if not now.dtype.is_floating_point:
            unequal = sum(int((a.view(torch.uint8) != b.to(a.device).view(torch.uint8)).sum()) for a, b in pieces)
            return f"{unequal} bytes differ" if unequal else ""
        limit, wrong = None, 0
        for a, b in pieces:
            b = b.to(a.device)
            # Mostly they are the same, and reading them once says so. As bytes: not every type can be compared.
            if torch.equal(a.view(torch.uint8), b.view(torch.uint8)):
                continue
            if limit is None:
                limit = _tolerance_of(str(now.dtype).split(".")[-1], tolerance) * self._largest_of(kept, step)
            a, b = a.float(), b.float()
            good = ((a - b).abs() <= limit) | (a == b) | (a.isnan() & b.isnan())
            wrong += int((~good).sum())
        return f"{wrong} of {now.numel()} elements differ" if wrong else ""

    def _largest_of(self, kept, step):
        """The largest finite magnitude of what was kept; found once, as every candidate is compared with the same."""
        if self._scaled is not kept:
            largest = (float(self.torch.nan_to_num(piece.float(), 0, 0, 0).abs().max()) for piece in kept.split(step))
            self._scaled, self._largest = kept, max(largest, default=0.0)
        return self._largest


class RawRegion:
    """Bytes at a device address, for arrays of other frameworks."""

    def __init__(self, address, nbytes, dtype):
        self.address, self.nbytes, self.dtype = address, nbytes, dtype
        self.key = (address, nbytes)

    @classmethod
    def of_interface(cls, interface):
        import numpy as np

        dtype = np.dtype(interface["typestr"])
        shape, strides = interface["shape"], interface.get("strides")
        if 0 in shape:
            return None
        if strides is None:
            size = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
        else:
            if min(strides, default=0) < 0:
                return None
            size = dtype.itemsize + sum((n - 1) * s for n, s in zip(shape, strides))
        return cls(interface["data"][0], size, dtype.name)

    def copy(self, on_host):
        if on_host:
            return _core.read_device(self.address, self.nbytes)
        device = _core.current_device()
        kept = _core.DeviceBuffer(self.nbytes, "int8", device)
        _core.copy_device(kept.data_ptr(), self.address, self.nbytes, _core.current_stream(device))
        return kept

    def restore(self, kept):
        import numpy as np

        stream = _core.current_stream(_core.current_device())
        if isinstance(kept, bytes):
            buffer = _core.DeviceBuffer(self.nbytes, "int8", _core.current_device())
            buffer.copy_from(np.frombuffer(kept, np.uint8))
            kept = buffer
        _core.copy_device(self.address, kept.data_ptr(), self.nbytes, stream)

    def poison(self):
        _core.memset_async(self.address, 255, self.nbytes, _core.current_stream(_core.current_device()))

    def difference(self, kept, tolerance) -> str:
        import numpy as np

        now, before = bytearray(), bytearray()
        for offset, size in sampled_pieces(self.nbytes):
            now += _core.read_device(self.address + offset, size)
            before += (
                kept[offset : offset + size] if isinstance(kept, bytes) else _core.read_device(kept.data_ptr() + offset, size)
            )
        return difference_of_arrays(np.frombuffer(now, np.uint8), np.frombuffer(before, np.uint8), self.dtype, tolerance)


def sampled_pieces(nbytes):
    """(offset, size) of what is compared on the host: all, or pieces from the first
    byte to the last."""
    if nbytes <= _SAMPLE_BYTES:
        return [(0, nbytes)]
    count = 64
    size = _SAMPLE_BYTES // count
    last = nbytes - size
    # Multiples of 16 are whole elements; the last piece ends with the memory.
    return [(last * i // (count - 1) // 16 * 16, size) for i in range(count - 1)] + [(last, size)]


def _tolerance_of(dtype, tolerance):
    return tolerance if tolerance is not None else _TOLERANCE.get(dtype, _TOLERANCE_8BIT)


def difference_of_arrays(now, before, dtype, tolerance) -> str:
    """Two arrays of bytes that hold elements of `dtype`, on the host."""
    import numpy as np

    if dtype not in ("float64", "float32", "float16"):
        unequal = int((now != before).sum())
        return f"{unequal} bytes differ" if unequal else ""
    size = len(now) // np.dtype(dtype).itemsize * np.dtype(dtype).itemsize
    with np.errstate(invalid="ignore"):  # poison may be a signalling NaN
        a, b = now[:size].view(dtype).astype(np.float64), before[:size].view(dtype).astype(np.float64)
        finite = np.abs(b[np.isfinite(b)])
        limit = _tolerance_of(dtype, tolerance) * (finite.max() if finite.size else 0.0)
        good = (np.abs(a - b) <= limit) | (a == b) | (np.isnan(a) & np.isnan(b))
    wrong = int((~good).sum())
    return f"{wrong} of {a.size} elements differ" if wrong else ""


class Protection:
    """The written arguments of one tuning, with what they held before it.

    `written` and `read` are names, or None where the compiler does not know: then
    every argument with memory counts as both.
    """

    def __init__(self, arguments, on_host=False):
        self.arguments = arguments
        self.on_host = on_host
        self.regions: dict = {}  # name -> region
        self.kept: dict = {}  # key of the region -> its content before
        self.unread: set = set()
        self.unprotected: list = []

    def add(self, written, read):
        """Keeps what one candidate writes; candidates may differ."""
        names = self.arguments if written is None else written
        for name in names:
            if name in self.regions or name in self.unprotected:
                continue
            values = self.arguments.get(name)
            for number, value in enumerate(values if isinstance(values, tuple) else (values,)):
                region = region_of(value)
                if region is None:
                    if has_attribute(value, "data_ptr"):
                        self.unprotected.append(name)
                    continue
                self._keep(f"{name}[{number}]" if number else name, region)
        reads = self.arguments if read is None or written is None else read
        read_memory = [self._memory(n) for n in reads]
        # Written under one name and read under another counts as read.
        self.unread = {
            n
            for n, r in self.regions.items()
            if n not in reads and not any(_overlap(r.key, m) for memory in read_memory for m in memory)
        }

    def _memory(self, name):
        values = self.arguments.get(name)
        found = (region_of(v) for v in (values if isinstance(values, tuple) else (values,)))
        return [region.key for region in found if region is not None]

    def _keep(self, name, region):
        self.regions[name] = region
        if region.key in self.kept:
            return  # the same memory under another name
        try:
            self.kept[region.key] = region.copy(self.on_host)
        except (RuntimeError, MemoryError) as error:
            if "memory" not in str(error).lower():
                raise
            total, names = sum(r.nbytes for r in self.regions.values()), ", ".join(self.regions)
            del self.regions[name]  # what was not kept cannot be put back
            raise errors.make("E0303", n=total, args=names, m=_free_memory(), cause=error) from error

    def restore(self):
        # In the order of keeping; all were kept before anything ran, so memory that
        # overlaps gets the same bytes from each.
        for region in self.regions.values():
            region.restore(self.kept[region.key])

    def poison(self):
        """Garbage where a correct kernel need not look. The rest is restored after,
        so that garbage does not reach what another argument reads."""
        for name in self.unread:
            self.regions[name].poison()

    def outputs(self):
        """A copy of everything written, to compare others with."""
        return {name: self._copy_where_it_fits(region) for name, region in self.regions.items()}

    def _copy_where_it_fits(self, region):
        if not self.on_host:
            try:
                return region.copy(on_host=False)
            except (RuntimeError, MemoryError) as error:
                if "memory" not in str(error).lower():
                    raise
        return region.copy(on_host=True)

    def difference(self, outputs, tolerance=None) -> str:
        for name, region in self.regions.items():
            if name in outputs and (text := region.difference(outputs[name], tolerance)):
                return f"'{name}': {text}"
        return ""


def _overlap(a, b) -> bool:
    return a[0] < b[0] + b[1] and b[0] < a[0] + a[1]


def _free_memory():
    torch = sys.modules.get("torch")
    try:
        return torch.cuda.mem_get_info()[0] if torch is not None else "fewer"
    except RuntimeError:
        return "fewer"
