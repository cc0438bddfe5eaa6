# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays of any framework as addresses that the interpreter can read.

CPU arrays are used in place: NumPy and whatever has `__array_interface__`, torch
CPU tensors, anything else through DLPack. GPU arrays (torch CUDA, and whatever
has `__cuda_array_interface__`) are copied to the host before the launch and,
where the kernel wrote them, back afterwards. Copies are made per range of bytes,
not per argument: two views of one buffer stay two views of one copy.
"""

from __future__ import annotations

import ctypes
from typing import NamedTuple

import numpy as np

from .. import errors
from ..scalar_types import short_type, size_of
from ..user_objects import attribute, has_attribute


class HostArray(NamedTuple):
    """Element [0, ..., 0] at `address`; strides in bytes. `device` marks a GPU address."""

    address: int
    dtype: str
    shape: tuple
    strides: tuple
    writable: bool
    device: bool = False
    owner: object = None

    def span(self):
        """First byte, and one past the last, that the strides reach."""
        if 0 in self.shape:
            return self.address, self.address
        reaches = [(extent - 1) * stride for extent, stride in zip(self.shape, self.strides)]
        return (
            self.address + sum(r for r in reaches if r < 0),
            self.address + sum(r for r in reaches if r > 0) + size_of(self.dtype),
        )


def _row_major(shape, size):
    strides, stride = [], size
    for extent in reversed(shape):
        strides.append(stride)
        stride *= extent
    return tuple(reversed(strides))


def _from_numpy(name, array):
    if not array.dtype.isnative:
        raise errors.make("E0206", a=name, d=f"{array.dtype} of foreign byte order")
    return HostArray(
        array.__array_interface__["data"][0] if array.dtype.kind != "V" else array.ctypes.data,
        short_type(name, array.dtype),
        array.shape,
        array.strides,
        array.flags.writeable,
        owner=array,
    )


def _from_tensor(name, tensor):
    """Anything with torch's protocol: data_ptr(), dtype, shape, stride()."""
    dtype = short_type(name, tensor.dtype)
    size = size_of(dtype)
    if not has_attribute(tensor, "shape"):
        # A compiled kernel needs no more than the address; the interpreter checks each access.
        help = "the interpreter must know how many elements there are: pass an object with a shape"
        raise errors.make("E0204", a=name, t=f"{type(tensor).__name__} without a shape", help=help)
    shape = tuple(tensor.shape)
    stride = attribute(tensor, "stride")
    strides = tuple(s * size for s in stride()) if stride is not None else _row_major(shape, size)
    device = attribute(tensor, "device", "cpu")
    kind = attribute(device, "type") or str(device)
    kind = kind.split(":")[0]
    if kind not in ("cpu", "cuda"):
        raise errors.make("E0204", a=name, t=f"a tensor on {kind}")
    return HostArray(tensor.data_ptr(), dtype, shape, strides, True, kind == "cuda", tensor)


def _from_interface(name, array, interface, device):
    address, read_only = interface["data"]
    typestr = interface["typestr"]
    try:
        dtype = np.dtype(typestr)
    except TypeError:
        raise errors.make("E0206", a=name, d=typestr) from None
    # Extension types have an opaque code there; the array itself knows better.
    dtype = attribute(array, "dtype", dtype) if dtype.kind == "V" else dtype
    short = short_type(name, dtype)
    shape = tuple(interface["shape"])
    strides = interface.get("strides") or _row_major(shape, size_of(short))
    return HostArray(address or 0, short, shape, tuple(strides), not read_only, device, array)


def read_array(name, array):
    """A HostArray for whatever `array` is; None where it is no array."""
    if isinstance(array, np.ndarray):
        return _from_numpy(name, array)
    if isinstance(array, np.generic):
        return None
    if type(array).__name__ == "TensorWrapper" and attribute(array, "base") is not None:
        return read_array(name, array.base)._replace(dtype=short_type(name, array.dtype))
    if has_attribute(array, "data_ptr", "dtype"):
        return _from_tensor(name, array)
    interface = attribute(array, "__cuda_array_interface__")
    if interface is not None:
        return _from_interface(name, array, interface, True)
    interface = attribute(array, "__array_interface__")
    if interface is not None:
        return _from_interface(name, array, interface, False)
    if type(array).__module__.startswith("jax") and "Tracer" in type(array).__name__:
        raise errors.make(
            "E0204",
            a=name,
            t=type(array).__name__,
            help="in a function that JAX traces, launch by tilewright.jax.call(kernel, ...)",
        )
    if has_attribute(array, "__dlpack__"):
        return _from_dlpack(name, array)
    return None


def _from_dlpack(name, array):
    device, _ = array.__dlpack_device__()
    if device != 1:  # kDLCPU
        raise errors.make("E0204", a=name, t=f"a DLPack array on device type {device}")
    try:
        view = np.from_dlpack(array)
    except (BufferError, RuntimeError, TypeError):
        # NumPy's DLPack has no bfloat16; the array may still convert itself.
        view = np.asarray(array)
    return _from_numpy(name, view)


# ---------------------------------------------------------------------------
# GPU arrays
# ---------------------------------------------------------------------------


class _Driver:
    """The few driver calls that copies need."""

    def __init__(self):
        try:
            self.library = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise errors.make("E0404", cause=error) from error

    def call(self, name, *args):
        code = getattr(self.library, name)(*args)
        if code:
            raise RuntimeError(f"{name} failed with CUDA error {code} while the interpreter copied an argument")

    def in_context_of(self, pointer):
        """Makes the context that owns `pointer` current; returns how to undo it."""
        context = ctypes.c_void_p()
        attribute_context = 1
        code = self.library.cuPointerGetAttribute(ctypes.byref(context), attribute_context, ctypes.c_uint64(pointer))
        if code or not context.value:
            return lambda: None  # pooled memory has no context of its own: the current one serves
        self.call("cuCtxPushCurrent_v2", context)
        return lambda: self.call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))

    def owns(self, address) -> bool:
        """Whether the address lies in memory of a GPU."""
        kind, attribute_memory_type, device = ctypes.c_uint(), 2, 2
        code = self.library.cuPointerGetAttribute(ctypes.byref(kind), attribute_memory_type, ctypes.c_uint64(address))
        return code == 0 and kind.value == device

    def copy_to_host(self, host, device, size):
        undo = self.in_context_of(device)
        try:
            self.call("cuCtxSynchronize")
            self.call("cuMemcpyDtoH_v2", ctypes.c_void_p(host), ctypes.c_uint64(device), ctypes.c_size_t(size))
        finally:
            undo()

    def copy_to_device(self, device, host, size):
        undo = self.in_context_of(device)
        try:
            self.call("cuMemcpyHtoD_v2", ctypes.c_uint64(device), ctypes.c_void_p(host), ctypes.c_size_t(size))
        finally:
            undo()


def lies_on_gpu(address) -> bool:
    """Whether the driver knows the address as memory of a GPU; False where there is no driver."""
    try:
        return _Driver().owns(address)
    except errors.TilewrightError:
        return False


class DeviceCopies:
    """Host copies of ranges of GPU memory for one launch."""

    alignment = 256

    def __init__(self, arrays, driver=None):
        self.blocks = []  # [low, high, host address, buffer]
        spans = sorted(array.span() for array in arrays if array.device)
        for low, high in spans:
            if self.blocks and low <= self.blocks[-1][1]:
                self.blocks[-1][1] = max(high, self.blocks[-1][1])
            else:
                self.blocks.append([low, high, 0, None])
        self.driver = driver or (_Driver() if self.blocks else None)
        for block in self.blocks:
            low, high = block[:2]
            buffer = np.empty(high - low + 2 * self.alignment, np.uint8)
            # The same place within 256 bytes, so that misalignment shows as on the GPU.
            start = buffer.ctypes.data
            block[2] = start + (low - start) % self.alignment
            block[3] = buffer
            if high > low:
                self.driver.copy_to_host(block[2], low, high - low)

    def host_address(self, array):
        if not array.device:
            return array.address
        low, _ = array.span()
        block = next(b for b in self.blocks if b[0] <= low <= b[1])
        return block[2] + array.address - block[0]

    def write_back(self, written):
        """Copies the ranges of these arrays back."""
        for array in written:
            if array.device:
                low, high = array.span()
                self.driver.copy_to_device(low, self.host_address(array) + low - array.address, high - low)
