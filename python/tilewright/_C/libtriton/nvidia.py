# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`nvidia.cublas.CublasLt`: NVIDIA's own matrix product, which programs time beside theirs.

It calls the cublasLt library by ctypes: the one that a framework has loaded, else the
toolkit's. No kernel of Tilewright uses it.
"""

from __future__ import annotations

import ctypes
import types

from ... import _core

__all__ = ["cublas"]

_LIBRARIES = [f"libcublasLt.so{end}" for end in (".13", ".12", ".11", "")]
_POINTER = ctypes.c_void_p

# Numbers from library_types.h and cublasLt.h: element types, and attributes of a product.
_REAL_32F = 0
_TYPES = {"float32": _REAL_32F, "float16": 2, "bfloat16": 14, "float8_e4m3fn": 28}
_COMPUTE_32F, _COMPUTE_32F_FAST_TF32 = 68, 77
_TRANSPOSE_A, _TRANSPOSE_B, _FAST_ACCUMULATION = 3, 4, 25
_TRANSPOSED, _AS_IT_IS = 1, 0
_PREFERS_WORKSPACE = 1
_WORDS_OF_HEURISTIC = 12  # of 8 bytes: the algorithm is the first 8


def _library():
    """cublasLt, found by its name where the loader or a package knows it."""
    from importlib import metadata

    for name in _LIBRARIES:
        try:
            return ctypes.CDLL(name)
        except OSError:
            pass
    for package in ("nvidia-cublas", "nvidia-cublas-cu12", "nvidia-cublas-cu11"):
        try:
            files = metadata.files(package) or ()
        except metadata.PackageNotFoundError:
            continue
        for file in files:
            if file.name.startswith("libcublasLt.so"):
                return ctypes.CDLL(str(file.locate()))
    raise RuntimeError("the library cublasLt was not found: install the CUDA toolkit, or nvidia-cublas by pip")


def _element_type(tensor, what) -> int:
    name = str(tensor.dtype).rpartition(".")[2]
    if name not in _TYPES:
        raise RuntimeError(f"cublasLt: {what} has the type {name}; {', '.join(_TYPES)} are possible")
    return _TYPES[name]


class CublasLt:
    """Products of row-major matrices; `workspace` is a tensor of bytes on the GPU that the library may use."""

    def __init__(self, workspace):
        self._library = _library()
        self._workspace = workspace
        self._handle = _POINTER()
        self._call("Create", ctypes.byref(self._handle))

    def __del__(self):
        if getattr(self, "_handle", None):
            self._library.cublasLtDestroy(self._handle)

    def _call(self, name, *arguments):
        status = getattr(self._library, "cublasLt" + name)(*arguments)
        if status:
            raise RuntimeError(f"cublasLt{name} failed with status {status}")

    def _made(self, name, *arguments):
        """An object of the library; the caller destroys it."""
        made = _POINTER()
        self._call(name + "Create", ctypes.byref(made), *arguments)
        return made

    def _set(self, name, made, attribute, value):
        self._call(name + "SetAttribute", made, attribute, ctypes.byref(value), ctypes.c_size_t(ctypes.sizeof(value)))

    def matmul(self, a, b, c):
        """c = a times the transpose of b: a is [M, K], b [N, K], c [M, N]."""
        self._product(a, b, c, c, 1.0, 0.0)

    def gemm(self, a, b, c, d, alpha, beta):
        """d = alpha * (a times the transpose of b) + beta * c."""
        self._product(a, b, c, d, alpha, beta)

    def _product(self, a, b, c, d, alpha, beta):
        (m, k), (n, other) = a.shape, b.shape
        if other != k or tuple(d.shape) != (m, n) or tuple(c.shape) != (m, n):
            raise RuntimeError(f"cublasLt: {tuple(a.shape)} times the transpose of {tuple(b.shape)} into {tuple(d.shape)}")
        operand = _element_type(a, "a")
        if _element_type(b, "b") != operand:
            raise RuntimeError("cublasLt: a and b have different types")
        made = []

        def make(name, *arguments):
            made.append((name, self._made(name, *arguments)))
            return made[-1][1]

        try:
            compute = _COMPUTE_32F_FAST_TF32 if operand == _REAL_32F else _COMPUTE_32F
            product = make("MatmulDesc", compute, _REAL_32F)
            # The library counts along columns, so that it sees the transposes: d^T = b a^T.
            self._set("MatmulDesc", product, _TRANSPOSE_A, ctypes.c_int32(_TRANSPOSED))
            self._set("MatmulDesc", product, _TRANSPOSE_B, ctypes.c_int32(_AS_IT_IS))
            if operand == _TYPES["float8_e4m3fn"]:
                self._set("MatmulDesc", product, _FAST_ACCUMULATION, ctypes.c_int8(1))
            layouts = [
                make("MatrixLayout", kind, ctypes.c_uint64(rows), ctypes.c_uint64(columns), ctypes.c_int64(rows))
                for kind, rows, columns in (
                    (operand, k, n),
                    (operand, k, m),
                    (_element_type(c, "c"), n, m),
                    (_element_type(d, "d"), n, m),
                )
            ]
            preference = make("MatmulPreference")
            size = ctypes.c_size_t(self._workspace.numel() * self._workspace.element_size())
            self._set("MatmulPreference", preference, _PREFERS_WORKSPACE, size)
            found, heuristic = ctypes.c_int(), (ctypes.c_uint64 * _WORDS_OF_HEURISTIC)()
            self._call("MatmulAlgoGetHeuristic", self._handle, product, *layouts, preference, 1, heuristic, ctypes.byref(found))
            if not found.value:
                raise RuntimeError("cublasLt has no algorithm for this product")
            stream = _core.current_stream(_core.current_device())
            self._call(
                "Matmul",
                self._handle,
                product,
                ctypes.byref(ctypes.c_float(alpha)),
                _POINTER(b.data_ptr()),
                layouts[0],
                _POINTER(a.data_ptr()),
                layouts[1],
                ctypes.byref(ctypes.c_float(beta)),
                _POINTER(c.data_ptr()),
                layouts[2],
                _POINTER(d.data_ptr()),
                layouts[3],
                heuristic,
                _POINTER(self._workspace.data_ptr()),
                size,
                _POINTER(stream),
            )
        finally:
            for name, thing in reversed(made):
                getattr(self._library, f"cublasLt{name}Destroy")(thing)


cublas = types.SimpleNamespace(CublasLt=CublasLt)
