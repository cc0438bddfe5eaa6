# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""DLPack's structures for ctypes, and a stand-in for torch that offers its C exchange table."""

import ctypes
import types

CPU, CUDA, PINNED, EXTERNAL = 1, 2, 3, 12


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class DLManagedTensor(ctypes.Structure):
    _fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class ExchangeTable(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("export", ctypes.c_void_p),
        ("import_", ctypes.c_void_p),
        ("fill", ctypes.c_void_p),
        ("stream", ctypes.c_void_p),
    ]


def capsule(structure, name: bytes):
    """A PyCapsule of a structure, which must be kept alive."""
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return make(ctypes.addressof(structure), name, None)


class Tensor:
    """What the launcher asks of a torch tensor. `calls` counts the reads through each way."""

    calls = {"table": 0, "accessors": 0}

    def __init__(
        self,
        address,
        code=2,
        bits=32,
        lanes=1,
        device_type=CUDA,
        device=0,
        offset=0,
        dtype="torch.float32",
        fails=False,
        elements=16,
        step=1,
    ):
        self.shape, self.strides, self.bits = (ctypes.c_int64 * 1)(elements), (ctypes.c_int64 * 1)(step), bits
        self.facts = (
            address,
            device_type,
            device,
            1,
            code,
            bits,
            lanes,
            ctypes.cast(self.shape, ctypes.POINTER(ctypes.c_int64)),
            ctypes.cast(self.strides, ctypes.POINTER(ctypes.c_int64)),
            offset,
        )
        self.name, self.fails = dtype, fails

    def data_ptr(self):
        Tensor.calls["accessors"] += 1
        return self.facts[0] + self.facts[9]

    def get_device(self):
        return self.facts[2] if self.facts[1] == CUDA else -1

    @property
    def dtype(self):
        return self.name

    def is_contiguous(self):
        Tensor.calls["extents"] = Tensor.calls.get("extents", 0) + 1
        return self.strides[0] == 1

    def numel(self):
        return self.shape[0]

    def element_size(self):
        return self.bits // 8

    def stride(self):
        return tuple(self.strides)


class Parameter(Tensor):
    pass


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(DLTensor))
def _fill(tensor, result):
    Tensor.calls["table"] += 1
    if tensor.fails:
        return -1
    for (name, _), value in zip(DLTensor._fields_, tensor.facts):
        setattr(result[0], name, value)
    return 0


def fake_torch(major=1):
    """A module that passes for torch, with a table of this version."""
    table = ExchangeTable(major, 3, fill=ctypes.cast(_fill, ctypes.c_void_p).value)
    Tensor.__dlpack_c_exchange_api__ = capsule(table, b"dlpack_exchange_api")
    Tensor.kept = table, b"dlpack_exchange_api"
    module = types.ModuleType("torch")
    module.Tensor = Tensor
    module.nn = types.SimpleNamespace(Parameter=Parameter)
    return module
