# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches against the recording driver; run by test_launch_mock.py."""

import gc
import os
import time
import types
import weakref

import numpy as np
import pytest

import tilewright
from harness.launch_cases import DEVICE1, constexpr, make_kernel, tensors
from harness.mock_driver import Device, FakeTensor
from tilewright import _core, errors, knobs
from tilewright.runtime.cache import _base32

if "MOCK_CASES" not in os.environ:
    pytest.skip("needs the mock driver; see test_launch_mock.py", allow_module_level=True)

pytest_plugins = ["harness.launch_cases"]


def test_cluster_launch(mock):
    add = make_kernel()
    add[(6, 2)](*tensors(), 5, BLOCK=64, num_ctas=2)
    launch = mock.launch()
    assert launch.grid == (12, 2, 1) and launch.cluster == 2


def test_large_shared_memory_is_opted_in(mock, compiler):
    compiler.metadata = {"shared": 200000}
    make_kernel()[(1,)](*tensors(), 5, BLOCK=64)
    assert mock.launch().shared == 200000 and mock.library.mockDynamicSharedLimit() == 200000


def test_callable_grid_sees_all_arguments(mock):
    add = make_kernel()
    seen = {}

    def grid(meta):
        seen.update(meta)
        return (tilewright.cdiv(meta["n"], meta["BLOCK"]),)

    x, y, out = tensors()
    add[grid](x, y, out, 1000, BLOCK=128)
    assert mock.launch().grid == (8, 1, 1)
    assert seen == {"x": x, "y": y, "out": out, "n": 1000, "BLOCK": 128}
    add[lambda meta: [4, np.int32(3)]](x, y, out, 1000, BLOCK=128)
    assert mock.launch().grid == (4, 3, 1)


def test_empty_grid_launches_nothing(mock):
    add = make_kernel()
    assert add[(0,)](*tensors(), 5, BLOCK=64) is not None
    assert add[(3, 0)](*tensors(), 5, BLOCK=64) is not None
    assert mock.count == 0


def test_launch_goes_to_the_tensors_device(mock):
    add = make_kernel()
    other = [FakeTensor(DEVICE1 + 64 * i, device=Device("cuda", 1)) for i in range(3)]
    add[(1,)](*tensors(), 5, BLOCK=64)
    add[(1,)](*other, 5, BLOCK=64)
    add[(1,)](*tensors(), 5, BLOCK=64)
    assert [mock.launch(i).device for i in range(3)] == [0, 1, 0]


def test_pinned_memory_is_no_cpu_tensor(mock):

    @tilewright.jit
    def f(a):
        pass

    mock.library.mockSetPinned(0x5000)
    f[(1,)](FakeTensor(0x5000, device=Device("cpu")))
    assert mock.launch().unpack("Q") == (0x6000,)


def test_numpy_arrays_go_to_the_interpreter(monkeypatch, mock):
    add = make_kernel()
    calls = []
    monkeypatch.setattr(type(add), "_run_interpreted", lambda self, grid, bound, options: calls.append((grid, bound)))
    a = np.zeros(4, np.float32)
    add[(2,)](a, a, a, 4, BLOCK=4)
    assert calls == [((2,), {"x": a, "y": a, "out": a, "n": 4, "BLOCK": 4})] and mock.count == 0


# -- hooks, warm-up, the kernel object --------------------------------------------


def test_pre_run_hooks_and_launch_hooks(mock):
    add = make_kernel()
    events = []
    add.add_pre_run_hook(lambda *args, **kwargs: events.append(("pre", len(args), kwargs)))
    with knobs.runtime.scope():
        knobs.runtime.launch_enter_hook.add(lambda data: events.append(("enter", data.get()["name"])))
        knobs.runtime.launch_exit_hook.add(lambda data: events.append(("exit", data.get()["stream"])))
        add[(1,)](*tensors(), 5, BLOCK=64)
    assert events == [("pre", 4, {"BLOCK": 64}), ("enter", "add"), ("exit", 0)]
    add[(1,)](*tensors(), 5, BLOCK=64)
    assert len(events) == 4


def test_warmup_compiles_only(mock, compiler):
    add = make_kernel()
    kernel = add.warmup(tilewright.MockTensor("float32"), np.dtype("float16"), np.dtype("int8"), 5, BLOCK=64, grid=(1,))
    assert compiler.last["signature"] == {"x": "*fp32", "y": "*fp16", "out": "*i8", "n": "i32"}
    assert mock.count == 0 and mock.library.mockLoaded() == 0
    assert kernel.asm["ptx"] == "// ptx"


def test_a_launch_leaves_machine_code_where_triton_does(tmp_path, monkeypatch):
    add, folder = make_kernel(), tmp_path / "files"
    monkeypatch.setenv("TRITON_CACHE_DIR", str(folder))
    kernel = add[(1,)](*tensors(), 5, BLOCK=64)
    assert (folder / _base32(kernel.hash) / "add.cubin").read_bytes() == kernel.asm["cubin"]
    # helion tunes with another folder, then forgets the kernels of this process and launches the best one.
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "others"))
    add[(1,)](*tensors(), 5, BLOCK=64)
    assert not (tmp_path / "others" / _base32(kernel.hash)).exists()
    add.device_caches.clear()
    add[(1,)](*tensors(), 5, BLOCK=64)
    assert (tmp_path / "others" / _base32(kernel.hash) / "add.cubin").exists()


def test_run_is_the_same_entry(mock):
    add = make_kernel()
    add.run(*tensors(), 5, BLOCK=64, grid=(3,), warmup=False)
    assert mock.launch().grid == (3, 1, 1)


def test_kernel_object(mock):
    add = make_kernel()
    x, y, out = tensors()
    kernel = add[(1,)](x, y, out, 5, BLOCK=64)
    assert kernel.n_regs == 32 and kernel.n_spills == 4 and kernel.n_max_threads == 1024
    assert kernel.shared == 0 and kernel.function and kernel.module
    assert set(kernel.asm) >= {"source", "ttir", "ttgir", "llir", "ptx", "cubin", "json"}
    kernel[(9,)](x, y, out, 6)
    assert mock.launch().grid == (9, 1, 1) and mock.launch().unpack("QQQi")[3] == 6
    kernel[(9, 2, 1)](x, y, out, 7, 64, stream=6)  # with the constants too
    assert mock.launch().unpack("QQQi")[3] == 7 and mock.launch().stream == 6


def test_kernel_without_cubin_is_loaded_as_ptx(mock, compiler, monkeypatch):

    def no_assembler(*args):
        result = compiler(*args)
        return {**result, "cubin": None}

    monkeypatch.setattr(_core, "compile_kernel", no_assembler)

    @tilewright.jit
    def f():
        pass

    kernel = f[(1,)]()
    assert mock.count == 1 and "cubin" not in kernel.asm


def test_reinterpret(mock, compiler):

    @tilewright.jit
    def f(a):
        pass

    f[(1,)](tilewright.reinterpret(FakeTensor(dtype="uint8"), "float8_e4m3fn"))
    assert compiler.last["signature"] == {"a": "*fp8e4nv"}


def test_allocator(mock, compiler):
    compiler.metadata = {"global_scratch_size": 128, "global_scratch_align": 64}
    asked, address = [], 0x1240

    class Buffer:
        def data_ptr(self):
            return address

    def allocate(size, alignment, stream):
        asked.append((size, alignment, stream))
        return Buffer()

    @tilewright.jit
    def f(a):
        pass

    tilewright.set_allocator(allocate)
    try:
        f[(4, 2)](7)
        address += 8
        with pytest.raises(errors.InvalidArgument, match="address 0x1248 .* multiple of 64 bytes"):
            f[(4, 2)](7)
    finally:
        tilewright.set_allocator(None)
    assert asked == [(128 * 8, 64, 0)] * 2


def test_compile_hook_can_cancel(mock):
    add = make_kernel()
    seen = []
    with knobs.runtime.scope():
        knobs.runtime.jit_cache_hook = lambda **kwargs: seen.append(kwargs["fn"].name) or True
        assert add[(1,)](*tensors(), 5, BLOCK=64) is None
    assert len(seen) == 1 and mock.count == 0
    assert add[(1,)](*tensors(), 5, BLOCK=64) is not None


# -- globals, lifetime, threads -------------------------------------------------------


def test_changed_global_is_noticed(mock, compiler):
    space = {"tilewright": tilewright, "SIZE": 5}
    source = "def f(a):\n    return SIZE\n"
    exec(source, space)
    space["f"].__tilewright_reads__ = ("SIZE",)
    f = tilewright.jit(space["f"], source=source)
    f[(1,)](2)
    f[(1,)](2)
    space["SIZE"] = 5.0
    with pytest.raises(RuntimeError, match="Global variable SIZE has changed .*to 5.0"):
        f[(1,)](2)
    space["SIZE"] = 5
    f[(1,)](2)
    assert mock.count == 3


def test_helpers_globals_are_watched_by_the_kernel(compiler):
    space = {"tilewright": tilewright, "SIZE": 5}
    source = "def helper(a):\n    return SIZE\n"
    exec(source, space)
    helper = tilewright.jit(space["helper"], source=source)

    def kernel(a):
        pass

    kernel.__tilewright_helpers__ = ((helper, "SIZE"),)
    first, second = tilewright.jit(kernel), tilewright.jit(kernel)
    first[(1,)](2)
    second[(1,)](2)
    space["SIZE"] = 6
    for launched in (first, second):
        with pytest.raises(RuntimeError, match="Global variable SIZE has changed .*to 6"):
            launched[(1,)](2)


def test_a_helper_means_one_thing(compiler):
    """A second kernel is refused where a helper of the first would now read another value."""
    space = {"tilewright": tilewright, "SIZE": 5}
    source = "def helper(a):\n    return SIZE\n"
    exec(source, space)
    helper = tilewright.jit(space["helper"], source=source)

    def kernel(a):
        pass

    kernel.__tilewright_helpers__ = ((helper, "SIZE"),)
    tilewright.jit(kernel)[(1,)](2)
    space["SIZE"] = 6
    with pytest.raises(RuntimeError) as info:
        tilewright.jit(kernel)[(1,)](2)
    assert "Global variable SIZE has value 6 as 'kernel' is compiled, but had 5 when 'helper'" in str(info.value)
    assert str(info.value).endswith("'helper' was compiled before; pass it as an argument instead")
    space["SIZE"] = 5
    tilewright.jit(kernel)[(1,)](2)


def test_a_nan_that_two_kernels_read_has_not_changed(compiler):
    space = {"tilewright": tilewright, "NOTHING": float("nan")}
    source = "def helper(a):\n    return NOTHING\n"
    exec(source, space)

    def kernel(a):
        pass

    kernel.__tilewright_helpers__ = ((tilewright.jit(space["helper"], source=source), "NOTHING"),)
    for _ in range(2):
        tilewright.jit(kernel)[(1,)](2)


def test_table_cleared_by_the_grid_function(mock):
    add = make_kernel()

    def grid(meta):
        add._clear_table()
        add.device_caches.clear()
        gc.collect()
        return (3,)

    for _ in range(3):
        assert add[grid](*tensors(), 5, BLOCK=64).name == "add"
    assert mock.launch().grid == (3, 1, 1)


def test_numpy_subclasses_are_interpreted(monkeypatch):
    add = make_kernel()
    calls = []
    monkeypatch.setattr(type(add), "_run_interpreted", lambda *args: calls.append(args))
    add[(1,)](np.zeros(4).view(np.matrix), np.zeros(4), np.zeros(4), 4, BLOCK=4)
    assert len(calls) == 1


def test_kernels_are_collected(mock, compiler):
    gc.collect()  # kernels of earlier tests
    before = mock.library.mockUnloaded()
    add = make_kernel()
    add[(1,)](*tensors(), 5, BLOCK=64)
    gone = weakref.ref(add)
    compiler.calls.clear()  # it keeps the functions it was asked for
    del add
    gc.collect()
    assert gone() is None and mock.library.mockUnloaded() == before + 1


def test_recursive_launch_in_grid_function(mock):
    add = make_kernel()
    x = tensors()

    def grid(meta):
        add[(1,)](*x, 99, BLOCK=64)
        return (2,)

    add[grid](*x, 5, BLOCK=128)
    assert [mock.launch(i).grid[0] for i in range(2)] == [1, 2]


# -- cost ---------------------------------------------------------------------------------


def test_host_cost_of_a_warm_launch(mock):
    """The launcher's own work, without the tensors' Python methods and the driver."""
    add = make_kernel()
    buffers = [_core.DeviceBuffer(64) for _ in range(3)]
    mock.library.mockRecord(0)
    launcher = add[(1,)]

    def scalar_time(count):

        @tilewright.jit
        def f(a, b, c, n, BLOCK: constexpr):
            pass

        f[(1,)](2, 3, 4, 1000, BLOCK=64)
        best = 1e9
        for _ in range(7):
            start = time.perf_counter()
            for _ in range(count):
                f[(1,)](2, 3, 4, 1000, BLOCK=64)
            best = min(best, (time.perf_counter() - start) / count)
        return best

    launcher(*buffers, 1000, BLOCK=64)
    seconds = scalar_time(2000)
    print(f"warm launch: {seconds * 1e6:.2f} us")
    # Far above what is measured, so that a loaded machine does not fail it.
    assert seconds < 20e-6
    assert isinstance(launcher, _core.Launcher) and not isinstance(launcher, types.FunctionType)


# -- launching a compiled kernel again -------------------------------------------------


def test_a_compiled_kernel_takes_arguments_in_three_forms(mock):
    add = make_kernel()
    x, y, out = tensors()
    kernel = add[(7,)](x, y, out, 1, BLOCK=64)  # n is a constant of this kernel
    seen = []
    with knobs.runtime.scope():
        knobs.runtime.launch_enter_hook.add(lambda metadata: seen.append(metadata.get()["name"]))
        for arguments in ((x, y, out), (x, y, out, 1), (x, y, out, 1, 64)):
            kernel[(3,)](*arguments)
    assert mock.count == 4 and seen == ["add"] * 3
    with pytest.raises(errors.InvalidArgument, match=r"\[E0205\]"):
        kernel[(3,)](x, y)
