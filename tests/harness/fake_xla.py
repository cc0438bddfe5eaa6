# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls a handler as XLA does (xla/ffi/api/c_api.h), with any addresses and any stream."""

import ctypes
from ctypes import POINTER, c_char_p, c_int32, c_int64, c_size_t, c_uint32, c_void_p

EXECUTE, METADATA, STRING = 3, 1, 4


class Version(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("extensions", c_void_p), ("major", c_int32), ("minor", c_int32)]


class ErrorCreate(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("extensions", c_void_p), ("message", c_char_p), ("code", c_int32)]


class ErrorDestroy(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("extensions", c_void_p), ("error", c_void_p)]


class StreamGet(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("extensions", c_void_p), ("context", c_void_p), ("stream", c_void_p)]


class Api(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("extensions", c_void_p),
        ("version", Version),
        ("internal", c_void_p),
        ("create", c_void_p),
        ("message", c_void_p),
        ("destroy", c_void_p),
        ("register", c_void_p),
        ("stream", c_void_p),
    ]


class Buffer(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("extensions", c_void_p),
        ("type", c_int32),
        ("data", c_void_p),
        ("rank", c_int64),
        ("extents", c_void_p),
    ]


class Span(ctypes.Structure):
    _fields_ = [("data", c_char_p), ("size", c_size_t)]


class Buffers(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("extensions", c_void_p), ("count", c_int64), ("types", c_void_p), ("buffers", c_void_p)]


class Attributes(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("extensions", c_void_p),
        ("count", c_int64),
        ("types", c_void_p),
        ("names", c_void_p),
        ("values", c_void_p),
    ]


class CallFrame(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("extensions", c_void_p),
        ("api", POINTER(Api)),
        ("context", c_void_p),
        ("stage", c_int32),
        ("arguments", Buffers),
        ("results", Buffers),
        ("attributes", Attributes),
        ("future", c_void_p),
    ]


class Metadata(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("version", Version), ("traits", c_uint32)]


class MetadataExtension(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("type", c_int32), ("next", c_void_p), ("metadata", POINTER(Metadata))]


class FakeXla:
    """An XLA whose calls have the stream `stream`; None is a call without one."""

    def __init__(self, stream=None, major=0, minor=7):
        self.created, self.destroyed, self.stream = [], [], stream
        self.create = ctypes.CFUNCTYPE(c_void_p, POINTER(ErrorCreate))(self._create)
        self.destroy = ctypes.CFUNCTYPE(None, POINTER(ErrorDestroy))(lambda given: self.destroyed.append(given[0].error))
        self.get_stream = ctypes.CFUNCTYPE(c_void_p, POINTER(StreamGet))(self._stream)
        self.api = Api(
            ctypes.sizeof(Api),
            None,
            Version(ctypes.sizeof(Version), None, major, minor),
            None,
            *(ctypes.cast(f, c_void_p) if f else None for f in (self.create, None, self.destroy, None, self.get_stream)),
        )

    def _create(self, given):
        self.created.append(given[0].message.decode())
        return 0x5000 + len(self.created)

    def _stream(self, given):
        if self.stream is None:
            return 0xDEAD
        given[0].stream = self.stream
        return None

    @staticmethod
    def _function(handler):
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = c_void_p, [ctypes.py_object, c_char_p]
        return ctypes.CFUNCTYPE(c_void_p, POINTER(CallFrame))(pointer(handler, None))

    def metadata(self, handler) -> Metadata:
        """What a handler answers when it is registered."""
        answer = Metadata(ctypes.sizeof(Metadata))
        extension = MetadataExtension(ctypes.sizeof(MetadataExtension), METADATA, None, ctypes.pointer(answer))
        frame = CallFrame(ctypes.sizeof(CallFrame), ctypes.addressof(extension), ctypes.pointer(self.api))
        assert not self._function(handler)(frame)
        return answer

    def call(self, handler, name, arguments, results) -> str:
        """Calls for the launch `name` on these addresses; the text of the error, or ""."""
        buffers = [Buffer(ctypes.sizeof(Buffer), None, 11, address) for address in (*arguments, *results)]
        places = (c_void_p * len(buffers))(*map(ctypes.addressof, buffers))

        def part(first, count):
            return Buffers(ctypes.sizeof(Buffers), None, count, None, ctypes.addressof(places) + 8 * first)

        text = name.encode()
        spans = [Span(b"launch", 6), Span(text, len(text))]
        names, values = (c_void_p * 1)(ctypes.addressof(spans[0])), (c_void_p * 1)(ctypes.addressof(spans[1]))
        types = (c_int32 * 1)(STRING)
        attributes = Attributes(ctypes.sizeof(Attributes), None, 1, *map(ctypes.addressof, (types, names, values)))
        frame = CallFrame(
            ctypes.sizeof(CallFrame),
            None,
            ctypes.pointer(self.api),
            None,
            EXECUTE,
            part(0, len(arguments)),
            part(len(arguments), len(results)),
            attributes,
        )
        before = len(self.created)
        failed = self._function(handler)(frame)
        assert bool(failed) == (len(self.created) > before)
        return self.created[-1] if failed else ""
