# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What libraries ask of Triton's native module, `triton._C.libtriton`."""

import pathlib

import numpy as np
import pytest

import tilewright


def test_native_module_of_triton():
    from tilewright._C.libtriton import linear_layout, native_specialize_impl, nvidia
    from tilewright.runtime import jit

    assert native_specialize_impl is jit.native_specialize_impl
    assert linear_layout.LinearLayout.identity_1d(8, "a", "b").is_invertible() and nvidia.cublas.CublasLt
    assert tilewright.testing.runtime is tilewright.runtime


class RecordingLibrary:
    """Takes the place of cublasLt: notes what is called and fills what is asked for."""

    def __init__(self):
        self.calls = []

    def __getattr__(self, name):

        def function(*arguments):
            self.calls.append((name.removeprefix("cublasLt"), arguments))
            if name.endswith(("Create", "GetHeuristic")):
                arguments[0 if name.endswith("Create") else -1]._obj.value = 1
            return 0

        return function


class Matrix:
    """A tensor as the product asks for it."""

    def __init__(self, address, dtype, *shape):
        self.address, self.dtype, self.shape = address, f"torch.{dtype}", shape

    def data_ptr(self):
        return self.address

    def numel(self):
        return int(np.prod(self.shape))

    def element_size(self):
        return 1


def test_cublas(monkeypatch):
    from tilewright._C.libtriton import nvidia

    library = RecordingLibrary()
    monkeypatch.setattr(nvidia, "_library", lambda: library)
    monkeypatch.setattr(nvidia._core, "current_device", lambda: 0)
    monkeypatch.setattr(nvidia._core, "current_stream", lambda device: 0x77)
    handle = nvidia.cublas.CublasLt(Matrix(0x10, "uint8", 4096))
    a, b, c = Matrix(0x100, "float16", 64, 32), Matrix(0x200, "float16", 16, 32), Matrix(0x300, "float16", 64, 16)
    handle.matmul(a, b, c)
    layouts = [
        tuple(getattr(value, "value", value) for value in arguments[1:])
        for name, arguments in library.calls
        if name == "MatrixLayoutCreate"
    ]
    # Along columns: b and a as they lie, then the result's transpose, twice.
    assert layouts == [(2, 32, 16, 32), (2, 32, 64, 32), (2, 16, 64, 16), (2, 16, 64, 16)]
    (product,) = [arguments for name, arguments in library.calls if name == "Matmul"]
    assert [product[i].value for i in (3, 5, 8, 10, 13, 15)] == [0x200, 0x100, 0x300, 0x300, 0x10, 0x77]
    assert product[14].value == 4096
    created = sum(name.endswith("Create") for name, _ in library.calls)
    del handle
    assert sum(name.endswith("Destroy") for name, _ in library.calls) == created
    with pytest.raises(RuntimeError, match="times the transpose of"):
        nvidia.cublas.CublasLt(Matrix(0x10, "uint8", 8)).matmul(a, c, b)


def test_folders_for_programs_in_c():
    """What Triton's ahead-of-time tests and a few build scripts import."""
    from tilewright.backends.nvidia.driver import include_dirs, library_dirs

    assert all((pathlib.Path(folder) / "cuda.h").exists() for folder in include_dirs)
    try:
        folders = library_dirs()
    except AssertionError as error:
        assert "libcuda.so.1 was not found" in str(error)
        pytest.skip("no driver on this machine")
    assert folders and all((pathlib.Path(folder) / "libcuda.so.1").exists() for folder in folders)


def test_c_types_of_arguments():
    from tilewright.backends.nvidia.driver import ty_to_cpp

    pointers = {"*fp32": "CUdeviceptr", "tensordesc<fp16[64,64]>": "CUtensorMap"}
    numbers = {"i1": "int8_t", "u1": "uint8_t", "i32": "int32_t", "u64": "uint64_t", "fp16": "double", "fp64": "double"}
    for ty, expected in (pointers | numbers).items():
        assert ty_to_cpp(ty) == expected
    with pytest.raises(KeyError):
        ty_to_cpp("i24")
