# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The recording driver of tests/mock, built and read, and stand-ins for tensors.

The driver is opened once per process, so tests that need the mock run in a process
of their own: `run_in_mock_process(file)` starts pytest on a file of cases.
"""

import ctypes
import os
import pathlib
import shutil
import struct
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def build(folder, name="MockCuda") -> str:
    """Compiles a source of tests/mock; the path of the library."""
    compiler = shutil.which("clang++-19") or shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("no C++ compiler for the mock driver")
    library = pathlib.Path(folder) / f"lib{name.lower()}.so"
    command = [
        compiler,
        "-std=c++17",
        "-O2",
        "-shared",
        "-fPIC",
        "-fvisibility=hidden",
        f"-I{ROOT}",
        str(ROOT / "tests" / "mock" / f"{name}.cpp"),
        "-o",
        str(library),
    ]
    subprocess.run(command, check=True)
    return str(library)


def run_in_mock_process(cases, folder, *arguments):
    """Runs pytest on `cases` with the mock as the driver; (exit code, output)."""
    environment = {**os.environ, "TILEWRIGHT_LIBCUDA_PATH": build(folder), "TILEWRIGHT_MOCK_CASES": "1"}
    environment.pop("TILEWRIGHT_INTERPRET", None)
    # Names with our prefix that are no knobs would be warned about.
    environment["MOCK_CASES"] = environment.pop("TILEWRIGHT_MOCK_CASES")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(cases), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    return done.returncode, done.stdout + done.stderr


class Launch:
    """One recorded launch."""

    def __init__(self, numbers, parameters):
        self.grid = tuple(numbers[0:3])
        self.threads, self.shared, self.stream, self.device, self.cluster = numbers[3:8]
        self.cooperative, self.programmatic = bool(numbers[8]), bool(numbers[9])
        self.parameters = parameters

    def unpack(self, form):
        return struct.unpack("<" + form, self.parameters)


class Mock:
    """The mock's own functions, by ctypes on the library that the driver opened."""

    def __init__(self):
        self.library = ctypes.CDLL(os.environ["TILEWRIGHT_LIBCUDA_PATH"])
        self.library.mockLaunchCount.restype = ctypes.c_long
        self.library.mockEncodeCount.restype = ctypes.c_long
        self.library.mockSetPinned.argtypes = [ctypes.c_uint64]

    def reset(self):
        self.library.mockReset()

    @property
    def count(self):
        return self.library.mockLaunchCount()

    @property
    def encodes(self):
        """How many tensor maps the driver has made."""
        return self.library.mockEncodeCount()

    def launch(self, index=-1) -> Launch:
        numbers = (ctypes.c_uint64 * 10)()
        data = ctypes.create_string_buffer(4096)
        index = self.count + index if index < 0 else index
        size = self.library.mockLaunch(ctypes.c_long(index), numbers, data)
        return Launch(list(numbers), data.raw[:size])


class Device:
    """Looks like torch.device."""

    def __init__(self, type, index=None):
        self.type, self.index = type, index


class FakeTensor:
    """An object with data_ptr, dtype and device, as frameworks have them."""

    def __init__(self, address=0x10000000000, dtype="float32", device=None):
        self.address, self.dtype = address, dtype
        self.device = Device("cuda", 0) if device is None else device

    def data_ptr(self):
        return self.address


_sizes = {"i1": 1, "i8": 1, "u8": 1, "i16": 2, "u16": 2, "fp16": 2, "bf16": 2, "i32": 4, "u32": 4, "fp32": 4}


def _parameter_sizes(entry, tensor_maps):
    """Bytes of the kernel's parameters for one entry of a signature."""
    if isinstance(entry, tuple):
        return [size for item in entry for size in _parameter_sizes(item, tensor_maps)]
    if entry == "constexpr":
        return []
    if entry.startswith("tensordesc<"):
        rank = entry.split("]")[0].count(",") + 1
        tensor_maps.append(True)
        return [128, 8] + [4] * rank + [8] * rank
    return [_sizes.get(entry, 8)]


class TensorMap:
    """What the mock's driver made a tensor map from, innermost dimension first."""

    def __init__(self, data):
        wide = struct.unpack("<10Q11I", data[:124])
        self.address, self.extents, self.strides, self.box = wide[0], wide[1:6], wide[6:10], wide[10:15]
        self.type, self.rank, self.interleave, self.swizzle, self.promotion, self.fill = wide[15:21]
        self.extents, self.box = self.extents[: self.rank], self.box[: self.rank]
        self.strides = self.strides[: self.rank - 1]


class FakeCompiler:
    """Takes the place of `_core.compile_kernel`; remembers what it was asked."""

    def __init__(self):
        self.calls = []
        self.metadata = {}
        self.sizes = None  # of the parameters, where they are not what the signature says
        self.registers, self.max_threads = 32, 1024

    def __call__(self, fn, signature, constexprs, divisibility, options, target):
        self.calls.append(
            {
                "fn": fn,
                "signature": signature,
                "constexprs": constexprs,
                "divisibility": divisibility,
                "options": options,
                "target": target,
            }
        )
        for wanted in getattr(fn.fn, "__tilewright_reads__", ()):
            fn.lookup_global(wanted)
        for helper, wanted in getattr(fn.fn, "__tilewright_helpers__", ()):
            helper.lookup_global(wanted)
        tensor_maps = []
        found = [size for entry in signature.values() for size in _parameter_sizes(entry, tensor_maps)]
        sizes = ",".join(map(str, self.sizes or found))
        metadata = {
            "num_warps": options["num_warps"] or 4,
            "num_ctas": options["num_ctas"],
            "num_stages": 3,
            "shared": 0,
            "name": fn.__name__,
            "global_scratch_size": 0,
            "written_args": None,
            "tensor_maps": tensor_maps,
            **self.metadata,
        }
        image = f"\x7fELF|{sizes}|{self.registers}|{self.max_threads}\0".encode("latin-1")
        return {
            "name": fn.__name__,
            "ttir": "module {}",
            "ttgir": "module {}",
            "llir": "",
            "ptx": "// ptx",
            "cubin": image,
            "metadata": metadata,
            "remarks": [],
            "step_seconds": {"fake": 0.001},
        }

    @property
    def last(self):
        return self.calls[-1]
