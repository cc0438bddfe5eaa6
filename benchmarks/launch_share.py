# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Our own share of a warm launch, in nanoseconds; needs no GPU.

    python benchmarks/launch_share.py [--repeats N] [--recorded] [--loop CASE]

The driver is the recording one of tests/mock, told not to record, so what is left
is the way from Python to the driver call. With torch installed the tensors are
torch's own, on a device of the kind that torch leaves to others: reading one takes
the same calls as reading a CUDA tensor. torch's share is given apart: it is what
its three accessors take when Python calls them, so an upper bound.

`--recorded` adds what a launch takes while `tilewright profile` records it, with events and with CUPTI, both of the
mock's kind. `--loop CASE` launches for ten seconds, for a profiler to look at.
"""

import argparse
import ctypes
import os
import sys
import tempfile
import time
import types
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))


def register_torch_device(torch):
    """torch asks for a Python module before it believes in such a device."""
    module = types.ModuleType("privateuseone")
    module.is_available = module.is_initialized = module._is_initialized = lambda: True
    module._lazy_init = lambda: None
    module._is_in_bad_fork = lambda: False
    module.current_device, module.device_count = lambda: 0, lambda: 1
    torch._register_device_module("privateuseone", module)


def torch_tensors(count):
    """float32 matrices of 1024 x 1024 at addresses of the mock's first GPU; never touched."""
    import torch
    from harness.dlpack import EXTERNAL, DLManagedTensor, DLTensor, capsule

    register_torch_device(torch)
    result = []
    for index in range(count):
        sizes, strides = (ctypes.c_int64 * 2)(1024, 1024), (ctypes.c_int64 * 2)(1024, 1)
        managed = DLManagedTensor(DLTensor(0x10000000000 + (index << 24), EXTERNAL, 0, 2, 2, 32, 1, sizes, strides, 0))
        tensor = torch._C._from_dlpack(capsule(managed, b"dltensor"))
        tensor.kept = managed, sizes, strides
        result.append(tensor)
    return result


def make_tensors(count):
    try:
        return torch_tensors(count), True
    except ImportError:
        from tilewright import _core

        return [_core.DeviceBuffer(4 << 20) for _ in range(count)], False


class constexpr:
    """The annotation alone: nothing is compiled here."""


def make_cases(tensors):
    import tilewright
    from tilewright.tools.tensor_descriptor import TensorDescriptor

    @tilewright.jit
    def add(x, y, out, n, BLOCK: constexpr):
        pass

    @tilewright.jit
    def wide(
        a,
        b,
        c,
        d,
        e,
        i,
        j,
        k,
        l,
        m,
        n,
        o,
        p,
        q,
        C: constexpr,
        D: constexpr,
        E: constexpr,  # noqa: E741
        F: constexpr,
        G: constexpr,
    ):
        pass

    @tilewright.jit
    def multiply(a, b, c, m, n, k, BLOCK: constexpr):
        pass

    a, b, c, d, e = tensors
    x, y, z = (TensorDescriptor(t, [1024, 1024], [1024, 1], [64, 64]) for t in (a, b, c))
    bound = add[(1,)].bind(a, b, c, 1000, BLOCK=1024)
    # As if measured: the times do not matter here.
    choose = {"key": ["n"], "do_bench": lambda call, quantiles: [1.0] * len(quantiles)}
    configs = [tilewright.Config({"BLOCK": block}) for block in (1024, 512)]
    tuned = tilewright.autotune(configs, **choose)(add)
    heuristic = tilewright.heuristics({"BLOCK": lambda args: 1024})(add)
    both = tilewright.autotune([tilewright.Config({}, num_warps=w) for w in (4, 8)], **choose)(heuristic)
    return {
        "3 tensors, 1 int, 1 constexpr": lambda: add[(1,)](a, b, c, 1000, BLOCK=1024),
        "the same, grid a function": lambda: add[lambda meta: (meta["n"],)](a, b, c, 1000, BLOCK=1024),
        "the same with num_warps": lambda: add[(1,)](a, b, c, 1000, BLOCK=1024, num_warps=8),
        "19 arguments": lambda: wide[(1,)](a, b, c, d, e, 2, 3, 4, 5, 6, 7, 8, 9, 10, C=1, D=2, E=3, F=4, G=5),
        "3 descriptors, 3 ints": lambda: multiply[(1,)](x, y, z, 100, 200, 300, BLOCK=64),
        "3 tensors, bound": lambda: bound(),
        "3 tensors, 1 int, tuned": lambda: tuned[(1,)](a, b, c, 1000),
        "3 tensors, 1 int, a heuristic": lambda: heuristic[(1,)](a, b, c, 1000),
        "the same, tuned": lambda: both[(1,)](a, b, c, 1000),
    }


def nanoseconds(function, repeats, count=1000) -> float:
    """The least of several means: a machine that does other things only adds."""
    best = float("inf")
    numbers = range(count)
    for _ in range(repeats):
        start = time.perf_counter_ns()
        for _ in numbers:
            function()
        best = min(best, (time.perf_counter_ns() - start) / count)
    return best


def recorded_nanoseconds(function, repeats, cupti) -> float:
    """As `nanoseconds`, with every launch recorded; each repeat is a profile of its own, as the log has an end."""
    import tilewright.profiler

    os.environ["TILEWRIGHT_CUPTI_PATH"] = cupti
    best = float("inf")
    for _ in range(repeats):
        with tilewright.profiler.record(ranges=False):
            function()  # the first one enters the kernel
            best = min(best, nanoseconds(function, 1))
    return best


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--recorded", action="store_true", help="also while a profile records the launches")
    parser.add_argument("--loop", default="", help="a case to launch for ten seconds, by the start of its name")
    options = parser.parse_args()
    from harness.mock_driver import FakeCompiler, build

    with tempfile.TemporaryDirectory() as folder:
        os.environ["TILEWRIGHT_LIBCUDA_PATH"] = build(folder)
        os.environ["TILEWRIGHT_CACHE"] = "0"
        from tilewright import _core

        _core.compile_kernel = FakeCompiler()
        ctypes.CDLL(os.environ["TILEWRIGHT_LIBCUDA_PATH"]).mockRecord(0)
        tensors, of_torch = make_tensors(5)
        cases = make_cases(tensors)
        if options.loop:
            function = next(f for name, f in cases.items() if name.startswith(options.loop))
            end = time.monotonic() + 10
            while time.monotonic() < end:
                for _ in range(10000):
                    function()
            return 0
        empty = nanoseconds(lambda: None, options.repeats)
        tensor = tensors[0]
        accessors = (
            nanoseconds(lambda: (tensor.data_ptr(), tensor.get_device(), tensor.dtype), options.repeats) - empty
            if of_torch
            else None
        )
        print(
            "tensors are " + (f"torch's; its accessors take {accessors:.0f} ns for each" if of_torch else "buffers of our own")
        )
        warnings.simplefilter("ignore")  # that there is no CUPTI
        ways = {"with events": "off", "with CUPTI": build(folder, "MockCupti")} if options.recorded else {}
        for name, function in cases.items():
            alone = nanoseconds(function, options.repeats) - empty
            more = "".join(
                f", {way} {recorded_nanoseconds(function, options.repeats, cupti) - empty - alone:5.0f} more"
                for way, cupti in ways.items()
            )
            print(f"{name:32} {alone:7.0f} ns{more}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
