# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilewright doctor`: reports what it finds on this machine, and whether that works."""

from __future__ import annotations

import platform
import sys
import time

from . import _core, knobs, selftest
from ._version import __version__
from .compiler.disk_cache import default_directory, store_of
from .tools.disasm import path_to_binary


def _version_of(name):
    """The version of an installed distribution without importing it, or None."""
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _line(label, text):
    print(f"  {label:<14}{text}")


def _attempt(label, action):
    """Prints what `action` returns, or its error; whether it went well."""
    start = time.perf_counter()
    try:
        result = action()
    except Exception as error:  # noqa: BLE001 - a doctor reports whatever it meets
        _line(label, f"FAILED: {type(error).__name__}: {str(error).splitlines()[0]}")
        return False
    milliseconds = (time.perf_counter() - start) * 1e3
    _line(label, f"{result} ({milliseconds:.0f} ms)")
    return True


def _check(result):
    if not result:
        raise RuntimeError("the results are wrong")
    return "ok"


def _print_tools():
    """Says which tools were found; what is missing, as pairs of a package and what it is for."""
    print("Tools")
    version, path = _core.assembler_info()
    _line("assembler", f"{version} at {path}" if version else "nvJitLink was not found; the driver assembles PTX")
    for name, pattern, consequence, avoided in _core.assembler_faults():
        _line("known fault", f"{name}: {pattern}; {consequence}. {avoided[0].upper()}{avoided[1:]}")
    libdevice = _core.find_libdevice()
    _line("libdevice", libdevice or "not found; polynomials are used")
    disassembler = path_to_binary("nvdisasm") or path_to_binary("cuobjdump")
    _line("disassembler", disassembler or "not found; no asm['sass']")
    tools = [
        (version, "nvidia-nvjitlink", "machine code without a GPU"),
        (libdevice, "nvidia-nvvm", "functions of libdevice in compiled kernels"),
        (disassembler, "nvidia-cuda-nvdisasm", "asm['sass']"),
        (_version_of("z3-solver"), "z3-solver", "tilewright prove"),
    ]
    return [(package, purpose) for found, package, purpose in tools if not found]


def doctor(arguments) -> int:
    _core.find_wheel_folders(sys.path)
    print("Tilewright")
    _line("version", f"{__version__}, native {_core.build_id()}")
    _line("Python", f"{platform.python_version()} on {platform.platform()}")
    frameworks = [
        f"{name} {version}"
        for name in ("numpy", "ml_dtypes", "torch", "cupy", "jax", "triton")
        if (version := _version_of(name))
    ]
    _line("packages", ", ".join(frameworks))
    missing = _print_tools()
    print("GPU")
    has_gpu = _core.driver_available()
    if has_gpu:
        library, number, count = _core.driver_info()
        _line("driver", f"CUDA {number // 1000}.{number % 1000 // 10} ({library})")
        for ordinal in range(count):
            p = _core.device_properties(ordinal)
            _line(
                f"device {ordinal}",
                f"{p['name']}, sm_{p['capability']}, {p['total_memory'] >> 30} GiB, "
                f"{p['multiprocessor_count']} multiprocessors, {p['max_shared_mem']:,} bytes shared",
            )
    else:
        _line("driver", "none, or no visible GPU: kernels run in the interpreter")
    _line("cache", _cache_line())
    switches = knobs.switches()
    if switches:
        print("Environment")
        for variable, value in switches.items():
            _line("", f"{variable}={value}")
    if missing:
        print("Missing")
        for package, purpose in missing:
            _line("", f"{sys.executable} -m pip install {package}  # {purpose}")
    print("Self-test")
    return 0 if _self_test(has_gpu) else 1


def _cache_line() -> str:
    store = store_of()
    if store is None:
        return "off (TILEWRIGHT_CACHE=0)"
    _, _, _, problem = store.native.load("0" * 64)
    entries = store.native.list()
    text = f"{default_directory()}: {len(entries)} kernels, {sum(size for _, size, _ in entries) / 2**20:.1f} MiB"
    return f"{text}; not used: {problem[1]}" if problem else text


def _self_test(has_gpu) -> bool:
    good = _attempt("interpreter", lambda: _check(selftest.interpret()))
    target = "sm_90a"
    if has_gpu:
        target = _core.target_name(_core.device_properties(0)["capability"])

    def compile_it():
        with knobs.compilation.scope():
            knobs.compilation.always_compile = True  # the compiler is tested, not the cache
            kernel = selftest.compile_for(target)
        size = len(kernel.asm["cubin"]) if "cubin" in kernel.asm else 0
        return f"ok, {target}, {kernel.metadata.n_regs} registers, {size:,} bytes"

    good &= _attempt("compiler", compile_it)
    if has_gpu:
        good &= _attempt("GPU", lambda: _check(selftest.run_on_gpu()))
    return good
